// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a compilation is told. A recipe, the command line and the Python
// package all become one JSON object, which is parsed here.

#ifndef BESSEMER_PIPELINES_COMPILEOPTIONS_H
#define BESSEMER_PIPELINES_COMPILEOPTIONS_H

#include "bessemer/Training/TrainingOptions.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bessemer {

enum class EmitKind { Artifact, Graph, Kern, Exec, LLVM };

struct CompileOptions {
  /// Path of the model, or its name in messages when bytes are given.
  std::string model;
  /// Where external data lies when the model is given as bytes.
  std::string baseDir;

  /// Whether a loss was given; without one only `predict` is compiled.
  bool hasLoss = false;
  /// Loss, optimizer and their constants.
  TrainingOptions training;
  /// The learning rate a session starts with; it can be changed when running.
  double learningRate = 1e-3;
  /// Patterns of initializers to train; `training.freeze` are those to freeze.
  std::vector<std::string> train;

  std::map<std::string, int64_t> dims;
  std::optional<int64_t> batch;

  /// Bytes that a session may take; kernels are repeated to fit.
  std::optional<int64_t> memoryLimit;

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
  /// File for the module before a pass that fails or crashes by a fault of its
  /// own; empty: none.
  std::string reproducer;
  /// Plugins to load, in order.
  std::vector<std::string> passPlugins;
  /// Pass to run before fusion, by name (tests seed a wrong one).
  std::string injectPass;
  /// Text of each setting as given, kept in the artifact.
  std::vector<std::pair<std::string, std::string>> settings;
};

/// Parses the JSON object `text`. Returns nothing and sets `error` to one line
/// (key, expected, found) when it is not a valid recipe. The object at the
/// key "@origins" may say what errors call a key, e.g. {"batch":
/// "recipe.yaml:3: batch"}.
std::optional<CompileOptions> parseCompileOptions(const std::string &text,
                                                  std::string &error);

} // namespace bessemer

#endif // BESSEMER_PIPELINES_COMPILEOPTIONS_H
