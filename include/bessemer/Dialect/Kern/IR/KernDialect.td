// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `kern` dialect: HOW one device computes a fused piece.

#ifndef BESSEMER_DIALECT_KERN_IR_KERNDIALECT_TD
#define BESSEMER_DIALECT_KERN_IR_KERNDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinAttributes.td"

def Kern_Dialect : Dialect {
  let name = "kern";
  let cppNamespace = "::bessemer::kern";
  let summary = "how one device computes a fused piece: one op per kernel family";
  let description = [{
    The second level. Values are still tensors, but every op is one kernel (or
    one library call): a *family* whose holes are scalar regions that fusion
    fills. A schedule attribute says how it is computed, a layout per operand
    how it lies in memory.

    `map`, `rows` and `columns` share one form. They iterate over `bounds`;
    every input and result has an indexing map. That of a result is a projected
    permutation of the iteration dimensions without zeros. That of an input may
    shift: each of its results is a dimension plus a constant, and an element
    outside the tensor reads as zero. So a slice is a map with an offset and
    padding one with a negative offset. The region computes one point: its
    arguments are the inputs' elements there. `rows` and `columns` also have
    `reduced` dimensions, over which `kern.fold` combines; the result of a fold
    is uniform along them and may feed further arithmetic and further folds. A
    result whose map lacks all reduced dimensions is one value per row.

    Every kern op expands back to graph ops (`KernelOpInterface`): the oracle,
    the fallback on a new target, and the meaning of the op are the same text.
    The expansion retypes region ops to tensors and ignores schedule and layout.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::bessemer::graph::GraphDialect"];
}

def Kern_FoldKind : I32EnumAttr<"FoldKind", "how elements are combined", [
  I32EnumAttrCase<"Sum", 0, "sum">,
  I32EnumAttrCase<"Max", 1, "max">,
  I32EnumAttrCase<"Min", 2, "min">,
  I32EnumAttrCase<"Product", 3, "product">
]> {
  let cppNamespace = "::bessemer::kern";
  let genSpecializedAttr = 0;
}
def Kern_FoldKindAttr : EnumAttr<Kern_Dialect, Kern_FoldKind, "fold_kind"> {
  let assemblyFormat = "$value";
}

def Kern_ConvKind : I32EnumAttr<"ConvKind", "which of the three convolutions", [
  I32EnumAttrCase<"Forward", 0, "forward">,
  I32EnumAttrCase<"InputGrad", 1, "input_grad">,
  I32EnumAttrCase<"WeightGrad", 2, "weight_grad">
]> {
  let cppNamespace = "::bessemer::kern";
  let genSpecializedAttr = 0;
}
def Kern_ConvKindAttr : EnumAttr<Kern_Dialect, Kern_ConvKind, "conv_kind"> {
  let assemblyFormat = "$value";
}

def Kern_WindowKind : I32EnumAttr<"WindowKind", "what a window kernel computes", [
  I32EnumAttrCase<"Max", 0, "max">,
  I32EnumAttrCase<"Average", 1, "average">,
  I32EnumAttrCase<"MaxGrad", 2, "max_grad">,
  I32EnumAttrCase<"AverageGrad", 3, "average_grad">
]> {
  let cppNamespace = "::bessemer::kern";
  let genSpecializedAttr = 0;
}
def Kern_WindowKindAttr : EnumAttr<Kern_Dialect, Kern_WindowKind, "window_kind"> {
  let assemblyFormat = "$value";
}

def Kern_ScheduleKind : I32EnumAttr<"ScheduleKind", "who computes the op", [
  I32EnumAttrCase<"Generated", 0, "generated">,
  I32EnumAttrCase<"Library", 1, "library">
]> {
  let cppNamespace = "::bessemer::kern";
  let genSpecializedAttr = 0;
}

def Kern_ScheduleAttr : AttrDef<Kern_Dialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "how a kernel is computed";
  let description = [{
    `kind` is `generated` or `library`. `tile` is how many iterations of every
    bound one tile covers (empty: the code generator's rule for its target).
    The register tile follows from the instruction set and is not stated.

    ```mlir
    #kern.schedule<generated, [128, 48]>
    ```
  }];
  let parameters = (ins EnumParameter<Kern_ScheduleKind>:$kind,
    OptionalArrayRefParameter<"int64_t">:$tile);
  let assemblyFormat = "`<` $kind (`,` `[` $tile^ `]`)? `>`";
}

def Kern_LayoutAttr : AttrDef<Kern_Dialect, "Layout"> {
  let mnemonic = "layout";
  let summary = "how a tensor lies in memory";
  let description = [{
    `row` is row-major. Library formats are named as oneDNN names them: an
    image [n, c, h, w] of layout `nChw16c` is the row-major tensor
    [n, c / 16, h, w, 16], and weights [o, i, h, w] of layout `OIhw16i16o` are
    [o / 16, i / 16, h, w, 16 of i, 16 of o].

    ```mlir
    #kern.layout<"row">
    ```
  }];
  let parameters = (ins StringRefParameter<"name of the layout">:$format);
  let assemblyFormat = "`<` $format `>`";
}

#endif // BESSEMER_DIALECT_KERN_IR_KERNDIALECT_TD
