// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `exec` dialect: WHEN and WHERE.

#ifndef BESSEMER_DIALECT_EXEC_IR_EXECDIALECT_TD
#define BESSEMER_DIALECT_EXEC_IR_EXECDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinAttributes.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::bessemer::exec";
  let summary = "the program the runtime runs: arenas, slices, commands";
  let description = [{
    The third level, one to one with the artifact (Format/bessemer.fbs). There
    are no tensor values: an `exec.program` per function holds arenas and a
    list of commands whose operands are slices of them. An `exec.kernel` holds
    one kern op, the source from which Codegen makes machine code; kernels that
    are equal are one `exec.kernel`.

    Commands run in order; an `exec.repeat` runs those of its body again and
    again, and slices in it may move with the iteration. The verify pass of the level checks that slices lie
    in their arenas, are aligned, and that a command does not read what it
    overwrites in another place.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::bessemer::kern::KernDialect"];
}

def Exec_ArenaKind : I32EnumAttr<"ArenaKind", "what an arena holds", [
  I32EnumAttrCase<"State", 0, "state">,
  I32EnumAttrCase<"Work", 1, "work">,
  I32EnumAttrCase<"Input", 2, "input">,
  I32EnumAttrCase<"Output", 3, "output">,
  I32EnumAttrCase<"Step", 4, "step">,
  I32EnumAttrCase<"Constant", 5, "constant">
]> {
  let cppNamespace = "::bessemer::exec";
  let genSpecializedAttr = 0;
}
def Exec_ArenaKindAttr : EnumAttr<Exec_Dialect, Exec_ArenaKind, "arena_kind"> {
  let assemblyFormat = "$value";
}

def Exec_SliceAttr : AttrDef<Exec_Dialect, "Slice"> {
  let mnemonic = "slice";
  let summary = "bytes of an arena";
  let description = [{
    `arena` names an `exec.arena` of the enclosing program. `strides` says how
    far the slice moves in each iteration of the enclosing `exec.repeat` ops,
    the outermost first; inner ones that are left out do not move it.

    4096 bytes from offset 128 on, and 64 that move by 64 in each iteration:

    ```mlir
    #exec.slice<@work[128, 4096]>
    ```
    ```mlir
    #exec.slice<@work[128, 64] by [64]>
    ```
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$arena, "int64_t":$offset, "int64_t":$bytes,
    OptionalArrayRefParameter<"int64_t">:$strides);
  let assemblyFormat = "`<` $arena `[` $offset `,` $bytes `]` (`by` `[` $strides^ `]`)? `>`";
}
def Exec_SliceArrayAttr : TypedArrayAttrBase<Exec_SliceAttr, "slices">;

#endif // BESSEMER_DIALECT_EXEC_IR_EXECDIALECT_TD
