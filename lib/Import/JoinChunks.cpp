// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Joins equal computations of neighbouring slices: what the loops of exporters
// do for the first n - 1 elements and, written differently, for the last one.

#include "GraphImporter.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

using namespace bessemer;
using namespace bessemer::ingest;
using namespace mlir;

namespace {

/// Joins two values along dimension 0, their rows. The plan is made before
/// anything is built. Reshapes within the rows do not matter: the same
/// computation may be written with unit dimensions or without.
class Joiner {
public:
  explicit Joiner(OpBuilder &builder) : builder(builder) {}

  Value join(Value a, Value b) {
    if (!haveOneType(a, b) || !canJoin(a, b))
      return {};
    return build(a, b, innerShape(a));
  }

private:
  static RankedTensorType typeOf(Value value) {
    return cast<RankedTensorType>(value.getType());
  }
  static ArrayRef<int64_t> innerShape(Value value) {
    return typeOf(value).getShape().drop_front();
  }
  static int64_t rowsOf(Value value) { return typeOf(value).getShape()[0]; }

  /// Whether rows of both have one shape.
  static bool haveOneType(Value a, Value b) {
    return typeOf(a).getRank() > 0 && typeOf(b).getRank() > 0 &&
           typeOf(a).getElementType() == typeOf(b).getElementType() &&
           innerShape(a) == innerShape(b);
  }

  static bool isReshape(Operation *op) {
    return isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op);
  }

  /// The value before reshapes that keep the rows.
  static Value strip(Value value) {
    while (Operation *op = value.getDefiningOp()) {
      if (!isReshape(op) || typeOf(op->getOperand(0)).getRank() == 0 ||
          rowsOf(op->getOperand(0)) != rowsOf(value))
        break;
      value = op->getOperand(0);
    }
    return value;
  }

  static std::optional<double> splatOf(Value value) {
    DenseElementsAttr elements;
    if (!matchPattern(value, m_Constant(&elements)) || !elements.isSplat() ||
        !isa<FloatType>(elements.getElementType()))
      return std::nullopt;
    APFloat element = elements.getSplatValue<APFloat>();
    bool losesInfo = false;
    element.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                    &losesInfo);
    return element.convertToDouble();
  }

  /// x and c of `x * c` and `x / (1 / c)`: a mean is written either way.
  static std::optional<std::pair<Value, double>> scaled(Value value) {
    Operation *op = value.getDefiningOp();
    if (!isa_and_nonnull<arith::MulFOp, arith::DivFOp>(op))
      return std::nullopt;
    auto factor = splatOf(op->getOperand(1));
    if (!factor || *factor == 0)
      return std::nullopt;
    return std::pair{op->getOperand(0),
                     isa<arith::MulFOp>(op) ? *factor : 1 / *factor};
  }

  static bool isSameScale(Value a, Value b) {
    auto x = scaled(a), y = scaled(b);
    if (!x || !y)
      return false;
    // The factors as they are rounded to the element type.
    return typeOf(a).getElementType().isF64()
               ? x->second == y->second
               : static_cast<float>(x->second) == static_cast<float>(y->second);
  }

  /// Slices of one tensor, the second where the first ends.
  static bool areNeighbours(Value a, Value b) {
    auto x = a.getDefiningOp<graph::SliceOp>();
    auto y = b.getDefiningOp<graph::SliceOp>();
    return x && y && x.getInput() == y.getInput() && haveOneType(a, b) &&
           x.getOffsets().drop_front() == y.getOffsets().drop_front() &&
           x.getOffsets()[0] + rowsOf(a) == y.getOffsets()[0];
  }

  bool canJoin(Value a, Value b) {
    a = strip(a);
    b = strip(b);
    // Values that are used twice are asked about once.
    if (auto known = joinable.find({a, b}); known != joinable.end())
      return known->second;
    bool result = canJoinAnew(a, b);
    joinable[{a, b}] = result;
    return result;
  }

  bool canJoinAnew(Value a, Value b) {
    if (typeOf(a).getElementType() != typeOf(b).getElementType() ||
        product(innerShape(a)) != product(innerShape(b)))
      return false;
    if (areNeighbours(a, b))
      return true;
    if (auto x = splatOf(a), y = splatOf(b); x && y)
      return *x == *y;
    if (isSameScale(a, b))
      return canJoin(scaled(a)->first, scaled(b)->first);
    Operation *p = a.getDefiningOp(), *q = b.getDefiningOp();
    if (!p || !q)
      return false;
    if (isReshape(p) && isReshape(q)) {
      // As many rows of the operand for each row of the result.
      Value x = p->getOperand(0), y = q->getOperand(0);
      return typeOf(x).getRank() > 0 && typeOf(y).getRank() > 0 &&
             rowsOf(x) * rowsOf(b) == rowsOf(y) * rowsOf(a) && canJoin(x, y);
    }
    if (p->getName() != q->getName() || p->getNumResults() != 1 ||
        p->getAttrs() != q->getAttrs())
      return false;
    if (auto reduce = dyn_cast<graph::ReduceOp>(p))
      return !llvm::is_contained(reduce.getDims(), 0) &&
             haveOneType(p->getOperand(0), q->getOperand(0)) &&
             canJoin(p->getOperand(0), q->getOperand(0));
    if (auto gather = dyn_cast<graph::GatherOp>(p))
      return gather.getDim() == 0 && gather.getBatch() == 0 &&
             p->getOperand(0) == q->getOperand(0) &&
             haveOneType(p->getOperand(1), q->getOperand(1)) &&
             canJoin(p->getOperand(1), q->getOperand(1));
    return OpTrait::hasElementwiseMappableTraits(p) &&
           p->getOperand(0).getType() == a.getType() &&
           llvm::all_of(llvm::zip_equal(p->getOperands(), q->getOperands()),
                        [&](auto pair) {
                          return canJoin(std::get<0>(pair), std::get<1>(pair));
                        });
  }

  /// The rows of `a`, then those of `b`, each of shape `inner`.
  Value build(Value a, Value b, ArrayRef<int64_t> inner) {
    a = strip(a);
    b = strip(b);
    SmallVector<int64_t> wanted = {rowsOf(a) + rowsOf(b)};
    SmallVector<int64_t> shape = wanted;
    llvm::append_range(wanted, inner);
    llvm::append_range(shape, innerShape(a));
    Value joined = rows.lookup({a, b});
    if (!joined) {
      joined = buildRows(a, b, typeOf(a).clone(shape));
      rows[{a, b}] = joined;
    }
    return graph::buildReshape(builder, a.getLoc(), joined, wanted);
  }

  Value buildRows(Value a, Value b, RankedTensorType type) {
    Location loc = a.getLoc();
    if (areNeighbours(a, b)) {
      auto slice = a.getDefiningOp<graph::SliceOp>();
      if (slice.getInput().getType() == type)
        return slice.getInput();
      return graph::SliceOp::create(builder, loc, type, slice.getInput(),
                                    slice.getOffsets());
    }
    if (auto splat = splatOf(a))
      return graph::buildSplat(builder, loc, type, *splat);
    if (isSameScale(a, b)) {
      auto [x, factor] = *scaled(a);
      Value rows = build(x, scaled(b)->first, innerShape(a));
      return arith::MulFOp::create(
          builder, loc, rows, graph::buildSplat(builder, loc, type, factor));
    }
    Operation *p = a.getDefiningOp(), *q = b.getDefiningOp();
    if (isReshape(p)) {
      Value x = p->getOperand(0);
      return graph::buildReshape(builder, loc,
                                 build(x, q->getOperand(0), innerShape(x)),
                                 type.getShape());
    }
    OperationState state(loc, p->getName());
    bool isGather = isa<graph::GatherOp>(p);
    for (auto [i, x] : llvm::enumerate(p->getOperands()))
      state.addOperands(
          isGather && i == 0 ? x : build(x, q->getOperand(i), innerShape(x)));
    state.addAttributes(p->getAttrs());
    state.addTypes(type);
    return builder.create(state)->getResult(0);
  }

  OpBuilder &builder;
  llvm::DenseMap<std::pair<Value, Value>, bool> joinable;
  /// What joins two values, in the shape of the first one's rows.
  llvm::DenseMap<std::pair<Value, Value>, Value> rows;
};

} // namespace

std::vector<Value> ingest::joinChunks(std::vector<Value> chunks,
                                      OpBuilder &builder) {
  std::vector<Value> joined;
  for (Value chunk : chunks) {
    Value both;
    if (!joined.empty())
      both = Joiner(builder).join(joined.back(), chunk);
    if (both)
      joined.back() = both;
    else
      joined.push_back(chunk);
  }
  return joined;
}
