// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `graph` dialect: WHAT is computed. See GraphDialect.td.

#ifndef BESSEMER_DIALECT_GRAPH_IR_GRAPH_H
#define BESSEMER_DIALECT_GRAPH_IR_GRAPH_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "bessemer/Dialect/Graph/IR/GraphDialect.h.inc"
#include "bessemer/Dialect/Graph/IR/GraphEnums.h.inc"
#include "bessemer/Dialect/Graph/IR/GraphInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "bessemer/Dialect/Graph/IR/GraphAttributes.h.inc"
#define GET_TYPEDEF_CLASSES
#include "bessemer/Dialect/Graph/IR/GraphTypes.h.inc"
#define GET_OP_CLASSES
#include "bessemer/Dialect/Graph/IR/GraphOps.h.inc"

namespace bessemer::graph {

/// Name of the argument and result attribute that holds the ONNX name.
inline constexpr llvm::StringLiteral kNameAttr = "graph.name";

/// On arguments whose dimension 0 accumulation splits, and on draws for them.
inline constexpr llvm::StringLiteral kBatchAttr = "graph.batch";

/// What the integers of an argument must be: an array of InputRangeAttr.
inline constexpr llvm::StringLiteral kRangesAttr = "graph.ranges";

/// Whether values of a type can have ranges: tensors of i32 and i64.
bool canHaveRanges(mlir::Type type);

/// Checks that `ranges` is an array of InputRangeAttr, all about elements that
/// a tensor of type `type` has.
llvm::LogicalResult
verifyRanges(mlir::Attribute ranges, mlir::Type type,
             llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// The layout of weights [o, i, h, w] as [o / 16, i / 16, h, w, 16 of i, 16 of
/// o], in oneDNN's words.
inline constexpr llvm::StringLiteral kBlockedWeights = "OIhw16i16o";

/// [o, i, h, w] -> [o / 16, i / 16, h, w, 16, 16], for weights of f32; null
/// where these are no whole blocks.
mlir::RankedTensorType getBlockedWeights(mlir::RankedTensorType weights);
/// The other way round.
mlir::RankedTensorType getUnblockedWeights(mlir::RankedTensorType blocked);
/// Ops that lay weights out so, and back.
mlir::Value buildBlockedWeights(mlir::OpBuilder &builder, mlir::Location loc,
                                mlir::Value weights);
mlir::Value buildUnblockedWeights(mlir::OpBuilder &builder, mlir::Location loc,
                                  mlir::Value blocked);

/// Attaches gradients to upstream `arith`, `math` and `tensor` ops.
void registerUpstreamGradients(mlir::DialectRegistry &registry);

/// Reshapes `value` to `shape` (equal element count) with at most one
/// collapse_shape and one expand_shape.
mlir::Value buildReshape(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value value, llvm::ArrayRef<int64_t> shape);

/// A constant tensor of `type` with `value` in every element, converted to the
/// element type.
mlir::Value buildSplat(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::RankedTensorType type, double value);

/// Broadcasts `value` to `type`: input dimension i becomes result dimension
/// dims[i]. Returns `value` itself when the types are equal.
mlir::Value buildBroadcast(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value value, mlir::RankedTensorType type,
                           llvm::ArrayRef<int64_t> dims);

/// Which entries of a table of `size` `indices` name: of [batch..., j...] a
/// tensor [batch..., size] of i1.
mlir::Value buildTouched(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value indices, int64_t batch, int64_t size);

/// Reduces `value` over `dims`.
mlir::Value buildReduce(mlir::OpBuilder &builder, mlir::Location loc,
                        ReduceKind kind, mlir::Value value,
                        llvm::ArrayRef<int64_t> dims);

} // namespace bessemer::graph

#endif // BESSEMER_DIALECT_GRAPH_IR_GRAPH_H
