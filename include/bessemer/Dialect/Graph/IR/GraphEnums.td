// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Enums of the `graph` dialect.

#ifndef BESSEMER_DIALECT_GRAPH_IR_GRAPHENUMS_TD
#define BESSEMER_DIALECT_GRAPH_IR_GRAPHENUMS_TD

include "bessemer/Dialect/Graph/IR/GraphDialect.td"

def Graph_StateRole : I32EnumAttr<"StateRole", "what a state is for", [
  I32EnumAttrCase<"Parameter", 0, "parameter">,
  I32EnumAttrCase<"Moment", 1, "moment">,
  I32EnumAttrCase<"Statistic", 2, "statistic">,
  I32EnumAttrCase<"Scaler", 3, "scaler">,
  I32EnumAttrCase<"Rng", 4, "rng">,
  I32EnumAttrCase<"Counter", 5, "counter">
]> {
  let cppNamespace = "::bessemer::graph";
  let genSpecializedAttr = 0;
}
def Graph_StateRoleAttr : EnumAttr<Graph_Dialect, Graph_StateRole, "role"> {
  let assemblyFormat = "$value";
}

def Graph_ReduceKind : I32EnumAttr<"ReduceKind", "how elements are combined", [
  I32EnumAttrCase<"Sum", 0, "sum">,
  I32EnumAttrCase<"Max", 1, "max">,
  I32EnumAttrCase<"Min", 2, "min">,
  I32EnumAttrCase<"Product", 3, "product">
]> {
  let cppNamespace = "::bessemer::graph";
  let genSpecializedAttr = 0;
}
def Graph_ReduceKindAttr : EnumAttr<Graph_Dialect, Graph_ReduceKind, "reduce_kind"> {
  let assemblyFormat = "$value";
}

def Graph_PoolKind : I32EnumAttr<"PoolKind", "how a window is reduced", [
  I32EnumAttrCase<"Max", 0, "max">,
  I32EnumAttrCase<"Average", 1, "average">
]> {
  let cppNamespace = "::bessemer::graph";
  let genSpecializedAttr = 0;
}
def Graph_PoolKindAttr : EnumAttr<Graph_Dialect, Graph_PoolKind, "pool_kind"> {
  let assemblyFormat = "$value";
}

def Graph_GeluKind : I32EnumAttr<"GeluKind", "how gelu is computed", [
  I32EnumAttrCase<"None", 0, "none">,
  I32EnumAttrCase<"Tanh", 1, "tanh">
]> {
  let cppNamespace = "::bessemer::graph";
  let genSpecializedAttr = 0;
}
def Graph_GeluKindAttr : EnumAttr<Graph_Dialect, Graph_GeluKind, "gelu_kind"> {
  let assemblyFormat = "$value";
}

def Graph_StepField : I32EnumAttr<"StepField", "a field of the step block", [
  I32EnumAttrCase<"Step", 0, "step">,
  I32EnumAttrCase<"Seed", 1, "seed">,
  I32EnumAttrCase<"LearningRate", 2, "learning_rate">,
  I32EnumAttrCase<"ValidRows", 3, "valid_rows">
]> {
  let cppNamespace = "::bessemer::graph";
  let genSpecializedAttr = 0;
}
def Graph_StepFieldAttr : EnumAttr<Graph_Dialect, Graph_StepField, "step_field"> {
  let assemblyFormat = "$value";
}

#endif // BESSEMER_DIALECT_GRAPH_IR_GRAPHENUMS_TD
