// What is repeated at a peak in a loop: a kernel of the body, once in every
// iteration, or one around the loop, whichever frees more bytes for its cost.
//
// RUN: bessemer-opt %s --split-input-file --kern-rematerialize=memory-limit=73024 | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Bytes at the peak, when %d is made: %d 65536, %b and %a 4096 each, the vector
// that it is made of or its sums 256; inputs, output and step block are 3136.
// Either %a or %b has to go, both free 4096: %b would be made ten times.

// CHECK-LABEL: func.func @cheap_around
// CHECK: %[[A:.*]] = kern.map({{.*}}) bounds = [64, 16]
// CHECK: kern.rows(%[[A]])
// CHECK: graph.scan 10
// CHECK-COUNT-2: kern.map
// CHECK-NOT: kern.map
// CHECK: graph.yield
// CHECK: %[[AGAIN:.*]] = kern.map({{.*}}) bounds = [64, 16]
// CHECK: kern.rows(%[[AGAIN]], {{.*}})
func.func @cheap_around(%x: tensor<64xf32> {graph.name = "x"}, %s: tensor<10x64xf32> {graph.name = "s"}, %step: !graph.step) -> (tensor<64xf32> {graph.name = "y"}) {
  %a = kern.map(%x) bounds = [64, 16] maps = [#row, #id] {
  ^bb0(%e: f32):
    %0 = math.exp %e : f32
    kern.yield %0 : f32
  } : (tensor<64xf32>) -> tensor<64x16xf32>
  %u = kern.rows(%a) bounds = [64, 16] reduced = [1] maps = [#id, #row] {
  ^bb0(%e: f32):
    %0 = kern.fold sum %e : f32
    kern.yield %0 : f32
  } : (tensor<64x16xf32>) -> tensor<64xf32>
  %t = graph.scan 10 inits(%u) sequences(%s) invariants() {
  ^bb0(%sum: tensor<64xf32>, %e: tensor<64xf32>):
    %b = kern.map(%e) bounds = [64, 16] maps = [#row, #id] {
    ^bb0(%f: f32):
      %0 = math.sin %f : f32
      kern.yield %0 : f32
    } : (tensor<64xf32>) -> tensor<64x16xf32>
    %c = kern.rows(%b) bounds = [64, 16] reduced = [1] maps = [#id, #row] {
    ^bb0(%f: f32):
      %0 = kern.fold sum %f : f32
      kern.yield %0 : f32
    } : (tensor<64x16xf32>) -> tensor<64xf32>
    %d = kern.map(%c) bounds = [64, 256] maps = [#row, #id] {
    ^bb0(%f: f32):
      %0 = arith.negf %f : f32
      kern.yield %0 : f32
    } : (tensor<64xf32>) -> tensor<64x256xf32>
    %g = kern.rows(%d) bounds = [64, 256] reduced = [1] maps = [#id, #row] {
    ^bb0(%f: f32):
      %0 = kern.fold sum %f : f32
      kern.yield %0 : f32
    } : (tensor<64x256xf32>) -> tensor<64xf32>
    %h = kern.rows(%b, %g, %sum) bounds = [64, 16] reduced = [1] maps = [#id, #row, #row, #row] {
    ^bb0(%f: f32, %i: f32, %j: f32):
      %0 = arith.mulf %f, %i : f32
      %1 = kern.fold sum %0 : f32
      %2 = arith.addf %1, %j : f32
      kern.yield %2 : f32
    } : (tensor<64x16xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    graph.yield %h : tensor<64xf32>
  } : (tensor<64xf32>, tensor<10x64xf32>) -> tensor<64xf32>
  %y = kern.rows(%a, %t) bounds = [64, 16] reduced = [1] maps = [#id, #row, #row] {
  ^bb0(%e: f32, %f: f32):
    %0 = arith.mulf %e, %f : f32
    %1 = kern.fold sum %0 : f32
    kern.yield %1 : f32
  } : (tensor<64x16xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %y : tensor<64xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>


// Here %b has 65536 bytes: sixteen times as many as %a. It costs 131328 (its
// bytes and a launch, 65536) in each of two iterations, %a 69888.

// CHECK-LABEL: func.func @cheap_inside
// CHECK: kern.map({{.*}}) bounds = [64, 16]
// CHECK: graph.scan 2
// CHECK: %[[B:.*]] = kern.map({{.*}}) bounds = [64, 256]
// CHECK: kern.rows(%[[B]])
// CHECK: kern.map
// CHECK: %[[AGAIN:.*]] = kern.map({{.*}}) bounds = [64, 256]
// CHECK: kern.rows(%[[AGAIN]], {{.*}}, {{.*}})
// CHECK: graph.yield
// CHECK-NOT: kern.map
func.func @cheap_inside(%x: tensor<64xf32> {graph.name = "x"}, %s: tensor<2x64xf32> {graph.name = "s"}, %step: !graph.step) -> (tensor<64xf32> {graph.name = "y"}) {
  %a = kern.map(%x) bounds = [64, 16] maps = [#row, #id] {
  ^bb0(%e: f32):
    %0 = math.exp %e : f32
    kern.yield %0 : f32
  } : (tensor<64xf32>) -> tensor<64x16xf32>
  %u = kern.rows(%a) bounds = [64, 16] reduced = [1] maps = [#id, #row] {
  ^bb0(%e: f32):
    %0 = kern.fold sum %e : f32
    kern.yield %0 : f32
  } : (tensor<64x16xf32>) -> tensor<64xf32>
  %t = graph.scan 2 inits(%u) sequences(%s) invariants() {
  ^bb0(%sum: tensor<64xf32>, %e: tensor<64xf32>):
    %b = kern.map(%e) bounds = [64, 256] maps = [#row, #id] {
    ^bb0(%f: f32):
      %0 = math.sin %f : f32
      kern.yield %0 : f32
    } : (tensor<64xf32>) -> tensor<64x256xf32>
    %c = kern.rows(%b) bounds = [64, 256] reduced = [1] maps = [#id, #row] {
    ^bb0(%f: f32):
      %0 = kern.fold sum %f : f32
      kern.yield %0 : f32
    } : (tensor<64x256xf32>) -> tensor<64xf32>
    %d = kern.map(%c) bounds = [64, 256] maps = [#row, #id] {
    ^bb0(%f: f32):
      %0 = arith.negf %f : f32
      kern.yield %0 : f32
    } : (tensor<64xf32>) -> tensor<64x256xf32>
    %g = kern.rows(%d) bounds = [64, 256] reduced = [1] maps = [#id, #row] {
    ^bb0(%f: f32):
      %0 = kern.fold sum %f : f32
      kern.yield %0 : f32
    } : (tensor<64x256xf32>) -> tensor<64xf32>
    %h = kern.rows(%b, %g, %sum) bounds = [64, 256] reduced = [1] maps = [#id, #row, #row, #row] {
    ^bb0(%f: f32, %i: f32, %j: f32):
      %0 = arith.mulf %f, %i : f32
      %1 = kern.fold sum %0 : f32
      %2 = arith.addf %1, %j : f32
      kern.yield %2 : f32
    } : (tensor<64x256xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    graph.yield %h : tensor<64xf32>
  } : (tensor<64xf32>, tensor<2x64xf32>) -> tensor<64xf32>
  %y = kern.rows(%a, %t) bounds = [64, 16] reduced = [1] maps = [#id, #row, #row] {
  ^bb0(%e: f32, %f: f32):
    %0 = arith.mulf %e, %f : f32
    %1 = kern.fold sum %0 : f32
    kern.yield %1 : f32
  } : (tensor<64x16xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %y : tensor<64xf32>
}
