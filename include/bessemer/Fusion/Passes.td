// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes of the Fusion stage: graph -> kern.

#ifndef BESSEMER_FUSION_PASSES_TD
#define BESSEMER_FUSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def AbsorbTranspose : Pass<"absorb-transpose", "::mlir::func::FuncOp"> {
  let summary = "lets contractions and reductions read transposed operands";
  let description = [{
    `contract(transpose(x), y)` names other dimensions of `x`;
    `transpose(contract(x, y))` that swaps the operands' free dimensions becomes
    `contract(y, x)`. A product with trans flags then needs no transposed copy.

    ```mlir
    func.func @f(%x: tensor<16x8xf32>, %w: tensor<16x4xf32>) -> tensor<8x4xf32> {
      %t = graph.transpose %x permutation = [1, 0] : tensor<16x8xf32> -> tensor<8x16xf32>
      %y = graph.contract %t, %w batch = [] x [] contract = [1] x [0]
          : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
      return %y : tensor<8x4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<16x8xf32>, %w: tensor<16x4xf32>) -> tensor<8x4xf32> {
      %y = graph.contract %x, %w batch = [] x [] contract = [0] x [0]
          : (tensor<16x8xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
      return %y : tensor<8x4xf32>
    }
    ```
  }];
}

def HoistFromScan : Pass<"hoist-from-scan", "::mlir::func::FuncOp"> {
  let summary = "moves work out of loops";
  let description = [{
    What a `graph.scan` computes from invariants alone is computed once before
    it; a product of a sequence's element with an invariant becomes one product
    with the whole sequence. A matrix that products of few rows multiply with in
    every step is transposed before the loop to where they read it best.

    ```mlir
    func.func @f(%x: tensor<3x2x4xf32>, %w: tensor<4x4xf32>) -> tensor<3x2x4xf32> {
      %y = graph.scan 3 inits() sequences(%x) invariants(%w) {
      ^bb0(%element: tensor<2x4xf32>, %weights: tensor<4x4xf32>):
        %p = graph.contract %element, %weights batch = [] x [] contract = [1] x [0]
            : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
        %n = math.tanh %p : tensor<2x4xf32>
        graph.yield %n : tensor<2x4xf32>
      } : (tensor<3x2x4xf32>, tensor<4x4xf32>) -> tensor<3x2x4xf32>
      return %y : tensor<3x2x4xf32>
    }
    ```
  }];
}

def ReuseActivation : Pass<"reuse-activation", "::mlir::func::FuncOp"> {
  let summary = "compares the result of a clamp instead of its operand";
  let description = [{
    The gradient of `h = max(x, 0)` asks whether `x <= 0`, which is whether
    `h <= 0`. `h` is kept for other reasons, `x` then need not be.

    ```mlir
    func.func @f(%x: tensor<8xf32>, %dy: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      %zero = arith.constant dense<0.0> : tensor<8xf32>
      %h = arith.maximumf %x, %zero : tensor<8xf32>
      %off = arith.cmpf ole, %x, %zero : tensor<8xf32>
      %dx = arith.select %off, %zero, %dy : tensor<8xi1>, tensor<8xf32>
      return %h, %dx : tensor<8xf32>, tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<8xf32>, %dy: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      %zero = arith.constant dense<0.0> : tensor<8xf32>
      %h = arith.maximumf %x, %zero : tensor<8xf32>
      %off = arith.cmpf ole, %h, %zero : tensor<8xf32>
      %dx = arith.select %off, %zero, %dy : tensor<8xi1>, tensor<8xf32>
      return %h, %dx : tensor<8xf32>, tensor<8xf32>
    }
    ```
  }];
}

def GraphToKern : Pass<"graph-to-kern", "::mlir::func::FuncOp"> {
  let summary = "turns every graph op into an op of its kernel family";
  let description = [{
    The family table (lib/Fusion/FamilyTable.cpp) says which family computes
    which op; an op without one is replaced by its decomposition, or is an error
    at its location when it has none. Every elementwise
    op, broadcast and transpose becomes a `kern.map` of its own, every reduction
    a `kern.rows` or `kern.columns`, every contraction a `kern.gemm`; composites
    become one kernel each. Splat constants become scalars in the regions that
    use them. `kern-fuse` then merges what belongs together.

    Reshapes, constants, state and step ops stay.

    ```mlir
    func.func @f(%x: tensor<8x4xf32>) -> tensor<8xf32> {
      %e = math.exp %x : tensor<8x4xf32>
      %s = graph.reduce sum %e dims = [1] : tensor<8x4xf32> -> tensor<8xf32>
      return %s : tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<8x4xf32>) -> tensor<8xf32> {
      %e = kern.map(%x) bounds = [8, 4] maps = [affine_map<(d0, d1) -> (d0, d1)>,
          affine_map<(d0, d1) -> (d0, d1)>] {
      ^bb0(%a: f32):
        %0 = math.exp %a : f32
        kern.yield %0 : f32
      } : (tensor<8x4xf32>) -> tensor<8x4xf32>
      %s = kern.rows(%e) bounds = [8, 4] reduced = [1] maps = [affine_map<(d0, d1) -> (d0, d1)>,
          affine_map<(d0, d1) -> (d0)>] {
      ^bb0(%a: f32):
        %0 = kern.fold sum %a : f32
        kern.yield %0 : f32
      } : (tensor<8x4xf32>) -> tensor<8xf32>
      return %s : tensor<8xf32>
    }
    ```
  }];
  let dependentDialects = ["::bessemer::kern::KernDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

def KernFuse : Pass<"kern-fuse", "::mlir::func::FuncOp"> {
  let summary = "merges kernels that share a kernel better";
  let description = [{
    Greedy and deterministic, to a fixed point: cheap producers into all of
    their consumers, producers into their only consumer, producers into a
    consumer with the intermediate value as a further result, and siblings that
    share an input. Never makes a cycle. What is worth it is decided by the cost
    model (lib/Fusion/CostModel.cpp).

    ```mlir
    func.func @f(%x: tensor<8x4xf32>) -> tensor<8xf32> {
      %e = kern.map(%x) bounds = [8, 4] maps = [affine_map<(d0, d1) -> (d0, d1)>,
          affine_map<(d0, d1) -> (d0, d1)>] {
      ^bb0(%a: f32):
        %0 = math.exp %a : f32
        kern.yield %0 : f32
      } : (tensor<8x4xf32>) -> tensor<8x4xf32>
      %s = kern.rows(%e) bounds = [8, 4] reduced = [1] maps = [affine_map<(d0, d1) -> (d0, d1)>,
          affine_map<(d0, d1) -> (d0)>] {
      ^bb0(%a: f32):
        %0 = kern.fold sum %a : f32
        kern.yield %0 : f32
      } : (tensor<8x4xf32>) -> tensor<8xf32>
      return %s : tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<8x4xf32>) -> tensor<8xf32> {
      %s = kern.rows(%x) bounds = [8, 4] reduced = [1] maps = [affine_map<(d0, d1) -> (d0, d1)>,
          affine_map<(d0, d1) -> (d0)>] {
      ^bb0(%a: f32):
        %0 = math.exp %a : f32
        %1 = kern.fold sum %0 : f32
        kern.yield %1 : f32
      } : (tensor<8x4xf32>) -> tensor<8xf32>
      return %s : tensor<8xf32>
    }
    ```
  }];
  let dependentDialects = ["::bessemer::kern::KernDialect",
                           "::mlir::tensor::TensorDialect"];
}

def KernAssignLayouts : Pass<"kern-assign-layouts", "::mlir::func::FuncOp"> {
  let summary = "lays images out in blocks of channels around convolutions";
  let description = [{
    The library computes convolutions on images in blocks of 16 channels
    (`nChw16c`); row-major ones it has to reorder at each call. An image
    [n, c, h, w] that a convolution reads or writes, and every image that
    kernels combine with one, becomes [n, c / 16, h, w, 16] when c is a multiple
    of 16 and its producer and all its users can take that: convolutions,
    pools, and maps, rows and columns, whose dimension of channels is split in
    two, the inner one last. What cannot stays row-major: a convolution states
    a layout per operand, a kernel reads either.

    Convolutions of 3x3 with strides of 1 may be computed by Winograd's
    algorithm where that pays, unless the option forbids it.

    ```mlir
    func.func @f(%x: tensor<8x16x7x7xf32>, %w: tensor<32x16x3x3xf32>) -> tensor<8x32x7x7xf32> {
      %y = kern.conv forward(%x, %w) layouts = [#kern.layout<"row">, #kern.layout<"row">, #kern.layout<"row">]
          {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
           schedule = #kern.schedule<library>}
          : (tensor<8x16x7x7xf32>, tensor<32x16x3x3xf32>) -> tensor<8x32x7x7xf32>
      %r = kern.map(%y) bounds = [8, 32, 7, 7] maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>,
          affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>] {
      ^bb0(%a: f32):
        %n = math.tanh %a : f32
        kern.yield %n : f32
      } : (tensor<8x32x7x7xf32>) -> tensor<8x32x7x7xf32>
      return %r : tensor<8x32x7x7xf32>
    }
    ```
  }];
  let options = [
    Option<"winograd", "winograd", "bool", "true",
           "Allow Winograd's algorithm, which rounds a little more">
  ];
  let dependentDialects = ["::bessemer::kern::KernDialect",
                           "::mlir::tensor::TensorDialect"];
}

def KernBlockWeights : Pass<"kern-block-weights", "::mlir::ModuleOp"> {
  let summary = "lays weights of convolutions out as the library computes on them";
  let description = [{
    The library computes on weights [o, i, h, w] that lie as
    [o / 16, i / 16, h, w, 16 of i, 16 of o] (`OIhw16i16o`); row-major ones it
    reorders at each call, and a gradient back. A state of whole blocks that a
    convolution on blocked images reads lies so for the whole program, in every
    function, and with it what is combined with it element by element: its
    gradient, its moments and what accumulates in loops. All of them stay
    row-major when one is used in another way. Initial values, checkpoints and
    everything that users see stay row-major.

    ```mlir
    graph.state @w parameter : tensor<32x16x3x3xf32> = dense<0.5> : tensor<32x16x3x3xf32>
    func.func @f(%x: tensor<8x1x7x7x16xf32>) -> tensor<8x2x7x7x16xf32> {
      %w = graph.read @w : tensor<32x16x3x3xf32>
      %y = kern.conv forward(%x, %w) layouts = [#kern.layout<"nChw16c">, #kern.layout<"row">, #kern.layout<"nChw16c">]
          {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
           schedule = #kern.schedule<library>}
          : (tensor<8x1x7x7x16xf32>, tensor<32x16x3x3xf32>) -> tensor<8x2x7x7x16xf32>
      return %y : tensor<8x2x7x7x16xf32>
    }
    ```
    becomes
    ```mlir
    graph.state @w parameter : tensor<2x1x3x3x16x16xf32> = dense<0.5> : tensor<32x16x3x3xf32> {layout = "OIhw16i16o"}
    func.func @f(%x: tensor<8x1x7x7x16xf32>) -> tensor<8x2x7x7x16xf32> {
      %w = graph.read @w : tensor<2x1x3x3x16x16xf32>
      %y = kern.conv forward(%x, %w) layouts = [#kern.layout<"nChw16c">, #kern.layout<"OIhw16i16o">, #kern.layout<"nChw16c">]
          {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
           schedule = #kern.schedule<library>}
          : (tensor<8x1x7x7x16xf32>, tensor<2x1x3x3x16x16xf32>) -> tensor<8x2x7x7x16xf32>
      return %y : tensor<8x2x7x7x16xf32>
    }
    ```
  }];
}

def KernVerify : Pass<"kern-verify", "::mlir::func::FuncOp"> {
  let summary = "ends the kern level: says what may no longer exist";
  let description = [{
    Fails on every graph op but `graph.read`, `graph.write` and
    `graph.step_value`, and on tensor arithmetic outside kernels: only kern ops,
    constants and reshapes may remain.

    ```mlir
    func.func @predict(%x: tensor<256xf32> {graph.name = "x"}, %step: !graph.step) -> (tensor<256xf32> {graph.name = "y"}) {
      %a = kern.map(%x) bounds = [256] maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
      ^bb0(%e: f32):
        %0 = math.exp %e : f32
        kern.yield %0 : f32
      } : (tensor<256xf32>) -> tensor<256xf32>
      return %a : tensor<256xf32>
    }
    ```
  }];
}

#endif // BESSEMER_FUSION_PASSES_TD
