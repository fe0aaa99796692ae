// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A trained model as .onnx: the source model with new weights, in inference
// mode.

#ifndef BESSEMER_EMIT_EXPORTONNX_H
#define BESSEMER_EMIT_EXPORTONNX_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bessemer {

/// A tensor to put into the model: little endian, row major.
struct WeightView {
  /// As safetensors names it: "F32", "F64", ...
  std::string elementType;
  std::vector<int64_t> shape;
  llvm::StringRef data;
};

struct ExportOptions {
  /// The artifact's file; only names it in messages when its bytes are given.
  std::string artifactPath;
  /// A safetensors file; empty: the initial weights, as the artifact has them.
  std::string checkpointPath;
  std::string outputPath;
  /// Weights of more bytes than this in all are written to a file beside the
  /// model, `<output>.<hash>.data`, since protobuf ends at 2 GB. The hash is
  /// that of its content: another export has another file, so the model under
  /// the output's name always finds the one that belongs to it.
  uint64_t largestInline = uint64_t(1) << 30;
};

/// Writes `sourceModel` (ImportedModel::sourceModel) with `weights` in the
/// place of the initializers that have no data, BatchNormalization and Dropout
/// in inference mode, and all metadata kept. The file appears under its name
/// only when it is complete, its data file before it; data files of earlier
/// exports to the same name are removed after it. Returns whether it worked, and why not in `error`.
bool exportOnnx(llvm::StringRef sourceModel,
                const std::map<std::string, WeightView> &weights,
                const ExportOptions &options, std::string &error);

/// The same from an artifact and a checkpoint; the artifact is read from its
/// path unless `artifact` holds its bytes.
bool exportTrainedModel(const ExportOptions &options,
                        std::optional<llvm::StringRef> artifact,
                        std::string &error);

} // namespace bessemer

#endif // BESSEMER_EMIT_EXPORTONNX_H
