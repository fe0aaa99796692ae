// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bags whose sizes are only known when running. PyTorch's exporters write an
// EmbeddingBag as a loop over slices between neighbouring offsets; with
// offsets from the data the loop becomes one reduction by segment number.

#include "GraphImporter.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>

using namespace bessemer;
using namespace bessemer::ingest;
using namespace mlir;

/// Calls `visit` for the nodes of a graph and its subgraphs, until one gives
/// true.
static bool
anyNode(const onnx::GraphProto &graph,
        llvm::function_ref<bool(const onnx::NodeProto &, bool isTop)> visit,
        bool isTop = true) {
  for (const onnx::NodeProto &node : graph.node()) {
    if (visit(node, isTop))
      return true;
    for (const auto &attribute : node.attribute())
      if (attribute.has_g() && anyNode(attribute.g(), visit, false))
        return true;
  }
  return false;
}

static const onnx::NodeProto *producerOf(const onnx::GraphProto &graph,
                                         const std::string &name) {
  for (const onnx::NodeProto &node : graph.node())
    if (llvm::is_contained(node.output(), name))
      return &node;
  return nullptr;
}

static bool looksUp(const onnx::NodeProto &node) {
  return (node.op_type() == "Gather" || node.op_type() == "Slice") &&
         node.input_size() > 1;
}

namespace {
enum class SegmentKind { Sum, Mean, Max };
} // namespace

/// What a loop over bags computes: of `rows` [n, d] those between neighbouring
/// `offsets` [bags + 1], without rows whose index is `padding`.
struct GraphImporter::Segments {
  SegmentKind kind;
  Imported *rows = nullptr, *offsets = nullptr, *indices = nullptr;
  /// Instead of `rows`: rows of `table` at `indices`.
  Imported *table = nullptr;
  std::optional<int64_t> padding;
};

static bool isVectorOfInts(const Imported *value) {
  return value && value->type && value->type.getRank() == 1 &&
         value->type.getElementType().isInteger(64);
}

static bool isMatrix(const Imported *value) {
  return value && value->type && value->type.getRank() == 2 &&
         isa<FloatType>(value->type.getElementType());
}

/// The TorchScript exporter: the body gathers both ends of a bag, slices the
/// indices, looks them up and reduces.
std::optional<GraphImporter::Segments>
GraphImporter::matchTracedBags(const onnx::GraphProto &body) {
  if (body.input_size() != 2 || body.output_size() != 2)
    return std::nullopt;
  auto producer = [&](const onnx::NodeProto *node,
                      int input) -> const onnx::NodeProto * {
    return node && node->input_size() > input
               ? producerOf(body, node->input(input))
               : nullptr;
  };
  const onnx::NodeProto *reduce = producerOf(body, body.output(1).name());
  if (!reduce || intAttribute(*reduce, "keepdims", 1))
    return std::nullopt;
  Segments result;
  if (reduce->op_type() == "ReduceSum")
    result.kind = SegmentKind::Sum;
  else if (reduce->op_type() == "ReduceMean")
    result.kind = SegmentKind::Mean;
  else if (reduce->op_type() == "ReduceMax")
    result.kind = SegmentKind::Max;
  else
    return std::nullopt;
  const onnx::NodeProto *lookup = producer(reduce, 0);
  const onnx::NodeProto *slice = producer(lookup, 1);
  if (!lookup || lookup->op_type() != "Gather" || !slice ||
      slice->op_type() != "Slice")
    return std::nullopt;
  // Both ends: Unsqueeze(Gather(offsets, iteration)).
  auto endOf = [&](int input) -> const onnx::NodeProto * {
    const onnx::NodeProto *unsqueeze = producer(slice, input);
    const onnx::NodeProto *gather = producer(unsqueeze, 0);
    bool fits = gather && unsqueeze->op_type() == "Unsqueeze" &&
                gather->op_type() == "Gather" &&
                gather->input(1) == body.input(0).name();
    return fits ? gather : nullptr;
  };
  const onnx::NodeProto *begin = endOf(1), *end = endOf(2);
  if (!begin || !end)
    return std::nullopt;
  const onnx::NodeProto *rest = producerOf(graph, end->input(0));
  if (!rest || rest->op_type() != "Slice" || rest->input(0) != begin->input(0))
    return std::nullopt;
  result.table = lookUp(lookup->input(0));
  result.indices = lookUp(slice->input(0));
  result.offsets = lookUp(begin->input(0));
  Imported *ends = lookUp(end->input(0));
  if (!isMatrix(result.table) || !isVectorOfInts(result.indices) ||
      !isVectorOfInts(result.offsets) || !isVectorOfInts(ends) ||
      ends->shape()[0] != result.offsets->shape()[0] - 1)
    return std::nullopt;
  return result;
}

/// The current exporter, whose nodes name PyTorch's op and its arguments:
/// weight, indices, offsets, scale_grad_by_freq, mode, sparse,
/// per_sample_weights, include_last_offset, padding_idx. The rows are weighted
/// before the loop.
std::optional<GraphImporter::Segments>
GraphImporter::matchExportedBags(const NodeOrigin &origin,
                                 const onnx::GraphProto &body) {
  int64_t mode = 0, padding = -1;
  // The iteration, the condition, the bags and their number.
  if (body.input_size() != 4 ||
      origin.torchOp != "aten.embedding_bag.padding_idx" ||
      origin.torchArguments.size() < 5 ||
      StringRef(origin.torchArguments[4]).getAsInteger(10, mode) || mode < 0 ||
      mode > 2)
    return std::nullopt;
  Segments result;
  result.kind = static_cast<SegmentKind>(mode);
  if (origin.torchArguments.size() > 8 &&
      !StringRef(origin.torchArguments[8]).getAsInteger(10, padding))
    result.padding = padding;
  anyNode(body, [&](const onnx::NodeProto &node, bool isTop) {
    Imported *source = looksUp(node) ? lookUp(node.input(0)) : nullptr;
    if (isMatrix(source))
      result.rows = source;
    else if (isVectorOfInts(source))
      (isTop ? result.offsets : result.indices) = source;
    return false;
  });
  if (!result.rows || !result.offsets || (result.padding && !result.indices) ||
      result.offsets->shape()[0] < 2)
    return std::nullopt;
  return result;
}

std::optional<GraphImporter::Segments>
GraphImporter::matchSegments(const onnx::NodeProto &node) {
  const onnx::AttributeProto *attribute = findAttribute(node, "body");
  if (lanes || !attribute || !attribute->has_g())
    return std::nullopt;
  const onnx::GraphProto &body = attribute->g();
  NodeOrigin origin = origins.find(node);
  std::optional<Segments> result = origin.torchOp.empty()
                                       ? matchTracedBags(body)
                                       : matchExportedBags(origin, body);
  if (!result)
    return std::nullopt;
  // Known bags are better reduced as the slices that they are.
  bool isKnown = result->offsets->literal && !result->padding;
  if (isKnown)
    for (auto [begin, end] :
         llvm::zip(result->offsets->literal->ints,
                   llvm::drop_begin(result->offsets->literal->ints)))
      isKnown &= begin < end;
  if (isKnown)
    return std::nullopt;
  return result;
}

/// The number of the bag of each of `count` rows, -1 before the first.
static Value segmentNumbers(NodeImport &n, Value offsets, int64_t count) {
  Type i64 = n.builder.getI64Type();
  int64_t bags = cast<RankedTensorType>(offsets.getType()).getDimSize(0);
  auto type = RankedTensorType::get({count, bags}, i64);
  Value position = graph::IotaOp::create(n.builder, n.loc, type, 0);
  Value begins = graph::buildBroadcast(n.builder, n.loc, offsets, type, {1});
  Value hasBegun = arith::CmpIOp::create(
      n.builder, n.loc, arith::CmpIPredicate::sle, begins, position);
  Value begun = graph::buildReduce(
      n.builder, n.loc, graph::ReduceKind::Sum,
      arith::ExtUIOp::create(n.builder, n.loc, type, hasBegun), {1});
  return arith::SubIOp::create(n.builder, n.loc, begun, n.splatLike(begun, 1));
}

/// `rows` reduced by bag; 0 for an empty one.
static Value reduceSegments(NodeImport &n, SegmentKind kind, Value rows,
                            Value numbers, int64_t bags) {
  auto type = cast<RankedTensorType>(rows.getType());
  int64_t count = type.getDimSize(0), width = type.getDimSize(1);
  auto resultType = type.clone({bags, width});
  auto add = [&](Value updates, RankedTensorType sums) -> Value {
    return graph::ScatterAddOp::create(n.builder, n.loc, sums, updates, numbers,
                                       /*dim=*/0, /*batch=*/0);
  };
  if (kind == SegmentKind::Sum)
    return add(rows, resultType);
  Value ones = graph::buildSplat(n.builder, n.loc, type.clone({count}), 1);
  Value sizes = add(ones, type.clone({bags}));
  if (kind == SegmentKind::Mean) {
    Value atLeastOne = arith::MaximumFOp::create(n.builder, n.loc, sizes,
                                                 n.splatLike(sizes, 1));
    return arith::DivFOp::create(
        n.builder, n.loc, add(rows, resultType),
        graph::buildBroadcast(n.builder, n.loc, atLeastOne, resultType, {0}));
  }
  SmallVector<int64_t> cube = {bags, count, width};
  auto cubeType = type.clone(cube);
  Value spread =
      graph::buildBroadcast(n.builder, n.loc, rows, cubeType, {1, 2});
  auto indexType = RankedTensorType::get(cube, n.builder.getI64Type());
  Value isInside = arith::CmpIOp::create(
      n.builder, n.loc, arith::CmpIPredicate::eq,
      graph::buildBroadcast(n.builder, n.loc, numbers, indexType, {1}),
      graph::IotaOp::create(n.builder, n.loc, indexType, 0).getResult());
  Value lowest = n.splatLike(spread, -std::numeric_limits<double>::infinity());
  Value largest = graph::buildReduce(
      n.builder, n.loc, graph::ReduceKind::Max,
      arith::SelectOp::create(n.builder, n.loc, isInside, spread, lowest), {1});
  Value isEmpty =
      arith::CmpFOp::create(n.builder, n.loc, arith::CmpFPredicate::OEQ, sizes,
                            n.splatLike(sizes, 0));
  isEmpty = graph::buildBroadcast(n.builder, n.loc, isEmpty,
                                  resultType.clone(n.builder.getI1Type()), {0});
  return arith::SelectOp::create(n.builder, n.loc, isEmpty,
                                 n.splatLike(largest, 0), largest);
}

GraphImporter::Results
GraphImporter::importSegments(const onnx::NodeProto &node,
                              const Operands &operands, Segments segments) {
  std::optional<Imported> found;
  if (segments.table) {
    found =
        emit(node, "Gather", {segments.table, segments.indices}, {{"axis", 0}});
    if (!found)
      return std::nullopt;
    segments.rows = &*found;
  }
  NodeOrigin origin = origins.find(node);
  std::vector<Imported *> parts = {segments.rows, segments.offsets,
                                   segments.indices};
  NodeImport n(node, origin, parts, 1, builder, locationOf(origin), state);
  Value rows = n.value(0);
  int64_t count = n.shape(0)[0], width = n.shape(0)[1];
  int64_t bags = n.shape(1)[0] - 1;
  auto fits = n.requireSizes({bags, count, width});
  if (failed(fits)) {
    report(node, n.getError());
    return std::nullopt;
  }
  Value numbers = segmentNumbers(n, n.value(1), count);
  if (segments.padding) {
    Value indices = n.value(2);
    Value isPadding = arith::CmpIOp::create(
        builder, n.loc, arith::CmpIPredicate::eq, indices,
        n.splatLike(indices, static_cast<double>(*segments.padding)));
    numbers = arith::SelectOp::create(builder, n.loc, isPadding,
                                      n.splatLike(numbers, -1), numbers);
  }
  Imported result;
  result.value = reduceSegments(n, segments.kind, rows, numbers, bags);
  if (segments.table) {
    result.type = cast<RankedTensorType>(result.value.getType());
    return std::vector{std::move(result)};
  }
  // A sequence of bags and their number, in either order.
  result.value = n.reshape(result.value, {bags, 1, width});
  result.type = cast<RankedTensorType>(result.value.getType());
  std::vector<Imported> results(2);
  for (auto [carried, out] :
       llvm::zip(llvm::drop_begin(operands, 2), results)) {
    if (carried->list) {
      out.list = carried->list;
      out.list->append(ListItem{result, bags});
      continue;
    }
    out.literal = Literal::ofInts({bags}, {});
    out.type = RankedTensorType::get({}, builder.getI64Type());
  }
  return results;
}

bool GraphImporter::importBags(const onnx::NodeProto &node,
                               const Operands &operands, Results &results) {
  std::optional<Segments> segments = matchSegments(node);
  if (segments)
    results = importSegments(node, operands, *segments);
  return segments.has_value();
}
