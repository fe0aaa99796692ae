#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the models in ../exported.test: what PyTorch's exporter writes for attention, norms, gelu and silu.

    make_exports.py FOLDER     (needs torch, onnxscript and onnx; run by hand, the result is committed behind its CHECKs)
"""
import os
import sys

import onnx
import torch
import torch.nn.functional as F
from torch import nn


class Sdpa(nn.Module):
    """q, k and v are parts of one tensor; causal; dropout."""

    def forward(self, x):
        q, k, v = (y.view(2, 4, 2, 4).transpose(1, 2) for y in x.split(8, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=0.1, is_causal=True)
        return y.transpose(1, 2).reshape(2, 4, 8)


class Masked(nn.Module):
    """A mask of keys that is an input, as of BERT."""

    def forward(self, x, keys):
        q = x.view(2, 4, 2, 4).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, q, q, attn_mask=keys[:, None, None, :])
        return y.transpose(1, 2).reshape(2, 4, 8)


class Multihead(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x, need_weights=False)[0]


class ByHand(nn.Module):
    """As nanoGPT without flash attention."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mask", torch.tril(torch.ones(4, 4)).view(1, 1, 4, 4))
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        q = x.view(2, 4, 2, 4).transpose(1, 2)
        scores = q @ q.transpose(-2, -1) * (1.0 / 4**0.5)
        scores = scores.masked_fill(self.mask[:, :, :4, :4] == 0, float("-inf"))
        y = self.dropout(F.softmax(scores, dim=-1)) @ q
        return y.transpose(1, 2).contiguous().view(2, 4, 8)


class Grouped(nn.Module):
    """As LLaMA's repeat_kv."""

    def forward(self, q, k):
        q, k = q.view(2, 4, 4, 4).transpose(1, 2), k.view(2, 4, 2, 4).transpose(1, 2)
        k = k[:, :, None, :, :].expand(2, 2, 2, 4, 4).reshape(2, 4, 4, 4)
        y = F.scaled_dot_product_attention(q, k, k, is_causal=True)
        return y.transpose(1, 2).reshape(2, 4, 16)


class LlamaNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(8))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class NewGelu(nn.Module):
    def forward(self, x):
        return 0.5 * x * (1.0 + torch.tanh((2 / torch.pi)**0.5 * (x + 0.044715 * torch.pow(x, 3.0))))


class Gated(nn.Module):
    """As LLaMA's feed-forward network."""

    def forward(self, x):
        return F.silu(x) * x


X = torch.randn(2, 4, 8)
MODELS = {"sdpa": (Sdpa(), torch.randn(2, 4, 24)), "masked": (Masked(), X, torch.ones(2, 4, dtype=torch.bool)),
          "multihead": (Multihead(), X), "by-hand": (ByHand(), X), "grouped": (Grouped(), torch.randn(2, 4, 16), X),
          "llama-norm": (LlamaNorm(), X), "new-gelu": (NewGelu(), X), "gated": (Gated(), X)}
for name, (model, *arguments) in MODELS.items():
    for parameter in model.parameters():
        nn.init.zeros_(parameter)  # short to print
    path = os.path.join(sys.argv[1], name + ".onnx")
    torch.onnx.export(model.train(), tuple(arguments), path, dynamo=True, optimize=False, verbose=False,
                      external_data=False)
    exported = onnx.load(path)
    del exported.graph.value_info[:], exported.functions[:]
    for node in exported.graph.node:
        node.name = ""
        del node.metadata_props[:]
    text = onnx.printer.to_text(exported).replace('   [""] ', "  ")
    with open(os.path.join(sys.argv[1], name + ".onnxtxt"), "w") as file:
        file.write(text + "\n")
