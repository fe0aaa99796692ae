// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If and Loop whose conditions are known while importing.

#include "Folding.h"
#include "GraphImporter.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSwitch.h"

using namespace bessemer;
using namespace bessemer::ingest;
using namespace mlir;

/// More nodes in the iterations of all loops, or in groups of equal iterations,
/// would make a module that no later stage handles in reasonable time.
static constexpr int64_t mostUnrolled = int64_t(1) << 17;
/// Known elements that take as long to copy as a node to import.
static constexpr int64_t elementsPerNode = 1024;
/// Known elements that take as long to copy as a name to define.
static constexpr int64_t elementsPerName = 128;

/// The most iterations that are tried together.
static constexpr int64_t mostLanes = int64_t(1) << 18;

/// A known condition: one element.
static const int64_t *knownScalar(const Imported *operand) {
  if (!operand || !operand->literal || operand->literal->isFloat() ||
      operand->literal->ints.size() != 1)
    return nullptr;
  return &operand->literal->ints.front();
}

static const onnx::GraphProto *subgraph(const onnx::NodeProto &node,
                                        StringRef name) {
  const onnx::AttributeProto *attribute = findAttribute(node, name);
  return attribute && attribute->has_g() ? &attribute->g() : nullptr;
}

bool GraphImporter::unrollsTooMuch() const {
  return unrolledNodes + unrolledElements / elementsPerNode > mostUnrolled;
}

GraphImporter::Names &
GraphImporter::constantsOf(const onnx::GraphProto &graph) {
  auto [it, isNew] = subgraphConstants.try_emplace(&graph);
  if (!isNew)
    return it->second;
  auto add = [&](const std::string &name, std::optional<Literal> literal) {
    if (!literal)
      return;
    Imported &value = it->second[name];
    value.type = typeOf(*literal);
    value.literal = std::move(*literal);
  };
  for (const onnx::TensorProto &tensor : graph.initializer())
    add(tensor.name(), literalOf(tensor));
  for (const onnx::NodeProto &node : graph.node())
    if (isConstant(node))
      add(node.output(0), foldNode(node, {}, /*largest=*/0));
  return it->second;
}

bool GraphImporter::importSubgraph(const onnx::GraphProto &graph) {
  if (loopDepth > 0) {
    // An iteration without nodes costs something, too.
    unrolledNodes += graph.node_size() + 1;
    unrolledElements += elementsPerName * graph.output_size();
    if (unrollsTooMuch())
      return false;
  }
  Names &constants = constantsOf(graph);
  scopes.back().constants = &constants;
  size_t errors = diagnostics.errors.size();
  for (const onnx::NodeProto &node : graph.node()) {
    if (isConstant(node) && constants.count(node.output(0)))
      continue;
    // The other errors of the body are worth knowing, those of later iterations
    // are not.
    if ((!importNode(node) && isAttempt) || (loopDepth && unrollsTooMuch()))
      return false;
  }
  return diagnostics.errors.size() == errors;
}

//===----------------------------------------------------------------------===//
// If
//===----------------------------------------------------------------------===//

GraphImporter::Results GraphImporter::importIf(const onnx::NodeProto &node,
                                               const Operands &operands) {
  Imported *condition = operands.empty() ? nullptr : operands[0];
  if (condition && condition->isStacked)
    return narrow(0);
  if (condition && condition->validLanes && condition->validLanes < lanes)
    return narrow(condition->validLanes);
  const int64_t *known = knownScalar(condition);
  if (!known) {
    report(node, "expected a condition that is known when compiling, got one "
                 "computed from the data");
    return std::nullopt;
  }
  const onnx::GraphProto *branch =
      subgraph(node, *known ? "then_branch" : "else_branch");
  if (!branch || branch->output_size() < node.output_size()) {
    report(node,
           "expected branches with " + Twine(node.output_size()) + " outputs");
    return std::nullopt;
  }
  scopes.emplace_back();
  auto leave = llvm::scope_exit([&] { scopes.pop_back(); });
  if (!importSubgraph(*branch))
    return std::nullopt;
  std::vector<Imported> results;
  for (int i = 0; i < node.output_size(); ++i) {
    Imported *value = lookUp(branch->output(i).name());
    if (!value)
      return std::nullopt;
    results.push_back(*value);
  }
  return results;
}

//===----------------------------------------------------------------------===//
// Loop
//===----------------------------------------------------------------------===//

/// Where a loop is.
struct GraphImporter::LoopRun {
  const onnx::GraphProto &body;
  int64_t iteration = 0;
  bool goesOn = true;
  std::vector<Imported> carried;
  /// How much the carried integers grow in each iteration.
  std::vector<std::vector<int64_t>> slopes;
  std::vector<ImportedList> scanned;
  Imported keepsGoing;
};

/// What no two iterations may share: random numbers, running statistics.
static bool hasOwnState(const onnx::GraphProto &graph) {
  return llvm::any_of(graph.node(), [](const onnx::NodeProto &node) {
    return llvm::StringSwitch<bool>(node.op_type())
               .Cases({"Bernoulli", "BatchNormalization", "Dropout",
                       "Multinomial", "RandomNormal", "RandomNormalLike",
                       "RandomUniform", "RandomUniformLike"},
                      true)
               .Default(false) ||
           llvm::any_of(node.attribute(), [](const auto &attribute) {
             return attribute.has_g() && hasOwnState(attribute.g());
           });
  });
}

static bool isIntegers(const Imported &value) {
  return value.literal && !value.literal->isFloat() && !value.varies();
}

static bool isSame(const Literal &a, const Literal &b) {
  return a.elementType == b.elementType && a.shape == b.shape &&
         a.ints == b.ints && a.floats == b.floats;
}

static bool isZero(ArrayRef<int64_t> slope) {
  return llvm::all_of(slope, [](int64_t step) { return step == 0; });
}

/// b - a, where both are integers of one shape.
static std::optional<std::vector<int64_t>> difference(const Imported &a,
                                                      const Imported &b) {
  if (!isIntegers(a) || !isIntegers(b) ||
      a.literal->elementType != b.literal->elementType ||
      a.literal->shape != b.literal->shape)
    return std::nullopt;
  std::vector<int64_t> slope;
  for (auto [x, y] : llvm::zip_equal(a.literal->ints, b.literal->ints))
    slope.push_back(wrappingSub(y, x));
  return slope;
}

/// `value` at lane `lane`.
static Imported atLane(Imported value, int64_t lane) {
  for (size_t i = 0; i < value.slope.size(); ++i)
    value.literal->ints[i] =
        affineAt(value.literal->ints[i], value.slope[i], lane);
  value.slope.clear();
  return value;
}

/// Finds how the carried integers grow, by one iteration that is thrown away.
bool GraphImporter::probeLoop(const onnx::NodeProto &node, LoopRun &run) {
  if (!llvm::any_of(run.carried, isIntegers))
    return true;
  LoopRun probe = run;
  bool wasAttempt = std::exchange(isAttempt, true);
  bool succeeded = runIterations(node, probe, 0);
  isAttempt = wasAttempt;
  if (!succeeded)
    return false;
  for (size_t i = 0; i < run.carried.size(); ++i)
    if (auto slope = difference(run.carried[i], probe.carried[i]);
        slope && !isZero(*slope))
      run.slopes[i] = *slope;
  return true;
}

/// Imports `count` iterations together, or one on its own when that is 0.
/// Changes `run` only on success.
bool GraphImporter::runIterations(const onnx::NodeProto &node, LoopRun &run,
                                  int64_t count) {
  const onnx::GraphProto &body = run.body;
  size_t carriedCount = run.carried.size();
  // What is carried is copied.
  for (const Imported &value : run.carried)
    if (value.literal)
      unrolledElements += value.literal->size();
  scopes.emplace_back();
  ++loopDepth;
  int64_t outerLanes = std::exchange(lanes, count);
  auto leave = llvm::scope_exit([&] {
    lanes = outerLanes;
    --loopDepth;
    scopes.pop_back();
  });

  Imported iteration;
  iteration.literal = Literal::ofInts({run.iteration}, {});
  iteration.type = RankedTensorType::get({}, builder.getI64Type());
  if (count)
    iteration.slope = {1};
  define(body.input(0).name()) = iteration;
  define(body.input(1).name()) = run.keepsGoing;
  for (size_t i = 0; i < carriedCount; ++i) {
    Imported value = run.carried[i];
    if (count)
      value.slope = run.slopes[i];
    if (count && value.list)
      value.isGrowing = true;
    define(body.input(i + 2).name()) = std::move(value);
  }
  if (!importSubgraph(body))
    return false;

  std::vector<Imported> outputs;
  for (const auto &output : body.output()) {
    Imported *value = lookUp(output.name());
    if (!value)
      return false;
    outputs.push_back(*value);
  }

  const Imported &goesOn = outputs[0];
  const int64_t *known = knownScalar(&goesOn);
  if (!known || goesOn.isStacked) {
    report(node, "expected a condition that is known when compiling, got one "
                 "computed from the data");
    narrow(0);
    return false;
  }
  // The lanes end with the first one after which the loop does.
  int64_t until = !*known             ? 1
                  : goesOn.validLanes ? goesOn.validLanes + 1
                                      : count;
  if (until < count) {
    narrow(until);
    return false;
  }
  bool ends = !*known || goesOn.validLanes;

  std::vector<Imported> carried;
  for (size_t i = 0; i < carriedCount; ++i) {
    const Imported &before = run.carried[i];
    Imported after = std::move(outputs[i + 1]);
    if (after.validLanes && after.validLanes < count) {
      narrow(after.validLanes);
      return false;
    }
    after.validLanes = 0;
    if (count && after.list) {
      bool isKept = after.isGrowing || !after.hasGrown;
      if (!before.list || (isKept && !after.isGrowing && count > 1)) {
        narrow(0);
        return false;
      }
      after.isGrowing = after.hasGrown = false;
    } else if (count > 1) {
      // Lane k + 1 must have been given what lane k makes.
      bool fits = !after.isStacked && !before.list;
      if (after.literal && fits) {
        Imported first = before;
        first.slope = run.slopes[i];
        Imported next = atLane(first, 1), made = after;
        made.slope.clear();
        fits = before.literal && isSame(*next.literal, *made.literal) &&
               (after.slope == run.slopes[i] ||
                (isZero(after.slope) && isZero(run.slopes[i])));
      } else if (fits) {
        fits = after.value == before.value;
      }
      if (!fits) {
        narrow(0);
        return false;
      }
      after = atLane(after, count - 1);
    } else if (after.isStacked) {
      auto alone = reshaped(node, after, after.shape().drop_front().vec());
      if (!alone)
        return false;
      after = *alone;
      after.isStacked = false;
    }
    after.slope.clear(); // what is left of a lane alone
    carried.push_back(std::move(after));
  }

  std::vector<ImportedList> scanned = run.scanned;
  for (size_t i = 0; i < scanned.size(); ++i) {
    const Imported &value = outputs[i + 1 + carriedCount];
    if (value.list) {
      report(node, "expected tensors as outputs of the iterations, got a "
                   "sequence");
      narrow(0);
      return false;
    }
    if (count == 0) {
      scanned[i].append({value, std::nullopt});
      continue;
    }
    auto chunk = stacked(node, value);
    if (!chunk)
      return false;
    chunk->isStacked = false;
    scanned[i].append({std::move(*chunk), count});
  }
  run.carried = std::move(carried);
  run.scanned = std::move(scanned);
  run.iteration += std::max<int64_t>(count, 1);
  run.goesOn = !ends;
  return true;
}

GraphImporter::Results GraphImporter::importLoop(const onnx::NodeProto &node,
                                                 const Operands &operands) {
  // A loop within lanes would need lanes of its own.
  if (lanes)
    return narrow(0);
  auto fail = [&](const Twine &what) -> Results {
    report(node, what);
    return std::nullopt;
  };
  const onnx::GraphProto *body = subgraph(node, "body");
  int64_t carriedCount = static_cast<int64_t>(operands.size()) - 2;
  if (!body || carriedCount < 0 || body->input_size() != carriedCount + 2 ||
      body->output_size() != node.output_size() + 1 ||
      node.output_size() < carriedCount)
    return fail("expected a body with as many inputs and outputs as the loop");
  int64_t trips = std::numeric_limits<int64_t>::max();
  if (operands[0]) {
    const int64_t *known = knownScalar(operands[0]);
    if (!known)
      return fail("expected a trip count that is known when compiling, got "
                  "one computed from the data");
    trips = *known;
  }
  LoopRun run{*body};
  if (operands[1]) {
    const int64_t *known = knownScalar(operands[1]);
    if (!known)
      return fail("expected a condition that is known when compiling, got one "
                  "computed from the data");
    run.goesOn = *known;
  }
  run.keepsGoing.literal = Literal::ofInts({1}, {});
  run.keepsGoing.literal->elementType = onnx::TensorProto::BOOL;
  run.keepsGoing.type = RankedTensorType::get({}, builder.getI1Type());
  for (int64_t i = 0; i < carriedCount; ++i) {
    if (!operands[i + 2])
      return fail("expected a value for every carried variable");
    run.carried.push_back(*operands[i + 2]);
  }
  run.slopes.resize(carriedCount);
  run.scanned.resize(node.output_size() - carriedCount);

  bool isTogether = trips > 1 && !hasOwnState(*body);
  int failedAttempts = 0;
  if (isTogether && run.goesOn)
    isTogether = probeLoop(node, run);
  while (run.goesOn && run.iteration < trips) {
    bool done = false;
    if (isTogether) {
      bool wasAttempt = std::exchange(isAttempt, true);
      int64_t count = std::min(trips - run.iteration, mostLanes);
      while (count > 0 && !done) {
        laneLimit = count;
        done = runIterations(node, run, count);
        if (!done)
          count = laneLimit < count ? laneLimit : 0;
      }
      isAttempt = wasAttempt;
      failedAttempts = done ? 0 : failedAttempts + 1;
      isTogether = failedAttempts < 2;
    }
    if (done || runIterations(node, run, 0))
      continue;
    if (unrollsTooMuch() && !isAttempt &&
        !std::exchange(hasReportedUnrolling, true))
      report(node, "takes the iterations of the model's loops that cannot be "
                   "computed together above " +
                       Twine(mostUnrolled) + " nodes (or " +
                       Twine(elementsPerNode) +
                       " known elements for each); expected fewer, or "
                       "iterations that treat equal slices alike");
    return std::nullopt;
  }

  std::vector<Imported> results = std::move(run.carried);
  for (const ImportedList &list : run.scanned) {
    if (list.length() == 0)
      return fail("never runs, so that the size of its outputs is not known");
    auto tensor = stackOf(node, list);
    if (!tensor)
      return std::nullopt;
    results.push_back(std::move(*tensor));
  }
  return results;
}
