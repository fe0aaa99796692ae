// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The activation functions that recurrent nodes name.

#ifndef BESSEMER_LIB_IMPORT_RECURRENTACTIVATIONS_H
#define BESSEMER_LIB_IMPORT_RECURRENTACTIVATIONS_H

#include "mlir/IR/Builders.h"

namespace bessemer::ingest {

struct Activation {
  enum Kind {
    Relu,
    Tanh,
    Sigmoid,
    Affine,
    LeakyRelu,
    ThresholdedRelu,
    ScaledTanh,
    HardSigmoid,
    Elu,
    Softsign,
    Softplus
  };
  Kind kind;
  double alpha = 0, beta = 0;
};

/// The activation of a name, in any case; none when ONNX has no such one. Takes
/// from the front of `alphas` and `betas` what it needs, else its defaults.
std::optional<Activation> parseActivation(llvm::StringRef name,
                                          llvm::ArrayRef<float> &alphas,
                                          llvm::ArrayRef<float> &betas);

mlir::Value buildActivation(mlir::OpBuilder &builder, mlir::Location loc,
                            const Activation &activation, mlir::Value x);

} // namespace bessemer::ingest

#endif // BESSEMER_LIB_IMPORT_RECURRENTACTIVATIONS_H
