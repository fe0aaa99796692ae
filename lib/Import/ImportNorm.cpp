// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Softmax, batch, instance and local response norm, dropout. Train mode is the
// compiler's decision: what the exporter wrote into `training_mode` does not
// matter.

#include "NodeImport.h"
#include <charconv>

using namespace bessemer;
using namespace bessemer::ingest;
using namespace mlir;

template <typename Op> static LogicalResult importSoftmaxLike(NodeImport &n) {
  if (failed(n.requireFloat(0)))
    return failure();
  auto axis = n.axis(intAttribute(n.node, "axis", -1), n.rank(0));
  if (failed(axis))
    return failure();
  Value x = n.value(0);
  Value result = Op::create(n.builder, n.loc, x.getType(), x, *axis);
  if (isa<graph::SoftmaxOp>(result.getDefiningOp()))
    n.state.softmaxOf[result] = {x, *axis};
  n.setResult(result);
  return success();
}

/// Old exporters merge running statistics that start with equal values and
/// spread them by Identity; each batch norm gets its own again.
static FailureOr<Value> ownStatistic(NodeImport &n, size_t i) {
  Value value = n.value(i);
  auto read = value.getDefiningOp<graph::ReadOp>();
  if (!read)
    return value;
  std::string name = read.getState().str();
  if (n.state.usedStatistics.insert(name).second)
    return value;
  const std::string &alias = n.node.input(i);
  if (alias == name)
    return n.fail("shares the running statistic '" + name +
                  "' with another BatchNormalization");
  n.state.usedStatistics.insert(alias);
  return n.state.duplicateState(read, alias);
}

/// The shortest decimal that `value` is the nearest float to. PyTorch's 0.1
/// comes as 0.9, and 1 - 0.9f is 0.10000002.
static double decimalOf(float value) {
  char text[32];
  char *end = std::to_chars(text, text + sizeof(text), value).ptr;
  double decimal = value;
  std::from_chars(text, end, decimal);
  return decimal;
}

static LogicalResult importBatchNorm(NodeImport &n) {
  if (failed(n.requireFloat(0)))
    return failure();
  double momentum = decimalOf(floatAttribute(n.node, "momentum", 0.9f));
  if (!(momentum >= 0 && momentum <= 1))
    return n.fail("expected momentum in [0, 1], got " +
                  std::to_string(momentum));
  FailureOr<double> epsilon = n.epsilon();
  if (failed(epsilon))
    return failure();
  for (size_t i = 1; i < 5; ++i)
    if (failed(n.requireSameType(0, i)))
      return failure();
  for (unsigned output = 1; output < 5; ++output)
    if (n.isOutputUsed(output))
      return n.fail("its statistics are used by the graph; expected only the "
                    "first output to be used");
  if (n.rank(0) < 2)
    return n.fail("expected [batch, channels, ...], got rank " +
                  Twine(n.rank(0)));
  for (size_t i = 1; i < 5; ++i)
    if (n.shape(i) != ArrayRef<int64_t>{n.shape(0)[1]})
      return n.fail("expected one element of input '" + n.node.input(i) +
                    "' per channel (" + Twine(n.shape(0)[1]) + ")");
  auto mean = ownStatistic(n, 3), variance = ownStatistic(n, 4);
  if (failed(mean) || failed(variance))
    return failure();
  n.setResult(graph::BatchNormOp::create(
      n.builder, n.loc, n.type(0), n.value(0), n.value(1), n.value(2), *mean,
      *variance, n.builder.getF64FloatAttr(*epsilon),
      n.builder.getF64FloatAttr(momentum)));
  return success();
}

/// Batch norm of one image whose channels are those of all images.
static LogicalResult importInstanceNorm(NodeImport &n) {
  if (failed(n.requireFloat(0)))
    return failure();
  if (n.rank(0) < 3)
    return n.fail("expected spatial dimensions, got rank " + Twine(n.rank(0)));
  FailureOr<double> epsilon = n.epsilon();
  if (failed(epsilon))
    return failure();
  int64_t batch = n.shape(0)[0], channels = n.shape(0)[1];
  SmallVector<Value> perChannel;
  for (size_t i : {1, 2}) {
    if (failed(n.requireSameType(0, i)))
      return failure();
    if (n.shape(i) != ArrayRef<int64_t>{channels})
      return n.fail("expected one element of input '" + n.node.input(i) +
                    "' per channel (" + Twine(channels) + ")");
    Value repeated = n.broadcastTo(i, {batch, channels});
    perChannel.push_back(n.reshape(repeated, {batch * channels}));
  }
  SmallVector<int64_t> shape(n.shape(0).drop_front(2));
  shape.insert(shape.begin(), {1, batch * channels});
  Value x = n.reshape(n.value(0), shape);
  Type statistic = perChannel[0].getType();
  Value y =
      graph::BatchNormTrainOp::create(
          n.builder, n.loc, TypeRange{x.getType(), statistic, statistic}, x,
          perChannel[0], perChannel[1], n.builder.getF64FloatAttr(*epsilon))
          ->getResult(0);
  n.setResult(n.reshape(y, n.shape(0)));
  return success();
}

/// x / (bias + alpha / size sum)^beta, where the sum of squares over
/// neighbouring channels is a product with a band matrix.
static LogicalResult importLRN(NodeImport &n) {
  if (failed(n.requireFloat(0)))
    return failure();
  if (n.rank(0) < 2)
    return n.fail("expected [batch, channels, ...], got rank " +
                  Twine(n.rank(0)));
  int64_t size = intAttribute(n.node, "size", 0), rank = n.rank(0);
  int64_t channels = n.shape(0)[1];
  if (size < 1)
    return n.fail("expected a positive size, got " + Twine(size));
  if (failed(n.requireSizes({channels, channels})))
    return failure();
  double alpha = floatAttribute(n.node, "alpha", 1e-4f);
  Literal band;
  band.elementType = onnxTypeOf(n.type(0).getElementType());
  band.shape = {channels, channels};
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t other = 0; other < channels; ++other)
      band.floats.push_back(other >= c - (size - 1) / 2 && other <= c + size / 2
                                ? alpha / static_cast<double>(size)
                                : 0.0);
  Value weights = materialize(
      band, RankedTensorType::get(band.shape, n.type(0).getElementType()),
      n.builder, n.loc);
  Value x = n.value(0);
  Value squares = arith::MulFOp::create(n.builder, n.loc, x, x);
  Value sum = graph::ContractOp::create(
      n.builder, n.loc, squares, weights, ArrayRef<int64_t>{},
      ArrayRef<int64_t>{}, ArrayRef<int64_t>{1}, ArrayRef<int64_t>{1});
  SmallVector<int64_t> permutation = {0, rank - 1};
  llvm::append_range(permutation, llvm::seq<int64_t>(1, rank - 1));
  sum =
      graph::TransposeOp::create(n.builder, n.loc, n.type(0), sum, permutation);
  Value base = arith::AddFOp::create(
      n.builder, n.loc, sum,
      n.splatLike(x, floatAttribute(n.node, "bias", 1.0)));
  Value power = math::PowFOp::create(
      n.builder, n.loc, base,
      n.splatLike(x, floatAttribute(n.node, "beta", 0.75)));
  n.setResult(arith::DivFOp::create(n.builder, n.loc, x, power));
  return success();
}

static LogicalResult importDropout(NodeImport &n) {
  if (failed(n.requireFloat(0)))
    return failure();
  if (n.isOutputUsed(1))
    return n.fail("its mask is used by the graph; expected only the first "
                  "output to be used");
  double ratio = 0.5;
  if (n.has(1)) {
    auto given = n.splat(1);
    if (!given)
      return n.fail("expected a ratio that is known when compiling");
    ratio = *given;
  }
  if (!(ratio >= 0 && ratio < 1))
    return n.fail("expected a ratio in [0, 1), got " + std::to_string(ratio));
  int64_t id = n.state.randomIds++;
  if (ratio == 0) {
    n.setResult(n.value(0));
    return success();
  }
  n.setResult(graph::DropoutOp::create(
      n.builder, n.loc, n.type(0), n.value(0), n.state.step(), Value(),
      n.builder.getF64FloatAttr(ratio), n.builder.getI64IntegerAttr(id)));
  return success();
}

void ingest::addNormHandlers(HandlerTable &table) {
  table["BatchNormalization"] = importBatchNorm;
  table["Dropout"] = importDropout;
  table["InstanceNormalization"] = importInstanceNorm;
  table["LRN"] = importLRN;
  table["LogSoftmax"] = importSoftmaxLike<graph::LogSoftmaxOp>;
  table["Softmax"] = importSoftmaxLike<graph::SoftmaxOp>;
}
