// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor of the reference evaluator.

#ifndef BESSEMER_REFERENCE_TENSOR_H
#define BESSEMER_REFERENCE_TENSOR_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Support/LLVM.h"
#include <vector>

namespace bessemer::reference {

/// A statically shaped tensor in row-major order. Floats of any width are held
/// as double, integers of any width sign-extended (i1: 0 or 1).
struct Tensor {
  mlir::RankedTensorType type;
  /// The elements when the element type is a float, else empty.
  std::vector<double> floats;
  /// The elements when the element type is an integer, else empty.
  std::vector<int64_t> integers;

  /// A tensor of zeros.
  explicit Tensor(mlir::RankedTensorType type);
  Tensor(mlir::RankedTensorType type, std::vector<double> floats);
  Tensor(mlir::RankedTensorType type, std::vector<int64_t> integers);

  bool isFloat() const {
    return llvm::isa<mlir::FloatType>(type.getElementType());
  }
  llvm::ArrayRef<int64_t> shape() const { return type.getShape(); }
  int64_t size() const { return type.getNumElements(); }

  /// The elements of a dense or dense_resource attribute; failure when it is of
  /// another kind or its resource is missing.
  static llvm::FailureOr<Tensor> fromAttribute(mlir::Attribute attribute);
};

/// `value` rounded to the nearest number of a float type.
double roundTo(mlir::FloatType type, double value);

/// The low bits of `value` that an integer type holds, sign-extended (i1: 0 or
/// 1).
int64_t wrapTo(mlir::IntegerType type, int64_t value);

/// Row-major strides of a shape.
llvm::SmallVector<int64_t> stridesOf(llvm::ArrayRef<int64_t> shape);

} // namespace bessemer::reference

#endif // BESSEMER_REFERENCE_TENSOR_H
