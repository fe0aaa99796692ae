// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops of the `graph` dialect that move elements: lookups in tables, slices,
// padding, concatenation.

#ifndef BESSEMER_DIALECT_GRAPH_IR_GRAPHDATA_TD
#define BESSEMER_DIALECT_GRAPH_IR_GRAPHDATA_TD

def Graph_GatherOp : Graph_PureOp<"gather"> {
  let summary = "looks up slices of a table by index";
  let description = [{
    The result has the dimensions of `table` before `dim`, those of `indices`
    after the first `batch`, and those of `table` after `dim`. The first `batch`
    dimensions of both are shared. An index outside [0, size) gives NaN, or 0
    when the elements are integers.

    ```mlir
    // an embedding
    %e = graph.gather %table, %tokens dim = 0 : (tensor<8192x384xf32>, tensor<4x256xi64>) -> tensor<4x256x384xf32>
    // one element per row
    %p = graph.gather %x, %labels dim = 1 batch = 1 : (tensor<32x10xf32>, tensor<32xi64>) -> tensor<32xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$table, Graph_IntTensor:$indices, I64Attr:$dim,
    DefaultValuedAttr<I64Attr, "0">:$batch);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{
    $table `,` $indices `dim` `=` $dim (`batch` `=` $batch^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Graph_ScatterAddOp : Graph_PureOp<"scatter_add"> {
  let summary = "adds slices to a table of zeros by index: the gradient of gather";
  let description = [{
    The result has the shape of a table for which `graph.gather` with `indices`,
    `dim` and `batch` gives the shape of `updates`. Updates of one element are
    added in the order of the indices; an index outside the table is ignored.

    ```mlir
    %d = graph.scatter_add %dy, %tokens dim = 0 : (tensor<4x256x384xf32>, tensor<4x256xi64>) -> tensor<8192x384xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$updates, Graph_IntTensor:$indices, I64Attr:$dim,
    DefaultValuedAttr<I64Attr, "0">:$batch);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = [{
    $updates `,` $indices `dim` `=` $dim (`batch` `=` $batch^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Graph_SliceOp : Graph_PureOp<"slice"> {
  let summary = "a box of neighbouring elements";
  let description = [{
    Element i of the result is element i + offsets of the input. Strides are
    written with reshapes around it.

    ```mlir
    %s = graph.slice %x offsets = [0, 2] : tensor<4x6xf32> -> tensor<4x3xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, DenseI64ArrayAttr:$offsets);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input `offsets` `=` $offsets attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Graph_PadOp : Graph_PureOp<"pad"> {
  let summary = "puts a tensor into a larger one of zeros";
  let description = [{
    Element i of the input is element i + low of the result.

    ```mlir
    %p = graph.pad %x low = [0, 2] : tensor<4x3xf32> -> tensor<4x6xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, DenseI64ArrayAttr:$low);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input `low` `=` $low attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Graph_ConcatOp : Graph_PureOp<"concat"> {
  let summary = "tensors one after the other along one dimension";
  let description = [{
    ```mlir
    %c = graph.concat %a, %b dim = 1 : (tensor<4x3xf32>, tensor<4x2xf32>) -> tensor<4x5xf32>
    ```
  }];
  let arguments = (ins Variadic<Graph_Tensor>:$inputs, I64Attr:$dim);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$inputs `dim` `=` $dim attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

#endif // BESSEMER_DIALECT_GRAPH_IR_GRAPHDATA_TD
