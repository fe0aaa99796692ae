// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates functions around every pass.

#include "bessemer/Reference/VerifyNumerics.h"
#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "bessemer/Dialect/Kern/IR/Kern.h"
#include "bessemer/Reference/Evaluator.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/xxhash.h"
#include <cmath>
#include <map>
#include <random>

using namespace mlir;
using namespace bessemer;
using namespace bessemer::reference;

namespace {

/// Tensors of one evaluation by name: results, then "state NAME" of writes.
using Values =
    llvm::MapVector<std::string, Tensor, std::map<std::string, unsigned>>;

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
    states.emplace(state.getSymName().str(),
                   randomTensor(state.getSymName(),
                                cast<RankedTensorType>(state.getType()),
                                isPositive ? Range::Positive : Range::AnySign));
  }
  return states;
}

/// Whether all ops are of the levels that can be evaluated.
bool isEvaluable(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return false;
  return llvm::all_of(function.front(), [](Operation &op) {
    StringRef dialect = op.getName().getDialectNamespace();
    return llvm::is_contained(
        {"graph", "kern", "arith", "math", "tensor", "func"}, dialect);
  });
}

Evaluation evaluateFunction(func::FuncOp function) {
  ModuleOp module = function->getParentOfType<ModuleOp>();
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

  Evaluation evaluation;
  ScopedDiagnosticHandler handler(function.getContext(),
                                  [&](Diagnostic &diagnostic) {
                                    evaluation.error += diagnostic.str();
                                    return success();
                                  });
  FailureOr<Outcome> outcome =
      evaluate(function, inputs, randomStates(module), step);
  if (failed(outcome))
    return evaluation;
  evaluation.values.emplace();
  for (auto [index, tensor] : llvm::enumerate(outcome->results)) {
    auto name =
        function.getResultAttrOfType<StringAttr>(index, graph::kNameAttr);
    evaluation.values->insert({name ? "result '" + name.str() + "'"
                                    : llvm::formatv("result {0}", index).str(),
                               std::move(tensor)});
  }
  for (auto &[name, tensor] : outcome->written)
    evaluation.values->insert({"state '" + name + "'", std::move(tensor)});
  return evaluation;
}

/// The largest difference, when it is beyond the tolerance.
std::optional<std::string> describeDifference(const Tensor &before,
                                              const Tensor &after) {
  if (before.type != after.type)
    return llvm::formatv("its type was {0}, is {1}", Type(before.type),
                         Type(after.type))
        .str();
  if (!before.isFloat()) {
    for (auto [a, b] : llvm::zip_equal(before.integers, after.integers))
      if (a != b)
        return llvm::formatv("an element was {0}, is {1}", a, b).str();
    return std::nullopt;
  }
  double magnitude = 0.0;
  for (double value : before.floats)
    if (std::isfinite(value))
      magnitude = std::max(magnitude, std::fabs(value));
  double largest = 0.0, was = 0.0, is = 0.0;
  for (auto [a, b] : llvm::zip_equal(before.floats, after.floats)) {
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    double difference = std::fabs(a - b);
    if (!std::isfinite(difference))
      difference = std::numeric_limits<double>::infinity();
    if (difference > largest)
      std::tie(largest, was, is) = std::tuple(difference, a, b);
  }
  if (largest <= 1e-6 * magnitude)
    return std::nullopt;
  return llvm::formatv("largest difference {0:e3} (was {1:e6}, is {2:e6})",
                       largest, was, is)
      .str();
}

class NumericsVerification : public PassInstrumentation {
public:
  explicit NumericsVerification(std::shared_ptr<NumericsReport> report)
      : report(std::move(report)) {}

  void runBeforePass(Pass *, Operation *op) override {
    if (auto module = moduleOf(op))
      update(module);
  }

  void runAfterPass(Pass *pass, Operation *op) override {
    ModuleOp module = moduleOf(op);
    if (!module || report->differs)
      return;
    llvm::MapVector<std::string, Evaluation, std::map<std::string, unsigned>>
        before = known;
    if (!update(module))
      return; // the pass changed nothing
    for (auto &[name, evaluation] : known) {
      auto old = before.find(name);
      if (old == before.end() || !old->second.values)
        continue;
      compare(module, *pass, name, *old->second.values, evaluation);
      if (report->differs)
        return;
    }
  }

private:
  static ModuleOp moduleOf(Operation *op) {
    auto module = dyn_cast<ModuleOp>(op);
    return module ? module : op->getParentOfType<ModuleOp>();
  }

  /// Evaluates the functions unless the module is what it was at the last
  /// evaluation; returns whether it did.
  bool update(ModuleOp module) {
    OperationFingerPrint now(module);
    if (fingerprint && *fingerprint == now)
      return false;
    fingerprint = now;
    known.clear();
    for (auto function : module.getOps<func::FuncOp>())
      if (isEvaluable(function))
        known.insert({function.getSymName().str(), evaluateFunction(function)});
    return true;
  }

  void compare(ModuleOp module, Pass &pass, StringRef function,
               const Values &before, const Evaluation &after) {
    ++report->comparisons;
    auto fail = [&]() -> InFlightDiagnostic {
      report->differs = true;
      return module.emitError()
             << "pass '"
             << (pass.getArgument().empty() ? pass.getName()
                                            : pass.getArgument())
             << "' ";
    };
    if (!after.values) {
      fail() << "left @" << function
             << " so that it cannot be evaluated: " << after.error;
      return;
    }
    for (const auto &[name, value] : before) {
      auto found = after.values->find(name);
      if (found == after.values->end())
        continue;
      if (std::optional<std::string> text =
              describeDifference(value, found->second)) {
        fail() << "changed what @" << function << " computes: " << name << ", "
               << *text;
        return;
      }
    }
  }

  std::shared_ptr<NumericsReport> report;
  std::optional<OperationFingerPrint> fingerprint;
  llvm::MapVector<std::string, Evaluation, std::map<std::string, unsigned>>
      known;
};

} // namespace

std::shared_ptr<const NumericsReport>
bessemer::addNumericsVerification(PassManager &manager) {
  manager.getContext()->disableMultithreading();
  auto report = std::make_shared<NumericsReport>();
  manager.addInstrumentation(std::make_unique<NumericsVerification>(report));
  return report;
}
