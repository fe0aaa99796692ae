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

def Kern_TableUpdateOp : Kern_KernelOp<"table_update",
    [SingleBlock, IsolatedFromAbove, AttrSizedOperandSegments]> {
  let summary = "the optimizer for a table that is only looked up";
  let description = [{
    What `kern.update` makes of a table whose gradient is `kern.scatter` of
    `rows` by `indices`, but the gradient never lies in memory: a tile owns a
    part of the table and adds up the rows for a few entries at a time, in the
    order of the indices, so that the sums are those of `kern.scatter` to the
    bit. `table` and `moments` are [batch, outer, k, inner], `rows` [batch,
    outer, j, inner], `indices` [batch, j]; the region is that of
    `kern.update`. Results: the new table, then the new moments.

    Entries that no index names have a gradient of 0. With `touched_only` they
    keep table and moments: for an update that would not change them (SGD
    without momentum and weight decay), or that is defined so (lazy AdamW).

    ```mlir
    // SGD of an embedding
    %t1 = kern.table_update %t, %dy, %tokens scalars(%lr) touched_only {
    ^bb0(%a: f32, %d: f32, %l: f32):
      %s = arith.mulf %d, %l : f32
      %n = arith.subf %a, %s : f32
      kern.yield %n : f32
    } : (tensor<1x1x8192x384xf32>, tensor<1x1x1024x384xf32>, tensor<1x1024xi64>, tensor<f32>) -> tensor<1x1x8192x384xf32>
    ```
  }];
  let arguments = (ins Kern_FloatTensor:$table, Kern_FloatTensor:$rows,
    Kern_IntTensor:$indices, Variadic<Kern_FloatTensor>:$moments,
    Variadic<Kern_FloatTensor>:$scalars, UnitAttr:$touched_only);
  let results = (outs Variadic<Kern_FloatTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $table `,` $rows `,` $indices (`moments` `(` $moments^ `)`)? (`scalars` `(` $scalars^ `)`)?
    (`touched_only` $touched_only^)? attr-dict-with-keyword $body `:` functional-type(operands, $results)
  }];
}

#endif // BESSEMER_DIALECT_KERN_IR_KERNDATA_TD
