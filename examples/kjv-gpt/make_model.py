#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a small GPT as ONNX, with initial weights, without any framework.

    make_model.py VOCABULARY.json MODEL.onnx

Pre-norm blocks, learned positions, the embedding tied to the head; GPT-2's
initial weights. golden.py has the same model in PyTorch.
"""

import json
import math
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

LENGTH, WIDTH, LAYERS, HEADS = 128, 128, 4, 4
SEED = 1234


def initial_weights(vocabulary):
    """{name: f32 array}, the names and layouts of golden.py's state_dict."""
    random = np.random.default_rng(SEED)

    def normal(*shape, std=0.02):
        return (random.standard_normal(shape) * std).astype(np.float32)
    weights = {"tokens": normal(vocabulary, WIDTH), "positions": normal(LENGTH, WIDTH)}
    # What adds to the residual stream starts smaller.
    residual = 0.02 / math.sqrt(2 * LAYERS)
    for i in range(LAYERS):
        for part, inputs, outputs, std in (("qkv", WIDTH, 3 * WIDTH, 0.02), ("projection", WIDTH, WIDTH, residual),
                                           ("up", WIDTH, 4 * WIDTH, 0.02), ("down", 4 * WIDTH, WIDTH, residual)):
            weights[f"blocks.{i}.{part}.weight"] = normal(inputs, outputs, std=std)
            weights[f"blocks.{i}.{part}.bias"] = np.zeros(outputs, np.float32)
    for norm in [f"blocks.{i}.norm{j}" for i in range(LAYERS) for j in (1, 2)] + ["norm"]:
        weights[norm + ".weight"] = np.ones(WIDTH, np.float32)
        weights[norm + ".bias"] = np.zeros(WIDTH, np.float32)
    return weights


class Graph:
    """Collects nodes; a method per op returns the name of its result."""

    def __init__(self):
        self.nodes = []

    def add(self, op, *inputs, outputs=1, name=None, **attributes):
        results = [name or f"{op.lower()}_{len(self.nodes)}" + (f".{i}" if outputs > 1 else "")
                   for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, results, **attributes))
        return results[0] if outputs == 1 else results

    def constant(self, value):
        return self.add("Constant", value=numpy_helper.from_array(np.asarray(value)))

    def linear(self, name, x):
        return self.add("Add", self.add("MatMul", x, name + ".weight"), name + ".bias")

    def norm(self, name, x):
        return self.add("LayerNormalization", x, name + ".weight", name + ".bias", axis=-1, epsilon=1e-5)

    def attention(self, name, x, mask):
        split_heads = self.constant(np.int64([0, LENGTH, HEADS, WIDTH // HEADS]))
        q, k, v = (self.add("Reshape", part, split_heads)
                   for part in self.add("Split", self.linear(name + ".qkv", x), outputs=3, axis=2, num_outputs=3))
        q, v = (self.add("Transpose", part, perm=[0, 2, 1, 3]) for part in (q, v))
        k = self.add("Transpose", k, perm=[0, 2, 3, 1])
        scores = self.add("Mul", self.add("MatMul", q, k), self.constant(np.float32(1 / math.sqrt(WIDTH // HEADS))))
        weights = self.add("Softmax", self.add("Add", scores, mask), axis=-1)
        y = self.add("Transpose", self.add("MatMul", weights, v), perm=[0, 2, 1, 3])
        y = self.add("Reshape", y, self.constant(np.int64([0, LENGTH, WIDTH])))
        return self.linear(name + ".projection", y)

    def block(self, name, x, mask):
        x = self.add("Add", x, self.attention(name, self.norm(name + ".norm1", x), mask))
        y = self.add("Gelu", self.linear(name + ".up", self.norm(name + ".norm2", x)))
        return self.add("Add", x, self.linear(name + ".down", y))


def make_model(vocabulary):
    graph = Graph()
    mask = graph.constant(np.triu(np.full((LENGTH, LENGTH), -np.inf, np.float32), 1))
    x = graph.add("Add", graph.add("Gather", "tokens", "x", axis=0), "positions")
    for i in range(LAYERS):
        x = graph.block(f"blocks.{i}", x, mask)
    head = graph.add("Transpose", "tokens", perm=[1, 0])
    graph.add("MatMul", graph.norm("norm", x), head, name="logits")
    return helper.make_model(
        helper.make_graph(
            graph.nodes, "kjv-gpt",
            [helper.make_tensor_value_info("x", onnx.TensorProto.INT64, ["batch", LENGTH])],
            [helper.make_tensor_value_info("logits", onnx.TensorProto.FLOAT, ["batch", LENGTH, vocabulary])],
            [numpy_helper.from_array(value, name) for name, value in initial_weights(vocabulary).items()]),
        opset_imports=[helper.make_opsetid("", 20)], ir_version=10, producer_name="kjv-gpt")


def main():
    with open(sys.argv[1]) as file:
        model = make_model(len(json.load(file)))
    onnx.checker.check_model(model)
    onnx.save(model, sys.argv[2])
    count = sum(math.prod(tensor.dims) for tensor in model.graph.initializer)
    print(f"{sys.argv[2]}: {count} parameters")


if __name__ == "__main__":
    main()
