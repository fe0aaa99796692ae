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
    %y = graph.scan 3 inits() sequences(%x) invariants(%w) {
    ^bb0(%element: tensor<2x4xf32>, %weights: tensor<4x4xf32>):
      %p = graph.contract %element, %weights batch = [] x [] contract = [1] x [0] : ...
      graph.yield %p : tensor<2x4xf32>
    } : (tensor<3x2x4xf32>, tensor<4x4xf32>) -> tensor<3x2x4xf32>
    // becomes, but for the loop, which passes its elements on
    %y = graph.contract %x, %w batch = [] x [] contract = [2] x [0] : ...
    ```
  }];
}

def ReuseActivation : Pass<"reuse-activation", "::mlir::func::FuncOp"> {
  let summary = "compares the result of a clamp instead of its operand";
  let description = [{
    The gradient of `h = max(x, 0)` asks whether `x <= 0`, which is whether
    `h <= 0`. `h` is kept for other reasons, `x` then need not be.
  }];
}

def GraphToKern : Pass<"graph-to-kern", "::mlir::func::FuncOp"> {
  let summary = "turns every graph op into an op of its kernel family";
  let description = [{
    The family table (lib/Fusion/FamilyTable.cpp) says which family computes
    which op; an op without one is an error at its location. Every elementwise
    op, broadcast and transpose becomes a `kern.map` of its own, every reduction
    a `kern.rows` or `kern.columns`, every contraction a `kern.gemm`; composites
    become one kernel each. Splat constants become scalars in the regions that
    use them. `kern-fuse` then merges what belongs together.

    Reshapes, constants, state and step ops stay.
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
  }];
  let dependentDialects = ["::bessemer::kern::KernDialect",
                           "::mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"merged", "merged", "Number of merged pairs of kernels">,
    Statistic<"duplicated", "duplicated", "Number of producers duplicated">
  ];
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
    %y = kern.map(%x) bounds = [8, 32, 7, 7] maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>,
        affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>] ...
    // becomes
    %y = kern.map(%x) bounds = [8, 2, 7, 7, 16] maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>,
        affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>] ...
    ```
  }];
  let options = [
    Option<"winograd", "winograd", "bool", "true",
           "Allow Winograd's algorithm, which rounds a little more">
  ];
  let statistics = [
    Statistic<"blocked", "blocked", "Number of images in blocks">
  ];
  let dependentDialects = ["::bessemer::kern::KernDialect",
                           "::mlir::tensor::TensorDialect"];
}

def KernVerify : Pass<"kern-verify", "::mlir::func::FuncOp"> {
  let summary = "ends the kern level: says what may no longer exist";
  let description = [{
    Fails on every graph op but `graph.read`, `graph.write` and
    `graph.step_value`, and on tensor arithmetic outside kernels: only kern ops,
    constants and reshapes may remain.
  }];
}

#endif // BESSEMER_FUSION_PASSES_TD
