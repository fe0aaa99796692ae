// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parsing and checking of the training options.

#include "bessemer/Training/TrainingOptions.h"
#include "bessemer/Training/Training.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <limits>

using namespace llvm;
using namespace bessemer;

static constexpr std::pair<StringLiteral, LossKind> losses[] = {
    {"cross_entropy", LossKind::CrossEntropy},
    {"nll", LossKind::Nll},
    {"mse", LossKind::Mse},
    {"bce", LossKind::Bce},
    {"bce_with_logits", LossKind::BceWithLogits},
    {"output", LossKind::Output},
};

LogicalResult bessemer::parseLoss(StringRef text, TrainingOptions &options,
                                  OptionErrorHandler emitError) {
  auto [name, output] = text.split(':');
  for (auto [known, kind] : losses) {
    if (name != known)
      continue;
    options.loss = kind;
    if (kind == LossKind::Output && !output.empty())
      options.outputName = output.str();
    if (kind == LossKind::Output || name == text)
      return success();
  }
  emitError("expected loss cross_entropy, nll, mse, bce, bce_with_logits, "
            "output or output:NAME, got '" +
            text + "'");
  return failure();
}

StringRef bessemer::stringifyLoss(LossKind loss) {
  for (auto [name, kind] : losses)
    if (kind == loss)
      return name;
  llvm_unreachable("unknown loss");
}

LogicalResult bessemer::parseOptimizer(StringRef text,
                                       OptimizerOptions &options,
                                       OptionErrorHandler emitError) {
  if (text == "sgd") {
    options.kind = OptimizerOptions::Kind::Sgd;
  } else if (text == "adamw") {
    options.kind = OptimizerOptions::Kind::AdamW;
  } else {
    emitError("expected optimizer sgd or adamw, got '" + text + "'");
    return failure();
  }
  return success();
}

StringRef bessemer::stringifyOptimizer(OptimizerOptions::Kind kind) {
  return kind == OptimizerOptions::Kind::Sgd ? "sgd" : "adamw";
}

LogicalResult bessemer::parseBatchNormVariance(StringRef text,
                                               TrainingOptions &options,
                                               OptionErrorHandler emitError) {
  if (text.empty()) {
    options.batchNormVariance = BatchNormVariance::FromProducer;
  } else if (text == "biased") {
    options.batchNormVariance = BatchNormVariance::Biased;
  } else if (text == "unbiased") {
    options.batchNormVariance = BatchNormVariance::Unbiased;
  } else {
    emitError("expected batch_norm_variance biased or unbiased, got '" + text +
              "'");
    return failure();
  }
  return success();
}

static std::string toText(double value) {
  std::string text;
  raw_string_ostream(text) << format("%g", value);
  return text;
}

bool bessemer::isClipNorm(double norm) {
  float rounded = static_cast<float>(norm);
  return rounded >= std::numeric_limits<float>::min() &&
         rounded <= std::numeric_limits<float>::max();
}

LogicalResult bessemer::verifyOptions(const TrainingOptions &options,
                                      OptionErrorHandler emitError) {
  auto fail = [&](const Twine &message) {
    emitError(message);
    return failure();
  };
  auto checkRange = [&](StringRef what, double value, double low, double high,
                        StringRef range) -> LogicalResult {
    if (value >= low && value <= high)
      return success();
    return fail("expected " + what + " " + range + ", got " + toText(value));
  };
  // The largest double below 1.
  const double belowOne = std::nextafter(1.0, 0.0);
  const double largest = std::numeric_limits<double>::max();

  if (failed(checkRange("label_smoothing", options.labelSmoothing, 0.0, 1.0,
                        "between 0 and 1")))
    return failure();
  if (options.labelSmoothing != 0.0 && options.loss != LossKind::CrossEntropy)
    return fail("label_smoothing works with the loss cross_entropy only, got " +
                stringifyLoss(options.loss));
  if (options.clipNorm && !isClipNorm(*options.clipNorm))
    return fail("expected clip_norm " + kClipNormRange + ", got " +
                toText(*options.clipNorm));

  if (options.accumulate < 1)
    return fail("expected accumulate of at least 1, got " +
                Twine(options.accumulate));

  const OptimizerOptions &optimizer = options.optimizer;
  if (optimizer.lazyEmbeddings &&
      optimizer.kind != OptimizerOptions::Kind::AdamW)
    return fail("lazy_embeddings works with the optimizer adamw only, got " +
                stringifyOptimizer(optimizer.kind));
  if (optimizer.lazyEmbeddings && options.accumulate != 1)
    return fail("lazy_embeddings works without accumulation only, got "
                "accumulate " +
                Twine(options.accumulate));
  if (failed(checkRange("weight_decay", optimizer.getWeightDecay(), 0.0,
                        largest, "of at least 0")))
    return failure();
  if (optimizer.kind == OptimizerOptions::Kind::Sgd) {
    if (failed(checkRange("momentum", optimizer.momentum, 0.0, largest,
                          "of at least 0")))
      return failure();
    if (optimizer.nesterov &&
        (optimizer.momentum == 0.0 || optimizer.dampening != 0.0))
      return fail("nesterov needs momentum above 0 and dampening 0, got " +
                  toText(optimizer.momentum) + " and " +
                  toText(optimizer.dampening));
    return success();
  }
  if (failed(
          checkRange("beta1", optimizer.beta1, 0.0, belowOne, "in [0, 1)")) ||
      failed(
          checkRange("beta2", optimizer.beta2, 0.0, belowOne, "in [0, 1)")) ||
      failed(
          checkRange("eps", optimizer.epsilon, 0.0, largest, "of at least 0")))
    return failure();
  return success();
}
