#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Sets up (scripts/setup.sh), then compiles a small convolutional network from
# ONNX, trains it on Fashion-MNIST and writes the trained model. What it leaves:
#   OUT/fashion.bsm           the artifact
#   OUT/checkpoint/           state after training
#   OUT/fashion-trained.onnx  the model with its trained weights
#
#   OUT=dir (default fashion-mnist-run)   EPOCHS=n (default 3)

set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh bessemer bessemer_compiler _core
bessemer=${BUILD:-build}/bin/bessemer
out=${OUT:-fashion-mnist-run}
data=/usr/share/datasets/fashion-mnist
mkdir -p "$out"

"$bessemer" compile examples/fashion-mnist/model.onnx -o "$out/fashion.bsm" --batch 128 \
  --loss cross_entropy --optimizer adamw --lr 2e-3
rm -rf "$out/checkpoint" # train does not overwrite an earlier run
"$bessemer" train "$out/fashion.bsm" --epochs "${EPOCHS:-3}" --schedule cosine --warmup-steps 100 \
  --data "x=$data/train-images-idx3-ubyte.gz,labels=$data/train-labels-idx1-ubyte.gz" \
  --eval-data "x=$data/t10k-images-idx3-ubyte.gz,labels=$data/t10k-labels-idx1-ubyte.gz" \
  --checkpoint-dir "$out/checkpoint"
"$bessemer" export "$out/fashion.bsm" --checkpoint "$out/checkpoint" -o "$out/fashion-trained.onnx"
.venv/bin/python examples/fashion-mnist/evaluate_onnx.py "$out/fashion-trained.onnx" \
  "$data/t10k-images-idx3-ubyte.gz" "$data/t10k-labels-idx1-ubyte.gz"
