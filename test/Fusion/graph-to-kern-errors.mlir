// RUN: bessemer-opt %s --graph-to-kern --verify-diagnostics

// All ops without a kernel family are reported at once, where they are.
func.func @unknown(%x: tensor<4xf32>) -> tensor<6xf32> {
  %zero = arith.constant 0.0 : f32
  // expected-error @+1 {{'tensor.pad' op has no kernel family}}
  %0 = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<4xf32> to tensor<6xf32>
  // expected-error @+1 {{'tensor.extract_slice' op has no kernel family}}
  %1 = tensor.extract_slice %0[0] [6] [1] : tensor<6xf32> to tensor<6xf32>
  return %1 : tensor<6xf32>
}
