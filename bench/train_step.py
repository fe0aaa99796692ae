#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training step, compile time and memory against PyTorch eager, one interleaved run.

    bench/train_step.py [--pairs 40] [--threads 2] [model ...]

Both sides are processes that take turns; a figure is the median of the ratios
of paired turns, so that a machine whose speed drifts does not favour one side.
Needs torch 2.13 and onnxscript beside the packages of scripts/requirements.txt.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)


def own_autogroup():
    """Kernels share the cores by session group; one of our own is not slowed
    by what the caller's group does. Without rights this changes nothing."""
    try:
        os.setsid()
    except OSError:
        pass
    try:
        with open("/proc/self/autogroup", "w") as file:
            file.write("-15")
        return True
    except OSError:
        return False


class Side:
    def __init__(self, *arguments):
        environment = dict(os.environ, OMP_NUM_THREADS=arguments[2])
        self.process = subprocess.Popen([sys.executable, os.path.join(HERE, "worker.py"), *arguments],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        if self.process.stdout.readline().strip() != "ready":
            raise SystemExit(f"{arguments[0]}: the worker did not start")

    def run(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def torch_peak(name):
    """Peak live bytes that PyTorch's profiler reports over three steps,
    parameters, gradients, moments and activations included, batch excluded."""
    import models
    import torch
    x, labels = models.batch(name)
    with torch.profiler.profile(profile_memory=True, activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        model = models.make(name)
        optimizer = torch.optim.AdamW(model.parameters(), fused=True, **models.ADAMW)
        for _ in range(3):
            optimizer.zero_grad(set_to_none=True)
            torch.nn.functional.cross_entropy(model(x), labels).backward()
            optimizer.step()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profile.export_chrome_trace(path)
        with open(path) as file:
            events = json.load(file)["traceEvents"]
    return max(e["args"]["Total Allocated"] for e in events if e.get("name") == "[memory]")


def measure(name, options):
    import bessemer
    import models
    import numpy as np
    with tempfile.TemporaryDirectory() as folder:
        model, artifact = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.bsm")
        models.export(name, model)
        compile_times = []
        for _ in range(5):
            start = time.perf_counter()
            subprocess.run([options.bessemer, "compile", model, "-o", artifact, "--loss", "cross_entropy",
                            "--optimizer", "adamw", "--lr", "1e-3"], check=True, capture_output=True)
            compile_times.append(time.perf_counter() - start)
        x, labels = models.batch(name)
        np.savez(artifact + ".npz", x=x.numpy(), labels=labels.numpy())
        memory = bessemer.load(artifact).session(threads=options.threads).memory()
        ours = Side("bessemer", name, str(options.threads), artifact)
        peer = Side("torch", name, str(options.threads))
        steps = max(1, int(0.25 / max(peer.run(10) / 10, 1e-6)))
        pairs = []
        for turn in range(options.pairs):
            first, second = (ours, peer) if turn % 2 else (peer, ours)
            a, b = first.run(steps), second.run(steps)
            pairs.append((a, b) if turn % 2 else (b, a))
        ours.close()
        peer.close()
    ratios = [a / b for a, b in pairs]
    quartiles = statistics.quantiles(ratios, n=4)
    return {
        "ms": statistics.median(a for a, _ in pairs) / steps * 1e3,
        "torch_ms": statistics.median(b for _, b in pairs) / steps * 1e3,
        "ratio": statistics.median(ratios), "low": quartiles[0], "high": quartiles[2],
        "compile": statistics.median(compile_times),
        "packed": memory["work"] / max(1, memory["work_bound"]),
        # In a process of its own: the profiler's total would hold what is left of other models.
        "bytes": memory["total"], "torch_bytes": float(subprocess.run(
            [sys.executable, __file__, "--torch-peak", name], check=True, capture_output=True, text=True).stdout),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=["mlp", "lenet"])
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--bessemer", default=os.path.join(HERE, "..", "build", "bin", "bessemer"))
    parser.add_argument("--torch-peak", metavar="MODEL", help="print PyTorch's peak bytes for a model and end")
    options = parser.parse_args()
    if options.torch_peak:
        return print(torch_peak(options.torch_peak))
    quiet = own_autogroup()
    import torch
    print(f"AdamW, f32, {options.threads} threads, PyTorch {torch.__version__} eager (fused=True), "
          f"{options.pairs} pairs{'' if quiet else ', shared autogroup'}")
    print(f"{'model':8}{'ms':>8}{'torch':>8}{'ratio':>8}{'quartiles':>16}{'compile s':>11}{'packed/bound':>14}"
          f"{'MB':>8}{'torch MB':>10}")
    for name in options.models:
        r = measure(name, options)
        print(f"{name:8}{r['ms']:8.2f}{r['torch_ms']:8.2f}{r['ratio']:8.2f}{r['low']:9.2f}-{r['high']:.2f}"
              f"{r['compile']:12.2f}{r['packed']:14.3f}{r['bytes'] / 1e6:8.1f}{r['torch_bytes'] / 1e6:10.1f}", flush=True)


if __name__ == "__main__":
    main()
