// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the user chose about training: loss, optimizer and their constants.
// Everything here is fixed when compiling; the learning rate, the seed and the
// number of steps are given at run time in the step block.

#ifndef BESSEMER_TRAINING_TRAININGOPTIONS_H
#define BESSEMER_TRAINING_TRAININGOPTIONS_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bessemer {

enum class LossKind { CrossEntropy, Nll, Mse, Bce, BceWithLogits, Output };

/// PyTorch's formulas and defaults (torch.optim.SGD and AdamW).
struct OptimizerOptions {
  enum class Kind { Sgd, AdamW };
  Kind kind = Kind::Sgd;
  // SGD
  double momentum = 0.0;
  double dampening = 0.0;
  bool nesterov = false;
  // AdamW
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  /// Entries of an embedding table that a step does not look up keep their
  /// moments and weights: another optimizer than AdamW, that of
  /// torch.optim.SparseAdam.
  bool lazyEmbeddings = false;
  /// Without a value: 0 for SGD, 0.01 for AdamW.
  std::optional<double> weightDecay;

  double getWeightDecay() const {
    return weightDecay.value_or(kind == Kind::AdamW ? 0.01 : 0.0);
  }
};

/// How the running variance of batch norm is computed from n values.
enum class BatchNormVariance {
  /// Unbiased when the model's producer is PyTorch, else biased.
  FromProducer,
  /// Divided by n, as ONNX says.
  Biased,
  /// Divided by n - 1, as PyTorch does.
  Unbiased
};

struct TrainingOptions {
  LossKind loss = LossKind::CrossEntropy;
  /// The model's output that is the prediction, or with LossKind::Output the
  /// loss; empty: the first.
  std::string outputName;
  /// Dimension of the prediction that holds the classes, from the end when
  /// negative. Without a value: 1 for ranks 2 and >= 4, the last for rank 3.
  std::optional<int64_t> classAxis;
  /// Rows with this label count in neither loss nor accuracy.
  int64_t ignoreIndex = -100;
  /// cross_entropy: weight of the uniform distribution in the target, in
  /// [0, 1].
  double labelSmoothing = 0.0;
  OptimizerOptions optimizer;
  /// Largest norm of all gradients together; absent: no clipping.
  std::optional<double> clipNorm;
  /// Micro-batches that a batch is computed in, one after the other; the model
  /// has the size of one of them.
  int64_t accumulate = 1;
  /// Patterns (`*`, `?`, `[...]`) of initializers not to train. Parameters were
  /// marked by the import; here a pattern that matches a batch norm's running
  /// mean or variance keeps that batch norm in inference mode.
  std::vector<std::string> freeze;
  BatchNormVariance batchNormVariance = BatchNormVariance::FromProducer;
};

/// Reports one error, a line without location.
using OptionErrorHandler = llvm::function_ref<void(const llvm::Twine &)>;

/// Sets `loss` and, for `output:NAME`, `outputName` from the user's text:
/// cross_entropy, nll, mse, bce, bce_with_logits, output or output:NAME.
llvm::LogicalResult parseLoss(llvm::StringRef text, TrainingOptions &options,
                              OptionErrorHandler emitError);

/// Sets the kind from the user's text: sgd or adamw.
llvm::LogicalResult parseOptimizer(llvm::StringRef text,
                                   OptimizerOptions &options,
                                   OptionErrorHandler emitError);

/// Sets the variance from the user's text: biased or unbiased; empty text
/// means by producer.
llvm::LogicalResult parseBatchNormVariance(llvm::StringRef text,
                                           TrainingOptions &options,
                                           OptionErrorHandler emitError);

/// Whether gradients can be clipped to this norm: kernels compute with it in
/// f32, where it must be no subnormal.
bool isClipNorm(double norm);
inline constexpr llvm::StringLiteral kClipNormRange =
    "of at least 1.17549435e-38 that float32 holds";

/// Checks ranges and combinations, as PyTorch's constructors do.
llvm::LogicalResult verifyOptions(const TrainingOptions &options,
                                  OptionErrorHandler emitError);

/// The user's name of a loss: "cross_entropy", ...
llvm::StringRef stringifyLoss(LossKind loss);

/// The user's name of an optimizer: "sgd", "adamw".
llvm::StringRef stringifyOptimizer(OptimizerOptions::Kind kind);

} // namespace bessemer

#endif // BESSEMER_TRAINING_TRAININGOPTIONS_H
