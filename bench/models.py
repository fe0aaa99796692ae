# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The models that are measured, in PyTorch: the peers run them, Bessemer gets
their ONNX export. jax_models.py has the same ones for JAX."""

import logging
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(),
                                 nn.Linear(1024, 10))

    def forward(self, x):
        return self.net(x)


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 6, 5, padding=2)
        self.c2 = nn.Conv2d(6, 16, 5)
        self.f1 = nn.Linear(400, 120)
        self.f2 = nn.Linear(120, 84)
        self.f3 = nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        x = x.flatten(1)
        return self.f3(F.relu(self.f2(F.relu(self.f1(x)))))


class ResidualBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        same = stride == 1 and inputs == outputs
        self.skip = nn.Identity() if same else nn.Sequential(
            nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + self.skip(x))


class ResNet18(nn.Module):
    """With CIFAR's stem: 3 x 3, no pooling."""

    def __init__(self):
        super().__init__()
        layers = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
        inputs = 64
        for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
            layers += [ResidualBlock(inputs, outputs, stride), ResidualBlock(outputs, outputs, 1)]
            inputs = outputs
        self.features = nn.Sequential(*layers)
        self.head = nn.Linear(512, 10)

    def forward(self, x):
        return self.head(self.features(x).mean((2, 3)))


class TransformerBlock(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).split(width, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        x = x + self.projection(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class TokenTransformer(nn.Module):
    """GPT when causal, else BERT."""

    def __init__(self, vocabulary, width, layers, heads, length, causal):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(TransformerBlock(width, heads, causal) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, x):
        h = self.tokens(x) + self.positions(torch.arange(x.shape[1]))
        for block in self.blocks:
            h = block(h)
        return self.head(self.norm(h)).flatten(0, 1)


class ViT(nn.Module):
    def __init__(self, width=192, layers=6, heads=3, patch=4, image=32):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.positions = nn.Parameter(torch.zeros(1, (image // patch) ** 2, width))
        self.blocks = nn.ModuleList(TransformerBlock(width, heads, False) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        h = self.patches(x).flatten(2).transpose(1, 2) + self.positions
        for block in self.blocks:
            h = block(h)
        return self.head(self.norm(h).mean(1))


class LSTM(nn.Module):
    def __init__(self, vocabulary=2048, width=256):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, x):
        return self.head(self.lstm(self.tokens(x))[0]).flatten(0, 1)


class DLRM(nn.Module):
    def __init__(self, tables=8, rows=10000, width=32):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, width) for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(13, 128), nn.ReLU(), nn.Linear(128, width), nn.ReLU())
        pairs = (tables + 1) * tables // 2
        self.top = nn.Sequential(nn.Linear(width + pairs, 256), nn.ReLU(), nn.Linear(256, 64), nn.ReLU(),
                                 nn.Linear(64, 2))
        self.register_buffer("pairs", torch.triu_indices(tables + 1, tables + 1, 1))

    def forward(self, x, rows):
        dense = self.bottom(x)
        vectors = torch.stack([dense] + [table(rows[:, i]) for i, table in enumerate(self.tables)], 1)
        products = vectors @ vectors.transpose(1, 2)
        return self.top(torch.cat([dense, products[:, self.pairs[0], self.pairs[1]]], 1))


def floats(*shape):
    return lambda generator: torch.randn(shape, generator=generator)


def below(limit, *shape):
    return lambda generator: torch.randint(0, limit, shape, generator=generator)


# name: (model, inputs in order, labels)
MODELS = {
    "gpt": (lambda: TokenTransformer(8192, 384, 6, 6, 256, True), {"x": below(8192, 4, 256)}, below(8192, 1024)),
    "bert": (lambda: TokenTransformer(8192, 256, 4, 4, 128, False), {"x": below(8192, 8, 128)}, below(8192, 1024)),
    "vit": (ViT, {"x": floats(32, 3, 32, 32)}, below(10, 32)),
    "resnet18": (ResNet18, {"x": floats(32, 3, 32, 32)}, below(10, 32)),
    "lenet": (LeNet, {"x": floats(64, 1, 28, 28)}, below(10, 64)),
    "mlp": (MLP, {"x": floats(128, 784)}, below(10, 128)),
    "lstm": (LSTM, {"x": below(2048, 16, 64)}, below(2048, 1024)),
    "dlrm": (DLRM, {"x": floats(512, 13), "rows": below(10000, 512, 8)}, below(2, 512)),
}


def make(name):
    torch.manual_seed(0)
    return MODELS[name][0]().train()


def batch(name):
    """{input: tensor} and the labels."""
    generator = torch.Generator().manual_seed(1)
    _, inputs, labels = MODELS[name]
    return {key: draw(generator) for key, draw in inputs.items()}, labels(generator)


def export(name, path):
    inputs, _ = batch(name)
    # Training mode is meant, and torchvision's ops are not.
    warnings.filterwarnings("ignore", message="Exporting a model while it is in training mode")
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    torch.onnx.export(make(name), tuple(inputs.values()), path, dynamo=True, optimize=False, verbose=False,
                      input_names=list(inputs), opset_version=20, external_data=False)
