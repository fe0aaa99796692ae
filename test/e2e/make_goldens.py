#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the goldens of the training tests with PyTorch (2.13 made those here).

    make_goldens.py [OUT [CASE...]]     writes OUT/<case>/{model.onnx,case.json,data.npz}

Each case is a small model, its optimizers and losses, some batches, and what
PyTorch gets: the loss of every step, and parameters and running statistics
after the last. Needs torch and onnxscript; the tests need neither.
"""

import json
import os
import sys

import numpy as np
import onnx
import torch
import torch.nn as nn
import torch.nn.functional as F

STEPS = 5


class Mlp(nn.Module):
    def __init__(self, inputs, hidden, outputs, last=None):
        super().__init__()
        self.fc1 = nn.Linear(inputs, hidden)
        self.fc2 = nn.Linear(hidden, outputs)
        self.last = last

    def forward(self, x):
        y = self.fc2(F.relu(self.fc1(x.flatten(1))))
        return self.last(y) if self.last else y


class ConvNet(nn.Module):
    """Convolution, batch norm, both poolings, a residual add, strides."""

    def __init__(self):
        super().__init__()
        # No bias before batch norm: its gradient is zero but for rounding.
        self.conv1 = nn.Conv2d(2, 5, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(5)
        self.conv2 = nn.Conv2d(5, 5, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(5, momentum=0.3)
        self.conv3 = nn.Conv2d(5, 8, 3, stride=2)
        self.fc = nn.Linear(8, 5)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.relu(x + self.bn2(self.conv2(x)))
        x = F.avg_pool2d(torch.tanh(self.conv3(x)), 2)
        return self.fc(x.flatten(1))


class LogSoftmaxNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 7)

    def forward(self, x):
        return F.log_softmax(torch.sigmoid(self.fc(x)) * 3, dim=1)


class Recurrent(nn.Module):
    """The state after the last step, classified."""

    def __init__(self, layer):
        super().__init__()
        self.rnn = layer
        self.fc = nn.Linear(layer.hidden_size, 5)

    def forward(self, x):
        return self.fc(self.rnn(x)[0][:, -1])


class Lookups(nn.Module):
    """Two tables, one of them looked up twice; some entries often, some never."""

    def __init__(self):
        super().__init__()
        self.words, self.kinds = nn.Embedding(40, 6, sparse=True), nn.Embedding(30, 6, sparse=True)
        self.fc = nn.Linear(12, 5)

    def forward(self, x):
        words = self.words(x[:, :3]).mean(1) * self.words(x[:, 3])
        return self.fc(torch.cat([words, self.kinds(x[:, 4])], dim=1))


class Blocks(nn.Module):
    """Convolutions whose channels are whole blocks of 16: transposed, grouped, frozen, and one weight twice."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(16, 32, 3, padding=1)
        self.grouped = nn.Conv2d(32, 32, 3, padding=1, groups=2)
        self.up = nn.ConvTranspose2d(32, 16, 3, stride=2, padding=1, output_padding=1)
        self.shared = nn.Conv2d(16, 16, 3, padding=1, bias=False)
        self.frozen = nn.Conv2d(16, 16, 1).requires_grad_(False)
        self.fc = nn.Linear(16, 5)

    def forward(self, x):
        x = torch.tanh(self.grouped(torch.tanh(self.first(x))))
        x = torch.tanh(self.shared(torch.tanh(self.up(x))))
        x = torch.tanh(F.conv2d(x, self.shared.weight, stride=2))
        return self.fc(self.frozen(x).mean((2, 3)))


def classes(count, rows, generator):
    return torch.randint(0, count, (rows,), generator=generator)


SGD = {"kind": "sgd", "lr": 0.05, "momentum": 0.9}
NESTEROV = {"kind": "sgd", "lr": 0.05, "momentum": 0.8, "nesterov": True, "weight_decay": 0.1}
PLAIN = {"kind": "sgd", "lr": 0.1}
ADAMW = {"kind": "adamw", "lr": 0.01, "betas": [0.8, 0.95], "eps": 1e-6, "weight_decay": 0.2}
LAZY = {"kind": "adamw", "lr": 0.01, "betas": [0.8, 0.95], "eps": 1e-8, "weight_decay": 0, "lazy_embeddings": True}

# name: (model, input shape or maker, loss, labels maker, optimizers, extra options)
CASES = {
    "mlp_cross_entropy": (lambda: Mlp(12, 17, 5), (6, 3, 4), "cross_entropy",
                          lambda g: classes(5, 6, g), [SGD, NESTEROV, PLAIN, ADAMW], {}),
    "mlp_ignored_smoothed": (lambda: Mlp(12, 17, 5), (6, 12), "cross_entropy",
                             lambda g: classes(5, 6, g).index_fill(0, torch.tensor([1, 4]), -100),
                             [SGD, ADAMW], {"label_smoothing": 0.1}),
    "mlp_clipped": (lambda: Mlp(12, 17, 5), (6, 12), "cross_entropy",
                    lambda g: classes(5, 6, g), [SGD, ADAMW], {"clip_norm": 0.05}),
    "mlp_mse": (lambda: Mlp(10, 9, 1), (7, 10), "mse",
                lambda g: torch.randn(7, 1, generator=g), [SGD, ADAMW], {}),
    "mlp_bce": (lambda: Mlp(10, 9, 3, nn.Sigmoid()), (7, 10), "bce",
                lambda g: torch.rand(7, 3, generator=g), [SGD, ADAMW], {}),
    "mlp_bce_with_logits": (lambda: Mlp(10, 9, 3), (7, 10), "bce_with_logits",
                            lambda g: torch.rand(7, 3, generator=g), [SGD, ADAMW], {}),
    "nll": (LogSoftmaxNet, (9, 6), "nll", lambda g: classes(7, 9, g), [SGD, ADAMW], {}),
    "convnet": (ConvNet, (4, 2, 10, 10), "cross_entropy",
                lambda g: classes(5, 4, g), [SGD, ADAMW], {}),
    # Each micro-batch has its own batch statistics.
    "convnet_accumulated": (ConvNet, (6, 2, 10, 10), "cross_entropy",
                            lambda g: classes(5, 6, g), [SGD, ADAMW], {"accumulate": 3}),
    "lstm": (lambda: Recurrent(nn.LSTM(6, 8, 2, batch_first=True)), (5, 7, 6), "cross_entropy",
             lambda g: classes(5, 5, g), [SGD, ADAMW], {}),
    "lazy_embeddings": (Lookups, lambda g: torch.randint(0, 20, (8, 5), generator=g), "cross_entropy",
                        lambda g: classes(5, 8, g), [LAZY], {}),
    "blocked_weights": (Blocks, (4, 16, 6, 6), "cross_entropy",
                        lambda g: classes(5, 4, g), [ADAMW], {"freeze": ["frozen.*"]}),
}

LOSSES = {
    "cross_entropy": lambda y, t, o: F.cross_entropy(y, t, label_smoothing=o.get("label_smoothing", 0)),
    "nll": lambda y, t, o: F.nll_loss(y, t),
    "mse": lambda y, t, o: F.mse_loss(y, t),
    "bce": lambda y, t, o: F.binary_cross_entropy(y, t),
    "bce_with_logits": lambda y, t, o: F.binary_cross_entropy_with_logits(y, t),
}


class LazyAdam:
    """SparseAdam for the tables, AdamW without decay, which is Adam, for all else."""

    def __init__(self, model, lr, betas, eps):
        tables = [p for m in model.modules() if isinstance(m, nn.Embedding) for p in m.parameters()]
        others = [p for p in model.parameters() if all(p is not table for table in tables)]
        self.parts = [torch.optim.SparseAdam(tables, lr, betas, eps),
                      torch.optim.AdamW(others, lr, betas, eps, weight_decay=0)]

    def zero_grad(self):
        for part in self.parts:
            part.zero_grad()

    def step(self):
        for part in self.parts:
            part.step()


def make_optimizer(model, options):
    options = dict(options)
    kind, parameters = options.pop("kind"), model.parameters()
    if options.pop("lazy_embeddings", False):
        return LazyAdam(model, options["lr"], tuple(options["betas"]), options["eps"])
    if kind == "adamw":
        options["betas"] = tuple(options["betas"])
        return torch.optim.AdamW(parameters, **options)
    return torch.optim.SGD(parameters, **options)


def export(model, example, path):
    """Exports with a dynamic batch and keeps only the metadata that the
    importer reads, so that no paths of this machine are in the file."""
    program = torch.onnx.export(model, (example,), dynamo=True, optimize=False, verbose=False,
                                input_names=["x"], opset_version=20,
                                dynamic_shapes=({0: torch.export.Dim("batch")},))
    proto = program.model_proto
    for node in proto.graph.node:
        del node.metadata_props[:]
        node.doc_string = ""
    for value in list(proto.graph.value_info) + list(proto.graph.input):
        keep = [p for p in value.metadata_props if p.key.endswith("InputSpec.kind")]
        del value.metadata_props[:]
        value.metadata_props.extend(keep)
    del proto.metadata_props[:]
    del proto.graph.metadata_props[:]
    onnx.save(proto, path)


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "goldens")
    for number, (name, (make, shape, loss, labels, optimizers, options)) in enumerate(CASES.items()):
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        generator = torch.Generator().manual_seed(100 + number)
        torch.manual_seed(200 + number)
        model = make().train()
        start = {k: v.clone() for k, v in model.state_dict().items()}
        folder = os.path.join(out, name)
        os.makedirs(folder, exist_ok=True)

        def inputs():
            return shape(generator) if callable(shape) else torch.randn(shape, generator=generator)

        export(model, inputs(), os.path.join(folder, "model.onnx"))
        batches = [(inputs(), labels(generator)) for _ in range(STEPS)]
        data = {}
        for step, (x, t) in enumerate(batches):
            data[f"x.{step}"], data[f"labels.{step}"] = x.numpy(), t.numpy()
        case = {"loss": loss, "batch": len(batches[0][0]), "options": options, "optimizers": optimizers,
                "losses": [], "torch": torch.__version__}
        for index, optimizer_options in enumerate(optimizers):
            model.load_state_dict(start)
            optimizer = make_optimizer(model, optimizer_options)
            losses = []
            for x, t in batches:
                optimizer.zero_grad()
                parts = options.get("accumulate", 1)
                value = 0
                for part_x, part_t in zip(x.chunk(parts), t.chunk(parts)):
                    part = LOSSES[loss](model(part_x), part_t, options) / parts
                    part.backward()
                    value += part.detach()
                if "clip_norm" in options:
                    torch.nn.utils.clip_grad_norm_(model.parameters(), options["clip_norm"])
                optimizer.step()
                losses.append(value.item())
            case["losses"].append(losses)
            for key, value in model.state_dict().items():
                if value.is_floating_point():
                    data[f"final.{index}.{key}"] = value.numpy().copy()
            model.eval()
            with torch.no_grad():
                data[f"predict.{index}"] = model(batches[0][0]).numpy().copy()
            model.train()
        np.savez_compressed(os.path.join(folder, "data.npz"), **data)
        with open(os.path.join(folder, "case.json"), "w") as file:
            json.dump(case, file, indent=1)
            file.write("\n")
        print(name, [round(losses[-1], 4) for losses in case["losses"]])


if __name__ == "__main__":
    main()
