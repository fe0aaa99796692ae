// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// acme.soft_cap: what Bessemer needs to import it, to differentiate it and to
// compute it.

#include "bessemer/Dialect/Graph/IR/Emitter.h"
#include "bessemer/Pipelines/Plugin.h"
#include "mlir/IR/DialectImplementation.h"

#include "AcmeDialect.h.inc"
#define GET_OP_CLASSES
#include "AcmeOps.h.inc"

using namespace mlir;
using namespace bessemer;
using namespace acme;

#include "AcmeDialect.cpp.inc"
#define GET_OP_CLASSES
#include "AcmeOps.cpp.inc"

void AcmeDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "AcmeOps.cpp.inc"
      >();
}

LogicalResult SoftCapOp::verify() {
  double cap = getCap().convertToDouble();
  if (!(cap > 0.0))
    return emitOpError("expected cap above 0, got ") << cap;
  return success();
}

/// The meaning of the op: the reference evaluator, fusion and code generation
/// need nothing else.
FailureOr<SmallVector<Value>> SoftCapOp::decompose(OpBuilder &builder) {
  graph::Emitter e(builder, getLoc());
  double cap = getCap().convertToDouble();
  Value inner = e.mul(getX(), e.like(getX(), 1.0 / cap));
  Value bounded = e.unary<math::TanhOp>(inner);
  return SmallVector<Value>{e.mul(bounded, e.like(getX(), cap))};
}

LogicalResult
SoftCapOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                         SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(1, Value());
  Value dy = resultGradients[0];
  if (!dy)
    return success();
  graph::Emitter e(builder, getLoc());
  Value bounded =
      e.mul(getResult(), e.like(dy, 1.0 / getCap().convertToDouble()));
  Value slope = e.sub(e.like(dy, 1.0), e.mul(bounded, bounded));
  operandGradients[0] = e.mul(dy, slope);
  return success();
}

/// The ONNX node com.acme.SoftCap(x) {cap}. The result has the shape of x, which
/// is what Bessemer assumes of a custom op that says nothing else.
static LogicalResult importSoftCap(CustomNode &node) {
  if (failed(node.requireFloat(0)))
    return failure();
  if (node.operandCount() != 1)
    return node.fail("expected 1 input, got " + Twine(node.operandCount()));
  FailureOr<double> cap = node.floatAttribute("cap", 30.0);
  if (failed(cap))
    return failure();
  if (!(*cap > 0.0))
    return node.fail("expected cap above 0, got " + std::to_string(*cap));
  Value result = SoftCapOp::create(node.builder, node.loc, node.value(0),
                                   node.builder.getF64FloatAttr(*cap));
  node.setResults(result);
  return success();
}

static void setUp(PluginRegistry &registry) {
  registry.addDialect<AcmeDialect>();
  CustomOp softCap;
  softCap.import = importSoftCap;
  registry.addOp("com.acme", "SoftCap", softCap);
}

BESSEMER_PLUGIN("acme", "1.0", setUp)
