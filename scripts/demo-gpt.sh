#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Sets up (scripts/setup.sh), then trains a character-level GPT on the King
# James Bible, measures it on text that it has not seen, and lets it write. What
# it leaves:
#   OUT/gpt.onnx          the model with its initial weights
#   OUT/gpt.bsm           the artifact
#   OUT/checkpoint/       state after training
#   OUT/gpt-trained.onnx  the model with its trained weights
#   OUT/sample.txt        what it writes
#
#   OUT=dir (default kjv-gpt-run)   STEPS=n (default 2000)

set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh bessemer bessemer_compiler _core
exec examples/kjv-gpt/train.sh "${BUILD:-build}/bin/bessemer" .venv/bin/python "${OUT:-kjv-gpt-run}" "${STEPS:-2000}"
