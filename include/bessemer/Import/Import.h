// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first stage: an ONNX model becomes a module of the graph dialect.

#ifndef BESSEMER_IMPORT_IMPORT_H
#define BESSEMER_IMPORT_IMPORT_H

#include "bessemer/Import/CustomOp.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bessemer {

/// What to import and how to bind what the model leaves open.
struct ImportOptions {
  /// The model's file: `.onnx` (protobuf), or `.onnxtxt` (ONNX's text syntax).
  /// With `bytes` it only names the model in messages and may be empty.
  std::string path;
  /// The serialized model, instead of a file. The memory must outlive the call
  /// only.
  std::optional<llvm::StringRef> bytes;
  /// Where the files of external data lie; empty: beside `path`.
  std::string baseDir;
  /// Values of symbolic dimensions by name. `batch` also works when the model
  /// has no symbol of that name; a dimension without a name is `input.axis`.
  std::map<std::string, int64_t> dims;
  /// The value of dimension 0 of every input.
  std::optional<int64_t> batch;
  /// The model is imported with this part of the batch (dimension 0 of the
  /// first input).
  int64_t accumulate = 1;
  /// Patterns (`*`, `?`, `[...]`) of initializers to train and not to train.
  /// `train` replaces the default choice, `freeze` is applied last.
  std::vector<std::string> train, freeze;
  /// Ops of custom domains, by plugins; may be null.
  const CustomOps *customOps = nullptr;
};

/// What the user is told. One line each; the import goes on after an error as
/// far as it can, so that all problems are known at once.
struct ImportDiagnostics {
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
};

/// What became of an initializer, for `inspect --params`.
struct InitializerInfo {
  std::string name;
  /// "parameter", "statistic" (both are states) or "constant".
  std::string role;
  /// The reason for the role and for `trainable`.
  std::string why;
  bool trainable = false;
  std::vector<int64_t> shape;
  /// ONNX's name of the element type: "FLOAT", "INT64", ...
  std::string elementType;
};

struct ImportedModel {
  /// `@model(inputs...) -> outputs` and one `graph.state` per parameter and
  /// running statistic. Initial values are dense resources over the mapped
  /// file; the context's resource manager keeps the mapping alive.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// The source model, serialized, as in the file but without the data of the
  /// initializers that became states. Input of exportOnnx.
  std::string sourceModel;
  /// In the order of the file.
  std::vector<InitializerInfo> initializers;
  /// Every symbol of the model with its value.
  std::map<std::string, int64_t> dims;
  /// The producer is PyTorch, whose BatchNorm keeps unbiased variances.
  bool fromPyTorch = false;
};

/// Imports a model. On failure `diagnostics.errors` has at least one line, of
/// the form `model.onnx: node 'conv1' (Conv, opset 21), model.py:41: ...`.
/// Loads the dialects it makes into `context`.
llvm::FailureOr<ImportedModel> importOnnx(mlir::MLIRContext &context,
                                          const ImportOptions &options,
                                          ImportDiagnostics &diagnostics);

} // namespace bessemer

#endif // BESSEMER_IMPORT_IMPORT_H
