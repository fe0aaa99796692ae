#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# train.sh BESSEMER PYTHON OUT STEPS: what scripts/demo-gpt.sh does once all is
# built. golden.py trains with the same numbers in PyTorch.

set -euo pipefail
bessemer=$1 python=$2 out=$3 steps=$4
here=$(dirname "$0")

"$python" "$here/prepare_data.py" "$out"
"$python" "$here/make_model.py" "$out/vocabulary.json" "$out/gpt.onnx"
"$bessemer" compile "$out/gpt.onnx" -o "$out/gpt.bsm" --batch 32 \
  --loss cross_entropy --optimizer adamw --lr 3e-3 --betas 0.9,0.99 --weight-decay 0.1 --clip-norm 1
rm -rf "$out/checkpoint" # train does not overwrite an earlier run
"$bessemer" train "$out/gpt.bsm" --steps "$steps" --schedule cosine --warmup-steps 100 --seed 0 \
  --data "x=$out/train.npy" --eval-data "x=$out/validation.npy" --window 128 --checkpoint-dir "$out/checkpoint"
"$bessemer" eval "$out/gpt.bsm" --data "x=$out/validation.npy" --window 128 --checkpoint "$out/checkpoint" --json \
  | tee "$out/validation.json"

# The trained model, compiled again to predict one row at a time.
"$bessemer" export "$out/gpt.bsm" --checkpoint "$out/checkpoint" -o "$out/gpt-trained.onnx"
"$bessemer" compile "$out/gpt-trained.onnx" -o "$out/gpt-sampler.bsm" --batch 1
"$python" "$here/sample.py" "$out/gpt-sampler.bsm" "$out/vocabulary.json" --seed 1 | tee "$out/sample.txt"
