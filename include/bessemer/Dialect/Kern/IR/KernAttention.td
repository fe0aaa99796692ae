// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The attention family.

#ifndef BESSEMER_DIALECT_KERN_IR_KERNATTENTION_TD
#define BESSEMER_DIALECT_KERN_IR_KERNATTENTION_TD

class Kern_AttentionBase<string mnemonic>
    : Kern_KernelOp<mnemonic, [AttrSizedOperandSegments]> {
  dag settings = (ins DenseI64ArrayAttr:$bounds, AffineMapArrayAttr:$views,
    F64Attr:$scale, UnitAttr:$causal, DefaultValuedAttr<F64Attr, "0.0">:$ratio,
    DefaultValuedAttr<I64Attr, "0">:$id);
  code sizes = [{
    int64_t getBatch() { return getBounds()[0]; }
    int64_t getHeads() { return getBounds()[1]; }
    int64_t getGroups() { return getBounds()[2]; }
    int64_t getQueries() { return getBounds()[3]; }
    int64_t getKeys() { return getBounds()[4]; }
    int64_t getDepth() { return getBounds()[5]; }
    int64_t getWidth() { return getBounds()[6]; }
    ::mlir::AffineMap getView(unsigned index) {
      return ::llvm::cast<::mlir::AffineMapAttr>(getViews()[index]).getValue();
    }
  }];
}

def Kern_AttentionOp : Kern_AttentionBase<"attention"> {
  let summary = "attention, its operands and result where they lie";
  let description = [{
    Computes `graph.attention`. `bounds` is [batch, heads, groups, queries,
    keys, depth, width]. A tensor may have any shape: its *view* maps the
    logical index (batch, head or group, query or key, element) to the row-major
    index of an element of the tensor, a linear form. So q, k and v may be parts
    of one packed tensor, and heads may lie inside or outside of queries, without
    a copy. Views are listed in the order q, k, v, mask (if there is one),
    result; `lse` is [batch, heads, queries].

    ```mlir
    // q, k, v packed as [256, 3, 6, 64] per image; the result is [4, 256, 384].
    %y, %lse = kern.attention %qkv, %qkv, %qkv bounds = [4, 6, 6, 256, 256, 64, 64] views = [
        affine_map<(d0, d1, d2, d3) -> (d0 * 294912 + d2 * 1152 + d1 * 64 + d3)>,
        affine_map<(d0, d1, d2, d3) -> (d0 * 294912 + d2 * 1152 + d1 * 64 + d3 + 384)>,
        affine_map<(d0, d1, d2, d3) -> (d0 * 294912 + d2 * 1152 + d1 * 64 + d3 + 768)>,
        affine_map<(d0, d1, d2, d3) -> (d0 * 98304 + d2 * 384 + d1 * 64 + d3)>]
        {scale = 0.125 : f64, causal}
        : (tensor<1024x1152xf32>, tensor<1024x1152xf32>, tensor<1024x1152xf32>)
        -> (tensor<4x256x384xf32>, tensor<4x6x256xf32>)
    ```
  }];
  let arguments = !con((ins Kern_FloatTensor:$q, Kern_FloatTensor:$k,
    Kern_FloatTensor:$v, Optional<Kern_FloatTensor>:$mask,
    Optional<Graph_StepType>:$step), settings);
  let results = (outs Kern_FloatTensor:$result, Kern_FloatTensor:$lse);
  let assemblyFormat = [{
    $q `,` $k `,` $v (`mask` $mask^)? (`step` $step^)? `bounds` `=` $bounds
    `views` `=` $views attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = sizes;
}

def Kern_AttentionGradOp : Kern_AttentionBase<"attention_grad"> {
  let summary = "gradient of attention, its operands and results where they lie";
  let description = [{
    Computes `graph.attention_grad`. Views are listed in the order q, k, v, y,
    dy, mask (if there is one), dq, dk, dv. `into` says which result holds dq,
    dk and dv: several of them may fill one packed result together.

    ```mlir
    %dqkv = kern.attention_grad %qkv, %qkv, %qkv, %y, %lse, %dy bounds = [2, 1, 1, 8, 8, 4, 4] views = [
        affine_map<(d0, d1, d2, d3) -> (d0 * 96 + d2 * 12 + d1 * 4 + d3)>,
        affine_map<(d0, d1, d2, d3) -> (d0 * 96 + d2 * 12 + d1 * 4 + d3 + 4)>,
        affine_map<(d0, d1, d2, d3) -> (d0 * 96 + d2 * 12 + d1 * 4 + d3 + 8)>,
        affine_map<(d0, d1, d2, d3) -> (d0 * 32 + d2 * 4 + d1 * 4 + d3)>,
        affine_map<(d0, d1, d2, d3) -> (d0 * 32 + d2 * 4 + d1 * 4 + d3)>,
        affine_map<(d0, d1, d2, d3) -> (d0 * 96 + d2 * 12 + d1 * 4 + d3)>,
        affine_map<(d0, d1, d2, d3) -> (d0 * 96 + d2 * 12 + d1 * 4 + d3 + 4)>,
        affine_map<(d0, d1, d2, d3) -> (d0 * 96 + d2 * 12 + d1 * 4 + d3 + 8)>]
        into = [0, 0, 0] {scale = 0.5 : f64, causal}
        : (tensor<16x12xf32>, tensor<16x12xf32>, tensor<16x12xf32>, tensor<2x8x4xf32>,
           tensor<2x1x8xf32>, tensor<2x8x4xf32>) -> tensor<16x12xf32>
    ```
  }];
  let arguments = !con((ins Kern_FloatTensor:$q, Kern_FloatTensor:$k,
    Kern_FloatTensor:$v, Kern_FloatTensor:$y, Kern_FloatTensor:$lse,
    Kern_FloatTensor:$dy, Optional<Kern_FloatTensor>:$mask,
    Optional<Graph_StepType>:$step), settings,
    (ins DenseI64ArrayAttr:$into));
  let results = (outs Variadic<Kern_FloatTensor>:$results);
  let assemblyFormat = [{
    $q `,` $k `,` $v `,` $y `,` $lse `,` $dy (`mask` $mask^)? (`step` $step^)?
    `bounds` `=` $bounds `views` `=` $views `into` `=` $into attr-dict
    `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = sizes;
}

#endif // BESSEMER_DIALECT_KERN_IR_KERNATTENTION_TD
