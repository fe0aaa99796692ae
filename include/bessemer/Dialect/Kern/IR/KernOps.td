// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel families.

#ifndef BESSEMER_DIALECT_KERN_IR_KERNOPS_TD
#define BESSEMER_DIALECT_KERN_IR_KERNOPS_TD

include "bessemer/Dialect/Kern/IR/KernDialect.td"
include "bessemer/Dialect/Kern/IR/KernInterfaces.td"
include "bessemer/Dialect/Graph/IR/GraphDialect.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/CommonTypeConstraints.td"

def Kern_Tensor : StaticShapeTensorOf<[AnyType]>;
def Kern_FloatTensor : StaticShapeTensorOf<[AnyFloat]>;
/// A tensor, or the step block.
def Kern_Operand : AnyTypeOf<[Kern_Tensor, Graph_StepType]>;

class Kern_Op<string mnemonic, list<Trait> traits = []>
    : Op<Kern_Dialect, mnemonic, traits>;

class Kern_KernelOp<string mnemonic, list<Trait> traits = []>
    : Kern_Op<mnemonic, !listconcat([Pure,
        DeclareOpInterfaceMethods<KernelOpInterface>], traits)> {
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// map, rows, columns
//===----------------------------------------------------------------------===//

def Kern_MapOp : Kern_KernelOp<"map", [SingleBlock, IsolatedFromAbove]> {
  let summary = "any fused elementwise computation, several results";
  let description = [{
    ```mlir
    %y = kern.map(%x, %bias) bounds = [32, 10] maps = [affine_map<(d0, d1) -> (d0, d1)>,
        affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>] {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      kern.yield %s : f32
    } : (tensor<32x10xf32>, tensor<10xf32>) -> tensor<32x10xf32>
    ```
  }];
  let arguments = (ins Variadic<Kern_Operand>:$inputs, DenseI64ArrayAttr:$bounds,
    AffineMapArrayAttr:$indexing_maps, OptionalAttr<Kern_ScheduleAttr>:$schedule);
  let results = (outs Variadic<Kern_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $inputs `)` `bounds` `=` $bounds `maps` `=` $indexing_maps
    (`schedule` `=` $schedule^)? attr-dict-with-keyword $body `:` functional-type($inputs, $results)
  }];
}

/// A family with folds: `reduced` lists the iteration dimensions they run over.
class Kern_FoldingOp<string mnemonic>
    : Kern_KernelOp<mnemonic, [SingleBlock, IsolatedFromAbove]> {
  let arguments = (ins Variadic<Kern_Operand>:$inputs, DenseI64ArrayAttr:$bounds,
    DenseI64ArrayAttr:$reduced, AffineMapArrayAttr:$indexing_maps,
    OptionalAttr<Kern_ScheduleAttr>:$schedule);
  let results = (outs Variadic<Kern_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $inputs `)` `bounds` `=` $bounds `reduced` `=` $reduced `maps` `=` $indexing_maps
    (`schedule` `=` $schedule^)? attr-dict-with-keyword $body `:` functional-type($inputs, $results)
  }];
}

def Kern_RowsOp : Kern_FoldingOp<"rows"> {
  let summary = "a row at a time: softmax, norms, cross-entropy, row statistics";
  let description = [{
    The innermost iteration dimension (of size above 1) is reduced: one tile is
    one or more rows, vector lanes run along the row. Batch norm is of this
    family too: its row is a channel, made of one contiguous run per image.

    ```mlir
    // softmax
    %y = kern.rows(%x) bounds = [32, 10] reduced = [1] maps = [affine_map<(d0, d1) -> (d0, d1)>,
        affine_map<(d0, d1) -> (d0, d1)>] {
    ^bb0(%a: f32):
      %m = kern.fold max %a : f32
      %d = arith.subf %a, %m : f32
      %e = math.exp %d : f32
      %s = kern.fold sum %e : f32
      %q = arith.divf %e, %s : f32
      kern.yield %q : f32
    } : (tensor<32x10xf32>) -> tensor<32x10xf32>
    ```
  }];
}

def Kern_ColumnsOp : Kern_FoldingOp<"columns"> {
  let summary = "a block of columns at a time: bias and norm-weight gradients";
  let description = [{
    The innermost iteration dimension is not reduced: vector lanes run across
    columns, the reduction runs down them in a fixed order.

    ```mlir
    // bias gradient
    %db = kern.columns(%dy) bounds = [32, 10] reduced = [0] maps = [affine_map<(d0, d1) -> (d0, d1)>,
        affine_map<(d0, d1) -> (d1)>] {
    ^bb0(%a: f32):
      %s = kern.fold sum %a : f32
      kern.yield %s : f32
    } : (tensor<32x10xf32>) -> tensor<10xf32>
    ```
  }];
}

//===----------------------------------------------------------------------===//
// Region ops
//===----------------------------------------------------------------------===//

def Kern_YieldOp : Kern_Op<"yield", [Pure, ReturnLike, Terminator]> {
  let summary = "the results of a kernel region, one value per result";
  let description = [{
    ```mlir
    kern.yield %a, %b : f32, i64
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{}]>];
}

def Kern_FoldOp : Kern_Op<"fold", [Pure, SameOperandsAndResultType]> {
  let summary = "combines a value over the reduced dimensions";
  let description = [{
    The order is fixed by shape and schedule, never by the thread count.

    ```mlir
    %s = kern.fold sum %a : f32
    ```
  }];
  let arguments = (ins Kern_FoldKindAttr:$kind, AnyType:$value);
  let results = (outs AnyType:$result);
  let assemblyFormat = "`` $kind $value attr-dict `:` type($value)";
}

def Kern_IndexOp : Kern_Op<"index", [Pure]> {
  let summary = "the iteration index of one dimension";
  let description = [{
    ```mlir
    %i = kern.index 1 : i64
    ```
  }];
  let arguments = (ins I64Attr:$dim);
  let results = (outs I64:$result);
  let assemblyFormat = "$dim attr-dict `:` type($result)";
}

def Kern_RandomOp : Kern_Op<"random", [Pure]> {
  let summary = "the uniform random number of one element";
  let description = [{
    The value of `graph.random` with the same step and id at the logical index
    `element`.

    ```mlir
    %u = kern.random %step, %i id = 3 : f32
    ```
  }];
  let arguments = (ins Graph_StepType:$step, I64:$element, I64Attr:$id);
  let results = (outs AnyFloat:$result);
  let assemblyFormat = "$step `,` $element `id` `=` $id attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// gemm, conv, window
//===----------------------------------------------------------------------===//

def Kern_GemmOp : Kern_KernelOp<"gemm", [SingleBlock, IsolatedFromAbove]> {
  let summary = "matrix product, batched or not, with a fused epilogue";
  let description = [{
    `a` is [b, m, k] ([b, k, m] with `trans_a`), `b` is [b, k, n] ([b, n, k]
    with `trans_b`); without batch they have rank 2. The region gets the
    accumulator at (m, n) and the elements of `extras`, whose indexing maps are
    over (m, n) or (b, m, n), and yields one value per result. `indexing_maps`
    holds the maps of the extras, then of the results.

    ```mlir
    // relu(x w^T + bias)
    %y = kern.gemm %x, %w trans_b extras(%bias) maps = [affine_map<(d0, d1) -> (d1)>,
        affine_map<(d0, d1) -> (d0, d1)>] {
    ^bb0(%acc: f32, %b: f32):
      %zero = arith.constant 0.0 : f32
      %s = arith.addf %acc, %b : f32
      %r = arith.maximumf %s, %zero : f32
      kern.yield %r : f32
    } : (tensor<32x784xf32>, tensor<256x784xf32>, tensor<256xf32>) -> tensor<32x256xf32>
    ```
  }];
  let arguments = (ins Kern_FloatTensor:$a, Kern_FloatTensor:$b,
    Variadic<Kern_Operand>:$extras, UnitAttr:$trans_a, UnitAttr:$trans_b,
    AffineMapArrayAttr:$indexing_maps, OptionalAttr<Kern_ScheduleAttr>:$schedule);
  let results = (outs Variadic<Kern_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $a `,` $b (`trans_a` $trans_a^)? (`trans_b` $trans_b^)? (`extras` `(` $extras^ `)`)?
    `maps` `=` $indexing_maps (`schedule` `=` $schedule^)? attr-dict-with-keyword $body
    `:` functional-type(operands, $results)
  }];
  let extraClassDeclaration = [{
    bool isBatched();
    /// [m, n], or [batch, m, n].
    ::llvm::SmallVector<int64_t> getBounds();
    int64_t getM();
    int64_t getN();
    int64_t getK();
    int64_t getBatch();
  }];
}

def Kern_ConvOp : Kern_KernelOp<"conv"> {
  let summary = "2-D convolution or one of its gradients, by the library";
  let description = [{
    Operands as in `graph.conv` (x, weight, [bias]), `graph.conv_input_grad`
    (dy, weight) and `graph.conv_weight_grad` (x, dy). `layouts` has one entry
    per operand and result; images may be `nChw16c`, weights `OIhw16i16o`, all
    else is `row`.
    `winograd` lets the library compute it by Winograd's algorithm, which rounds
    a little more, where it can.

    ```mlir
    %y = kern.conv forward(%x, %w) layouts = [#kern.layout<"row">, #kern.layout<"row">, #kern.layout<"row">]
        {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
         schedule = #kern.schedule<library>}
        : (tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32>) -> tensor<8x16x32x32xf32>
    %z = kern.conv forward(%b, %v) layouts = [#kern.layout<"nChw16c">, #kern.layout<"OIhw16i16o">, #kern.layout<"nChw16c">]
        {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, winograd,
         schedule = #kern.schedule<library>}
        : (tensor<8x2x32x32x16xf32>, tensor<1x2x3x3x16x16xf32>) -> tensor<8x1x32x32x16xf32>
    ```
  }];
  let arguments = (ins Kern_ConvKindAttr:$kind, Variadic<Kern_FloatTensor>:$inputs,
    TypedArrayAttrBase<Kern_LayoutAttr, "layouts">:$layouts,
    DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads, DenseI64ArrayAttr:$dilations,
    DefaultValuedAttr<I64Attr, "1">:$groups, UnitAttr:$winograd, Kern_ScheduleAttr:$schedule);
  let results = (outs Kern_FloatTensor:$result);
  let assemblyFormat = [{
    `` $kind `(` $inputs `)` `layouts` `=` $layouts attr-dict `:` functional-type($inputs, $result)
  }];
  let extraClassDeclaration = [{
    /// The type of operand `i`, or of the result (the last), with its layout
    /// taken away.
    ::mlir::RankedTensorType getLogicalType(unsigned i);
    bool isBlocked(unsigned i);
    /// Where x, the weights and y are among the operands and the result.
    struct Roles {
      unsigned x, w, y;
    };
    Roles getRoles();
  }];
}

def Kern_WindowOp : Kern_KernelOp<"window"> {
  let summary = "pooling and its gradient";
  let description = [{
    `max` and `average` take x, `max_grad` takes x and dy, `average_grad` takes
    dy; meaning and geometry are those of `graph.pool`, `graph.max_pool_grad`
    and `graph.average_pool_grad`. Images are [n, c, h, w], or blocked, all of
    them: [n, c / b, h, w, b]. One tile is one plane [h, w], of b channels.

    ```mlir
    %y = kern.window max(%x) {window = array<i64: 2, 2>, strides = array<i64: 2, 2>,
        pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
        : (tensor<8x6x28x28xf32>) -> tensor<8x6x14x14xf32>
    ```
  }];
  let arguments = (ins Kern_WindowKindAttr:$kind, Variadic<Kern_FloatTensor>:$inputs,
    DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads,
    DenseI64ArrayAttr:$dilations, UnitAttr:$count_include_pad,
    OptionalAttr<Kern_ScheduleAttr>:$schedule);
  let results = (outs Kern_FloatTensor:$result);
  let assemblyFormat = "`` $kind `(` $inputs `)` attr-dict `:` functional-type($inputs, $result)";
}

//===----------------------------------------------------------------------===//
// update, norm
//===----------------------------------------------------------------------===//

def Kern_UpdateOp : Kern_KernelOp<"update", [SingleBlock, IsolatedFromAbove, AttrSizedOperandSegments]> {
  let summary = "the optimizer: all parameters of one group in one launch";
  let description = [{
    `moments` holds, parameter by parameter, that parameter's moments (as many
    for each). The region gets the elements p, g, moments..., then the scalars
    (rank-0 tensors), and yields p', moments'... . Results: the new parameters,
    then the new moments in the order of the operands. One tile is up to
    `chunk` elements of one parameter.

    ```mlir
    %p1 = kern.update parameters(%p) gradients(%g) scalars(%lr) {
    ^bb0(%a: f32, %d: f32, %l: f32):
      %s = arith.mulf %d, %l : f32
      %n = arith.subf %a, %s : f32
      kern.yield %n : f32
    } : (tensor<10x84xf32>, tensor<10x84xf32>, tensor<f32>) -> tensor<10x84xf32>
    ```
  }];
  let arguments = (ins Variadic<Kern_FloatTensor>:$parameters,
    Variadic<Kern_FloatTensor>:$gradients, Variadic<Kern_FloatTensor>:$moments,
    Variadic<Kern_FloatTensor>:$scalars,
    DefaultValuedAttr<I64Attr, "16384">:$chunk);
  let results = (outs Variadic<Kern_FloatTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `parameters` `(` $parameters `)` `gradients` `(` $gradients `)` (`moments` `(` $moments^ `)`)?
    (`scalars` `(` $scalars^ `)`)? attr-dict-with-keyword $body `:` functional-type(operands, $results)
  }];
  let extraClassDeclaration = [{
    /// Moments per parameter.
    unsigned getMomentsPerParameter();
  }];
}

def Kern_NormOp : Kern_KernelOp<"norm"> {
  let summary = "partial sums of squares over many tensors";
  let description = [{
    Result element t is the sum of squares of tile t, where the tiles are
    chunks of at most `chunk` elements of each input in order; a `kern.rows`
    over the result finishes the norm. The order of additions is fixed.

    ```mlir
    %s = kern.norm(%g0, %g1) {chunk = 16384 : i64} : (tensor<10x84xf32>, tensor<10xf32>) -> tensor<2xf32>
    ```
  }];
  let arguments = (ins Variadic<Kern_FloatTensor>:$inputs,
    DefaultValuedAttr<I64Attr, "16384">:$chunk);
  let results = (outs Kern_FloatTensor:$result);
  let assemblyFormat = "`(` $inputs `)` attr-dict `:` functional-type($inputs, $result)";
}

include "bessemer/Dialect/Kern/IR/KernData.td"
include "bessemer/Dialect/Kern/IR/KernAttention.td"

#endif // BESSEMER_DIALECT_KERN_IR_KERNOPS_TD
