// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The phases of a compilation, in order.

#include "bessemer/Pipelines/Compile.h"
#include "Diagnostics.h"
#include "PhaseDump.h"
#include "bessemer/Codegen/CPU/Codegen.h"
#include "bessemer/Emit/Emit.h"
#include "bessemer/Fusion/Passes.h"
#include "bessemer/Import/Import.h"
#include "bessemer/Memory/Passes.h"
#include "bessemer/Pipelines/Register.h"
#include "bessemer/Raising/Passes.h"
#include "bessemer/Reference/VerifyNumerics.h"
#include "bessemer/Training/Training.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace bessemer {
namespace {

/// One compilation; its methods are the phases.
class Compilation {
public:
  Compilation(const CompileOptions &options, std::optional<StringRef> bytes)
      : options(options), bytes(bytes), context(makeRegistry()),
        modelName(options.model.empty() ? "<model>" : options.model),
        diagnostics(context, modelName), dump(options.dumpDir) {}

  CompileResult run() {
    bool done = import() && train() && fuse() && plan() && generate();
    llvm::append_range(result.warnings, diagnostics.takeWarnings());
    llvm::append_range(result.errors, diagnostics.takeErrors());
    if (!done && result.status == BSC_OK)
      result.status = BSC_INPUT_ERROR;
    if (!done && result.errors.empty()) {
      result.status = BSC_INTERNAL_ERROR;
      result.errors.push_back(modelName + ": internal error in phase " + phase);
    }
    if (done)
      result.errors.clear();
    return std::move(result);
  }

private:
  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  /// Ends a phase: dumps the module, and stops with its text when `kind` was
  /// asked for. Returns whether to go on.
  bool endPhase(std::optional<EmitKind> kind, ModuleOp module) {
    std::string error;
    if (!dump.write(
            phase, ".mlir", [&](raw_ostream &os) { printModule(module, os); },
            error)) {
      result.errors.push_back(error);
      result.status = BSC_INPUT_ERROR;
      return false;
    }
    if (options.emit != kind)
      return true;
    llvm::raw_string_ostream os(result.text);
    printModule(module, os);
    stopped = true;
    return true;
  }

  static void printModule(ModuleOp module, raw_ostream &os) {
    OpPrintingFlags flags;
    flags.elideLargeElementsAttrs(16).elideLargeResourceString(64);
    module.print(os, flags);
  }

  bool runPasses(ModuleOp module,
                 llvm::function_ref<void(OpPassManager &)> build) {
    PassManager manager(&context);
    manager.enableVerifier(true);
    std::shared_ptr<const NumericsReport> numerics;
    if (options.verifyNumerics)
      numerics = addNumericsVerification(manager);
    build(manager);
    bool passed = succeeded(manager.run(module));
    // A wrong pass is our bug, and an instrumentation cannot stop a pipeline.
    if (numerics && numerics->differs) {
      result.status = BSC_INTERNAL_ERROR;
      return false;
    }
    return passed;
  }

  bool import();
  bool train();
  bool fuse();
  bool plan();
  bool generate();
  std::vector<cpu::CPUTarget> selectTargets() const;

  const CompileOptions &options;
  std::optional<StringRef> bytes;
  MLIRContext context;
  std::string modelName;
  DiagnosticCollector diagnostics;
  PhaseDump dump;
  CompileResult result;
  /// The text that was asked for is there; later phases have nothing to do.
  bool stopped = false;
  std::string phase;
  ImportedModel model;
};

bool Compilation::import() {
  phase = "import";
  ImportOptions importOptions;
  importOptions.path = options.model;
  importOptions.bytes = bytes;
  importOptions.baseDir = options.baseDir;
  importOptions.dims = options.dims;
  importOptions.batch = options.batch;
  importOptions.accumulate = options.training.accumulate;
  importOptions.train = options.train;
  importOptions.freeze = options.training.freeze;
  ImportDiagnostics messages;
  FailureOr<ImportedModel> imported =
      importOnnx(context, importOptions, messages);
  llvm::append_range(result.warnings, messages.warnings);
  if (failed(imported)) {
    llvm::append_range(result.errors, messages.errors);
    return false;
  }
  model = std::move(*imported);
  return endPhase(std::nullopt, *model.module);
}

bool Compilation::train() {
  phase = "raising";
  if (!runPasses(*model.module, buildRaisingPipeline) ||
      !endPhase(std::nullopt, *model.module))
    return false;
  phase = "training";
  if (failed(options.hasLoss
                 ? buildTrainingFunctions(*model.module, options.training)
                 : buildInferenceFunctions(*model.module)))
    return false;
  if (!runPasses(*model.module, [](OpPassManager &manager) {
        manager.addPass(createCanonicalizerPass());
        manager.addPass(createCSEPass());
      }))
    return false;
  return endPhase(EmitKind::Graph, *model.module);
}

bool Compilation::fuse() {
  if (stopped)
    return true;
  phase = "fusion";
  std::string error;
  llvm::raw_string_ostream os(error);
  bool parsed = true;
  bool passed = runPasses(*model.module, [&](OpPassManager &manager) {
    if (!options.injectPass.empty()) {
      // Passes are known by name only where somebody asks for one.
      static const bool registered = (registerAllPasses(), true);
      (void)registered;
      parsed = succeeded(parsePassPipeline(options.injectPass, manager, os));
    }
    if (parsed)
      buildFusionPipeline(manager, {/*winograd=*/!options.strict});
  });
  if (!parsed) {
    result.status = BSC_USAGE_ERROR;
    result.errors.push_back(
        "option 'inject_pass': expected the name of a pass, got '" +
        options.injectPass + "'");
    return false;
  }
  return passed && endPhase(EmitKind::Kern, *model.module);
}

bool Compilation::plan() {
  if (stopped)
    return true;
  phase = "memory";
  return runPasses(*model.module, buildMemoryPipeline) &&
         endPhase(EmitKind::Exec, *model.module);
}

/// What the options name, lowest instruction set first.
std::vector<cpu::CPUTarget> Compilation::selectTargets() const {
  std::vector<cpu::CPUTarget> targets;
  for (const cpu::CPUTarget &target : cpu::getCPUTargets())
    for (const std::string &name : options.targets)
      if (name == "cpu" || name == "cpu:" + target.name.str()) {
        targets.push_back(target);
        break;
      }
  return targets;
}

bool Compilation::generate() {
  if (stopped)
    return true;
  phase = "codegen";
  std::vector<cpu::NamedKernel> kernels;
  for (auto kernel : model.module->getOps<exec::KernelOp>())
    kernels.push_back({kernel.getSymName().str(), kernel.getKernelOp()});
  std::vector<cpu::CPUTarget> targets = selectTargets();
  cpu::CodegenOptions codegenOptions;
  codegenOptions.strict = options.strict;

  if (options.emit == EmitKind::LLVM || dump.enabled()) {
    std::string text;
    for (const cpu::NamedKernel &kernel : kernels) {
      FailureOr<std::string> llvmText =
          cpu::kernelToLLVM(kernel, targets.back(), codegenOptions);
      if (failed(llvmText))
        return false;
      text += "; kernel " + kernel.name + "\n" + *llvmText + "\n";
    }
    std::string error;
    if (!dump.write(
            phase, ".ll", [&](raw_ostream &os) { os << text; }, error)) {
      result.errors.push_back(error);
      return false;
    }
    if (options.emit == EmitKind::LLVM) {
      result.text = std::move(text);
      return true;
    }
  }

  std::vector<cpu::CodeBlob> blobs;
  for (const cpu::CPUTarget &target : targets) {
    FailureOr<cpu::CodeBlob> blob =
        cpu::compileKernels(kernels, target, codegenOptions);
    if (failed(blob))
      return false;
    blobs.push_back(std::move(*blob));
  }
  std::vector<CodeForTarget> code;
  for (auto [target, blob] : llvm::zip_equal(targets, blobs)) {
    CodeForTarget entry;
    entry.target = target.name.str();
    entry.bytes = blob.bytes;
    for (auto [kernel, binary] : llvm::zip_equal(kernels, blob.kernels))
      entry.kernels.push_back(
          {binary.name, binary.offset, binary.scratchBytes,
           static_cast<uint64_t>(cpu::getTileCount(kernel.op, target)),
           cpu::isSmallKernel(kernel.op)});
    code.push_back(std::move(entry));
  }

  phase = "emit";
  EmitOptions emitOptions;
  emitOptions.settings = options.settings;
  // Run time compares flags with what was done, asked for or not.
  if (options.hasLoss &&
      options.training.batchNormVariance == BatchNormVariance::FromProducer &&
      llvm::any_of(model.initializers, [](const InitializerInfo &info) {
        return info.role == "statistic";
      }))
    emitOptions.settings.emplace_back(
        "batch_norm_variance", model.fromPyTorch ? "unbiased" : "biased");
  for (const auto &[name, size] : model.dims)
    emitOptions.settings.emplace_back("dim." + name, std::to_string(size));
  for (const InitializerInfo &info : model.initializers) {
    if (info.role != "constant")
      continue;
    std::string type = StringRef(info.elementType).lower();
    for (int64_t size : info.shape)
      type += (&size == info.shape.data() ? " " : "x") + std::to_string(size);
    emitOptions.constants.push_back({info.name, type, info.why});
  }
  emitOptions.sourceModel = model.sourceModel;
  llvm::raw_string_ostream os(result.artifact);
  return succeeded(emitProgram(*model.module, code, emitOptions, os));
}

} // namespace

CompileResult compileModel(const CompileOptions &options,
                           std::optional<StringRef> bytes) {
  return Compilation(options, bytes).run();
}

} // namespace bessemer
