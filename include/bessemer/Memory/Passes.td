// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes of the memory stage: kern -> exec.

#ifndef BESSEMER_MEMORY_PASSES_TD
#define BESSEMER_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

def KernSplitUpdate : Pass<"kern-split-update", "::mlir::ModuleOp"> {
  let summary = "gives large parameters an update of their own";
  let description = [{
    An update of all parameters in one launch keeps every gradient until the
    last is known. A parameter with at least 1/16 of all elements gets its own
    `kern.update`, so that its gradient can die as soon as the schedule likes;
    the others stay together. With clipping nothing is split: the scale needs
    all gradients first.

    ```mlir
    func.func @train_step(%w: tensor<32xf32>, %b: tensor<2xf32>, %dw: tensor<32xf32>, %db: tensor<2xf32>,
        %lr: tensor<f32>) -> (tensor<32xf32>, tensor<2xf32>) {
      %p:2 = kern.update parameters(%w, %b) gradients(%dw, %db) scalars(%lr) {
      ^bb0(%a: f32, %d: f32, %l: f32):
        %s = arith.mulf %d, %l : f32
        %n = arith.subf %a, %s : f32
        kern.yield %n : f32
      } : (tensor<32xf32>, tensor<2xf32>, tensor<32xf32>, tensor<2xf32>, tensor<f32>) -> (tensor<32xf32>, tensor<2xf32>)
      return %p#0, %p#1 : tensor<32xf32>, tensor<2xf32>
    }
    ```
    becomes
    ```mlir
    func.func @train_step(%w: tensor<32xf32>, %b: tensor<2xf32>, %dw: tensor<32xf32>, %db: tensor<2xf32>,
        %lr: tensor<f32>) -> (tensor<32xf32>, tensor<2xf32>) {
      %p = kern.update parameters(%w) gradients(%dw) scalars(%lr) {
      ^bb0(%a: f32, %d: f32, %l: f32):
        %s = arith.mulf %d, %l : f32
        %n = arith.subf %a, %s : f32
        kern.yield %n : f32
      } : (tensor<32xf32>, tensor<32xf32>, tensor<f32>) -> tensor<32xf32>
      %q = kern.update parameters(%b) gradients(%db) scalars(%lr) {
      ^bb0(%a: f32, %d: f32, %l: f32):
        %s = arith.mulf %d, %l : f32
        %n = arith.subf %a, %s : f32
        kern.yield %n : f32
      } : (tensor<2xf32>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
      return %p, %q : tensor<32xf32>, tensor<2xf32>
    }
    ```
  }];
}

def KernScheduleOrder : Pass<"kern-schedule-order", "::mlir::ModuleOp"> {
  let summary = "orders the kernels of each function so that it needs little memory";
  let description = [{
    Among several list schedules and moves of single kernels it keeps the one
    whose liveness bound is lowest, and program order when none is lower. A
    kernel that overwrites a state is placed behind all readers of the old
    value where that is possible: weight gradients come early, updates late.

    In the result, values that exist at entry (reads, step values, constants)
    come first, then the kernels, each followed by reshapes of its results,
    then the writes.

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

def KernRematerialize : Pass<"kern-rematerialize", "::mlir::ModuleOp"> {
  let summary = "computes values again where keeping them takes too much memory";
  let description = [{
    Repeats kernels, one after the other, right before late uses of their
    results, so that these need not lie in memory until then: first as many as
    cost `free-share` of the function's estimated time together, then as many as
    it takes for a session to fit into `memory-limit` bytes. A session needs its
    states, one batch of inputs, the outputs of all functions, constants, and
    the largest work arena. See Rematerialization.h for the choice, which does
    not depend on the limit: a smaller one never leads to a larger peak. At a
    peak in a loop, kernels of its body are repeated, in every iteration, or
    kernels around it, whichever free more bytes for their cost.

    Repeated kernels compute the same bits: random numbers are functions of the
    step's seed and the op's number. The order of kernels is kept.

    An error names the bytes that are missing when nothing more can be gained.

    ```mlir
    // %a, 4 KiB, lies there while %b, 16 KiB, does, only to be read by %d. With
    // memory-limit=17216 it is made once more, before %d.
    func.func @predict(%x: tensor<64xf32> {graph.name = "x"}, %step: !graph.step) -> (tensor<64xf32> {graph.name = "y"}) {
      %a = kern.map(%x) bounds = [64, 16] maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>] {
      ^bb0(%e: f32):
        %0 = math.exp %e : f32
        kern.yield %0 : f32
      } : (tensor<64xf32>) -> tensor<64x16xf32>
      %u = kern.rows(%a) bounds = [64, 16] reduced = [1] maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>] {
      ^bb0(%e: f32):
        %0 = kern.fold sum %e : f32
        kern.yield %0 : f32
      } : (tensor<64x16xf32>) -> tensor<64xf32>
      %b = kern.map(%u) bounds = [64, 64] maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>] {
      ^bb0(%e: f32):
        %0 = arith.negf %e : f32
        kern.yield %0 : f32
      } : (tensor<64xf32>) -> tensor<64x64xf32>
      %c = kern.rows(%b) bounds = [64, 64] reduced = [1] maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>] {
      ^bb0(%e: f32):
        %0 = kern.fold sum %e : f32
        kern.yield %0 : f32
      } : (tensor<64x64xf32>) -> tensor<64xf32>
      %d = kern.rows(%a, %c) bounds = [64, 16] reduced = [1] maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>,
          affine_map<(d0, d1) -> (d0)>] {
      ^bb0(%e: f32, %f: f32):
        %0 = arith.mulf %e, %f : f32
        %1 = kern.fold sum %0 : f32
        kern.yield %1 : f32
      } : (tensor<64x16xf32>, tensor<64xf32>) -> tensor<64xf32>
      return %d : tensor<64xf32>
    }
    ```
  }];
  let options = [
    Option<"memoryLimit", "memory-limit", "int64_t", /*default=*/"0",
           "bytes of a session; 0: no limit">,
    Option<"freeShare", "free-share", "double", /*default=*/"0",
           "share of a function's time that repeating kernels may cost where "
           "there is room, too">
  ];
}

def KernToExec : Pass<"kern-to-exec", "::mlir::ModuleOp"> {
  let summary = "assigns memory and turns functions into programs of commands";
  let description = [{
    Every public function becomes an `exec.program` (`@model`, from which the
    others were derived, is dropped), every kern op a command: `exec.library`
    for convolutions, else `exec.launch` of an `exec.kernel`. Equal kernels are
    one `exec.kernel`.

    Memory: states lie at fixed offsets of the state arena; inputs, outputs and
    the step block have arenas of their own, as has each distinct constant;
    reshapes cost nothing. A result is computed in place where it may be (into
    the state it is written to, the output it is returned as, or an operand
    that dies there); else it gets a place in the work arena, whose offsets are
    packed. `bound` of the work arena is what liveness alone needs.

    Commands carry `values` (one number per operand slice, equal numbers mean
    the same value), by which `exec-verify` checks the plan, and `label`, the
    model nodes they come from.

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
    becomes
    ```mlir
    exec.kernel @map_256_exp {
    ^bb0(%x: tensor<256xf32>):
      %y = kern.map(%x) bounds = [256] maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
      ^bb0(%e: f32):
        %0 = math.exp %e : f32
        kern.yield %0 : f32
      } : (tensor<256xf32>) -> tensor<256xf32>
    }
    exec.program @predict inputs = [{name = "x", type = tensor<256xf32>} ]
        outputs = [{name = "y", type = tensor<256xf32>} ] {
      exec.arena @in0 input bytes = 1024
      exec.arena @step step bytes = 64
      exec.arena @out0 output bytes = 1024
      exec.launch @map_256_exp operands = [#exec.slice<@in0[0, 1024]>, #exec.slice<@out0[0, 1024]>]
          {values = array<i64: 0, 2>}
    }
    ```
  }];
  let dependentDialects = ["::bessemer::exec::ExecDialect"];
}

def ExecVerify : Pass<"exec-verify", "::mlir::ModuleOp"> {
  let summary = "ends the exec level: checks every slice of every command";
  let description = [{
    No tensor function is left. Slices lie in their arenas, are aligned and
    have the size of what the kernel expects; nothing writes to inputs,
    constants and the step block; a command does not write bytes it reads
    elsewhere, and in the same place only where the kernel allows it.

    Then the commands run on shadow memory, in which each byte knows which
    value was written there last: a read of bytes that nothing wrote, or that
    hold another value than the one meant, is an error that names reader and
    writer. With `values` on the commands every clobbered value is found;
    without, those that were overwritten in part.

    ```mlir
    exec.kernel @map_256_exp {
    ^bb0(%x: tensor<256xf32>):
      %y = kern.map(%x) bounds = [256] maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
      ^bb0(%e: f32):
        %0 = math.exp %e : f32
        kern.yield %0 : f32
      } : (tensor<256xf32>) -> tensor<256xf32>
    }
    exec.program @predict inputs = [{name = "x", type = tensor<256xf32>} ]
        outputs = [{name = "y", type = tensor<256xf32>} ] {
      exec.arena @in0 input bytes = 1024
      exec.arena @step step bytes = 64
      exec.arena @out0 output bytes = 1024
      exec.launch @map_256_exp operands = [#exec.slice<@in0[0, 1024]>, #exec.slice<@out0[0, 1024]>]
          {values = array<i64: 0, 2>}
    }
    ```
  }];
}

#endif // BESSEMER_MEMORY_PASSES_TD
