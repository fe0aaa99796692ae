# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The models that are measured, in PyTorch: the peer runs them, Bessemer gets
their ONNX export."""

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


# name: (model, shape of one batch)
MODELS = {"mlp": (MLP, (128, 784)), "lenet": (LeNet, (64, 1, 28, 28))}
CLASSES = 10
ADAMW = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01}


def make(name):
    torch.manual_seed(0)
    return MODELS[name][0]().train()


def batch(name):
    generator = torch.Generator().manual_seed(1)
    shape = MODELS[name][1]
    return torch.randn(shape, generator=generator), torch.randint(0, CLASSES, shape[:1], generator=generator)


def export(name, path):
    x, _ = batch(name)
    torch.onnx.export(make(name), (x,), path, dynamo=True, optimize=False, verbose=False, input_names=["x"],
                      opset_version=20, external_data=False)
