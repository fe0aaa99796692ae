// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels -> blob: plans, compiles in parallel, links in order.

#include "bessemer/Codegen/CPU/Codegen.h"
#include "Families.h"
#include "Linker.h"
#include "ObjectCompiler.h"
#include "RegionEmitter.h"
#include "mlir/IR/AsmState.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/IR/Verifier.h"
#include <atomic>
#include <thread>

using namespace mlir;
using namespace bessemer;
using namespace bessemer::cpu;

static bool isLibraryCall(Operation *op) {
  auto schedule = op->getAttrOfType<kern::ScheduleAttr>("schedule");
  return isa<kern::ConvOp>(op) ||
         (schedule && schedule.getKind() == kern::ScheduleKind::Library);
}

KernelPlan bessemer::cpu::planKernel(Operation *op, const CPUTarget &target) {
  if (isLibraryCall(op))
    return {};
  return TypeSwitch<Operation *, KernelPlan>(op)
      .Case([&](kern::MapOp map) { return planMap(map, target); })
      .Case([&](kern::RowsOp rows) { return planRows(rows, target); })
      .Case(
          [&](kern::ColumnsOp columns) { return planColumns(columns, target); })
      .Case([&](kern::GemmOp gemm) { return planGemm(gemm, target); })
      .Case([&](kern::AttentionOp attention) {
        return planAttention(attention, target);
      })
      .Case([&](kern::AttentionGradOp grad) {
        return planAttentionGrad(grad, target);
      })
      .Case([&](kern::WindowOp window) { return planWindow(window, target); })
      .Case([&](kern::UpdateOp update) { return planUpdate(update, target); })
      .Case([&](kern::NormOp norm) { return planNorm(norm, target); })
      .Case([&](kern::GatherOp gather) { return planGather(gather, target); })
      .Case(
          [&](kern::ScatterOp scatter) { return planScatter(scatter, target); })
      .Case([&](kern::TableUpdateOp update) {
        return planTableUpdate(update, target);
      })
      .Default([](Operation *) { return KernelPlan(); });
}

int64_t bessemer::cpu::getTileCount(Operation *op, const CPUTarget &target) {
  return planKernel(op, target).tiles;
}

/// Whether operand `i` may only be f32: these ops compute on f32 vectors;
/// regions may use any type.
static bool isF32Operand(Operation *op, unsigned i) {
  if (isa<kern::GemmOp>(op))
    return i < 2;
  if (auto table = dyn_cast<kern::TableUpdateOp>(op))
    return op->getOperand(i) != table.getIndices();
  return isa<kern::AttentionOp, kern::AttentionGradOp, kern::ConvOp,
             kern::WindowOp, kern::UpdateOp, kern::NormOp>(op);
}

static LogicalResult verifyOperandTypes(Operation *op) {
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    auto tensor = dyn_cast<RankedTensorType>(operand.getType());
    if (!tensor || tensor.getElementType().isF32() || !isF32Operand(op, i))
      continue;
    InFlightDiagnostic error =
        op->emitError("expected float (f32) operands of '")
        << op->getName() << "', got " << tensor;
    if (tensor.getElementType().isF64())
      error << ": convert the model to float (model.float())";
    return error;
  }
  return success();
}

LogicalResult bessemer::cpu::verifyElementTypes(Operation *module) {
  return failure(module
                     ->walk([](Operation *op) {
                       return WalkResult(verifyOperandTypes(op));
                     })
                     .wasInterrupted());
}

/// Whether the op can be compiled; emits an error if not.
static LogicalResult verifyKernel(Operation *op) {
  if (isLibraryCall(op))
    return op->emitError("cpu kernel: expected a generated kernel, got a "
                         "library call");
  if (!isa<kern::MapOp, kern::RowsOp, kern::ColumnsOp, kern::GemmOp,
           kern::AttentionOp, kern::AttentionGradOp, kern::WindowOp,
           kern::UpdateOp, kern::NormOp, kern::GatherOp, kern::ScatterOp,
           kern::TableUpdateOp>(op))
    return op->emitError("cpu kernel: expected a kern op, got '")
           << op->getName() << "'";
  if (failed(verifyOperandTypes(op)))
    return failure();
  if (isa<kern::GatherOp, kern::ScatterOp, kern::TableUpdateOp>(op))
    for (Value operand : op->getOperands()) {
      auto tensor = cast<RankedTensorType>(operand.getType());
      if (!isSupportedType(tensor.getElementType()))
        return op->emitError("cpu kernel: expected elements of f32, f64 or an "
                             "integer type, got ")
               << tensor;
    }
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (failed(verifyRegion(block)))
        return failure();
  return success();
}

static bool isMatrixProduct(Operation *op) {
  return isa<kern::GemmOp, kern::AttentionOp, kern::AttentionGradOp>(op);
}

/// Builds and optimises the IR of one kernel.
static std::unique_ptr<llvm::Module>
buildModule(llvm::LLVMContext &context, ObjectCompiler &compiler,
            StringRef name, const KernelPlan &plan, const CPUTarget &target,
            const CodegenOptions &options) {
  auto module = std::make_unique<llvm::Module>(name, context);
  compiler.prepare(*module);
  KernelBuilder builder(*module, name, target, options.strict);
  plan.emit(builder);
  builder.finish();
#ifndef NDEBUG
  assert(!llvm::verifyModule(*module, &llvm::errs()));
#endif
  compiler.optimize(*module);
  return module;
}

static llvm::Expected<SmallVector<char, 0>>
compileObject(ObjectCompiler &compiler, StringRef name, const KernelPlan &plan,
              const CPUTarget &target, const CodegenOptions &options) {
  llvm::LLVMContext context;
  auto module = buildModule(context, compiler, name, plan, target, options);
  return compiler.emit(*module, llvm::CodeGenFileType::ObjectFile);
}

/// Reports a failure inside LLVM or the linker, which is our bug.
static LogicalResult internalError(const NamedKernel &kernel,
                                   llvm::Error error) {
  return kernel.op->emitError("internal error: cpu kernel ")
         << kernel.name << ": " << llvm::toString(std::move(error));
}

FailureOr<CodeBlob>
bessemer::cpu::compileKernels(ArrayRef<NamedKernel> kernels,
                              const CPUTarget &target,
                              const CodegenOptions &options) {
  bool valid = true;
  std::vector<KernelPlan> plans(kernels.size());
  for (auto [i, kernel] : llvm::enumerate(kernels)) {
    if (failed(verifyKernel(kernel.op)))
      valid = false;
    else
      plans[i] = planKernel(kernel.op, target);
  }
  if (!valid)
    return failure();

  // Matrix products take longest: they start first.
  std::vector<size_t> order(kernels.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  llvm::stable_sort(order, [&](size_t a, size_t b) {
    return isMatrixProduct(kernels[a].op) > isMatrixProduct(kernels[b].op);
  });
  std::vector<SmallVector<char, 0>> objects(kernels.size());
  std::vector<std::optional<llvm::Error>> errors(kernels.size());
  std::vector<std::unique_ptr<ObjectCompiler>> compilers;
  for (unsigned i = 0; i < std::max(1u, options.threads) && i < kernels.size();
       ++i) {
    auto compiler = ObjectCompiler::create(target);
    if (!compiler)
      return internalError(kernels[0], compiler.takeError());
    compilers.push_back(std::move(*compiler));
  }
  std::atomic<size_t> next = 0;
  auto work = [&](ObjectCompiler &compiler) {
    for (size_t i; (i = next++) < order.size();) {
      size_t index = order[i];
      auto object = compileObject(compiler, kernels[index].name, plans[index],
                                  target, options);
      if (object)
        objects[index] = std::move(*object);
      else
        errors[index] = object.takeError();
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < compilers.size(); ++i)
    threads.emplace_back(work, std::ref(*compilers[i]));
  if (!compilers.empty())
    work(*compilers[0]);
  for (std::thread &thread : threads)
    thread.join();

  CodeBlob blob;
  for (auto [i, kernel] : llvm::enumerate(kernels)) {
    if (errors[i]) {
      (void)internalError(kernel, std::move(*errors[i]));
      valid = false;
      continue;
    }
    auto offset = linkObject(objects[i], kernel.name, blob.bytes);
    if (!offset) {
      (void)internalError(kernel, offset.takeError());
      valid = false;
      continue;
    }
    blob.kernels.push_back({kernel.name, *offset, plans[i].scratchBytes});
  }
  if (!valid)
    return failure();
  return blob;
}

/// The IR of one kernel, given to `print`.
static FailureOr<std::string>
withModule(const NamedKernel &kernel, const CPUTarget &target,
           const CodegenOptions &options,
           llvm::function_ref<llvm::Expected<std::string>(ObjectCompiler &,
                                                          llvm::Module &)>
               print) {
  if (failed(verifyKernel(kernel.op)))
    return failure();
  auto compiler = ObjectCompiler::create(target);
  if (!compiler)
    return internalError(kernel, compiler.takeError());
  llvm::LLVMContext context;
  auto module = buildModule(context, **compiler, kernel.name,
                            planKernel(kernel.op, target), target, options);
  llvm::Expected<std::string> text = print(**compiler, *module);
  if (!text)
    return internalError(kernel, text.takeError());
  return *text;
}

FailureOr<std::string>
bessemer::cpu::kernelToLLVM(const NamedKernel &kernel, const CPUTarget &target,
                            const CodegenOptions &options) {
  return withModule(kernel, target, options,
                    [](ObjectCompiler &, llvm::Module &module) {
                      std::string text;
                      llvm::raw_string_ostream stream(text);
                      module.print(stream, nullptr);
                      return text;
                    });
}

std::string bessemer::cpu::kernelToString(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  // Names are given within the parent, which holds the operands.
  AsmState state(op->getParentOp() ? op->getParentOp() : op,
                 OpPrintingFlags().useLocalScope().elideLargeElementsAttrs());
  op->print(stream, state);
  return text;
}
