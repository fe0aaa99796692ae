# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far PyTorch itself lands from the recorded numbers of two parity cases.

    parity_noise.py [--parity DIR] [--optimizer adamw|sgd]

Trains PyTorch's own MobileNetV3 and U-Net from the weights of the cases
mobilenet_v3_small and unet (DIR, default ../shared/parity) with other numbers of
threads, without oneDNN, with the loss's gradient rounded only once, in float64
and with all weights one rounding off, and prints the largest deviation from what
PyTorch once recorded, in tolerances of the cases' check: above 1 it fails. How
PyTorch rounds depends on the vector instructions: with AVX2 alone (2.15) it
misses those of the U-Net in every configuration.
Needs torch and torchvision.
"""

import argparse
import json
import os
import typing

import numpy as np
import onnx
import torch
import torchvision
from torch import nn

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class ExactlyRoundedGradient(torch.autograd.Function):
    """cross_entropy, its gradient computed in float64."""

    @staticmethod
    def forward(ctx, scores, labels):
        ctx.save_for_backward(scores, labels)
        return nn.functional.cross_entropy(scores, labels)

    @staticmethod
    def backward(ctx, gradient):
        scores, labels = ctx.saved_tensors
        target = torch.zeros_like(scores).scatter_(1, labels.unsqueeze(1), 1)
        return gradient * (torch.softmax(scores.double(), 1).to(scores.dtype) - target) / labels.numel(), None


class Configuration(typing.NamedTuple):
    label: str
    threads: int = 1
    dtype: torch.dtype = torch.float32
    has_onednn: bool = True
    compute_loss: typing.Callable = nn.functional.cross_entropy
    # Of the weights that are moved by one rounding, up or down; None: none is.
    moved: int | None = None


CONFIGURATIONS = [
    *(Configuration(f"f32, {threads} thread{'s' * (threads > 1)}", threads) for threads in (1, 2, 4)),
    *(Configuration(f"f32, {threads} thread{'s' * (threads > 1)}, exact softmax", threads,
                    compute_loss=ExactlyRoundedGradient.apply) for threads in (1, 2)),
    Configuration("f32, 2 threads, no oneDNN", 2, has_onednn=False),
    Configuration("f64, 2 threads", 2, torch.float64),
    *(Configuration(f"f32, weights one rounding off ({seed})", moved=seed) for seed in range(3)),
]


def move_weights(model, seed):
    """Each element to the number next to it, above or below."""
    generator = np.random.default_rng(seed)
    for parameter in model.parameters():
        values = parameter.detach().numpy()
        towards = np.where(generator.random(values.shape) < 0.5, np.inf, -np.inf).astype(np.float32)
        parameter.data = torch.from_numpy(np.nextafter(values, towards))


def two_convolutions(inputs, outputs):
    layers = []
    for channels in (inputs, outputs):
        layers += [nn.Conv2d(channels, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    """The network of the case unet, by the names of its parameters."""

    def __init__(self):
        super().__init__()
        self.d1, self.d2 = two_convolutions(3, 16), two_convolutions(16, 32)
        self.d3, self.mid = two_convolutions(32, 64), two_convolutions(64, 128)
        self.u3, self.e3 = nn.ConvTranspose2d(128, 64, 2, 2), two_convolutions(128, 64)
        self.u2, self.e2 = nn.ConvTranspose2d(64, 32, 2, 2), two_convolutions(64, 32)
        self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
        self.e1, self.out = two_convolutions(48, 16), nn.Conv2d(16, 2, 1)
        self.pool = nn.MaxPool2d(2)

    def forward(self, x):
        full = self.d1(x)
        half = self.d2(self.pool(full))
        quarter = self.d3(self.pool(half))
        middle = self.mid(self.pool(quarter))
        y = self.e3(torch.cat([self.u3(middle), quarter], 1))
        y = self.e2(torch.cat([self.u2(y), half], 1))
        return self.out(self.e1(torch.cat([self.up(y), full], 1)))


def mobilenet():
    model = torchvision.models.mobilenet_v3_small(num_classes=10)
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return model


def load_weights(model, path):
    weights = {i.name: torch.tensor(onnx.numpy_helper.to_array(i)) for i in onnx.load(path).graph.initializer}
    names = [name for name in model.state_dict() if not name.endswith("num_batches_tracked")]
    model.load_state_dict({name: weights[name] for name in names}, strict=False)
    return model.train()


def train(model, case, batches, optimizer, compute_loss):
    """The losses; `model` is trained in place."""
    options = {name: value for name, value in case["optimizers"][optimizer].items() if name != "kind"}
    update = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}[optimizer](model.parameters(), **options)
    losses = []
    for step in range(case["steps"]):
        x = torch.tensor(batches[f"x.{step}"]).to(next(model.parameters()).dtype)
        loss = compute_loss(model(x), torch.tensor(batches[f"labels.{step}"]).long())
        update.zero_grad()
        loss.backward()
        update.step()
        losses.append(loss.item())
    return losses


def deviations(state, final, optimizer):
    """Per compared tensor its name and each element's deviation in tolerances, as the cases' check.py has them."""
    for key in final.files:
        kind, name = key.split("/", 1)
        values = state[name].double().numpy().ravel()
        if kind == "index":
            start = final["start/" + name].astype(np.float64)
            want = final[f"{optimizer}/{name}"].astype(np.float64) - start
            have = values[final[key]] - start
            tolerance = 0.02 * np.abs(want) + 0.02 * np.abs(want).max()
        elif kind == "stat" and optimizer == "adamw":
            want, have = final[key], values[:64]
            tolerance = 1e-3 * np.abs(want) + 1e-4 * np.abs(want).max() + 1e-5
        else:
            continue
        yield name, np.abs(have - want) / np.maximum(tolerance, np.finfo(np.float64).tiny)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parity", default=os.path.join(os.path.dirname(ROOT), "shared", "parity"))
    parser.add_argument("--optimizer", choices=["adamw", "sgd"], default="adamw")
    arguments = parser.parse_args()
    if not os.path.isdir(arguments.parity):
        raise SystemExit(f"parity_noise: expected the parity cases in {arguments.parity}, found no such folder")
    print("vector instructions:", torch.backends.cpu.get_cpu_capability())
    print(f"{'case':20} {'PyTorch':35} {'loss':>8} {'worst':>8} {'outside':>7}")
    for name, make in (("mobilenet_v3_small", mobilenet), ("unet", UNet)):
        folder = os.path.join(arguments.parity, name)
        with open(os.path.join(folder, "case.json")) as file:
            case = json.load(file)
        batches = np.load(os.path.join(folder, "batches.npz"))
        final = np.load(os.path.join(folder, "final.npz"))
        for configuration in CONFIGURATIONS:
            torch.set_num_threads(configuration.threads)
            model = load_weights(make(), os.path.join(folder, case["model"]))
            if configuration.moved is not None:
                move_weights(model, configuration.moved)
            model.to(configuration.dtype)
            with torch.backends.mkldnn.flags(enabled=configuration.has_onednn):
                losses = train(model, case, batches, arguments.optimizer, configuration.compute_loss)
            wanted = case["expected_losses"][arguments.optimizer]
            loss = max(abs(a - b) / (case["rtol"] * max(1, abs(b))) for a, b in zip(losses, wanted))
            found = list(deviations(model.state_dict(), final, arguments.optimizer))
            worst, where = max((ratio.max(), tensor) for tensor, ratio in found)
            outside = sum(int((ratio > 1).sum()) for _, ratio in found)
            print(f"{name:20} {configuration.label:35} {loss:8.2f} {worst:8.2f} {outside:7} elements, most {where}", flush=True)


if __name__ == "__main__":
    main()
