# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The models of models.py for JAX: name -> (parameters, logits(parameters,
*inputs)). The weights are JAX's own draw; only the time is compared."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

RANDOM = np.random.default_rng(0)


def normal(*shape, scale=0.02):
    return (RANDOM.standard_normal(shape) * scale).astype(np.float32)


def linear_weights(inputs, outputs):
    return {"w": normal(inputs, outputs, scale=inputs ** -0.5), "b": np.zeros(outputs, np.float32)}


def linear(p, x):
    return x @ p["w"] + p["b"]


def norm_weights(width):
    return {"gain": np.ones(width, np.float32), "bias": np.zeros(width, np.float32)}


def normalize(p, x, axes):
    mean = x.mean(axes, keepdims=True)
    variance = jnp.square(x - mean).mean(axes, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * p["gain"] + p["bias"]


def layer_norm(p, x):
    return normalize(p, x, -1)


def perceptron_weights(*widths):
    return [linear_weights(a, b) for a, b in zip(widths, widths[1:])]


def perceptron(layers, x):
    for p in layers[:-1]:
        x = jax.nn.relu(linear(p, x))
    return linear(layers[-1], x)


# Images are channels last, XLA's fast layout; a transpose at the entry is part of the step.

def kernel(size, inputs, outputs):
    return normal(size, size, inputs, outputs, scale=(size * size * inputs) ** -0.5)


def conv(w, x, stride=1, padding=0):
    return lax.conv_general_dilated(x, w, (stride, stride), [(padding, padding)] * 2,
                                    dimension_numbers=("NHWC", "HWIO", "NHWC"))


def max_pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def channels_last(x):
    return x.transpose(0, 2, 3, 1)


def mlp():
    return perceptron_weights(784, 1024, 1024, 10), perceptron


def lenet():
    parameters = {"c1": kernel(5, 1, 6), "b1": np.zeros(6, np.float32), "c2": kernel(5, 6, 16),
                  "b2": np.zeros(16, np.float32), "head": perceptron_weights(400, 120, 84, 10)}

    def logits(p, x):
        x = max_pool(jax.nn.relu(conv(p["c1"], channels_last(x), padding=2) + p["b1"]))
        x = max_pool(jax.nn.relu(conv(p["c2"], x) + p["b2"]))
        return perceptron(p["head"], jax.nn.relu(x.reshape(x.shape[0], -1)))
    return parameters, logits


def resnet18():
    strides, blocks, inputs = [], [], 64
    for outputs, first in ((64, 1), (128, 2), (256, 2), (512, 2)):
        for stride in (first, 1):
            block = {"conv1": kernel(3, inputs, outputs), "norm1": norm_weights(outputs),
                     "conv2": kernel(3, outputs, outputs), "norm2": norm_weights(outputs)}
            if stride != 1 or inputs != outputs:
                block |= {"skip": kernel(1, inputs, outputs), "skip_norm": norm_weights(outputs)}
            blocks.append(block)
            strides.append(stride)
            inputs = outputs
    parameters = {"stem": kernel(3, 3, 64), "norm": norm_weights(64), "blocks": blocks,
                  "head": linear_weights(512, 10)}

    def logits(p, x):
        def norm(q, y):
            return normalize(q, y, (0, 1, 2))
        x = jax.nn.relu(norm(p["norm"], conv(p["stem"], channels_last(x), padding=1)))
        for block, stride in zip(p["blocks"], strides):
            y = jax.nn.relu(norm(block["norm1"], conv(block["conv1"], x, stride, 1)))
            y = norm(block["norm2"], conv(block["conv2"], y, 1, 1))
            if "skip" in block:
                x = norm(block["skip_norm"], conv(block["skip"], x, stride))
            x = jax.nn.relu(y + x)
        return linear(p["head"], x.mean((1, 2)))
    return parameters, logits


def transformer_block(width):
    return {"norm1": norm_weights(width), "qkv": linear_weights(width, 3 * width),
            "projection": linear_weights(width, width), "norm2": norm_weights(width),
            "up": linear_weights(width, 4 * width), "down": linear_weights(4 * width, width)}


def apply_block(p, x, heads, causal):
    batch, length, width = x.shape
    q, k, v = (part.reshape(batch, length, heads, -1).transpose(0, 2, 1, 3)
               for part in jnp.split(linear(p["qkv"], layer_norm(p["norm1"], x)), 3, -1))
    scores = q @ k.transpose(0, 1, 3, 2) / math.sqrt(width // heads)
    if causal:
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -jnp.inf)
    y = (jax.nn.softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(batch, length, width)
    x = x + linear(p["projection"], y)
    return x + linear(p["down"], jax.nn.gelu(linear(p["up"], layer_norm(p["norm2"], x)), approximate=False))


def token_transformer(vocabulary, width, layers, heads, length, causal):
    parameters = {"tokens": normal(vocabulary, width), "positions": normal(length, width),
                  "blocks": [transformer_block(width) for _ in range(layers)], "norm": norm_weights(width),
                  "head": normal(width, vocabulary)}

    def logits(p, x):
        h = p["tokens"][x] + p["positions"]
        for block in p["blocks"]:
            h = apply_block(block, h, heads, causal)
        return (layer_norm(p["norm"], h) @ p["head"]).reshape(-1, vocabulary)
    return parameters, logits


def vit(width=192, layers=6, heads=3, patch=4, image=32):
    parameters = {"patches": kernel(patch, 3, width), "bias": np.zeros(width, np.float32),
                  "positions": np.zeros((1, (image // patch) ** 2, width), np.float32),
                  "blocks": [transformer_block(width) for _ in range(layers)], "norm": norm_weights(width),
                  "head": linear_weights(width, 10)}

    def logits(p, x):
        h = conv(p["patches"], channels_last(x), patch) + p["bias"]
        h = h.reshape(h.shape[0], -1, width) + p["positions"]
        for block in p["blocks"]:
            h = apply_block(block, h, heads, False)
        return linear(p["head"], layer_norm(p["norm"], h).mean(1))
    return parameters, logits


def lstm(vocabulary=2048, width=256):
    parameters = {"tokens": normal(vocabulary, width, scale=1), "x": linear_weights(width, 4 * width),
                  "h": linear_weights(width, 4 * width), "head": linear_weights(width, vocabulary)}

    def logits(p, x):
        gates = linear(p["x"], p["tokens"][x]).transpose(1, 0, 2)

        def cell(carry, gate):
            h, c = carry
            i, f, g, o = jnp.split(gate + linear(p["h"], h), 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h
        zero = jnp.zeros((x.shape[0], width), jnp.float32)
        _, outputs = lax.scan(cell, (zero, zero), gates)
        return linear(p["head"], outputs.transpose(1, 0, 2)).reshape(-1, vocabulary)
    return parameters, logits


def dlrm(tables=8, rows=10000, width=32):
    pairs = np.triu_indices(tables + 1, 1)
    parameters = {"tables": [normal(rows, width, scale=1) for _ in range(tables)],
                  "bottom": perceptron_weights(13, 128, width),
                  "top": perceptron_weights(width + len(pairs[0]), 256, 64, 2)}

    def logits(p, x, chosen):
        dense = jax.nn.relu(perceptron(p["bottom"], x))
        vectors = jnp.stack([dense] + [table[chosen[:, i]] for i, table in enumerate(p["tables"])], 1)
        products = vectors @ vectors.transpose(0, 2, 1)
        return perceptron(p["top"], jnp.concatenate([dense, products[:, pairs[0], pairs[1]]], 1))
    return parameters, logits


MODELS = {
    "gpt": lambda: token_transformer(8192, 384, 6, 6, 256, True),
    "bert": lambda: token_transformer(8192, 256, 4, 4, 128, False),
    "vit": vit, "resnet18": resnet18, "lenet": lenet, "mlp": mlp, "lstm": lstm, "dlrm": dlrm,
}


def train_step(name, inputs, labels, lr, betas, eps, weight_decay):
    """A function of no arguments that runs one step and gives the loss: forward,
    backward and AdamW in one program that reuses its state's memory."""
    parameters, logits = MODELS[name]()
    parameters = jax.tree.map(jnp.asarray, parameters)

    def loss_of(p, inputs, labels):
        scores = jax.nn.log_softmax(logits(p, *inputs))
        return -jnp.take_along_axis(scores, labels[:, None], 1).mean()

    def update(p, m, v, count, inputs, labels):
        loss, gradient = jax.value_and_grad(loss_of)(p, inputs, labels)
        count = count + 1
        m = jax.tree.map(lambda m, g: betas[0] * m + (1 - betas[0]) * g, m, gradient)
        v = jax.tree.map(lambda v, g: betas[1] * v + (1 - betas[1]) * g * g, v, gradient)
        p = jax.tree.map(lambda p, m, v: p * (1 - lr * weight_decay) - lr * (m / (1 - betas[0] ** count)) /
                         (jnp.sqrt(v / (1 - betas[1] ** count)) + eps), p, m, v)
        return p, m, v, count, loss

    compiled = jax.jit(update, donate_argnums=(0, 1, 2))
    state = [parameters, jax.tree.map(jnp.zeros_like, parameters), jax.tree.map(jnp.zeros_like, parameters),
             jnp.float32(0)]
    inputs, labels = [jnp.asarray(x) for x in inputs], jnp.asarray(labels)

    def step():
        *state[:], loss = compiled(*state, inputs, labels)
        return float(loss)
    return step
