#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes model.onnx, the network of the quick start, with PyTorch (2.13 wrote
the one here).

    export_model.py [OUT.onnx]

A small residual network for 28 x 28 grey images: convolutions with BatchNorm,
max pooling, dropout, a residual add. Its weights are random: training is
Bessemer's part. The export call is the one to use for any model that is to be
trained: train mode, nothing folded, a symbolic batch.
"""

import os
import sys

import onnx
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    """Two convolutions and the way around them."""

    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(x + self.bn2(self.conv2(y)))


class FashionNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 16, 3, padding=1, bias=False)
        self.stem_bn = nn.BatchNorm2d(16)
        self.block1 = Block(16)
        self.widen = nn.Conv2d(16, 32, 3, padding=1, bias=False)
        self.widen_bn = nn.BatchNorm2d(32)
        self.block2 = Block(32)
        self.dropout = nn.Dropout(0.25)
        self.fc = nn.Linear(32 * 7 * 7, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.stem_bn(self.stem(x))), 2)
        x = self.block1(x)
        x = F.max_pool2d(F.relu(self.widen_bn(self.widen(x))), 2)
        x = self.block2(x)
        return self.fc(self.dropout(x.flatten(1)))


# What the exporter writes beside the model, and Bessemer reads: which tensors
# are parameters, and the Python line of each node.
KEPT = ("pkg.torch.onnx.stack_trace", "pkg.torch.export.graph_signature.InputSpec.kind")


def relative(trace):
    """The frames of this file, without the folders of the machine."""
    lines, kept = trace.split("\n"), []
    for i, line in enumerate(lines):
        if "File \"" in line and os.path.basename(__file__) in line:
            where = line[line.index(os.path.basename(__file__)):]
            kept.append(f'File "{where}')
            kept.extend(lines[i + 1:i + 2])
    return "\n".join(kept)


def strip(model):
    """Drops the metadata that nobody reads, most of a small model's file."""
    model.ClearField("metadata_props")
    model.graph.ClearField("metadata_props")
    model.ClearField("doc_string")
    for item in [*model.graph.node, *model.graph.value_info, *model.graph.input, *model.graph.output,
                 *model.graph.initializer]:
        kept = {p.key: p.value for p in item.metadata_props if p.key in KEPT}
        if KEPT[0] in kept:
            kept[KEPT[0]] = relative(kept[KEPT[0]])
        item.ClearField("metadata_props")
        item.ClearField("doc_string")
        onnx.helper.set_metadata_props(item, {k: v for k, v in kept.items() if v})


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "model.onnx")
    torch.manual_seed(0)
    model = FashionNet().train()
    x = torch.zeros(2, 1, 28, 28)
    program = torch.onnx.export(model, (x,), dynamo=True, optimize=False, opset_version=20,
                                dynamic_shapes={"x": {0: "batch"}}, input_names=["x"], output_names=["logits"],
                                verbose=False)
    proto = program.model_proto
    strip(proto)
    onnx.checker.check_model(proto, full_check=True)
    onnx.save_model(proto, out)
    print(f"{out}: {os.path.getsize(out)} bytes, "
          f"{sum(p.numel() for p in model.parameters())} parameters")


if __name__ == "__main__":
    main()
