// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which kernel family computes which op: the one answer.

#include "FamilyTable.h"
#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::fusion;

/// Ops by name. Elementwise arith and math ops are of family Map, by trait.
static const llvm::StringMap<Family> &namedFamilies() {
  static const llvm::StringMap<Family> table = {
      {"graph.broadcast", Family::Map},
      {"graph.transpose", Family::Map},
      {"graph.iota", Family::Map},
      {"graph.random", Family::Map},
      {"graph.dropout", Family::Map},
      {"graph.batch_norm", Family::Map},
      {"graph.cross_entropy_grad", Family::Map},
      {"graph.gelu", Family::Map},
      {"graph.gelu_grad", Family::Map},
      {"graph.sigmoid", Family::Map},
      {"graph.silu", Family::Map},
      {"graph.silu_grad", Family::Map},
      {"graph.reduce", Family::Fold},
      {"graph.softmax", Family::Fold},
      {"graph.log_softmax", Family::Fold},
      {"graph.batch_norm_train", Family::Fold},
      {"graph.batch_norm_grad", Family::Fold},
      {"graph.cross_entropy", Family::Fold},
      {"graph.slice", Family::Move},
      {"graph.pad", Family::Move},
      {"graph.concat", Family::Move},
      {"graph.gather", Family::Move},
      {"graph.scatter_add", Family::Move},
      {"graph.layer_norm", Family::Fold},
      {"graph.layer_norm_grad", Family::Fold},
      {"graph.rms_norm", Family::Fold},
      {"graph.rms_norm_grad", Family::Fold},
      {"graph.contract", Family::Gemm},
      {"graph.attention", Family::Attention},
      {"graph.attention_grad", Family::Attention},
      {"graph.conv", Family::Conv},
      {"graph.conv_input_grad", Family::Conv},
      {"graph.conv_weight_grad", Family::Conv},
      {"graph.pool", Family::Window},
      {"graph.max_pool_grad", Family::Window},
      {"graph.average_pool_grad", Family::Window},
      {"graph.sgd", Family::Update},
      {"graph.adamw", Family::Update},
      {"graph.square_sum", Family::Norm},
      {"tensor.collapse_shape", Family::Alias},
      {"tensor.expand_shape", Family::Alias},
      {"arith.constant", Family::Constant},
      {"graph.read", Family::Boundary},
      {"graph.write", Family::Boundary},
      {"graph.step_value", Family::Boundary},
      {"graph.scan", Family::Boundary},
      {"graph.yield", Family::Boundary},
      {"func.return", Family::Boundary},
  };
  return table;
}

/// Whether `op` is arithmetic on tensors of one shape.
static bool isElementwise(Operation *op) {
  if (!isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
          op->getDialect()) ||
      !op->hasTrait<OpTrait::Elementwise>() || op->getNumResults() != 1)
    return false;
  auto result = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  return result && llvm::all_of(op->getOperandTypes(), [&](Type type) {
           auto tensor = dyn_cast<RankedTensorType>(type);
           return tensor && tensor.getShape() == result.getShape();
         });
}

std::optional<Family> fusion::getFamily(Operation *op) {
  const llvm::StringMap<Family> &table = namedFamilies();
  auto entry = table.find(op->getName().getStringRef());
  if (entry != table.end())
    return entry->second;
  if (isElementwise(op))
    return Family::Map;
  return std::nullopt;
}
