// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Structured control flow of the `graph` dialect.

#ifndef BESSEMER_DIALECT_GRAPH_IR_GRAPHCONTROL_TD
#define BESSEMER_DIALECT_GRAPH_IR_GRAPHCONTROL_TD

include "mlir/Interfaces/ControlFlowInterfaces.td"

def Graph_ScanOp : Graph_PureOp<"scan", [AttrSizedOperandSegments,
    SingleBlock, IsolatedFromAbove]> {
  let summary = "a loop of known length over the steps of sequences";
  let description = [{
    The body runs `length` times, for step 0 first, or for the last step first
    when `reverse` is set. Its arguments are the carried values (`inits` before
    the first iteration, then what the last one yielded), the step's element of
    each sequence (dimension 0 of a sequence is the step) and the invariants,
    which may include the step block. It yields the new carried values, then the
    step's outputs. Results are the final carried values, then the outputs,
    stacked along a new dimension 0: the output of step t lies at index t, also
    in reverse.

    The gradient is a scan in the other direction over what the forward body
    computed: such values become outputs of the scan, unless they are cheap to
    compute again from what is there. A product with an invariant is
    differentiated once for all steps, after the loop.

    ```mlir
    // running sums
    %total, %sums = graph.scan 3 inits(%zero) sequences(%x) invariants() {
    ^bb0(%sum: tensor<2xf32>, %element: tensor<2xf32>):
      %next = arith.addf %sum, %element : tensor<2xf32>
      graph.yield %next, %next : tensor<2xf32>, tensor<2xf32>
    } : (tensor<2xf32>, tensor<3x2xf32>) -> (tensor<2xf32>, tensor<3x2xf32>)
    ```
  }];
  let arguments = (ins I64Attr:$length, UnitAttr:$reverse,
    Variadic<Graph_Tensor>:$inits, Variadic<Graph_Tensor>:$sequences,
    Variadic<AnyTypeOf<[Graph_Tensor, Graph_StepType]>>:$invariants);
  let results = (outs Variadic<Graph_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $length (`reverse` $reverse^)? `inits` `(` $inits `)` `sequences` `(` $sequences `)`
    `invariants` `(` $invariants `)` attr-dict-with-keyword $body
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    unsigned getNumCarried() { return getInits().size(); }
    unsigned getNumOutputs() { return getNumResults() - getNumCarried(); }
    ::mlir::ResultRange getFinals() { return getResults().take_front(getNumCarried()); }
    ::mlir::ResultRange getOutputs() { return getResults().drop_front(getNumCarried()); }
    ::mlir::Block &getBlock() { return getBody().front(); }
    ::llvm::ArrayRef<::mlir::BlockArgument> getCarriedArguments() {
      return getBlock().getArguments().take_front(getNumCarried());
    }
    ::llvm::ArrayRef<::mlir::BlockArgument> getSequenceArguments() {
      return getBlock().getArguments().slice(getNumCarried(), getSequences().size());
    }
    ::llvm::ArrayRef<::mlir::BlockArgument> getInvariantArguments() {
      return getBlock().getArguments().take_back(getInvariants().size());
    }
    /// The yielded carried values, and the yielded outputs.
    ::mlir::OperandRange getYieldedCarried() {
      return getBlock().getTerminator()->getOperands().take_front(getNumCarried());
    }
    ::mlir::OperandRange getYieldedOutputs() {
      return getBlock().getTerminator()->getOperands().drop_front(getNumCarried());
    }
    /// The type of a step's element of a sequence, and back.
    static ::mlir::RankedTensorType elementOf(::mlir::Type sequence);
    ::mlir::RankedTensorType stackOf(::mlir::Type element);
  }];
}

def Graph_YieldOp : Graph_Op<"yield", [Pure, ReturnLike, Terminator,
    HasParent<"ScanOp">]> {
  let summary = "what an iteration passes on and puts out";
  let description = [{
    ```mlir
    %doubled = graph.scan 3 inits() sequences(%x) invariants() {
    ^bb0(%element: tensor<2xf32>):
      %output = arith.addf %element, %element : tensor<2xf32>
      graph.yield %output : tensor<2xf32>
    } : (tensor<3x2xf32>) -> tensor<3x2xf32>
    ```
  }];
  let arguments = (ins Variadic<Graph_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{}]>];
}

#endif // BESSEMER_DIALECT_GRAPH_IR_GRAPHCONTROL_TD
