// A product reads all of the only table: its gradient is no lookup's.
// RUN: bessemer-opt %s --verify-diagnostics --graph-build-update="optimizer=adamw lazy-embeddings=true"

graph.state @w parameter trainable : tensor<2xf32> = dense<1.0> : tensor<2xf32>
// expected-error @+1 {{lazy_embeddings: expected a trained table that is only looked up by index, found none}}
func.func @train_step(%x: tensor<2xf32> {graph.name = "x"}, %step: !graph.step)
    -> (tensor<f32> {graph.name = "loss"}, tensor<2xf32> {graph.gradient = @w}) {
  %w = graph.read @w : tensor<2xf32>
  %p = arith.mulf %w, %x : tensor<2xf32>
  %loss = graph.reduce sum %p dims = [0] : tensor<2xf32> -> tensor<f32>
  return %loss, %x : tensor<f32>, tensor<2xf32>
}
