// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Primitive ops of the `graph` dialect. Those that move elements:
// GraphData.td. Composites: GraphComposites.td and GraphTransformer.td.

#ifndef BESSEMER_DIALECT_GRAPH_IR_GRAPHOPS_TD
#define BESSEMER_DIALECT_GRAPH_IR_GRAPHOPS_TD

include "bessemer/Dialect/Graph/IR/GraphEnums.td"
include "bessemer/Dialect/Graph/IR/GraphInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"

class Graph_Op<string mnemonic, list<Trait> traits = []>
    : Op<Graph_Dialect, mnemonic, traits>;

/// An op without effects that has a gradient.
class Graph_PureOp<string mnemonic, list<Trait> traits = []>
    : Graph_Op<mnemonic, !listconcat([Pure,
        DeclareOpInterfaceMethods<DifferentiableOpInterface>], traits)>;

def Graph_Tensor : StaticShapeTensorOf<[AnyType]>;
def Graph_FloatTensor : StaticShapeTensorOf<[AnyFloat]>;
def Graph_IntTensor : StaticShapeTensorOf<[AnySignlessInteger]>;
/// The number of a micro-batch, where a step has several.
def Graph_MicroStep : 0DTensorOf<[I64]>;

//===----------------------------------------------------------------------===//
// State and the step block
//===----------------------------------------------------------------------===//

def Graph_StateOp : Graph_Op<"state", [Symbol]> {
  let summary = "a named tensor that lives from step to step";
  let description = [{
    `init` is the value before the first step: a dense resource over the mapped
    model file for weights, a splat for moments and counters. `trainable` and
    `why` say whether and why the optimizer changes it.

    `layout` says how the state lies, of which functions and `type` know the
    outcome alone, while `init` and all that users see stay row-major:
    `OIhw16i16o` are weights [o, i, h, w] as [o / 16, i / 16, h, w, 16 of i, 16
    of o].

    ```mlir
    graph.state @fc.weight parameter trainable : tensor<10x84xf32>
        = dense<0.0> : tensor<10x84xf32> {why = "marked PARAMETER by the exporter"}
    graph.state @conv.weight parameter trainable : tensor<2x1x3x3x16x16xf32>
        = dense<0.0> : tensor<32x16x3x3xf32> {layout = "OIhw16i16o"}
    ```
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    Graph_StateRoleAttr:$role,
    UnitAttr:$trainable,
    TypeAttrOf<Graph_Tensor>:$type,
    ElementsAttr:$init,
    OptionalAttr<StrAttr>:$why,
    OptionalAttr<StrAttr>:$layout);
  let assemblyFormat = [{
    $sym_name `` $role (`trainable` $trainable^)? `:` $type `=` $init attr-dict
  }];
  let hasVerifier = 1;
}

def Graph_ReadOp : Graph_Op<"read", [Pure,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the value of a state when the function was entered";
  let description = [{
    ```mlir
    %w = graph.read @fc.weight : tensor<10x84xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$state);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$state attr-dict `:` type($result)";
}

def Graph_WriteOp : Graph_Op<"write", [MemoryEffects<[MemWrite]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "sets the value that a state has after the function returns";
  let description = [{
    At most one per state and function.

    ```mlir
    graph.write @fc.weight, %w_new : tensor<10x84xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$state, Graph_Tensor:$value);
  let assemblyFormat = "$state `,` $value attr-dict `:` type($value)";
}

def Graph_StepValueOp : Graph_Op<"step_value", [Pure]> {
  let summary = "a field of the step block";
  let description = [{
    `learning_rate` is `tensor<f32>`, the other fields are `tensor<i64>`.

    ```mlir
    %lr = graph.step_value learning_rate %step : tensor<f32>
    ```
  }];
  let arguments = (ins
    Graph_StepFieldAttr:$field,
    Graph_StepType:$step);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "`` $field $step attr-dict `:` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

def Graph_BroadcastOp : Graph_PureOp<"broadcast"> {
  let summary = "repeats a tensor along new dimensions";
  let description = [{
    Dimension `i` of the input becomes dimension `dims[i]` of the result, of
    equal size; `dims` increases strictly. The other dimensions are new.

    ```mlir
    %b = graph.broadcast %bias dims = [1] : tensor<10xf32> -> tensor<32x10xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input `dims` `=` $dims attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Graph_TransposeOp : Graph_PureOp<"transpose"> {
  let summary = "permutes dimensions";
  let description = [{
    Dimension `i` of the result is dimension `permutation[i]` of the input.

    ```mlir
    %t = graph.transpose %x permutation = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input `permutation` `=` $permutation attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Graph_IotaOp : Graph_Op<"iota", [Pure]> {
  let summary = "the index along one dimension";
  let description = [{
    ```mlir
    %i = graph.iota dim = 1 : tensor<32x10xi64>
    ```
  }];
  let arguments = (ins I64Attr:$dim);
  let results = (outs Graph_IntTensor:$result);
  let assemblyFormat = "`dim` `=` $dim attr-dict `:` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Reductions and contractions
//===----------------------------------------------------------------------===//

def Graph_ReduceOp : Graph_PureOp<"reduce"> {
  let summary = "combines elements along dimensions, which are dropped";
  let description = [{
    The gradient of `max` and `min` goes to all elements equal to the result,
    divided by their number.

    ```mlir
    %s = graph.reduce sum %x dims = [1] : tensor<32x10xf32> -> tensor<32xf32>
    ```
  }];
  let arguments = (ins
    Graph_ReduceKindAttr:$kind,
    Graph_Tensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "`` $kind $input `dims` `=` $dims attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Graph_ContractOp : Graph_PureOp<"contract"> {
  let summary = "sum of products over shared dimensions";
  let description = [{
    `lhs_batch[i]` pairs with `rhs_batch[i]`, `lhs_contract[i]` with
    `rhs_contract[i]`. The result has the batch dimensions, then the free
    dimensions of the left, then those of the right operand.

    ```mlir
    // x w^T
    %y = graph.contract %x, %w batch = [] x [] contract = [1] x [1]
        : (tensor<32x784xf32>, tensor<256x784xf32>) -> tensor<32x256xf32>
    ```
  }];
  let arguments = (ins
    Graph_FloatTensor:$lhs, Graph_FloatTensor:$rhs,
    DenseI64ArrayAttr:$lhs_batch, DenseI64ArrayAttr:$rhs_batch,
    DenseI64ArrayAttr:$lhs_contract, DenseI64ArrayAttr:$rhs_contract);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `batch` `=` $lhs_batch `x` $rhs_batch
    `contract` `=` $lhs_contract `x` $rhs_contract attr-dict
    `:` functional-type(operands, results)
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs,
      "::llvm::ArrayRef<int64_t>":$lhsBatch, "::llvm::ArrayRef<int64_t>":$rhsBatch,
      "::llvm::ArrayRef<int64_t>":$lhsContract, "::llvm::ArrayRef<int64_t>":$rhsContract)>
  ];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Convolution and pooling
//===----------------------------------------------------------------------===//

/// Geometry shared by a convolution and its two gradients. `pads` is begin of
/// every spatial dimension, then end (as in ONNX).
class Graph_ConvOpBase<string mnemonic, list<Trait> traits = []>
    : Graph_PureOp<mnemonic, traits> {
  dag geometry = (ins DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads,
                      DenseI64ArrayAttr:$dilations,
                      DefaultValuedAttr<I64Attr, "1">:$groups);
  let results = (outs Graph_FloatTensor:$result);
  let hasVerifier = 1;
}

def Graph_ConvOp : Graph_ConvOpBase<"conv"> {
  let summary = "2-D convolution, NCHW with OIHW weights";
  let description = [{
    `x` is [n, c, h, w], `weight` [o, c / groups, kh, kw], `bias` [o].

    ```mlir
    %y = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>,
        dilations = array<i64: 1, 1>} : (tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32>) -> tensor<8x16x32x32xf32>
    ```
  }];
  let arguments = !con((ins Graph_FloatTensor:$x, Graph_FloatTensor:$weight,
                            Optional<Graph_FloatTensor>:$bias), geometry);
  let assemblyFormat = "$x `,` $weight (`bias` $bias^)? attr-dict `:` functional-type(operands, results)";
}

def Graph_ConvInputGradOp : Graph_ConvOpBase<"conv_input_grad"> {
  let summary = "gradient of a convolution with respect to its input";
  let description = [{
    ```mlir
    %dx = graph.conv_input_grad %dy, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>,
        dilations = array<i64: 1, 1>} : (tensor<8x16x32x32xf32>, tensor<16x3x3x3xf32>) -> tensor<8x3x32x32xf32>
    ```
  }];
  let arguments = !con((ins Graph_FloatTensor:$dy, Graph_FloatTensor:$weight), geometry);
  let assemblyFormat = "$dy `,` $weight attr-dict `:` functional-type(operands, results)";
}

def Graph_ConvWeightGradOp : Graph_ConvOpBase<"conv_weight_grad"> {
  let summary = "gradient of a convolution with respect to its weights";
  let description = [{
    ```mlir
    %dw = graph.conv_weight_grad %x, %dy {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>,
        dilations = array<i64: 1, 1>} : (tensor<8x3x32x32xf32>, tensor<8x16x32x32xf32>) -> tensor<16x3x3x3xf32>
    ```
  }];
  let arguments = !con((ins Graph_FloatTensor:$x, Graph_FloatTensor:$dy), geometry);
  let assemblyFormat = "$x `,` $dy attr-dict `:` functional-type(operands, results)";
}

/// Geometry shared by a pooling and its gradient.
class Graph_PoolOpBase<string mnemonic, list<Trait> traits = []>
    : Graph_PureOp<mnemonic, traits> {
  dag geometry = (ins DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides,
                      DenseI64ArrayAttr:$pads, DenseI64ArrayAttr:$dilations);
  let results = (outs Graph_FloatTensor:$result);
  let hasVerifier = 1;
}

def Graph_PoolOp : Graph_PoolOpBase<"pool"> {
  let summary = "reduces windows of the two last dimensions of [n, c, h, w]";
  let description = [{
    Padding never wins a maximum; it counts in an average when
    `count_include_pad` is set. The result's shape says how far the windows go;
    a window may reach past the padded input (ceil mode), where it is cut.

    ```mlir
    %y = graph.pool max %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>,
        pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<8x6x28x28xf32>) -> tensor<8x6x14x14xf32>
    ```
  }];
  let arguments = !con((ins Graph_PoolKindAttr:$kind,
                            Graph_FloatTensor:$x), geometry,
                       (ins UnitAttr:$count_include_pad));
  let assemblyFormat = "`` $kind $x attr-dict `:` functional-type(operands, results)";
}

def Graph_MaxPoolGradOp : Graph_PoolOpBase<"max_pool_grad"> {
  let summary = "gradient of max pooling";
  let description = [{
    Each window gives its gradient to its first largest element in row-major
    order (or its first NaN), found again from `x`.

    ```mlir
    %dx = graph.max_pool_grad %x, %dy {window = array<i64: 2, 2>, strides = array<i64: 2, 2>,
        pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
        : (tensor<8x6x28x28xf32>, tensor<8x6x14x14xf32>) -> tensor<8x6x28x28xf32>
    ```
  }];
  let arguments = !con((ins Graph_FloatTensor:$x, Graph_FloatTensor:$dy), geometry);
  let assemblyFormat = "$x `,` $dy attr-dict `:` functional-type(operands, results)";
}

def Graph_AveragePoolGradOp : Graph_PoolOpBase<"average_pool_grad"> {
  let summary = "gradient of average pooling";
  let description = [{
    ```mlir
    %dx = graph.average_pool_grad %dy {window = array<i64: 2, 2>, strides = array<i64: 2, 2>,
        pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<8x6x14x14xf32>) -> tensor<8x6x28x28xf32>
    ```
  }];
  let arguments = !con((ins Graph_FloatTensor:$dy), geometry, (ins UnitAttr:$count_include_pad));
  let assemblyFormat = "$dy attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

def Graph_RandomOp : Graph_Op<"random", [Pure]> {
  let summary = "uniform random numbers in [0, 1)";
  let description = [{
    Philox4x32-10 (Salmon et al., SC'11) with key = (low word of seed xor id,
    high word of seed) and counter = (low, high word of the logical element
    index, low, high word of step); the number is the first output word,
    shifted right by 8, times 2^-24. It depends on nothing else: not on device,
    fusion, sharding or thread count.

    With gradient accumulation the result is micro-batch `micro` of the step's
    batch: its elements count from `micro` times their number on, as if the
    whole batch had been made at once.

    ```mlir
    %u = graph.random %step id = 3 : tensor<32x84xf32>
    %v = graph.random %step micro %k : tensor<i64> id = 3 : tensor<32x84xf32>
    ```
  }];
  let arguments = (ins Graph_StepType:$step, Optional<Graph_MicroStep>:$micro, I64Attr:$id);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = [{
    $step (`micro` $micro^ `:` type($micro))? `id` `=` $id attr-dict `:` type($result)
  }];
}

include "bessemer/Dialect/Graph/IR/GraphData.td"
include "bessemer/Dialect/Graph/IR/GraphComposites.td"
include "bessemer/Dialect/Graph/IR/GraphControl.td"
include "bessemer/Dialect/Graph/IR/GraphTransformer.td"

#endif // BESSEMER_DIALECT_GRAPH_IR_GRAPHOPS_TD
