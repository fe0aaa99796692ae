// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs, arenas, kernels and commands.

#ifndef BESSEMER_DIALECT_EXEC_IR_EXECOPS_TD
#define BESSEMER_DIALECT_EXEC_IR_EXECOPS_TD

include "bessemer/Dialect/Exec/IR/ExecDialect.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"

class Exec_Op<string mnemonic, list<Trait> traits = []>
    : Op<Exec_Dialect, mnemonic, traits>;

def Exec_StateOp : Exec_Op<"state", [Symbol]> {
  let summary = "where a state lies in the state arena";
  let description = [{
    Copies what `graph.state` says (role, trainable, why, init) and adds the
    offset. `role` is the graph role's name, `type` that of `init`: how the
    state's elements lie says `layout`, row-major when there is none.

    ```mlir
    exec.state @fc.weight at 128 : tensor<10x84xf32> = dense<0.0> : tensor<10x84xf32> {role = "parameter", trainable}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$offset, TypeAttr:$type,
    ElementsAttr:$init, StrAttr:$role, UnitAttr:$trainable, OptionalAttr<StrAttr>:$why,
    OptionalAttr<StrAttr>:$layout);
  let assemblyFormat = "$sym_name `at` $offset `:` $type `=` $init attr-dict";
}

def Exec_KernelOp : Exec_Op<"kernel", [Symbol, IsolatedFromAbove, SingleBlock, NoTerminator]> {
  let summary = "the source of one kernel: a kern op on block arguments";
  let description = [{
    The block has the operands of the kern op as arguments and holds that op
    alone. Its buffers are the operands, then the results.

    ```mlir
    exec.kernel @map_0 {
    ^bb0(%x: tensor<64xf32>):
      %y = kern.map(%x) bounds = [64] maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
      ^bb0(%a: f32):
        %n = arith.negf %a : f32
        kern.yield %n : f32
      } : (tensor<64xf32>) -> tensor<64xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The kern op.
    ::mlir::Operation *getKernelOp() { return &getBody().front().front(); }
  }];
}

def Exec_ProgramOp : Exec_Op<"program", [Symbol, SymbolTable, IsolatedFromAbove, SingleBlock, NoTerminator]> {
  let summary = "the commands of one function";
  let description = [{
    `inputs` and `outputs` name the function's values with their types, and
    inputs with what their integers must be (`graph.ranges`, here `ranges`);
    value i is bound to the input (output) arena whose `value` is i. The step
    block is the arena of kind `step`.

    ```mlir
    exec.program @predict inputs = [{name = "x", type = tensor<64xf32>} ] outputs = [{name = "y", type = tensor<64xf32>} ] {
      exec.arena @in0 input bytes = 256 {value = 0 : i64}
      exec.arena @out0 output bytes = 256 {value = 0 : i64}
      exec.launch @map_0 operands = [#exec.slice<@in0[0, 256]>, #exec.slice<@out0[0, 256]>]
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, ArrayAttr:$inputs, ArrayAttr:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `inputs` `=` $inputs `outputs` `=` $outputs attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

def Exec_ArenaOp : Exec_Op<"arena", [Symbol, HasParent<"ProgramOp">]> {
  let summary = "a region of memory";
  let description = [{
    `bound` is the lower bound that liveness puts on a work arena, `value` the
    index of an input or output, `data` the content of a constant arena.

    ```mlir
    exec.arena @work work bytes = 8192 {bound = 8000 : i64}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Exec_ArenaKindAttr:$kind, I64Attr:$bytes,
    DefaultValuedAttr<I64Attr, "0">:$value, DefaultValuedAttr<I64Attr, "0">:$bound,
    OptionalAttr<ElementsAttr>:$data);
  let assemblyFormat = "$sym_name `` $kind `bytes` `=` $bytes attr-dict";
}

/// A command. `label` says which model nodes it comes from (`conv1
/// (model.py:41)`), for traces and errors. `values` has one number per slice,
/// in order: slices with equal numbers hold the same value, so that
/// `exec-verify` can tell a clobbered value from the one meant.
class Exec_Command<string mnemonic, list<Trait> traits = []>
    : Exec_Op<mnemonic, !listconcat([ParentOneOf<["ProgramOp", "RepeatOp"]>], traits)> {
  dag commandAttrs = (ins OptionalAttr<StrAttr>:$label,
                          OptionalAttr<DenseI64ArrayAttr>:$values);
}

def Exec_LaunchOp : Exec_Command<"launch"> {
  let summary = "runs all tiles of a kernel";
  let description = [{
    ```mlir
    exec.launch @map_0 operands = [#exec.slice<@in0[0, 256]>, #exec.slice<@out0[0, 256]>]
    ```
  }];
  let arguments = !con((ins FlatSymbolRefAttr:$kernel, Exec_SliceArrayAttr:$operands), commandAttrs);
  let assemblyFormat = "$kernel `operands` `=` $operands attr-dict";
}

def Exec_LibraryOp : Exec_Command<"library"> {
  let summary = "calls a vendor library";
  let description = [{
    `descriptor` holds what the library call needs (for convolution: kind,
    shapes, strides, pads, dilations, groups, layouts). The last operand is
    the result.

    ```mlir
    exec.library "onednn.convolution" operands = [#exec.slice<@in0[0, 1024]>] descriptor = {kind = "forward"}
    ```
  }];
  let arguments = !con((ins StrAttr:$library, Exec_SliceArrayAttr:$operands,
                            DictionaryAttr:$descriptor), commandAttrs);
  let assemblyFormat = "$library `operands` `=` $operands `descriptor` `=` $descriptor attr-dict";
}

def Exec_CopyOp : Exec_Command<"copy"> {
  let summary = "copies a slice to another of equal size";
  let description = [{
    ```mlir
    exec.copy <@in0[0, 256]> to <@out0[0, 256]>
    ```
  }];
  let arguments = !con((ins Exec_SliceAttr:$from, Exec_SliceAttr:$to), commandAttrs);
  let assemblyFormat = "$from `to` $to attr-dict";
}

def Exec_FillOp : Exec_Command<"fill"> {
  let summary = "repeats `pattern` (of `width` bytes) over a slice";
  let description = [{
    ```mlir
    exec.fill <@out0[0, 256]> pattern = 0 width = 4
    ```
  }];
  let arguments = !con((ins Exec_SliceAttr:$to, I64Attr:$pattern, I64Attr:$width), commandAttrs);
  let assemblyFormat = "$to `pattern` `=` $pattern `width` `=` $width attr-dict";
}

def Exec_RepeatOp : Exec_Command<"repeat", [SingleBlock, NoTerminator]> {
  let summary = "runs its commands `count` times";
  let description = [{
    `scratch` is the part of the work arena that the body's temporaries share;
    none of them outlives its iteration. `carried` are the slices of values that
    an iteration leaves for the next. Their `values` are triples: the number of
    the value that is there before the loop, the one it goes by at the start of
    an iteration and after the loop, and the one that the body leaves there.

    ```mlir
    exec.repeat 3 scratch = [#exec.slice<@work[0, 64]>] carried = [#exec.slice<@work[64, 8]>] {
      exec.launch @map_2_add operands = [#exec.slice<@work[64, 8]>, #exec.slice<@in0[0, 8] by [8]>,
        #exec.slice<@work[64, 8]>] {values = array<i64: 4, 0, 5>}
    } {values = array<i64: 3, 4, 5>}
    ```
  }];
  let arguments = !con((ins I64Attr:$count, Exec_SliceArrayAttr:$scratch,
                            Exec_SliceArrayAttr:$carried), commandAttrs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$count `scratch` `=` $scratch `carried` `=` $carried $body attr-dict";
  let hasVerifier = 1;
}

#endif // BESSEMER_DIALECT_EXEC_IR_EXECOPS_TD
