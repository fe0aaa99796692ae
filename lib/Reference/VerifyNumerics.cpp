// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates functions around every pass.

#include "bessemer/Reference/VerifyNumerics.h"
#include "Difference.h"
#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "bessemer/Dialect/Kern/IR/Kern.h"
#include "bessemer/Reference/Evaluator.h"
#include "bessemer/Reference/Memo.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/xxhash.h"
#include <map>
#include <random>

using namespace mlir;
using namespace bessemer;
using namespace bessemer::reference;

namespace {

/// What a function gives: a result or the new value of a state.
struct Output {
  Tensor tensor;
  /// The value in the function.
  Value value;
};

/// Outputs by name: results, then "state 'NAME'" of writes.
using Values =
    llvm::MapVector<std::string, Output, std::map<std::string, unsigned>>;

/// A function's values, or why it could not be evaluated.
struct Evaluation {
  std::optional<Values> values;
  std::string error;
};

enum class Range { AnySign, Positive };

/// The same for a name and type in every module.
Tensor randomTensor(StringRef name, RankedTensorType type, Range range) {
  std::mt19937_64 engine(llvm::xxh3_64bits(name));
  Tensor tensor(type);
  // The engine is specified by the standard, its distributions are not.
  auto uniform = [&] { return static_cast<double>(engine() >> 11) * 0x1p-53; };
  for (double &value : tensor.floats)
    value = range == Range::Positive ? 0.5 + uniform() : uniform() - 0.5;
  for (int64_t &value : tensor.integers)
    value = static_cast<int64_t>(engine() & 1);
  return tensor;
}

States randomStates(ModuleOp module) {
  States states;
  for (auto state : module.getOps<graph::StateOp>()) {
    // Variances and second moments go through square roots.
    bool isPositive = state.getRole() == graph::StateRole::Statistic ||
                      state.getRole() == graph::StateRole::Moment;
    Tensor rowMajor =
        randomTensor(state.getSymName(),
                     cast<RankedTensorType>(state.getInit().getShapedType()),
                     isPositive ? Range::Positive : Range::AnySign);
    states.emplace(state.getSymName().str(), layOut(state, rowMajor));
  }
  return states;
}

/// Whether all ops can be evaluated: they are of the graph or the kern level,
/// or can be decomposed.
bool isEvaluable(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return false;
  return llvm::all_of(function.front(), [](Operation &op) {
    StringRef dialect = op.getName().getDialectNamespace();
    return isa<graph::DecomposableOpInterface>(op) ||
           llvm::is_contained(
               {"graph", "kern", "arith", "math", "tensor", "func"}, dialect);
  });
}

/// Names the outputs of `function`, whose values an evaluation gave.
Values nameOutputs(func::FuncOp function, Outcome outcome) {
  Values values;
  Operation *terminator = function.front().getTerminator();
  for (auto [index, tensor] : llvm::enumerate(outcome.results)) {
    auto name =
        function.getResultAttrOfType<StringAttr>(index, graph::kNameAttr);
    values.insert({name ? "result '" + name.str() + "'"
                        : llvm::formatv("result {0}", index).str(),
                   {std::move(tensor), terminator->getOperand(index)}});
  }
  llvm::StringMap<Value> writes;
  for (auto write : function.getOps<graph::WriteOp>())
    writes[write.getState()] = write.getValue();
  auto module = function->getParentOfType<ModuleOp>();
  for (auto &[name, tensor] : outcome.written)
    values.insert(
        {"state '" + name + "'",
         {toRowMajor(module.lookupSymbol<graph::StateOp>(name), tensor),
          writes.lookup(name)}});
  return values;
}

class NumericsVerification : public PassInstrumentation {
public:
  explicit NumericsVerification(std::shared_ptr<NumericsReport> report)
      : report(std::move(report)) {}

  void runBeforePass(Pass *, Operation *op) override {
    forEachFunction(op, [&](func::FuncOp function) {
      update(function);
      return true;
    });
  }

  void runAfterPass(Pass *pass, Operation *op) override {
    forEachFunction(op, [&](func::FuncOp function) {
      auto old = known.find(function.getSymName().str());
      if (report->differs || old == known.end() || !old->second.values) {
        update(function);
        return !report->differs;
      }
      Known before = std::move(old->second);
      if (!update(function)) {
        old->second = std::move(before);
        return true; // the pass did not change it
      }
      // One with ops of another level is passed over, as is one that takes
      // something else since (accumulation: the batch instead of a part).
      auto now = known.find(function.getSymName().str());
      if (now != known.end() &&
          before.copy->getArgumentTypes() == function.getArgumentTypes())
        compare(function, *pass, before, now->second);
      return !report->differs;
    });
  }

private:
  /// A function when it was last evaluated.
  struct Known {
    OperationFingerPrint fingerprint;
    OwningOpRef<func::FuncOp> copy;
    /// The states as they were.
    OwningOpRef<ModuleOp> states;
    /// Absent when it could not be evaluated.
    std::optional<Values> values;
    std::string error;
  };

  /// The functions that a pass on `op` may have changed, until `visit` returns
  /// false.
  static void forEachFunction(Operation *op,
                              llvm::function_ref<bool(func::FuncOp)> visit) {
    if (auto module = dyn_cast<ModuleOp>(op)) {
      for (auto function : module.getOps<func::FuncOp>())
        if (!visit(function))
          return;
    } else if (auto function = dyn_cast<func::FuncOp>(op)) {
      visit(function);
    }
  }

  /// Evaluates the function unless it is what it was at its last evaluation;
  /// returns whether it did.
  bool update(func::FuncOp function) {
    OperationFingerPrint now(function);
    std::string name = function.getSymName().str();
    auto found = known.find(name);
    if (found != known.end() && found->second.fingerprint == now)
      return false;
    known.erase(name);
    if (!isEvaluable(function))
      return true;
    auto module = function->getParentOfType<ModuleOp>();
    Known entry{now, function.clone(), copyStates(module), std::nullopt, ""};
    FailureOr<Outcome> outcome = run(function, module, entry.error);
    if (succeeded(outcome))
      entry.values = nameOutputs(function, std::move(*outcome));
    known.insert_or_assign(name, std::move(entry));
    return true;
  }

  static OwningOpRef<ModuleOp> copyStates(ModuleOp module) {
    OwningOpRef<ModuleOp> copy = ModuleOp::create(module.getLoc());
    OpBuilder builder = OpBuilder::atBlockEnd(copy->getBody());
    for (auto state : module.getOps<graph::StateOp>())
      builder.clone(*state);
    return copy;
  }

  /// Evaluates `function` on inputs and states that follow from names and
  /// types. `trace` gets every value when given.
  FailureOr<Outcome> run(func::FuncOp function, ModuleOp module,
                         std::string &error, Trace *trace = nullptr) {
    std::vector<Tensor> inputs;
    StepBlock step{/*step=*/3, /*seed=*/0x123456789, /*learningRate=*/0.01f,
                   /*validRows=*/1};
    for (BlockArgument argument : function.getArguments()) {
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      if (!type)
        continue;
      if (inputs.empty() && type.getRank() > 0)
        step.validRows = std::max<int64_t>(1, type.getDimSize(0) - 1);
      auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                        graph::kNameAttr);
      inputs.push_back(randomTensor(
          name ? name.str()
               : llvm::formatv("argument {0}", argument.getArgNumber()).str(),
          type, Range::AnySign));
    }
    ScopedDiagnosticHandler handler(function.getContext(),
                                    [&](Diagnostic &diagnostic) {
                                      error += diagnostic.str();
                                      return success();
                                    });
    EvaluatorOptions options;
    options.memo = &memo;
    if (trace)
      options.onValue = [&](Value value, const Tensor &tensor) {
        trace->emplace_back(value, tensor);
      };
    return evaluate(function, inputs, randomStates(module), step, options);
  }

  void compare(func::FuncOp function, Pass &pass, Known &before,
               const Known &after) {
    ++report->comparisons;
    StringRef passName =
        pass.getArgument().empty() ? pass.getName() : pass.getArgument();
    if (!after.values) {
      report->differs = true;
      emitError(function.getLoc())
          << "pass '" << passName << "' left @" << function.getSymName()
          << " so that it cannot be evaluated: " << after.error;
      return;
    }
    for (const auto &[name, output] : *before.values) {
      auto found = after.values->find(name);
      if (found == after.values->end())
        continue;
      std::optional<std::string> text =
          describeDifference(output.tensor, found->second.tensor);
      if (!text)
        continue;
      report->differs = true;
      std::string unused;
      ModuleOp module = function->getParentOfType<ModuleOp>();
      Trace old, now;
      (void)run(*before.copy, *before.states, unused, &old);
      (void)run(function, module, unused, &now);
      auto culprit = findCulprit(found->second.value, old, now);
      InFlightDiagnostic error =
          emitError(culprit ? culprit->value.getLoc() : function.getLoc());
      error << "pass '" << passName << "' changed what @"
            << function.getSymName() << " computes: " << name << ", " << *text;
      if (culprit) {
        error << "; the first value that differs is that of '"
              << culprit->value.getOwner()->getName() << "' of type "
              << culprit->value.getType();
        if (!culprit->difference.empty())
          error << ", " << culprit->difference;
      }
      return;
    }
  }

  std::shared_ptr<NumericsReport> report;
  std::map<std::string, Known> known;
  Memo memo;
};

} // namespace

std::shared_ptr<const NumericsReport>
bessemer::addNumericsVerification(PassManager &manager) {
  manager.getContext()->disableMultithreading();
  auto report = std::make_shared<NumericsReport>();
  manager.addInstrumentation(std::make_unique<NumericsVerification>(report));
  return report;
}
