// Slices, padding and concatenations cost no kernel of their own.
// RUN: bessemer-opt %s --canonicalize --graph-to-kern --kern-fuse --canonicalize --cse --split-input-file | FileCheck %s

// A slice is read in place by each of its users.
// CHECK-DAG: #[[SHIFT:.*]] = affine_map<(d0, d1) -> (d0, d1 + 2)>
// CHECK-LABEL: func.func @slice_into_consumers
func.func @slice_into_consumers(%x: tensor<4x6xf32>, %y: tensor<4x3xf32>, %z: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4xf32>) {
  // CHECK-COUNT-2: kern.{{map|rows}}{{.*}}%arg0{{.*}}#[[SHIFT]]
  // CHECK-NOT: kern.map
  %0 = graph.slice %x offsets = [0, 2] : tensor<4x6xf32> -> tensor<4x3xf32>
  %1 = arith.addf %0, %y : tensor<4x3xf32>
  %2 = arith.mulf %0, %z : tensor<4x3xf32>
  %3 = graph.reduce sum %2 dims = [1] : tensor<4x3xf32> -> tensor<4xf32>
  return %1, %3 : tensor<4x3xf32>, tensor<4xf32>
}

// -----

// Of an elementwise function only the slice is computed, with the index of the
// whole.
// CHECK-DAG: #[[SHIFT:.*]] = affine_map<(d0, d1) -> (d0, d1 + 2)>
// CHECK-LABEL: func.func @slice_of_function
func.func @slice_of_function(%x: tensor<4x6xf32>) -> tensor<4x3xf32> {
  // CHECK: kern.map(%arg0) bounds = [4, 3] maps = [#[[SHIFT]], #{{.*}}]
  // CHECK-DAG: %[[I:.*]] = kern.index 1
  // CHECK-DAG: %[[C2:.*]] = arith.constant 2 : i64
  // CHECK-DAG: arith.addi %[[I]], %[[C2]]
  // CHECK-DAG: math.exp
  // CHECK-NOT: kern.map
  %0 = math.exp %x : tensor<4x6xf32>
  %i = graph.iota dim = 1 : tensor<4x6xi64>
  %f = arith.sitofp %i : tensor<4x6xi64> to tensor<4x6xf32>
  %1 = arith.mulf %0, %f : tensor<4x6xf32>
  %2 = graph.slice %1 offsets = [0, 2] : tensor<4x6xf32> -> tensor<4x3xf32>
  return %2 : tensor<4x3xf32>
}

// -----

// exp(0) is not 0: the padding must not read through the function.
// CHECK-LABEL: func.func @pad_of_function
func.func @pad_of_function(%x: tensor<4x3xf32>) -> tensor<4x6xf32> {
  // CHECK: %[[E:.*]] = kern.map(%arg0) bounds = [4, 3]
  // CHECK: math.exp
  // CHECK: kern.map(%[[E]]) bounds = [4, 6]
  %0 = math.exp %x : tensor<4x3xf32>
  %1 = graph.pad %0 low = [0, 2] : tensor<4x3xf32> -> tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}

// -----

// A transpose only moves elements: the padding reads through it.
// CHECK-DAG: #[[T:.*]] = affine_map<(d0, d1) -> (d1 - 2, d0)>
// CHECK-LABEL: func.func @pad_of_transpose
func.func @pad_of_transpose(%x: tensor<3x4xf32>) -> tensor<4x6xf32> {
  // CHECK-NEXT: kern.map(%arg0) bounds = [4, 6] maps = [#[[T]], #{{.*}}]
  // CHECK-NOT: kern.map
  %0 = graph.transpose %x permutation = [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
  %1 = graph.pad %0 low = [0, 2] : tensor<4x3xf32> -> tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}

// -----

// The slice of a slice's padding is not the slice: beyond it lie other
// elements of %x, not zeros.
// CHECK-LABEL: func.func @pad_of_slice
func.func @pad_of_slice(%x: tensor<6xf32>) -> tensor<6xf32> {
  // CHECK: kern.map(%arg0) bounds = [3]
  // CHECK: kern.map(%{{.*}}) bounds = [6]
  %0 = graph.slice %x offsets = [1] : tensor<6xf32> -> tensor<3xf32>
  %1 = graph.pad %0 low = [2] : tensor<3xf32> -> tensor<6xf32>
  return %1 : tensor<6xf32>
}

// -----

// The random numbers of a slice are those of the whole: they are computed there.
// CHECK-LABEL: func.func @slice_of_dropout
func.func @slice_of_dropout(%x: tensor<4x6xf32>, %step: !graph.step) -> tensor<4x3xf32> {
  // CHECK: kern.map(%arg1, %arg0) bounds = [4, 6]
  // CHECK: kern.random
  // CHECK: kern.map(%{{.*}}) bounds = [4, 3]
  %0 = graph.dropout %x, %step {ratio = 0.5 : f64, id = 0 : i64} : (tensor<4x6xf32>, !graph.step) -> tensor<4x6xf32>
  %1 = graph.slice %0 offsets = [0, 2] : tensor<4x6xf32> -> tensor<4x3xf32>
  return %1 : tensor<4x3xf32>
}

// -----

// One part of a product with bias, split into heads and transposed: one kernel,
// in which the offset of the part counts in heads. 12 = 3 parts of 2 heads of 2.
// CHECK-DAG: #[[HEAD:.*]] = affine_map<(d0, d1, d2) -> (d1, d0 + 2, d2)>
// CHECK-LABEL: func.func @heads
func.func @heads(%qkv: tensor<5x12xf32>) -> tensor<2x5x2xf32> {
  // CHECK: %[[V:.*]] = tensor.expand_shape %arg0 {{\[\[0\], \[1, 2\]\]}} {{.*}} into tensor<5x6x2xf32>
  // CHECK-NEXT: kern.map(%[[V]]) bounds = [2, 5, 2] maps = [#[[HEAD]], #{{.*}}]
  // CHECK-NOT: kern.map
  %0 = graph.slice %qkv offsets = [0, 4] : tensor<5x12xf32> -> tensor<5x4xf32>
  %1 = tensor.expand_shape %0 [[0], [1, 2]] output_shape [5, 2, 2] : tensor<5x4xf32> into tensor<5x2x2xf32>
  %2 = graph.transpose %1 permutation = [1, 0, 2] : tensor<5x2x2xf32> -> tensor<2x5x2xf32>
  return %2 : tensor<2x5x2xf32>
}

// -----

// Where the part does not begin at a head, it is a kernel of its own.
// CHECK-LABEL: func.func @ragged_heads
func.func @ragged_heads(%qkv: tensor<5x12xf32>) -> tensor<2x5x2xf32> {
  // CHECK: kern.map(%arg0) bounds = [5, 4]
  // CHECK: kern.map(%{{.*}}) bounds = [2, 5, 2]
  %0 = graph.slice %qkv offsets = [0, 3] : tensor<5x12xf32> -> tensor<5x4xf32>
  %1 = tensor.expand_shape %0 [[0], [1, 2]] output_shape [5, 2, 2] : tensor<5x4xf32> into tensor<5x2x2xf32>
  %2 = graph.transpose %1 permutation = [1, 0, 2] : tensor<5x2x2xf32> -> tensor<2x5x2xf32>
  return %2 : tensor<2x5x2xf32>
}

// -----

// The gradient of the heads' parts: transposed and concatenated in one kernel.
// Which part it is depends on the head only: 4 = 2 heads of 2.
// CHECK-DAG: #[[FIRST:.*]] = affine_map<(d0, d1, d2) -> (d1, d0, d2)>
// CHECK-DAG: #[[SECOND:.*]] = affine_map<(d0, d1, d2) -> (d1 - 2, d0, d2)>
// CHECK-LABEL: func.func @concat_heads
func.func @concat_heads(%q: tensor<2x5x2xf32>, %k: tensor<2x5x2xf32>) -> tensor<5x8xf32> {
  // CHECK-NEXT: %[[Y:.*]] = kern.map(%arg1, %arg0) bounds = [5, 4, 2] maps = [#[[SECOND]], #[[FIRST]], #{{.*}}]
  // CHECK: %[[H:.*]] = kern.index 1
  // CHECK: arith.cmpi slt, %[[H]], %{{.*}} : i64
  // CHECK-NOT: kern.map
  // CHECK: tensor.collapse_shape %[[Y]]
  %0 = graph.transpose %q permutation = [1, 0, 2] : tensor<2x5x2xf32> -> tensor<5x2x2xf32>
  %1 = tensor.collapse_shape %0 [[0], [1, 2]] : tensor<5x2x2xf32> into tensor<5x4xf32>
  %2 = graph.transpose %k permutation = [1, 0, 2] : tensor<2x5x2xf32> -> tensor<5x2x2xf32>
  %3 = tensor.collapse_shape %2 [[0], [1, 2]] : tensor<5x2x2xf32> into tensor<5x4xf32>
  %4 = graph.concat %1, %3 dim = 1 : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x8xf32>
  return %4 : tensor<5x8xf32>
}
