// RUN: bessemer-opt %s --pass-pipeline="builtin.module(func.func(hoist-from-scan))" | FileCheck %s

// What does not depend on the carried values leaves the loop.

// CHECK-LABEL: func.func @input_product
// CHECK-SAME: (%[[X:.*]]: tensor<3x2x5xf32>, %[[W:.*]]: tensor<4x5xf32>, %[[H:.*]]: tensor<2x4xf32>)
// CHECK: %[[P:.*]] = graph.contract %[[X]], %[[W]] batch = [] x [] contract = [2] x [1] : (tensor<3x2x5xf32>, tensor<4x5xf32>) -> tensor<3x2x4xf32>
// CHECK: graph.scan 3 inits(%[[H]]) sequences(%[[P]]) invariants() {
// CHECK-NEXT: ^bb0(%[[C:.*]]: tensor<2x4xf32>, %[[E:.*]]: tensor<2x4xf32>):
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[C]], %[[E]]
// CHECK-NEXT: graph.yield %[[S]]
func.func @input_product(%x: tensor<3x2x5xf32>, %w: tensor<4x5xf32>, %h: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = graph.scan 3 inits(%h) sequences(%x) invariants(%w) {
  ^bb0(%c: tensor<2x4xf32>, %e: tensor<2x5xf32>, %v: tensor<4x5xf32>):
    %p = graph.contract %e, %v batch = [] x [] contract = [1] x [1] : (tensor<2x5xf32>, tensor<4x5xf32>) -> tensor<2x4xf32>
    %s = arith.addf %c, %p : tensor<2x4xf32>
    graph.yield %s : tensor<2x4xf32>
  } : (tensor<2x4xf32>, tensor<3x2x5xf32>, tensor<4x5xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}

// With the invariant on the left, the step comes behind its dimension.
// CHECK-LABEL: func.func @invariant_left
// CHECK: %[[P:.*]] = graph.contract %{{.*}}, %{{.*}} batch = [] x [] contract = [1] x [2] : (tensor<4x5xf32>, tensor<3x2x5xf32>) -> tensor<4x3x2xf32>
// CHECK: %[[T:.*]] = graph.transpose %[[P]] permutation = [1, 0, 2] : tensor<4x3x2xf32> -> tensor<3x4x2xf32>
// CHECK: graph.scan 3 inits(%{{.*}}) sequences(%[[T]]) invariants() {
func.func @invariant_left(%x: tensor<3x2x5xf32>, %w: tensor<4x5xf32>, %h: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %r = graph.scan 3 inits(%h) sequences(%x) invariants(%w) {
  ^bb0(%c: tensor<4x2xf32>, %e: tensor<2x5xf32>, %v: tensor<4x5xf32>):
    %p = graph.contract %v, %e batch = [] x [] contract = [1] x [1] : (tensor<4x5xf32>, tensor<2x5xf32>) -> tensor<4x2xf32>
    %s = arith.mulf %c, %p : tensor<4x2xf32>
    graph.yield %s : tensor<4x2xf32>
  } : (tensor<4x2xf32>, tensor<3x2x5xf32>, tensor<4x5xf32>) -> tensor<4x2xf32>
  return %r : tensor<4x2xf32>
}

// exp(w) is computed once; a broadcast would only be larger.
// CHECK-LABEL: func.func @invariant
// CHECK-SAME: (%[[W:.*]]: tensor<4xf32>
// CHECK: %[[EXP:.*]] = math.exp %[[W]] : tensor<4xf32>
// CHECK: graph.scan 3 inits(%{{.*}}) sequences() invariants(%[[EXP]]) {
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<2x4xf32>, %[[V:.*]]: tensor<4xf32>):
// CHECK-NEXT: graph.broadcast %[[V]]
func.func @invariant(%w: tensor<4xf32>, %h: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = graph.scan 3 inits(%h) sequences() invariants(%w) {
  ^bb0(%c: tensor<2x4xf32>, %v: tensor<4xf32>):
    %e = math.exp %v : tensor<4xf32>
    %b = graph.broadcast %e dims = [1] : tensor<4xf32> -> tensor<2x4xf32>
    %s = arith.mulf %c, %b : tensor<2x4xf32>
    graph.yield %s : tensor<2x4xf32>
  } : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @orient
// CHECK-SAME: (%[[W:.*]]: tensor<4x4xf32>, %[[H:.*]]: tensor<2x4xf32>)
// CHECK: %[[T:.*]] = graph.transpose %[[W]] permutation = [1, 0]
// CHECK: graph.scan 8 inits(%[[H]]) sequences() invariants(%[[T]]) {
// CHECK-NEXT: ^bb0(%[[C:.*]]: tensor<2x4xf32>, %[[V:.*]]: tensor<4x4xf32>):
// CHECK-NEXT: graph.contract %[[C]], %[[V]] batch = [] x [] contract = [1] x [0]
func.func @orient(%w: tensor<4x4xf32>, %h: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = graph.scan 8 inits(%h) sequences() invariants(%w) {
  ^bb0(%c: tensor<2x4xf32>, %v: tensor<4x4xf32>):
    %p = graph.contract %c, %v batch = [] x [] contract = [1] x [1] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    graph.yield %p : tensor<2x4xf32>
  } : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}

// Of micro-batches only one is computed at a time.
// CHECK-LABEL: func.func @micro_batches
// CHECK-NEXT: graph.scan 3 inits(%{{.*}}) sequences(%{{.*}}) invariants(%{{.*}}) attributes {graph.micro_batches} {
// CHECK: graph.contract {{.*}} -> tensor<2x4xf32>
func.func @micro_batches(%x: tensor<3x2x5xf32>, %w: tensor<4x5xf32>, %h: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = graph.scan 3 inits(%h) sequences(%x) invariants(%w) attributes {graph.micro_batches} {
  ^bb0(%c: tensor<2x4xf32>, %e: tensor<2x5xf32>, %v: tensor<4x5xf32>):
    %p = graph.contract %e, %v batch = [] x [] contract = [1] x [1] : (tensor<2x5xf32>, tensor<4x5xf32>) -> tensor<2x4xf32>
    %s = arith.addf %c, %p : tensor<2x4xf32>
    graph.yield %s : tensor<2x4xf32>
  } : (tensor<2x4xf32>, tensor<3x2x5xf32>, tensor<4x5xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
