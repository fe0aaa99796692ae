// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a compilation is told. A recipe, the command line and the Python
// package all become one JSON object, which is parsed here.

#ifndef BESSEMER_PIPELINES_COMPILEOPTIONS_H
#define BESSEMER_PIPELINES_COMPILEOPTIONS_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bessemer {

/// Constants of the optimizer. Defaults are PyTorch's.
struct OptimizerOptions {
  /// "sgd" or "adamw".
  std::string kind = "sgd";
  /// The learning rate a session starts with; it can be changed when running.
  double learningRate = 1e-3;
  double momentum = 0, dampening = 0;
  bool nesterov = false;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  /// Default 0 for sgd, 0.01 for adamw.
  double weightDecay = 0;
};

enum class EmitKind { Artifact, Graph, Kern, Exec, LLVM };

struct CompileOptions {
  /// Path of the model, or its name in messages when bytes are given.
  std::string model;
  /// Where external data lies when the model is given as bytes.
  std::string baseDir;

  /// cross_entropy, nll, mse, bce, bce_with_logits, output or output:NAME.
  /// Without a loss only `predict` is compiled.
  std::optional<std::string> loss;
  /// The output that the loss reads; default the first.
  std::optional<std::string> outputName;
  std::optional<int64_t> classAxis;
  int64_t ignoreIndex = -100;
  double labelSmoothing = 0;
  OptimizerOptions optimizer;
  std::optional<double> clipNorm;
  /// "biased" (ONNX), "unbiased" (PyTorch); default by the model's producer.
  std::optional<std::string> batchNormVariance;
  /// Patterns of initializers to train and to freeze.
  std::vector<std::string> train, freeze;

  std::map<std::string, int64_t> dims;
  std::optional<int64_t> batch;

  /// "cpu" (all levels), "cpu:x86-64-v3", "cpu:x86-64-v4".
  std::vector<std::string> targets = {"cpu"};
  /// No flush-to-zero, tighter approximations.
  bool strict = false;

  EmitKind emit = EmitKind::Artifact;
  /// Folder for a numbered file per phase; empty: none.
  std::string dumpDir;
  /// Evaluate the program before and after every pass and name the first pass
  /// that changes a result.
  bool verifyNumerics = false;
  /// Pass to run before fusion, by name (tests seed a wrong one).
  std::string injectPass;
  /// Text of each setting as given, kept in the artifact.
  std::vector<std::pair<std::string, std::string>> settings;
};

/// Parses the JSON object `text`. Returns nothing and sets `error` to one line
/// (key, expected, found) when it is not a valid recipe.
std::optional<CompileOptions> parseCompileOptions(const std::string &text,
                                                  std::string &error);

} // namespace bessemer

#endif // BESSEMER_PIPELINES_COMPILEOPTIONS_H
