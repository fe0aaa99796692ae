// RUN: bessemer-opt %s --canonicalize | bessemer-opt | FileCheck %s

// What a scan does not need goes; what it is given twice is given once.

// CHECK-LABEL: func.func @round_trip
// CHECK: %[[R:.*]]:2 = graph.scan 3 reverse inits(%{{.*}}) sequences(%{{.*}}) invariants(%{{.*}}) {
// CHECK-NEXT: ^bb0(%[[SUM:.*]]: tensor<2xf32>, %[[X:.*]]: tensor<2xf32>, %{{.*}}: !graph.step):
// CHECK: graph.yield
// CHECK-NEXT: } : (tensor<2xf32>, tensor<3x2xf32>, !graph.step) -> (tensor<2xf32>, tensor<3x2xf32>)
func.func @round_trip(%init: tensor<2xf32>, %x: tensor<3x2xf32>, %step: !graph.step) -> (tensor<2xf32>, tensor<3x2xf32>) {
  %total, %sums = graph.scan 3 reverse inits(%init) sequences(%x) invariants(%step) {
  ^bb0(%sum: tensor<2xf32>, %element: tensor<2xf32>, %s: !graph.step):
    %u = graph.random %s id = 1 : tensor<2xf32>
    %scaled = arith.mulf %element, %u : tensor<2xf32>
    %next = arith.addf %sum, %scaled : tensor<2xf32>
    graph.yield %next, %next : tensor<2xf32>, tensor<2xf32>
  } : (tensor<2xf32>, tensor<3x2xf32>, !graph.step) -> (tensor<2xf32>, tensor<3x2xf32>)
  return %total, %sums : tensor<2xf32>, tensor<3x2xf32>
}

// %b is carried for its own sake, its output is unused, %y and %w are read by
// it alone.
// CHECK-LABEL: func.func @drop_unused
// CHECK-SAME: (%[[A:.*]]: tensor<2xf32>, %[[B:.*]]: tensor<2xf32>, %[[X:.*]]: tensor<3x2xf32>, %{{.*}}: tensor<3x2xf32>, %{{.*}}: tensor<2xf32>)
// CHECK: %[[R:.*]] = graph.scan 3 inits(%[[A]]) sequences(%[[X]]) invariants() {
// CHECK-NEXT: ^bb0(%[[C:.*]]: tensor<2xf32>, %[[E:.*]]: tensor<2xf32>):
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[C]], %[[E]]
// CHECK-NEXT: graph.yield %[[S]] : tensor<2xf32>
// CHECK: return %[[R]]
func.func @drop_unused(%a: tensor<2xf32>, %b: tensor<2xf32>, %x: tensor<3x2xf32>, %y: tensor<3x2xf32>, %w: tensor<2xf32>) -> tensor<2xf32> {
  %r:3 = graph.scan 3 inits(%a, %b) sequences(%x, %y) invariants(%w) {
  ^bb0(%c: tensor<2xf32>, %d: tensor<2xf32>, %e: tensor<2xf32>, %f: tensor<2xf32>, %v: tensor<2xf32>):
    %s = arith.addf %c, %e : tensor<2xf32>
    %t = arith.mulf %d, %f : tensor<2xf32>
    %u = arith.mulf %t, %v : tensor<2xf32>
    graph.yield %s, %u, %t : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  } : (tensor<2xf32>, tensor<2xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<3x2xf32>)
  return %r#0 : tensor<2xf32>
}

// CHECK-LABEL: func.func @merge
// CHECK: %[[R:.*]] = graph.scan 3 inits() sequences(%{{.*}}) invariants(%{{.*}}) {
// CHECK-NEXT: ^bb0(%[[E:.*]]: tensor<2xf32>, %[[V:.*]]: tensor<2xf32>):
// CHECK-NEXT: %[[TWO:.*]] = arith.constant dense<2.0
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[E]], %[[E]]
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[S]], %[[TWO]]
// CHECK-NEXT: %[[Q:.*]] = arith.addf %[[P]], %[[V]]
// CHECK-NEXT: %[[T:.*]] = arith.addf %[[Q]], %[[V]]
// CHECK-NEXT: graph.yield %[[T]] : tensor<2xf32>
// CHECK: return %[[R]], %[[R]]
func.func @merge(%x: tensor<3x2xf32>, %w: tensor<2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %two = arith.constant dense<2.0> : tensor<2xf32>
  %r:2 = graph.scan 3 inits() sequences(%x, %x) invariants(%w, %two, %w) {
  ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>, %v: tensor<2xf32>, %k: tensor<2xf32>, %v2: tensor<2xf32>):
    %s = arith.addf %a, %b : tensor<2xf32>
    %p = arith.mulf %s, %k : tensor<2xf32>
    %q = arith.addf %p, %v : tensor<2xf32>
    %t = arith.addf %q, %v2 : tensor<2xf32>
    graph.yield %t, %t : tensor<2xf32>, tensor<2xf32>
  } : (tensor<3x2xf32>, tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>)
  return %r#0, %r#1 : tensor<3x2xf32>, tensor<3x2xf32>
}
