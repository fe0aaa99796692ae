// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is added to the scores of attention before the softmax.

#ifndef BESSEMER_LIB_RAISING_ATTENTIONMASK_H
#define BESSEMER_LIB_RAISING_ATTENTIONMASK_H

#include "bessemer/Dialect/Graph/IR/Graph.h"

namespace bessemer::raising {

/// Collects masks of scores [..., queries, keys], where at most two dimensions
/// come before: batch and heads.
class AttentionMask {
public:
  /// Adds a value of the shape of the scores. Fails for one that needs a
  /// gradient.
  mlir::LogicalResult add(mlir::Value mask);
  /// Adds a selection: where `condition` is `hidden` the score is `fill`.
  mlir::LogicalResult addSelection(mlir::Value condition, bool hidden,
                                   double fill);

  bool isEmpty() const { return terms.empty(); }
  /// Builds the mask as attention wants it, of rank 4 with dimensions of size 1
  /// where it repeats. Null when there is none; sets `isCausal` when some of it
  /// hides all later keys and nothing else.
  mlir::Value build(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Type element, bool &isCausal) const;

private:
  struct Term {
    /// What is added, or a condition; of rank 4.
    mlir::Value value;
    llvm::SmallVector<int64_t> shape;
    bool isSelection = false, hidden = false;
    double fill = 0.0;
  };
  mlir::LogicalResult addTerm(mlir::Value value, Term term);

  llvm::SmallVector<Term> terms;
};

} // namespace bessemer::raising

#endif // BESSEMER_LIB_RAISING_ATTENTIONMASK_H
