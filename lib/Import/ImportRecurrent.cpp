// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RNN, LSTM and GRU: a graph.scan per direction. The input's products with all
// steps are one product before the loop; in the loop there is one product with
// the hidden state for all gates.

#include "NodeImport.h"
#include "RecurrentActivations.h"

using namespace bessemer;
using namespace bessemer::ingest;
using namespace mlir;

namespace {
/// Short names for the arithmetic of a cell.
struct CellBuilder {
  OpBuilder &builder;
  Location loc;
  std::optional<double> clip;

  Value add(Value a, Value b) {
    return arith::AddFOp::create(builder, loc, a, b);
  }
  Value sub(Value a, Value b) {
    return arith::SubFOp::create(builder, loc, a, b);
  }
  Value mul(Value a, Value b) {
    return arith::MulFOp::create(builder, loc, a, b);
  }
  Value like(Value value, double number) {
    return graph::buildSplat(builder, loc,
                             cast<RankedTensorType>(value.getType()), number);
  }
  /// Activation of a value clipped as the node asks for.
  Value activate(const Activation &activation, Value x) {
    if (clip) {
      x = arith::MaximumFOp::create(builder, loc, x, like(x, -*clip));
      x = arith::MinimumFOp::create(builder, loc, x, like(x, *clip));
    }
    return buildActivation(builder, loc, activation, x);
  }
  /// a b^T
  Value product(Value a, Value b) {
    int64_t last = cast<RankedTensorType>(a.getType()).getRank() - 1;
    return graph::ContractOp::create(
        builder, loc, a, b, ArrayRef<int64_t>{}, ArrayRef<int64_t>{},
        ArrayRef<int64_t>{last}, ArrayRef<int64_t>{1});
  }
  /// [first, first + size) of one dimension.
  Value slice(Value value, int64_t dim, int64_t first, int64_t size) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getDimSize(dim) == size)
      return value;
    SmallVector<int64_t> offsets(type.getRank(), 0), shape(type.getShape());
    offsets[dim] = first;
    shape[dim] = size;
    return graph::SliceOp::create(builder, loc, type.clone(shape), value,
                                  offsets);
  }
  /// A vector as every row of a value of the type of `other`.
  Value rows(Value vector, Value other) {
    auto type = cast<RankedTensorType>(other.getType());
    return graph::buildBroadcast(builder, loc, vector, type,
                                 {type.getRank() - 1});
  }
  Value transpose(Value value, ArrayRef<int64_t> permutation) {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape;
    for (int64_t dim : permutation)
      shape.push_back(type.getDimSize(dim));
    return graph::TransposeOp::create(builder, loc, type.clone(shape), value,
                                      permutation);
  }
};

/// Operands of the nodes, by position. GRU and RNN have the first six.
enum Operand : size_t { X, W, R, B, SequenceLengths, InitialH, InitialC, P };

class RecurrentImport {
public:
  RecurrentImport(NodeImport &n, int64_t gates)
      : n(n), gates(gates), outside{n.builder, n.loc, std::nullopt} {}
  virtual ~RecurrentImport() = default;

  LogicalResult run();

protected:
  /// What one direction works with, as its loop sees it.
  struct Direction {
    /// The parts of the recurrent weights that are factors of their own.
    SmallVector<Value> weights;
    /// Bias of the hidden state's product, [gates * hidden], or null.
    Value bias;
    /// Peephole weights of i, o and f, [hidden], or none.
    SmallVector<Value> peepholes;
    ArrayRef<Activation> activations;
  };
  /// Whether the bias of the hidden state's product may be added before the
  /// loop, for all gates.
  virtual bool addsBiasBefore() const { return true; }
  virtual StringRef defaultActivations() const = 0;
  virtual unsigned stateCount() const { return 1; }
  /// Splits the recurrent weights before the loop into factors.
  virtual SmallVector<Value> splitWeights(Value weights) { return {weights}; }
  /// The new carried values of a step from its gate inputs and the old ones.
  virtual SmallVector<Value> buildCell(CellBuilder &b, Value x,
                                       ValueRange carried,
                                       const Direction &direction) = 0;

  Value gate(CellBuilder &b, Value value, int64_t index) {
    return b.slice(value, 1, index * hidden, hidden);
  }

  NodeImport &n;
  const int64_t gates;
  CellBuilder outside;
  int64_t hidden = 0, steps = 0, batch = 0, directions = 1;
  bool isBatchFirst = false;

private:
  LogicalResult readSizes();
  LogicalResult checkOperand(size_t i, ArrayRef<int64_t> expected);
  LogicalResult readActivations();
  /// Part `index` of an operand with the directions in dimension 0, which is
  /// dropped.
  Value part(size_t operand, int64_t index);
  Value initialState(size_t operand, int64_t index);
  SmallVector<Value> buildDirection(int64_t index, bool reverse, Value x);
  /// Values of the directions along a new dimension.
  Value join(ArrayRef<Value> values, int64_t dim);

  SmallVector<Activation> activations;
  std::optional<double> clip;
  StringRef direction;
};
} // namespace

LogicalResult RecurrentImport::checkOperand(size_t i,
                                            ArrayRef<int64_t> expected) {
  if (!n.has(i))
    return success();
  if (failed(n.requireSameType(X, i)))
    return failure();
  if (n.shape(i) != expected)
    return n.fail("expected input '" + n.node.input(i) + "' of shape " +
                  shapeText(expected) + ", got " + shapeText(n.shape(i)));
  return success();
}

LogicalResult RecurrentImport::readSizes() {
  if (failed(n.requireFloat(X)))
    return failure();
  direction = stringAttribute(n.node, "direction", "forward");
  if (direction != "forward" && direction != "reverse" &&
      direction != "bidirectional")
    return n.fail(
        "expected direction forward, reverse or bidirectional, got '" +
        direction + "'");
  directions = direction == "bidirectional" ? 2 : 1;
  isBatchFirst = intAttribute(n.node, "layout", 0) != 0;
  if (n.rank(X) != 3 || n.rank(W) != 3 || n.rank(R) != 3)
    return n.fail("expected X, W and R of rank 3, got ranks " +
                  Twine(n.rank(X)) + ", " + Twine(n.rank(W)) + " and " +
                  Twine(n.rank(R)));
  steps = n.shape(X)[isBatchFirst ? 1 : 0];
  batch = n.shape(X)[isBatchFirst ? 0 : 1];
  hidden = intAttribute(n.node, "hidden_size", n.shape(R)[2]);
  int64_t input = n.shape(X)[2];
  SmallVector<int64_t> state =
      isBatchFirst ? SmallVector<int64_t>{batch, directions, hidden}
                   : SmallVector<int64_t>{directions, batch, hidden};
  if (failed(checkOperand(W, {directions, gates * hidden, input})) ||
      failed(checkOperand(R, {directions, gates * hidden, hidden})) ||
      failed(checkOperand(B, {directions, 2 * gates * hidden})) ||
      failed(checkOperand(InitialH, state)) ||
      failed(checkOperand(InitialC, state)) ||
      failed(checkOperand(P, {directions, 3 * hidden})))
    return failure();
  if (n.has(SequenceLengths)) {
    auto lengths = n.knownInts(SequenceLengths, "sequence_lens");
    if (failed(lengths))
      return failure();
    for (int64_t length : *lengths)
      if (length != steps)
        return n.fail("expected sequence_lens of " + Twine(steps) +
                      " (the whole sequence), got " + Twine(length));
  }
  return success();
}

LogicalResult RecurrentImport::readActivations() {
  SmallVector<StringRef> names;
  const auto *given = findAttribute(n.node, "activations");
  if (given && given->strings_size())
    for (const std::string &name : given->strings())
      names.push_back(name);
  else
    for (int64_t index = 0; index < directions; ++index)
      defaultActivations().split(names, ',');
  SmallVector<StringRef> defaults;
  defaultActivations().split(defaults, ',');
  if (names.size() != defaults.size() * directions)
    return n.fail("expected " + Twine(defaults.size() * directions) +
                  " activations, got " + Twine(names.size()));
  ArrayRef<float> alphas, betas;
  if (const auto *list = findAttribute(n.node, "activation_alpha"))
    alphas = {list->floats().data(), static_cast<size_t>(list->floats_size())};
  if (const auto *list = findAttribute(n.node, "activation_beta"))
    betas = {list->floats().data(), static_cast<size_t>(list->floats_size())};
  for (StringRef name : names) {
    std::optional<Activation> activation = parseActivation(name, alphas, betas);
    if (!activation)
      return n.fail("expected an activation of ONNX, got '" + name + "'");
    activations.push_back(*activation);
  }
  if (const auto *attribute = findAttribute(n.node, "clip"))
    clip = attribute->f();
  return success();
}

Value RecurrentImport::part(size_t operand, int64_t index) {
  if (!n.has(operand))
    return {};
  Value value = outside.slice(n.value(operand), 0, index, 1);
  return n.reshape(value, n.shape(operand).drop_front());
}

Value RecurrentImport::initialState(size_t operand, int64_t index) {
  auto type =
      RankedTensorType::get({batch, hidden}, n.type(X).getElementType());
  if (!n.has(operand))
    return graph::buildSplat(n.builder, n.loc, type, 0.0);
  return n.reshape(
      outside.slice(n.value(operand), isBatchFirst ? 1 : 0, index, 1),
      {batch, hidden});
}

SmallVector<Value> RecurrentImport::buildDirection(int64_t index, bool reverse,
                                                   Value x) {
  CellBuilder &b = outside;
  Direction info;
  info.weights = splitWeights(part(R, index));
  if (Value peepholes = part(P, index))
    for (int64_t gate : {0, 1, 2})
      info.peepholes.push_back(b.slice(peepholes, 0, gate * hidden, hidden));
  size_t perDirection = activations.size() / directions;
  info.activations =
      ArrayRef(activations).slice(index * perDirection, perDirection);

  // x W^T and the biases of all steps.
  Value inputs = b.product(x, part(W, index));
  if (Value bias = part(B, index)) {
    int64_t size = gates * hidden;
    Value before = b.slice(bias, 0, 0, size);
    Value recurrent = b.slice(bias, 0, size, size);
    if (addsBiasBefore())
      before = b.add(before, recurrent);
    else
      info.bias = recurrent;
    inputs = b.add(inputs, b.rows(before, inputs));
  }

  SmallVector<Value> inits{initialState(InitialH, index)};
  if (stateCount() == 2)
    inits.push_back(initialState(InitialC, index));
  SmallVector<Value *> inLoop;
  for (Value &value : info.weights)
    inLoop.push_back(&value);
  if (info.bias)
    inLoop.push_back(&info.bias);
  for (Value &value : info.peepholes)
    inLoop.push_back(&value);
  SmallVector<Value> invariants;
  for (Value *value : inLoop)
    invariants.push_back(*value);
  SmallVector<Type> types(ValueRange(inits).getTypes());
  types.push_back(RankedTensorType::get({steps, batch, hidden},
                                        n.type(X).getElementType()));
  auto scan = graph::ScanOp::create(n.builder, n.loc, types, steps, reverse,
                                    inits, inputs, invariants);
  Block &body = scan.getBody().emplaceBlock();
  auto addArguments = [&](ValueRange values) {
    SmallVector<Value> arguments;
    for (Value value : values)
      arguments.push_back(body.addArgument(value.getType(), n.loc));
    return arguments;
  };
  SmallVector<Value> carried = addArguments(inits);
  Value element =
      body.addArgument(graph::ScanOp::elementOf(inputs.getType()), n.loc);
  for (auto [value, argument] :
       llvm::zip_equal(inLoop, addArguments(invariants)))
    *value = argument;
  OpBuilder inside = OpBuilder::atBlockEnd(&body);
  CellBuilder cell{inside, n.loc, clip};
  SmallVector<Value> yielded = buildCell(cell, element, carried, info);
  yielded.push_back(yielded.front());
  graph::YieldOp::create(inside, n.loc, yielded);
  // Stacked outputs, then final states.
  SmallVector<Value> results{scan.getOutputs().front()};
  llvm::append_range(results, scan.getFinals());
  return results;
}

Value RecurrentImport::join(ArrayRef<Value> values, int64_t dim) {
  SmallVector<Value> parts;
  auto type = cast<RankedTensorType>(values.front().getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin() + dim, 1);
  for (Value value : values)
    parts.push_back(n.reshape(value, shape));
  if (parts.size() == 1)
    return parts.front();
  shape[dim] = static_cast<int64_t>(parts.size());
  return graph::ConcatOp::create(n.builder, n.loc, type.clone(shape), parts,
                                 dim);
}

LogicalResult RecurrentImport::run() {
  if (failed(readSizes()) || failed(readActivations()))
    return failure();
  Value x = n.value(X);
  if (isBatchFirst)
    x = outside.transpose(x, {1, 0, 2});
  SmallVector<SmallVector<Value>> byResult(1 + stateCount());
  for (int64_t index = 0; index < directions; ++index) {
    bool reverse = direction == "reverse" || index == 1;
    SmallVector<Value> results = buildDirection(index, reverse, x);
    for (auto [list, value] : llvm::zip_equal(byResult, results))
      list.push_back(value);
  }
  // [steps, directions, batch, hidden] and [directions, batch, hidden], or with
  // the batch first.
  SmallVector<Value> results;
  for (auto [index, values] : llvm::enumerate(byResult)) {
    Value value = join(values, index == 0 ? 1 : 0);
    if (isBatchFirst)
      value = index == 0 ? outside.transpose(value, {2, 0, 1, 3})
                         : outside.transpose(value, {1, 0, 2});
    results.push_back(value);
  }
  n.setResults(results);
  return success();
}

namespace {
/// h' = f(x W^T + h R^T + b)
struct RnnImport : RecurrentImport {
  explicit RnnImport(NodeImport &n) : RecurrentImport(n, 1) {}
  StringRef defaultActivations() const override { return "Tanh"; }
  SmallVector<Value> buildCell(CellBuilder &b, Value x, ValueRange carried,
                               const Direction &direction) override {
    Value sum = b.add(x, b.product(carried[0], direction.weights[0]));
    return {b.activate(direction.activations[0], sum)};
  }
};

/// Gates i, o, f, c.
struct LstmImport : RecurrentImport {
  explicit LstmImport(NodeImport &n) : RecurrentImport(n, 4) {}
  StringRef defaultActivations() const override { return "Sigmoid,Tanh,Tanh"; }
  unsigned stateCount() const override { return 2; }
  SmallVector<Value> buildCell(CellBuilder &b, Value x, ValueRange carried,
                               const Direction &direction) override {
    Value sums = b.add(x, b.product(carried[0], direction.weights[0]));
    Value oldCell = carried[1];
    auto peep = [&](Value sum, int64_t index, Value cell) {
      if (direction.peepholes.empty())
        return sum;
      Value weights = b.rows(direction.peepholes[index], cell);
      return b.add(sum, b.mul(weights, cell));
    };
    ArrayRef<Activation> f = direction.activations;
    Value input = b.activate(f[0], peep(gate(b, sums, 0), 0, oldCell));
    Value forget = intAttribute(n.node, "input_forget", 0)
                       ? b.sub(b.like(input, 1.0), input)
                       : b.activate(f[0], peep(gate(b, sums, 2), 2, oldCell));
    Value candidate = b.activate(f[1], gate(b, sums, 3));
    Value cell = b.add(b.mul(forget, oldCell), b.mul(input, candidate));
    Value output = b.activate(f[0], peep(gate(b, sums, 1), 1, cell));
    return {b.mul(output, buildActivation(b.builder, b.loc, f[2], cell)), cell};
  }
};

/// Gates z, r, h.
struct GruImport : RecurrentImport {
  explicit GruImport(NodeImport &n)
      : RecurrentImport(n, 3),
        isLinearFirst(intAttribute(n.node, "linear_before_reset", 0) != 0) {}
  StringRef defaultActivations() const override { return "Sigmoid,Tanh"; }
  // The candidate's bias is inside of what the reset gate scales.
  bool addsBiasBefore() const override { return !isLinearFirst; }
  // Else the candidate's product waits for the reset gate.
  SmallVector<Value> splitWeights(Value weights) override {
    if (isLinearFirst)
      return {weights};
    return {outside.slice(weights, 0, 0, 2 * hidden),
            outside.slice(weights, 0, 2 * hidden, hidden)};
  }
  SmallVector<Value> buildCell(CellBuilder &b, Value x, ValueRange carried,
                               const Direction &direction) override {
    Value h = carried[0];
    ArrayRef<Activation> f = direction.activations;
    Value update, reset, candidate;
    if (isLinearFirst) {
      Value products = b.product(h, direction.weights[0]);
      if (direction.bias)
        products = b.add(products, b.rows(direction.bias, products));
      auto sum = [&](int64_t index) {
        return b.add(gate(b, x, index), gate(b, products, index));
      };
      update = b.activate(f[0], sum(0));
      reset = b.activate(f[0], sum(1));
      candidate = b.add(gate(b, x, 2), b.mul(reset, gate(b, products, 2)));
    } else {
      Value products = b.product(h, direction.weights[0]);
      auto sum = [&](int64_t index) {
        return b.add(gate(b, x, index), gate(b, products, index));
      };
      update = b.activate(f[0], sum(0));
      reset = b.activate(f[0], sum(1));
      Value product = b.product(b.mul(reset, h), direction.weights[1]);
      candidate = b.add(gate(b, x, 2), product);
    }
    candidate = b.activate(f[1], candidate);
    // (1 - z) candidate + z h
    return {b.add(candidate, b.mul(update, b.sub(h, candidate)))};
  }

  const bool isLinearFirst;
};
} // namespace

void ingest::addRecurrentHandlers(HandlerTable &table) {
  table["RNN"] = [](NodeImport &n) { return RnnImport(n).run(); };
  table["LSTM"] = [](NodeImport &n) { return LstmImport(n).run(); };
  table["GRU"] = [](NodeImport &n) { return GruImport(n).run(); };
}
