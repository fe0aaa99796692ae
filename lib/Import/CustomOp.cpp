// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A custom domain's node as plugins see it.

#include "bessemer/Import/CustomOp.h"
#include "NodeImport.h"

using namespace bessemer;
using namespace mlir;
using onnx::AttributeProto;

CustomNode::CustomNode(ingest::NodeImport &node)
    : builder(node.builder), loc(node.loc), node(node) {}

size_t CustomNode::operandCount() const { return node.operandCount(); }
bool CustomNode::has(size_t i) const { return node.has(i); }
RankedTensorType CustomNode::type(size_t i) const { return node.type(i); }
Value CustomNode::value(size_t i) { return node.value(i); }
std::optional<double> CustomNode::splat(size_t i) const {
  return node.splat(i);
}

LogicalResult CustomNode::requireFloat(size_t i) {
  if (!has(i))
    return fail("expected at least " + Twine(i + 1) + " inputs, got " +
                Twine(operandCount()));
  return node.requireFloat(i);
}

/// The node's attribute of type `type`, null when there is none and `optional`.
static FailureOr<const AttributeProto *>
findTyped(ingest::NodeImport &node, StringRef name,
          AttributeProto::AttributeType type, bool optional) {
  const AttributeProto *attribute = ingest::findAttribute(node.node, name);
  if (attribute ? attribute->type() == type : optional)
    return attribute;
  auto lower = [](int value) {
    return StringRef(AttributeProto::AttributeType_Name(
                         static_cast<AttributeProto::AttributeType>(value)))
        .lower();
  };
  return node.fail("expected attribute '" + name + "' of type " + lower(type) +
                   ", got " + (attribute ? lower(attribute->type()) : "none"));
}

FailureOr<int64_t> CustomNode::intAttribute(StringRef name,
                                            std::optional<int64_t> otherwise) {
  auto attribute =
      findTyped(node, name, AttributeProto::INT, otherwise.has_value());
  if (failed(attribute))
    return failure();
  return *attribute ? (*attribute)->i() : *otherwise;
}

FailureOr<double> CustomNode::floatAttribute(StringRef name,
                                             std::optional<double> otherwise) {
  auto attribute =
      findTyped(node, name, AttributeProto::FLOAT, otherwise.has_value());
  if (failed(attribute))
    return failure();
  return *attribute ? (*attribute)->f() : *otherwise;
}

FailureOr<std::string>
CustomNode::stringAttribute(StringRef name,
                            std::optional<std::string> otherwise) {
  auto attribute =
      findTyped(node, name, AttributeProto::STRING, otherwise.has_value());
  if (failed(attribute))
    return failure();
  return *attribute ? (*attribute)->s() : *otherwise;
}

FailureOr<std::vector<int64_t>>
CustomNode::intsAttribute(StringRef name,
                          std::optional<std::vector<int64_t>> otherwise) {
  auto attribute =
      findTyped(node, name, AttributeProto::INTS, otherwise.has_value());
  if (failed(attribute))
    return failure();
  if (!*attribute)
    return *otherwise;
  return std::vector<int64_t>((*attribute)->ints().begin(),
                              (*attribute)->ints().end());
}

Value CustomNode::step() { return node.state.step(); }
int64_t CustomNode::newRandomId() { return node.state.randomIds++; }

void CustomNode::setResults(ValueRange results) {
  node.setResults(llvm::to_vector(results));
}

LogicalResult CustomNode::fail(const Twine &what) { return node.fail(what); }
