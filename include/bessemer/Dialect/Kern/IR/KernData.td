// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel families that look up tables.

#ifndef BESSEMER_DIALECT_KERN_IR_KERNDATA_TD
#define BESSEMER_DIALECT_KERN_IR_KERNDATA_TD

def Kern_IntTensor : StaticShapeTensorOf<[AnySignlessInteger]>;

def Kern_GatherOp : Kern_KernelOp<"gather"> {
  let summary = "rows of a table by index";
  let description = [{
    `table` is [batch, outer, k, inner], `indices` [batch, j], the result
    [batch, outer, j, inner]. An index outside [0, k) gives NaN, or 0 when the
    elements are integers.

    ```mlir
    // an embedding
    %e = kern.gather %table, %tokens : (tensor<1x1x8192x384xf32>, tensor<1x1024xi64>) -> tensor<1x1x1024x384xf32>
    ```
  }];
  let arguments = (ins Kern_Tensor:$table, Kern_IntTensor:$indices);
  let results = (outs Kern_Tensor:$result);
  let assemblyFormat = "$table `,` $indices attr-dict `:` functional-type(operands, results)";
}

def Kern_ScatterOp : Kern_KernelOp<"scatter"> {
  let summary = "adds rows to a table of zeros by index";
  let description = [{
    `updates` is [batch, outer, j, inner], `indices` [batch, j], the result
    [batch, outer, k, inner]. A tile owns a part of the table, fills it with
    zeros and walks all indices in order, so that the order of additions does
    not depend on the number of threads. An index outside [0, k) is ignored.

    ```mlir
    // the gradient of an embedding
    %d = kern.scatter %dy, %tokens : (tensor<1x1x1024x384xf32>, tensor<1x1024xi64>) -> tensor<1x1x8192x384xf32>
    ```
  }];
  let arguments = (ins Kern_FloatTensor:$updates, Kern_IntTensor:$indices);
  let results = (outs Kern_FloatTensor:$result);
  let assemblyFormat = "$updates `,` $indices attr-dict `:` functional-type(operands, results)";
}

#endif // BESSEMER_DIALECT_KERN_IR_KERNDATA_TD
