// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stages of the import, in order.

#include "LostParameters.h"
#include "ModelImporter.h"
#include "ModelSource.h"
#include "Normalize.h"
#include "ParameterRoles.h"
#include "TracedStatistics.h"
#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "google/protobuf/stubs/logging.h"
#include <algorithm>

using namespace bessemer;
using namespace bessemer::ingest;

/// The source model with the data of all initializers but the states': those
/// come from a checkpoint when the trained model is exported.
static std::string serializeSource(const ModelSource &source,
                                   llvm::ArrayRef<InitializerInfo> roles) {
  onnx::ModelProto model = source.model;
  std::set<std::string> states;
  for (const InitializerInfo &info : roles)
    if (info.role != "constant")
      states.insert(info.name);
  auto &tensors = *model.mutable_graph()->mutable_initializer();
  std::map<std::string, const Initializer *> initializers;
  for (const Initializer &initializer : source.initializers)
    initializers[initializer.name] = &initializer;
  for (onnx::TensorProto &tensor : tensors)
    if (!states.count(tensor.name()))
      tensor.set_raw_data(initializers[tensor.name()]->data.str());
  std::string bytes;
  model.SerializeToString(&bytes);
  return bytes;
}

static llvm::FailureOr<ImportedModel>
importStages(mlir::MLIRContext &context, const ImportOptions &options,
             ImportDiagnostics &diagnostics) {
  context.loadDialect<graph::GraphDialect, mlir::func::FuncDialect,
                      mlir::arith::ArithDialect, mlir::math::MathDialect,
                      mlir::tensor::TensorDialect>();
  // What protobuf would print of a damaged file is reported as our error.
  google::protobuf::LogSilencer silencer;
  auto source = loadModel(options, diagnostics);
  if (llvm::failed(source))
    return llvm::failure();
  resetTracedStatistics(*source, diagnostics);
  auto isKnown = [&](const std::string &domain, const std::string &op) {
    return domain.empty()
               ? isKnownOp(op)
               : options.customOps && options.customOps->find(domain, op);
  };
  auto normalized = normalize(*source, options, isKnown, diagnostics);
  if (llvm::failed(normalized))
    return llvm::failure();
  auto roles = assignRoles(*source, *normalized, options, diagnostics);
  if (llvm::failed(roles))
    return llvm::failure();
  warnOfLostParameters(*source, *roles, diagnostics);
  auto module = buildModule(context, *source, *normalized, *roles,
                            options.customOps, diagnostics);
  if (llvm::failed(module))
    return llvm::failure();

  ImportedModel imported;
  imported.module = std::move(*module);
  imported.sourceModel = serializeSource(*source, *roles);
  imported.initializers = std::move(*roles);
  imported.dims = std::move(normalized->dims);
  imported.fromPyTorch = source->model.producer_name() == "pytorch";
  return imported;
}

llvm::FailureOr<ImportedModel>
bessemer::importOnnx(mlir::MLIRContext &context, const ImportOptions &options,
                     ImportDiagnostics &diagnostics) {
  // What the stages do not expect of the ONNX library, and memory that ends.
  llvm::FailureOr<ImportedModel> imported = llvm::failure();
  try {
    imported = importStages(context, options, diagnostics);
  } catch (const std::exception &e) {
    diagnostics.errors.push_back(
        (options.path.empty() ? "model" : options.path) +
        ": cannot be imported: " + e.what());
  }
  // One line each, whatever the names in the file are made of.
  for (auto *lines : {&diagnostics.errors, &diagnostics.warnings})
    for (std::string &line : *lines)
      std::replace_if(
          line.begin(), line.end(),
          [](unsigned char c) { return c < ' ' || c == 127; }, ' ');
  return imported;
}
