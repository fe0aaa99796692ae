# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The optimizer's constants, the same on every side."""

ADAMW = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01}
