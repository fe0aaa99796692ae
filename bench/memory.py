#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bytes of a training step against PyTorch's, on torchvision's classifiers.

    bench/memory.py [--models resnet50,efficientnet_b0] [--batch 16] [--size 64]

Ours are state and the packed work arena; PyTorch's are the peak of live bytes
that its profiler reports over two AdamW steps (fused=True), without the batch.
Nothing is timed. Needs torch, torchvision and onnxscript.
"""

import argparse
import json
import logging
import os
import subprocess
import sys
import tempfile
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
MODELS = ("resnet50,mobilenet_v3_large,efficientnet_b0,densenet121,shufflenet_v2_x1_0,squeezenet1_1,convnext_tiny,"
          "regnet_x_400mf,mnasnet1_0,googlenet")


def make(name):
    import torchvision
    options = {"aux_logits": False, "init_weights": False} if name == "googlenet" else {}
    return getattr(torchvision.models, name)(num_classes=10, **options).train()


def torch_peak(name, images, labels):
    import torch
    from adamw import ADAMW
    from torch_memory import peak_in
    with torch.profiler.profile(profile_memory=True, activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        network = make(name)
        optimizer = torch.optim.AdamW(network.parameters(), fused=True, **ADAMW)
        for _ in range(2):
            optimizer.zero_grad(set_to_none=True)
            torch.nn.functional.cross_entropy(network(images), labels).backward()
            optimizer.step()
    return peak_in(profile)


def measure(name, options):
    """In a process of its own: the profiler counts what is left of other models."""
    import torch
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    images = torch.randn(options.batch, 3, options.size, options.size)
    peak = torch_peak(name, images, torch.randint(0, 10, (options.batch,)))
    with tempfile.TemporaryDirectory() as folder:
        onnx, artifact = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.bsm")
        torch.onnx.export(make(name), (images,), onnx, dynamo=True, optimize=False, input_names=["x"], verbose=False)
        result = subprocess.run([options.bessemer, "compile", onnx, "-o", artifact, "--loss", "cross_entropy",
                                 "--optimizer", "adamw"], capture_output=True, text=True)
        if result.returncode:
            raise SystemExit(f"{name}: {result.stderr.strip().splitlines()[-1]}")
        program = json.loads(subprocess.run([options.bessemer, "inspect", artifact, "--json"], capture_output=True,
                                            text=True, check=True).stdout)
    state = sum(entry["bytes"] for entry in program["states"])
    work = max(entry["packed_peak"] for entry in program["programs"])
    print(f"| {name} | {state / 1e6:.1f} | {work / 1e6:.1f} | {peak / 1e6:.1f} | {(state + work) / peak:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=MODELS)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--bessemer", default=os.path.join(HERE, "..", "build", "bin", "bessemer"))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        measure(options.one, options)
        return
    print("| model | state MB | temporaries MB | PyTorch's peak MB | ratio |\n|---|--:|--:|--:|--:|", flush=True)
    for name in options.models.split(","):
        result = subprocess.run([sys.executable, __file__, *sys.argv[1:], "--one", name], capture_output=True, text=True)
        lines = [line for line in result.stdout.splitlines() if line.startswith("|")]
        print(lines[-1] if lines else f"| {name} | {(result.stderr.strip().splitlines() or ['failed'])[-1]} |", flush=True)


if __name__ == "__main__":
    main()
