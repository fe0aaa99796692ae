// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `acme` dialect: one op that Bessemer does not have.

#ifndef ACME_ACMEOPS_TD
#define ACME_ACMEOPS_TD

include "bessemer/Dialect/Graph/IR/GraphInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/CommonTypeConstraints.td"

def Acme_Dialect : Dialect {
  let name = "acme";
  let cppNamespace = "::acme";
  let summary = "ops of the company Acme";
}

def Acme_SoftCapOp : Op<Acme_Dialect, "soft_cap", [Pure, SameOperandsAndResultType,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<DecomposableOpInterface>]> {
  let summary = "cap tanh(x / cap)";
  let description = [{
    Keeps values in (-cap, cap), as some language models do with their logits.
    The gradient is dy (1 - (y / cap)^2).

    ```mlir
    %y = acme.soft_cap %x cap 30.0 : tensor<32x10xf32>
    ```
  }];
  let arguments = (ins StaticShapeTensorOf<[AnyFloat]>:$x, F64Attr:$cap);
  let results = (outs StaticShapeTensorOf<[AnyFloat]>:$result);
  let assemblyFormat = "$x `cap` $cap attr-dict `:` type($x)";
  let hasVerifier = 1;
}

#endif // ACME_ACMEOPS_TD
