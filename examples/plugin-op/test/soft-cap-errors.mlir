// RUN: bessemer-opt %s --pass-plugin=%plugin -verify-diagnostics -split-input-file

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected cap above 0, got}}
  %0 = acme.soft_cap %x cap -1.0 : tensor<4xf32>
  return %0 : tensor<4xf32>
}
