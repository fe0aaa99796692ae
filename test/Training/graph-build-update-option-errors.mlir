// RUN: not bessemer-opt %s --graph-build-update=optimizer=lion 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not bessemer-opt %s --graph-build-update=nesterov=true 2>&1 | FileCheck %s --check-prefix=NESTEROV
// RUN: not bessemer-opt %s --graph-build-update=momentum=-1 2>&1 | FileCheck %s --check-prefix=MOMENTUM
// RUN: not bessemer-opt %s --graph-build-update="optimizer=adamw beta2=1.0" 2>&1 | FileCheck %s --check-prefix=BETA
// RUN: not bessemer-opt %s --graph-build-update="optimizer=adamw epsilon=-1" 2>&1 | FileCheck %s --check-prefix=EPS
// RUN: not bessemer-opt %s --graph-build-update=weight-decay=-0.1 2>&1 | FileCheck %s --check-prefix=DECAY
// RUN: not bessemer-opt %s --graph-build-update=weight-decay=much 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not bessemer-opt %s --graph-build-update=clip-norm=0 2>&1 | FileCheck %s --check-prefix=CLIP
// RUN: not bessemer-opt %s --graph-build-update=clip-norm=1e-300 2>&1 | FileCheck %s --check-prefix=TINY
// RUN: not bessemer-opt %s --graph-build-update=clip-norm=1e300 2>&1 | FileCheck %s --check-prefix=HUGE
// RUN: not bessemer-opt %s --graph-build-update=lazy-embeddings=true 2>&1 | FileCheck %s --check-prefix=LAZY

// LAZY: error: lazy_embeddings works with the optimizer adamw only, got sgd
// KIND: error: expected optimizer sgd or adamw, got 'lion'
// NESTEROV: error: nesterov needs momentum above 0 and dampening 0, got 0 and 0
// MOMENTUM: error: expected momentum of at least 0, got -1
// BETA: error: expected beta2 in [0, 1), got 1
// EPS: error: expected eps of at least 0, got -1
// DECAY: error: expected weight_decay of at least 0, got -0.1
// NUMBER: error: expected a number as weight-decay, got 'much'
// CLIP: error: expected clip_norm of at least 1.17549435e-38 that float32 holds, got 0
// TINY: error: expected clip_norm of at least 1.17549435e-38 that float32 holds, got 1e-300
// HUGE: error: expected clip_norm of at least 1.17549435e-38 that float32 holds, got 1e+300
module {
}
