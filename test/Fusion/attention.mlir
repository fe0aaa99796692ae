// RUN: bessemer-opt %s --graph-to-kern --kern-fuse --canonicalize --split-input-file | FileCheck %s

// Heads lie inside of positions on both sides: views, no transposes. Rows of 5 positions are 6 = 3 heads x 2 long. The
// mask is one row per image.
// CHECK-DAG: #[[HEADS:.*]] = affine_map<(d0, d1, d2, d3) -> (d0 * 30 + d1 * 2 + d2 * 6 + d3)>
// CHECK-DAG: #[[MASK:.*]] = affine_map<(d0, d1, d2, d3) -> (d0 * 5 + d3)>
// CHECK-LABEL: func.func @heads_inside
// CHECK-SAME: (%[[Q:[a-z0-9]+]]: tensor<10x6xf32>, %[[K:[a-z0-9]+]]: tensor<2x5x6xf32>, %[[M:[a-z0-9]+]]: tensor<2x5xf32>)
// CHECK-NEXT: %[[Y:.*]], %{{.*}} = kern.attention %[[Q]], %[[K]], %[[K]] mask %[[M]] bounds = [2, 3, 3, 5, 5, 2, 2]
// CHECK-SAME: views = [#[[HEADS]], #[[HEADS]], #[[HEADS]], #[[MASK]], #[[HEADS]]] {scale = 1.000000e+00 : f64}
// CHECK-SAME: -> (tensor<2x5x6xf32>, tensor<2x3x5xf32>)
// CHECK-NEXT: return %[[Y]]
func.func @heads_inside(%qm: tensor<10x6xf32>, %km: tensor<2x5x6xf32>, %m: tensor<2x5xf32>) -> tensor<2x5x6xf32> {
  %q0 = tensor.expand_shape %qm [[0, 1], [2, 3]] output_shape [2, 5, 3, 2] : tensor<10x6xf32> into tensor<2x5x3x2xf32>
  %q = graph.transpose %q0 permutation = [0, 2, 1, 3] : tensor<2x5x3x2xf32> -> tensor<2x3x5x2xf32>
  %k0 = tensor.expand_shape %km [[0], [1], [2, 3]] output_shape [2, 5, 3, 2] : tensor<2x5x6xf32> into tensor<2x5x3x2xf32>
  %k = graph.transpose %k0 permutation = [0, 2, 1, 3] : tensor<2x5x3x2xf32> -> tensor<2x3x5x2xf32>
  %m0 = graph.broadcast %m dims = [0, 3] : tensor<2x5xf32> -> tensor<2x3x5x5xf32>
  %y, %lse = graph.attention %q, %k, %k mask %m0 {scale = 1.0 : f64}
      : (tensor<2x3x5x2xf32>, tensor<2x3x5x2xf32>, tensor<2x3x5x2xf32>, tensor<2x3x5x5xf32>)
      -> (tensor<2x3x5x2xf32>, tensor<2x3x5xf32>)
  %y0 = graph.transpose %y permutation = [0, 2, 1, 3] : tensor<2x3x5x2xf32> -> tensor<2x5x3x2xf32>
  %y1 = tensor.collapse_shape %y0 [[0], [1], [2, 3]] : tensor<2x5x3x2xf32> into tensor<2x5x6xf32>
  return %y1 : tensor<2x5x6xf32>
}

// -----

// k comes transposed twice, through one dimension of batch and heads. The result has two users: it stays as it is.
// CHECK-DAG: #[[ALL:.*]] = affine_map<(d0, d1, d2, d3) -> (d0 * 30 + d1 * 10 + d2 * 2 + d3)>
// CHECK-LABEL: func.func @transposed_twice
// CHECK-SAME: (%[[K:[a-z0-9]+]]: tensor<2x3x5x2xf32>)
// CHECK-NEXT: %[[Y:.*]], %{{.*}} = kern.attention %[[K]], %[[K]], %[[K]] {{.*}} views = [#[[ALL]], #[[ALL]], #[[ALL]], #[[ALL]]]
// CHECK: kern.map(%[[Y]])
func.func @transposed_twice(%k0: tensor<2x3x5x2xf32>) -> (tensor<2x3x5x2xf32>, tensor<2x5x3x2xf32>) {
  %0 = tensor.collapse_shape %k0 [[0, 1], [2], [3]] : tensor<2x3x5x2xf32> into tensor<6x5x2xf32>
  %1 = graph.transpose %0 permutation = [0, 2, 1] : tensor<6x5x2xf32> -> tensor<6x2x5xf32>
  %2 = tensor.expand_shape %1 [[0, 1], [2], [3]] output_shape [2, 3, 2, 5] : tensor<6x2x5xf32> into tensor<2x3x2x5xf32>
  %k = graph.transpose %2 permutation = [0, 1, 3, 2] : tensor<2x3x2x5xf32> -> tensor<2x3x5x2xf32>
  %y, %lse = graph.attention %k0, %k, %k {scale = 1.0 : f64}
      : (tensor<2x3x5x2xf32>, tensor<2x3x5x2xf32>, tensor<2x3x5x2xf32>) -> (tensor<2x3x5x2xf32>, tensor<2x3x5xf32>)
  %y0 = graph.transpose %y permutation = [0, 2, 1, 3] : tensor<2x3x5x2xf32> -> tensor<2x5x3x2xf32>
  return %y, %y0 : tensor<2x3x5x2xf32>, tensor<2x5x3x2xf32>
}
