// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Short names for building arithmetic, so that a decomposition or a gradient
// reads like its formula.

#ifndef BESSEMER_DIALECT_GRAPH_IR_EMITTER_H
#define BESSEMER_DIALECT_GRAPH_IR_EMITTER_H

#include "bessemer/Dialect/Graph/IR/Graph.h"

namespace bessemer::graph {

/// Builds elementwise ops at one location.
struct Emitter {
  Emitter(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  mlir::OpBuilder &builder;
  mlir::Location loc;

  static mlir::RankedTensorType typeOf(mlir::Value value) {
    return mlir::cast<mlir::RankedTensorType>(value.getType());
  }
  /// The dimensions of a tensor of rank `rank` that are not in `dims`.
  static llvm::SmallVector<int64_t> otherDims(int64_t rank,
                                              llvm::ArrayRef<int64_t> dims) {
    llvm::SmallVector<int64_t> others;
    for (int64_t dim = 0; dim < rank; ++dim)
      if (!llvm::is_contained(dims, dim))
        others.push_back(dim);
    return others;
  }

  mlir::Value add(mlir::Value a, mlir::Value b) {
    return mlir::arith::AddFOp::create(builder, loc, a, b);
  }
  mlir::Value sub(mlir::Value a, mlir::Value b) {
    return mlir::arith::SubFOp::create(builder, loc, a, b);
  }
  mlir::Value mul(mlir::Value a, mlir::Value b) {
    return mlir::arith::MulFOp::create(builder, loc, a, b);
  }
  mlir::Value div(mlir::Value a, mlir::Value b) {
    return mlir::arith::DivFOp::create(builder, loc, a, b);
  }
  template <typename OpTy> mlir::Value unary(mlir::Value a) {
    return OpTy::create(builder, loc, a);
  }
  mlir::Value neg(mlir::Value a) {
    return mlir::arith::NegFOp::create(builder, loc, a);
  }
  mlir::Value exp(mlir::Value a) {
    return mlir::math::ExpOp::create(builder, loc, a);
  }
  mlir::Value log(mlir::Value a) {
    return mlir::math::LogOp::create(builder, loc, a);
  }
  mlir::Value sqrt(mlir::Value a) {
    return mlir::math::SqrtOp::create(builder, loc, a);
  }
  mlir::Value rsqrt(mlir::Value a) {
    return mlir::math::RsqrtOp::create(builder, loc, a);
  }
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value a,
                      mlir::Value b) {
    return mlir::arith::CmpFOp::create(builder, loc, predicate, a, b);
  }
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a,
                      mlir::Value b) {
    return mlir::arith::CmpIOp::create(builder, loc, predicate, a, b);
  }
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b) {
    return mlir::arith::SelectOp::create(builder, loc, condition, a, b);
  }

  /// A constant of the type of `value` with `element` everywhere.
  mlir::Value like(mlir::Value value, double element) {
    return buildSplat(builder, loc, typeOf(value), element);
  }
  mlir::Value broadcast(mlir::Value value, mlir::RankedTensorType type,
                        llvm::ArrayRef<int64_t> dims) {
    return buildBroadcast(builder, loc, value, type, dims);
  }
  mlir::Value reduce(ReduceKind kind, mlir::Value value,
                     llvm::ArrayRef<int64_t> dims) {
    return buildReduce(builder, loc, kind, value, dims);
  }
  mlir::Value sum(mlir::Value value, llvm::ArrayRef<int64_t> dims) {
    return reduce(ReduceKind::Sum, value, dims);
  }
  /// Repeats `value` to the shape of `other`.
  mlir::Value broadcastLike(mlir::Value value, mlir::Value other,
                            llvm::ArrayRef<int64_t> dims) {
    return broadcast(value, typeOf(other), dims);
  }
  /// Sums over `dim` and repeats the result along it again.
  mlir::Value sumAlong(mlir::Value value, int64_t dim) {
    return broadcastLike(sum(value, {dim}), value,
                         otherDims(typeOf(value).getRank(), {dim}));
  }
};

} // namespace bessemer::graph

#endif // BESSEMER_DIALECT_GRAPH_IR_EMITTER_H
