// RUN: bessemer-opt %s --split-input-file --verify-diagnostics

// What a scan must be.

func.func @scan_length(%x: tensor<0x2xf32>) {
  // expected-error @+1 {{expected a length of at least 1, got 0}}
  %y = graph.scan 0 inits() sequences(%x) invariants() {
  ^bb0(%e: tensor<2xf32>):
    graph.yield %e : tensor<2xf32>
  } : (tensor<0x2xf32>) -> tensor<0x2xf32>
  return
}

// -----

func.func @scan_steps(%x: tensor<4x2xf32>) {
  // expected-error @+1 {{expected sequence 0 to have 3 steps, got 'tensor<4x2xf32>'}}
  %y = graph.scan 3 inits() sequences(%x) invariants() {
  ^bb0(%e: tensor<2xf32>):
    graph.yield %e : tensor<2xf32>
  } : (tensor<4x2xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @scan_argument(%x: tensor<3x2xf32>) {
  // expected-error @+1 {{expected body argument 0 of type 'tensor<2xf32>', got 'tensor<3xf32>'}}
  %y = graph.scan 3 inits() sequences(%x) invariants() {
  ^bb0(%e: tensor<3xf32>):
    graph.yield %e : tensor<3xf32>
  } : (tensor<3x2xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @scan_yield(%a: tensor<2xf32>, %x: tensor<3x2xf32>) {
  // expected-error @+1 {{expected 1 yielded values, got 2}}
  %y = graph.scan 3 inits(%a) sequences(%x) invariants() {
  ^bb0(%c: tensor<2xf32>, %e: tensor<2xf32>):
    graph.yield %e, %e : tensor<2xf32>, tensor<2xf32>
  } : (tensor<2xf32>, tensor<3x2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @scan_final(%a: tensor<2xf32>, %x: tensor<3x2xf32>) {
  // expected-error @+1 {{expected final value 0 of type 'tensor<2xf32>', got 'tensor<3x2xf32>'}}
  %y = graph.scan 3 inits(%a) sequences(%x) invariants() {
  ^bb0(%c: tensor<2xf32>, %e: tensor<2xf32>):
    graph.yield %e : tensor<2xf32>
  } : (tensor<2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  return
}
