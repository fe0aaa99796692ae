// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `graph` dialect: WHAT is computed.

#ifndef BESSEMER_DIALECT_GRAPH_IR_GRAPHDIALECT_TD
#define BESSEMER_DIALECT_GRAPH_IR_GRAPHDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/CommonTypeConstraints.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Graph_Dialect : Dialect {
  let name = "graph";
  let cppNamespace = "::bessemer::graph";
  let summary = "what a training program computes: tensors, state, steps";
  let description = [{
    The first level. Values are statically shaped tensors; there are no
    buffers, no devices and no layouts. Elementwise arithmetic is upstream
    `arith` and `math` on tensors of equal shape, reshapes are upstream
    `tensor.collapse_shape` and `tensor.expand_shape`; this dialect adds what
    upstream lacks: explicit broadcasts, reductions, contractions, convolution,
    pooling, random numbers, state, and *composites*, which are kept whole
    because their gradient or their kernel is better whole.

    A program is a module of `graph.state` symbols and functions. `@model` is
    what was imported; `@predict`, `@eval_step` and `@train_step` are derived
    from it by the Training stage. Every function but `@model` without random
    numbers takes `!graph.step` (the step block) as its last argument.

    State is read and written by explicit ops: `graph.read` yields the value
    at entry, there is at most one `graph.write` per state and function,
    effective at return.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  // Patterns on upstream ops.
  let hasCanonicalizer = 1;
  // `graph.ranges`.
  let hasRegionArgAttrVerify = 1;
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect", "::mlir::func::FuncDialect"
  ];
}

class Graph_Type<string name, string typeMnemonic, list<Trait> traits = []>
    : TypeDef<Graph_Dialect, name, traits> {
  let mnemonic = typeMnemonic;
}

def Graph_StepType : Graph_Type<"Step", "step"> {
  let summary = "the step block";
  let description = [{
    The 64 bytes that the first copy of a step fills: u64 step, u64 seed, u32
    flags, f32 learning rate, i64 valid rows, zeros. `step` counts calls on the
    host and drives schedules and random numbers.
  }];
}

def Graph_InputRangeAttr : AttrDef<Graph_Dialect, "InputRange"> {
  let mnemonic = "input_range";
  let summary = "what the integers of an input must be";
  let description = [{
    `graph.ranges` of an i32 or i64 argument lists them: the elements are at
    least `least` and at most `most`, or one of `exempt`. `part` is empty for all elements,
    or [dim, begin, end] for those whose index along `dim` is in [begin, end).
    The runtime refuses other inputs before a step; `meaning` says in its error
    what the integers are.

    ```mlir
    #graph.input_range<"a label", 0 to 9 or[-100]>
    ```
    ```mlir
    #graph.input_range<"an index into 50 rows (node 'emb', Gather)", -50 to 49 in[1, 0, 4]>
    ```
  }];
  let parameters = (ins StringRefParameter<"what the integers are">:$meaning,
    "int64_t":$least, "int64_t":$most, OptionalArrayRefParameter<"int64_t">:$exempt,
    OptionalArrayRefParameter<"int64_t">:$part);
  let assemblyFormat = "`<` $meaning `,` $least `to` $most (`or` `[` $exempt^ `]`)? (`in` `[` $part^ `]`)? `>`";
  let genVerifyDecl = 1;
}

#endif // BESSEMER_DIALECT_GRAPH_IR_GRAPHDIALECT_TD
