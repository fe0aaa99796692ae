#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same training in PyTorch: initial weights, schedule and batches are those
of train.sh. Adds the validation loss to golden.json. Needs torch.

    golden.py FOLDER STEPS        FOLDER holds what prepare_data.py wrote
"""

import json
import math
import os
import sys
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from make_model import HEADS, LAYERS, LENGTH, WIDTH, initial_weights

BATCH, LR, WARMUP, SEED = 32, 3e-3, 100, 0
HERE = os.path.dirname(os.path.abspath(__file__))


class Linear(nn.Module):
    """The weight as ONNX's MatMul has it, [inputs, outputs]."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.empty(inputs, outputs)), nn.Parameter(torch.empty(outputs))

    def forward(self, x):
        return x @ self.weight + self.bias


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.projection = Linear(WIDTH, 3 * WIDTH), Linear(WIDTH, WIDTH)
        self.up, self.down = Linear(WIDTH, 4 * WIDTH), Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (part.view(*x.shape[:2], HEADS, -1).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).split(WIDTH, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)
        x = x + self.projection(y)
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.tokens = nn.Parameter(torch.empty(vocabulary, WIDTH))
        self.positions = nn.Parameter(torch.empty(LENGTH, WIDTH))
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        weights = initial_weights(vocabulary)
        self.load_state_dict({name: torch.from_numpy(value) for name, value in weights.items()})

    def forward(self, x):
        h = self.tokens[x] + self.positions
        for block in self.blocks:
            h = block(h)
        return self.norm(h) @ self.tokens.T


def windows(path):
    """As `--window 128` cuts them."""
    tokens = torch.from_numpy(np.load(path).astype(np.int64))
    rows = (len(tokens) - 1) // LENGTH
    return tokens[:rows * LENGTH].view(rows, LENGTH), tokens[1:rows * LENGTH + 1].view(rows, LENGTH)


def philox(counter, key):
    """The first two words of Philox4x32-10, for arrays of counters."""
    c, k = [np.asarray(word, np.uint64) for word in counter], [np.uint64(word) for word in key]
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> half) ^ c[1] ^ k[0], b & low, (a >> half) ^ c[3] ^ k[1], a & low]
        k = [(k[0] + np.uint64(0x9E3779B9)) & low, (k[1] + np.uint64(0xBB67AE85)) & low]
    return c[0], c[1]


def shuffled_rows(rows, seed, epoch):
    """bessemer train's order of an epoch: Fisher-Yates from the end, step i with
    the random number of counter i."""
    i = np.arange(rows, 1, -1)
    zero = np.zeros_like(i)
    low, high = philox((i, zero, zero + epoch, zero), (seed, 0))
    order = list(range(rows))
    for at, bits in zip(i.tolist(), (int(h) << 32 | int(l) for h, l in zip(high, low))):
        j = bits * at >> 64
        order[at - 1], order[j] = order[j], order[at - 1]
    return order


def rate_of(step, steps):
    if step < WARMUP:
        return LR * (step + 1) / WARMUP
    return LR * (1 + math.cos(math.pi * (step - WARMUP) / (steps - WARMUP))) / 2


def loss_of(model, x, y):
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())


def validate(model, x, y):
    total = 0.0
    with torch.no_grad():
        for begin in range(0, len(x), BATCH):
            part = slice(begin, begin + BATCH)
            total += loss_of(model, x[part], y[part]).item() * len(x[part])
    return total / len(x)


def main():
    folder, steps = sys.argv[1], int(sys.argv[2])
    with open(os.path.join(folder, "vocabulary.json")) as file:
        model = GPT(len(json.load(file)))
    x, y = windows(os.path.join(folder, "train.npy"))
    validation = windows(os.path.join(folder, "validation.npy"))
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR, betas=(0.9, 0.99), weight_decay=0.1, fused=True)
    batches, start = len(x) // BATCH, time.time()
    for step in range(steps):
        if step % batches == 0:
            order = torch.tensor(shuffled_rows(len(x), SEED, step // batches))
        for group in optimizer.param_groups:
            group["lr"] = rate_of(step, steps)
        rows = order[step % batches * BATCH:][:BATCH]
        optimizer.zero_grad()
        loss = loss_of(model, x[rows], y[rows])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 100 == 99:
            print(f"step {step + 1} loss {loss.item():.4f} {(time.time() - start) / (step + 1):.3f} s/step", flush=True)
    path = os.path.join(HERE, "golden.json")
    with open(path) as file:
        golden = json.load(file)
    golden["torch"] = torch.__version__
    golden["validation_loss"][str(steps)] = validate(model, *validation)
    print(golden)
    with open(path, "w") as file:
        json.dump(golden, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
