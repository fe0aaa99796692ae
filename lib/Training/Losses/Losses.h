// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Losses: a new loss is one file with an implementation of `Loss`, and a line
// in makeLoss.

#ifndef BESSEMER_LIB_TRAINING_LOSSES_LOSSES_H
#define BESSEMER_LIB_TRAINING_LOSSES_LOSSES_H

#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "bessemer/Training/TrainingOptions.h"
#include <memory>

namespace bessemer::training {

using ErrorHandler = llvm::function_ref<mlir::InFlightDiagnostic()>;

/// A loss before it is reduced: one value per row or element. All tensors have
/// one shape; in row-major order their elements are grouped by sample, so that
/// the first of the batch's n samples owns the first (elements / n).
struct ElementLoss {
  /// f32.
  mlir::Value loss;
  /// i1, which elements count; null: all of them. Where it is false the loss is
  /// 0.
  mlir::Value counted;
  /// i1, which predictions are right; null: no accuracy with this loss. Only
  /// built when asked for.
  mlir::Value correct;
};

/// A loss that compares a prediction with labels.
class Loss {
public:
  virtual ~Loss() = default;

  /// The type of the labels for a prediction of this type, whose first
  /// dimension is the batch; reports why there is none.
  virtual llvm::FailureOr<mlir::RankedTensorType>
  getLabelsType(mlir::RankedTensorType prediction, ErrorHandler emitError) = 0;

  /// What labels must be; null where they may be anything.
  virtual graph::InputRangeAttr
  getLabelsRange(mlir::RankedTensorType prediction) {
    return {};
  }

  /// Builds the loss of every row or element.
  virtual ElementLoss build(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value prediction, mlir::Value labels,
                            bool withCorrect) = 0;
};

/// The loss that the options choose; null for LossKind::Output.
std::unique_ptr<Loss> makeLoss(const TrainingOptions &options);

std::unique_ptr<Loss> makeCrossEntropy(const TrainingOptions &options);
std::unique_ptr<Loss> makeNll(const TrainingOptions &options);
std::unique_ptr<Loss> makeMse();
std::unique_ptr<Loss> makeBce();
std::unique_ptr<Loss> makeBceWithLogits();

/// Tensor arithmetic at one location.
struct LossBuilder {
  mlir::OpBuilder &builder;
  mlir::Location loc;

  template <typename OpTy> mlir::Value op(mlir::ValueRange operands) {
    return OpTy::create(builder, loc, operands);
  }
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value neg(mlir::Value a);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value a,
                      mlir::Value b);
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a,
                      mlir::Value b);
  /// A constant of the type of `like`.
  mlir::Value splat(mlir::Value like, double value);
  /// A constant f32 tensor of the shape of `like`.
  mlir::Value splatF32(mlir::Value like, double value);
  /// 1.0 where the i1 tensor `flags` is set, else 0.0.
  mlir::Value indicator(mlir::Value flags);
  /// The sum of all elements, of rank 0.
  mlir::Value sumAll(mlir::Value a);
  mlir::Value reduce(graph::ReduceKind kind, mlir::Value a,
                     llvm::ArrayRef<int64_t> dims);
  mlir::Value broadcast(mlir::Value a, mlir::Value like,
                        llvm::ArrayRef<int64_t> dims);
};

/// What the losses over classes share.
class ClassLoss : public Loss {
public:
  explicit ClassLoss(const TrainingOptions &options)
      : ignoreIndex(options.ignoreIndex), classAxis(options.classAxis) {}

  llvm::FailureOr<mlir::RankedTensorType>
  getLabelsType(mlir::RankedTensorType prediction,
                ErrorHandler emitError) override;
  graph::InputRangeAttr
  getLabelsRange(mlir::RankedTensorType prediction) override;

  ElementLoss build(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value prediction, mlir::Value labels,
                    bool withCorrect) override;

protected:
  /// The loss per row from scores [rows, classes] and labels [rows] of i64.
  /// `counted` says which rows do.
  virtual mlir::Value buildRows(LossBuilder &b, mlir::Value scores,
                                mlir::Value labels, mlir::Value counted) = 0;

  int64_t ignoreIndex;

private:
  int64_t getClassAxis(mlir::RankedTensorType prediction) const;

  std::optional<int64_t> classAxis;
};

/// Labels of the shape and type of the prediction.
class PointwiseLoss : public Loss {
public:
  explicit PointwiseLoss(llvm::StringRef name) : name(name) {}

  llvm::FailureOr<mlir::RankedTensorType>
  getLabelsType(mlir::RankedTensorType prediction,
                ErrorHandler emitError) override;

  ElementLoss build(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value prediction, mlir::Value labels,
                    bool withCorrect) override;

protected:
  virtual mlir::Value buildElements(LossBuilder &b, mlir::Value prediction,
                                    mlir::Value labels) = 0;

private:
  llvm::StringRef name;
};

} // namespace bessemer::training

#endif // BESSEMER_LIB_TRAINING_LOSSES_LOSSES_H
