// RUN: bessemer-opt %s --graph-build-update | FileCheck %s --check-prefix=SGD
// RUN: bessemer-opt %s --graph-build-update="momentum=0.9 nesterov=true" | FileCheck %s --check-prefix=MOMENTUM
// RUN: bessemer-opt %s --graph-build-update="optimizer=adamw weight-decay=0.1" | FileCheck %s --check-prefix=ADAMW
// RUN: bessemer-opt %s --graph-build-update=clip-norm=0.5 | FileCheck %s --check-prefix=CLIP

// SGD-NOT: moment
// SGD: graph.state @updates counter : tensor<i64> = dense<0> : tensor<i64>
// SGD: graph.state @nonfinite_step counter : tensor<i64> = dense<-1> : tensor<i64>
// SGD-LABEL: func.func @train_step(
// SGD-SAME: %[[X:.*]]: tensor<2xf32> {graph.name = "x"}, %[[STEP:[a-z0-9]+]]: !graph.step) -> (tensor<f32> {graph.name = "loss"})
// SGD: %[[W:.*]] = graph.read @w
// SGD: %[[T:.*]] = graph.read @updates
// SGD: %[[RATE:.*]] = graph.step_value learning_rate %[[STEP]]
// SGD: %[[NEW:.*]] = graph.sgd %[[W]], %[[X]], %[[RATE]]
// SGD: graph.write @w, %[[NEW]]
// SGD: %[[NEXT:.*]] = arith.addi %[[T]]
// SGD: graph.write @updates, %[[NEXT]]
// The first step whose loss is not finite, and never again.
// SGD: %[[ABS:.*]] = math.absf
// SGD: %[[FINITE:.*]] = arith.cmpf olt, %[[ABS]]
// SGD: %[[OLD:.*]] = graph.read @nonfinite_step
// SGD: %[[SET:.*]] = arith.cmpi sge, %[[OLD]]
// SGD: %[[NOW:.*]] = graph.step_value step %[[STEP]]
// SGD: %[[NOTED:.*]] = arith.select %[[FINITE]], %[[OLD]], %[[NOW]]
// SGD: %[[FIRST:.*]] = arith.select %[[SET]], %[[OLD]], %[[NOTED]]
// SGD: graph.write @nonfinite_step, %[[FIRST]]

// MOMENTUM: graph.state @"sgd.momentum_buffer/w" moment : tensor<2xf32> = dense<0.000000e+00>
// MOMENTUM: %[[ISFIRST:.*]] = arith.cmpi eq
// MOMENTUM: %[[FIRST:.*]] = arith.select %[[ISFIRST]]
// MOMENTUM: %[[OLD:.*]] = graph.read @"sgd.momentum_buffer/w"
// MOMENTUM: %[[P:.*]], %[[B:.*]] = graph.sgd %{{.*}}, %[[FIRST]] buffer %[[OLD]] {momentum = 9.000000e-01 : f64, nesterov}
// MOMENTUM: graph.write @w, %[[P]]
// MOMENTUM: graph.write @"sgd.momentum_buffer/w", %[[B]]

// ADAMW: graph.state @"adamw.exp_avg/w" moment
// ADAMW: graph.state @"adamw.exp_avg_sq/w" moment
// ADAMW: %[[TIME:.*]] = arith.sitofp %{{.*}} : tensor<i64> to tensor<f64>
// ADAMW: %[[LOGBETA:.*]] = arith.constant dense<-0.10536051565782628> : tensor<f64>
// ADAMW: %[[E:.*]] = arith.mulf %[[TIME]], %[[LOGBETA]]
// ADAMW: %[[POWER:.*]] = math.exp %[[E]]
// ADAMW: %[[DIFF:.*]] = arith.subf %{{.*}}, %[[POWER]]
// ADAMW: arith.truncf %[[DIFF]] : tensor<f64> to tensor<f32>
// ADAMW: graph.adamw {{.*}} {beta1 = 9.000000e-01 : f64, beta2 = 0.99899999999999999 : f64, epsilon = 1.000000e-08 : f64, weight_decay = 1.000000e-01 : f64}
// ADAMW: graph.write @"adamw.exp_avg_sq/w"

// CLIP-LABEL: func.func @train_step(
// CLIP-SAME: -> (tensor<f32> {graph.name = "loss"}, tensor<f32> {graph.name = "grad_norm"})
// CLIP: %[[SQ:.*]] = graph.square_sum
// CLIP: %[[NORM:.*]] = math.sqrt %[[SQ]]
// CLIP: %[[DIV:.*]] = arith.addf %[[NORM]]
// CLIP: %[[SCALE:.*]] = arith.divf %{{.*}}, %[[DIV]]
// CLIP: %[[LIMITED:.*]] = arith.minimumf %[[SCALE]]
// CLIP: graph.sgd %{{.*}}, %[[LIMITED]]
// CLIP: return %{{.*}}, %[[NORM]]
graph.state @w parameter trainable : tensor<2xf32> = dense<1.0> : tensor<2xf32>
func.func @train_step(%x: tensor<2xf32> {graph.name = "x"}, %step: !graph.step)
    -> (tensor<f32> {graph.name = "loss"}, tensor<2xf32> {graph.gradient = @w}) {
  %w = graph.read @w : tensor<2xf32>
  %p = arith.mulf %w, %x : tensor<2xf32>
  %loss = graph.reduce sum %p dims = [0] : tensor<2xf32> -> tensor<f32>
  return %loss, %x : tensor<f32>, tensor<2xf32>
}
