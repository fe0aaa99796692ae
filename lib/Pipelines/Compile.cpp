// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The phases of a compilation, in order.

#include "bessemer/Pipelines/Compile.h"
#include "Diagnostics.h"
#include "PhaseDump.h"
#include "Reproducer.h"
#include "bessemer/Codegen/CPU/Codegen.h"
#include "bessemer/Emit/Emit.h"
#include "bessemer/Fusion/Passes.h"
#include "bessemer/Import/Import.h"
#include "bessemer/Memory/Passes.h"
#include "bessemer/Pipelines/LoadPlugins.h"
#include "bessemer/Pipelines/Register.h"
#include "bessemer/Raising/Passes.h"
#include "bessemer/Reference/VerifyNumerics.h"
#include "bessemer/Training/Passes.h"
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
    bool done =
        loadPlugins() && import() && train() && fuse() && plan() && generate();
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

  /// A pass crashed: what the context holds cannot be destroyed safely.
  bool isBroken() const { return broken; }

private:
  using BuildPipeline = void (Compilation::*)(OpPassManager &);

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  LogicalResult injectPass(OpPassManager &manager) {
    std::string unused;
    llvm::raw_string_ostream os(unused);
    return parsePassPipeline(options.injectPass, manager, os);
  }

  bool loadPlugins();
  bool import();
  bool train();
  bool fuse();
  bool plan();
  bool generate();

  // The passes of the phases, with the extension points between them.
  void buildRaising(OpPassManager &manager) {
    plugins.points.build(ExtensionPoint::AfterImport, manager);
    buildRaisingPipeline(manager);
  }
  void buildTraining(OpPassManager &manager);
  void buildFusion(OpPassManager &manager);
  void buildMemory(OpPassManager &manager) {
    plugins.points.build(ExtensionPoint::BeforeMemory, manager);
    buildMemoryPipeline(manager, options.memoryLimit);
  }

  bool endPhase(std::optional<EmitKind> kind, BuildPipeline next);
  bool runPasses(BuildPipeline build);
  bool reportBrokenPass(PipelineEnd end, const Reproducer &reproducer);
  std::vector<cpu::CPUTarget> selectTargets() const;

  const CompileOptions &options;
  std::optional<StringRef> bytes;
  MLIRContext context;
  std::string modelName;
  DiagnosticCollector diagnostics;
  PhaseDump dump;
  CompileResult result;
  Plugins plugins;
  /// The text that was asked for is there; later phases have nothing to do.
  bool stopped = false;
  bool broken = false;
  std::string phase;
  ImportedModel model;
};

/// Loads the plugins, and checks that there is a pass to inject.
bool Compilation::loadPlugins() {
  DialectRegistry registry;
  for (const std::string &path : options.passPlugins) {
    std::string error;
    if (failed(loadPlugin(path, registry, plugins, error))) {
      result.errors.push_back(error);
      return false;
    }
  }
  if (!options.passPlugins.empty()) {
    context.appendDialectRegistry(registry);
    // Imports and patterns of plugins make ops without declaring dialects.
    context.loadAllAvailableDialects();
  }
  if (options.injectPass.empty())
    return true;
  // Passes are known by name only where somebody asks for one.
  static const bool registered = (registerAllPasses(), true);
  (void)registered;
  PassManager unused(&context);
  if (succeeded(injectPass(unused)))
    return true;
  result.status = BSC_USAGE_ERROR;
  result.errors.push_back(
      "option 'inject_pass': expected the name of a pass, got '" +
      options.injectPass + "'");
  return false;
}

/// Ends a phase: dumps the module, and stops with its text when `kind` was
/// asked for. `next` are the passes of the phase behind it. Returns whether to
/// go on.
bool Compilation::endPhase(std::optional<EmitKind> kind, BuildPipeline next) {
  auto print = [&](raw_ostream &os, StringRef file) {
    std::string pipeline;
    if (next) {
      PassManager manager(&context);
      (this->*next)(manager);
      llvm::raw_string_ostream text(pipeline);
      manager.printAsTextualPipeline(text);
    }
    printReplayable(*model.module, pipeline, file, options.passPlugins, os);
  };
  std::string error;
  if (!dump.write(phase, ".mlir", print, error)) {
    result.errors.push_back(error);
    result.status = BSC_INPUT_ERROR;
    return false;
  }
  if (options.emit != kind)
    return true;
  llvm::raw_string_ostream os(result.text);
  print(os, "-");
  stopped = true;
  return true;
}

bool Compilation::runPasses(BuildPipeline build) {
  auto manager = std::make_unique<PassManager>(&context);
  manager->enableVerifier(true);
  std::shared_ptr<const NumericsReport> numerics;
  if (options.verifyNumerics)
    numerics = addNumericsVerification(*manager);
  (this->*build)(*manager);
  Reproducer reproducer;
  PipelineEnd end = runGuarded(*manager, *model.module, reproducer);
  if (end == PipelineEnd::Crashed) {
    broken = true;
    (void)manager.release();
  }
  // A wrong pass is our bug, and an instrumentation cannot stop a pipeline.
  if (numerics && numerics->differs) {
    result.status = BSC_INTERNAL_ERROR;
    return false;
  }
  return end == PipelineEnd::Success || reportBrokenPass(end, reproducer);
}

/// Says which pass is at fault, when one is, and how to run it alone; returns
/// false.
bool Compilation::reportBrokenPass(PipelineEnd end,
                                   const Reproducer &reproducer) {
  std::vector<std::string> reasons = diagnostics.takeErrors();
  llvm::append_range(result.errors, reasons);
  if (end == PipelineEnd::Failed && !reasons.empty())
    return false; // it refuses the model, and has said why
  result.status = BSC_INTERNAL_ERROR;
  std::string line =
      modelName + ": internal error: pass '" + reproducer.pass + "' " +
      (end == PipelineEnd::Crashed   ? "crashed"
       : end == PipelineEnd::Invalid ? "left a module that is not valid"
                                     : "failed without a reason");
  if (options.reproducer.empty()) {
    result.errors.push_back(line);
    return false;
  }
  std::error_code code;
  llvm::raw_fd_ostream os(options.reproducer, code);
  if (!code) {
    printReplayable(*reproducer.module, reproducer.pipeline, options.reproducer,
                    options.passPlugins, os);
    os.close();
    code = os.error();
    os.clear_error();
  }
  if (code)
    line += "; " + options.reproducer + ": cannot write: " + code.message();
  else
    line += "; run it alone by: " + replayCommand(reproducer.pipeline,
                                                  options.reproducer,
                                                  options.passPlugins);
  result.errors.push_back(line);
  return false;
}

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
  importOptions.customOps = &plugins.customOps;
  ImportDiagnostics messages;
  FailureOr<ImportedModel> imported =
      importOnnx(context, importOptions, messages);
  llvm::append_range(result.warnings, messages.warnings);
  if (failed(imported)) {
    llvm::append_range(result.errors, messages.errors);
    return false;
  }
  model = std::move(*imported);
  return endPhase(std::nullopt, &Compilation::buildRaising);
}

void Compilation::buildTraining(OpPassManager &manager) {
  const ExtensionPoints &points = plugins.points;
  auto add = [&](ExtensionPoint point) {
    return [&points, point](OpPassManager &manager) {
      points.build(point, manager);
    };
  };
  if (options.hasLoss) {
    buildTrainingPipeline(manager, options.training,
                          add(ExtensionPoint::BeforeAutodiff),
                          add(ExtensionPoint::AfterAutodiff));
  } else {
    GraphBuildFunctionsOptions inference;
    inference.inference = true;
    manager.addPass(createGraphBuildFunctions(inference));
    manager.addPass(createGraphVerify());
  }
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

bool Compilation::train() {
  phase = "raising";
  if (!runPasses(&Compilation::buildRaising) ||
      !endPhase(std::nullopt, &Compilation::buildTraining))
    return false;
  phase = "training";
  return runPasses(&Compilation::buildTraining) &&
         endPhase(EmitKind::Graph, &Compilation::buildFusion);
}

void Compilation::buildFusion(OpPassManager &manager) {
  if (!options.injectPass.empty())
    (void)injectPass(manager); // was checked
  plugins.points.build(ExtensionPoint::BeforeFusion, manager);
  buildFusionPipeline(
      manager, {/*winograd=*/!options.strict}, [&](OpPassManager &manager) {
        plugins.points.build(ExtensionPoint::AfterFusion, manager);
      });
}

bool Compilation::fuse() {
  if (stopped)
    return true;
  phase = "fusion";
  return runPasses(&Compilation::buildFusion) &&
         endPhase(EmitKind::Kern, &Compilation::buildMemory);
}

bool Compilation::plan() {
  if (stopped)
    return true;
  phase = "memory";
  return succeeded(cpu::verifyElementTypes(*model.module)) &&
         runPasses(&Compilation::buildMemory) &&
         endPhase(EmitKind::Exec, nullptr);
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
            phase, ".ll", [&](raw_ostream &os, StringRef) { os << text; },
            error)) {
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
  for (const std::string &plugin : plugins.names)
    emitOptions.settings.emplace_back("pass_plugin", plugin);
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
  auto compilation = std::make_unique<Compilation>(options, bytes);
  CompileResult result = compilation->run();
  if (compilation->isBroken())
    (void)compilation.release();
  return result;
}

} // namespace bessemer
