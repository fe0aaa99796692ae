// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The labels of ONNX's losses.

#include "Labels.h"
#include "Attributes.h"
#include "Origins.h"

using namespace bessemer;
using namespace bessemer::ingest;

static constexpr const char *classesKey = "bessemer.classes";
static constexpr const char *ignoredKey = "bessemer.ignored";

static void addMetadata(onnx::NodeProto &node, const char *key, int64_t value) {
  auto *entry = node.add_metadata_props();
  entry->set_key(key);
  entry->set_value(std::to_string(value));
}

void ingest::markLabels(onnx::FunctionProto &body, const onnx::NodeProto &loss,
                        const onnx::TypeProto &scores) {
  if (loss.op_type() != "NegativeLogLikelihoodLoss" &&
      loss.op_type() != "SoftmaxCrossEntropyLoss")
    return;
  const auto &shape = scores.tensor_type().shape();
  if (shape.dim_size() < 2 || shape.dim(1).dim_value() < 1)
    return;
  const std::string labels = body.input(1), marked = labels + "_marked";
  for (onnx::NodeProto &node : *body.mutable_node())
    for (std::string &input : *node.mutable_input())
      if (input == labels)
        input = marked;
  onnx::NodeProto &identity = *body.add_node();
  identity.set_op_type("Identity");
  // Where the others come from.
  *identity.mutable_metadata_props() = body.node(0).metadata_props();
  identity.add_input(labels);
  identity.add_output(marked);
  addMetadata(identity, classesKey, shape.dim(1).dim_value());
  if (const auto *ignored = findAttribute(loss, "ignore_index"))
    addMetadata(identity, ignoredKey, ignored->i());
  for (int i = body.node_size() - 1; i > 0; --i)
    body.mutable_node()->SwapElements(i, i - 1);
}

std::optional<Labels> ingest::labelsThrough(const onnx::NodeProto &identity) {
  Labels labels;
  if (metadata(identity, classesKey).getAsInteger(10, labels.classes))
    return std::nullopt;
  if (int64_t ignored = 0;
      !metadata(identity, ignoredKey).getAsInteger(10, ignored))
    labels.ignored = ignored;
  return labels;
}
