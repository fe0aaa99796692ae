// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schemas of custom ops: nothing but their shape inference.

#include "CustomSchemas.h"
#include "onnx/defs/shape_inference.h"

using namespace bessemer;
using namespace bessemer::ingest;
using onnx::InferenceContext;
using onnx::OpSchema;

/// The operand's shape; nothing when it is not given or not known.
static std::optional<Shape> shapeOf(const onnx::TypeProto *type) {
  if (!type || !type->has_tensor_type() || !type->tensor_type().has_shape())
    return std::nullopt;
  Shape shape;
  for (const auto &dimension : type->tensor_type().shape().dim()) {
    if (!dimension.has_dim_value())
      return std::nullopt;
    shape.push_back(dimension.dim_value());
  }
  return shape;
}

static void inferShapes(const CustomOp &op, InferenceContext &context) {
  std::vector<std::optional<Shape>> operands;
  for (size_t i = 0; i < context.getNumInputs(); ++i) {
    const onnx::TypeProto *type = context.getInputType(i);
    operands.push_back(shapeOf(type));
    if (type && !operands.back())
      return; // not known yet
  }
  if (operands.empty() || !operands[0])
    return;
  std::optional<std::vector<Shape>> results =
      op.inferShapes ? op.inferShapes(operands)
                     : std::vector<Shape>{*operands[0]};
  if (!results)
    return; // the importer will say what does not fit
  int32_t element = context.getInputType(0)->tensor_type().elem_type();
  for (size_t i = 0; i < results->size() && i < context.getNumOutputs(); ++i) {
    auto &type = *context.getOutputType(i)->mutable_tensor_type();
    type.set_elem_type(element);
    type.mutable_shape()->clear_dim();
    for (int64_t size : (*results)[i])
      type.mutable_shape()->add_dim()->set_dim_value(size);
  }
}

const OpSchema *CustomSchemas::GetSchema(const std::string &name, int version,
                                         const std::string &domain) const {
  const CustomOp *op = ops ? ops->find(domain, name) : nullptr;
  if (!op)
    return onnx::OpSchemaRegistry::Instance()->GetSchema(name, version, domain);
  auto [entry, isNew] = schemas.try_emplace({domain, name});
  if (isNew)
    entry->second.SetName(name)
        .SetDomain(domain)
        .SinceVersion(1)
        .AllowUncheckedAttributes()
        .TypeAndShapeInferenceFunction(
            [op](InferenceContext &context) { inferShapes(*op, context); });
  return &entry->second;
}
