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
    %p:2 = kern.update parameters(%w, %b) gradients(%dw, %db) scalars(%lr) ...
    // becomes
    %w1 = kern.update parameters(%w) gradients(%dw) scalars(%lr) ...
    %b1 = kern.update parameters(%b) gradients(%db) scalars(%lr) ...
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
  }];
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
  }];
}

#endif // BESSEMER_MEMORY_PASSES_TD
