#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The attention kernels beside PyTorch's.

    bench/attention.py [--threads 2] [--rounds 15] [--bessemer build/bin/bessemer]

Causal self-attention with three projections is exported and compiled; `bessemer profile` says what the two attention
kernels of a training step take. PyTorch's scaled_dot_product_attention runs on tensors of the same shape, forward and
backward apart. Rounds alternate; a figure is a median. Needs torch and onnxscript."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from machine import own_autogroup  # noqa: E402

# Batch, heads, positions, elements of a head.
STEPS = 10  # of either side in a round
SHAPES = [(4, 6, 256, 64), (1, 12, 1024, 64), (8, 4, 128, 64), (32, 3, 65, 64)]


def module(heads, size):
    import torch

    class Attention(torch.nn.Module):
        def __init__(self):
            super().__init__()
            width = heads * size
            self.q, self.k, self.v, self.o = (torch.nn.Linear(width, width) for _ in range(4))

        def forward(self, x):
            def split(y):
                return y.view(x.shape[0], x.shape[1], heads, size).transpose(1, 2)
            y = torch.nn.functional.scaled_dot_product_attention(split(self.q(x)), split(self.k(x)), split(self.v(x)),
                                                                 is_causal=True)
            return self.o(y.transpose(1, 2).reshape(x.shape))
    return Attention()


def compiled(shape, folder, options):
    import torch
    batch, heads, positions, size = shape
    onnx, artifact = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.bsm")
    torch.onnx.export(module(heads, size).train(), (torch.randn(batch, positions, heads * size),), onnx, dynamo=True,
                      optimize=False, verbose=False)
    subprocess.run([options.bessemer, "compile", onnx, "-o", artifact, "--loss", "mse", "--optimizer", "sgd"],
                   check=True, stdout=subprocess.DEVNULL)
    return artifact


def kernel_times(artifact, options):
    """Milliseconds of the forward and the backward kernel."""
    result = subprocess.run([options.bessemer, "profile", artifact, "--threads", str(options.threads), "--steps",
                             str(STEPS), "--by", "kernel", "--json"], check=True, capture_output=True, text=True)
    times = {"attention_grad_": 0.0, "attention_": 0.0}
    for row in json.loads(result.stdout)["rows"]:
        prefix = next((p for p in times if row["command"].startswith(p)), None)
        if prefix:
            times[prefix] += row["seconds"] / STEPS * 1e3
    return times["attention_"], times["attention_grad_"]


def torch_times(shape):
    import torch
    batch, heads, positions, size = shape
    q, k, v = (torch.randn(batch, heads, positions, size, requires_grad=True) for _ in range(3))
    dy = torch.randn(batch, heads, positions, size)
    forward, backward = [], []
    for _ in range(STEPS):
        start = time.perf_counter()
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        middle = time.perf_counter()
        torch.autograd.grad(y, (q, k, v), dy)
        backward.append((time.perf_counter() - middle) * 1e3)
        forward.append((middle - start) * 1e3)
    return statistics.median(forward), statistics.median(backward)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--bessemer", default=os.path.join(os.path.dirname(HERE), "build", "bin", "bessemer"))
    options = parser.parse_args()
    own_autogroup()
    import torch
    torch.set_num_threads(options.threads)
    print("| shape | forward ms | PyTorch | ratio | backward ms | PyTorch | ratio |\n|---|--:|--:|--:|--:|--:|--:|")
    for shape in SHAPES:
        with tempfile.TemporaryDirectory() as folder:
            artifact = compiled(shape, folder, options)
            rounds = [kernel_times(artifact, options) + torch_times(shape) for _ in range(options.rounds)]
        ours, ours_back, torchs, torchs_back = (statistics.median(column) for column in zip(*rounds))
        print("| B%d H%d T%d D%d | " % shape + f"{ours:.2f} | {torchs:.2f} | {ours / torchs:.2f} | "
              f"{ours_back:.2f} | {torchs_back:.2f} | {ours_back / torchs_back:.2f} |", flush=True)


if __name__ == "__main__":
    main()
