// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Running statistics that the exporter's tracing has touched.

#include "TracedStatistics.h"
#include "Attributes.h"
#include "llvm/ADT/STLExtras.h"
#include <cstring>

using namespace bessemer;
using namespace bessemer::ingest;

static Initializer *findFloats(ModelSource &source, const std::string &name) {
  for (Initializer &initializer : source.initializers)
    if (initializer.name == name &&
        initializer.elementType == onnx::TensorProto::FLOAT &&
        initializer.data.size() == size_t(initializer.elementCount()) * 4)
      return &initializer;
  return nullptr;
}

static std::vector<float> floatsOf(const Initializer &initializer) {
  std::vector<float> values(initializer.elementCount());
  std::memcpy(values.data(), initializer.data.data(), initializer.data.size());
  return values;
}

static void fill(Initializer &initializer, float value) {
  auto values =
      std::make_shared<std::vector<float>>(initializer.elementCount(), value);
  initializer.data = llvm::StringRef(
      reinterpret_cast<const char *>(values->data()), values->size() * 4);
  initializer.owner = values;
}

void bessemer::ingest::resetTracedStatistics(ModelSource &source,
                                             ImportDiagnostics &diagnostics) {
  if (source.model.producer_name() != "pytorch")
    return;
  std::vector<std::pair<Initializer *, Initializer *>> statistics;
  bool touched = false;
  for (const onnx::NodeProto &node : source.model.graph().node()) {
    if (node.op_type() != "BatchNormalization")
      continue;
    // Only the TorchScript exporter writes the training mode.
    const onnx::AttributeProto *mode = findAttribute(node, "training_mode");
    if (!mode || mode->i() != 1 || node.input_size() != 5)
      return;
    Initializer *mean = findFloats(source, node.input(3));
    Initializer *variance = findFloats(source, node.input(4));
    if (!mean || !variance)
      continue; // track_running_stats=False: those of the batch, computed
    const onnx::AttributeProto *attribute = findAttribute(node, "momentum");
    float momentum = attribute ? attribute->f() : 0.9f;
    for (float value : floatsOf(*variance)) {
      if (!(value >= momentum))
        return;
      touched |= value != 1;
    }
    statistics.emplace_back(mean, variance);
  }
  if (!touched)
    return;
  for (auto [mean, variance] : statistics) {
    fill(*mean, 0);
    fill(*variance, 1);
  }
  diagnostics.warnings.push_back(
      source.label + ": the running statistics of its " +
      std::to_string(statistics.size()) +
      " BatchNormalization nodes hold one batch only, as the TorchScript "
      "exporter leaves them when it traces in training mode: they start from "
      "mean 0 and variance 1");
}
