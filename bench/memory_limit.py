#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What --memory-limit costs: step time at shares of the temporaries.

    bench/memory_limit.py [--models gpt,vit] [--shares 1,0.8,0.6,0.4,0] [--pairs 12]

For each model the program without a limit, and programs whose temporaries (the
work arena) fit into a share of what that one needs; 0 is the least there is.
All sessions live in one process and take turns; a figure is the median of
paired ratios to the program without a limit. The losses of all are equal, bit
for bit, or the script fails. Prints a Markdown table. Needs torch and
onnxscript (the models are exported from PyTorch).
"""

import argparse
import os
import re
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from machine import Others, own_autogroup  # noqa: E402

TURN = 0.25  # seconds, at least one step
WARMUP = 3


class Side:
    def __init__(self, onnx, share, limit, threads, feeds):
        import bessemer
        start = time.perf_counter()
        program = bessemer.compile(onnx, loss="cross_entropy", optimizer={"kind": "adamw", "lr": 1e-3},
                                   memory_limit=limit)
        self.compile = time.perf_counter() - start
        self.share, self.feeds = share, feeds
        self.session = program.session(threads=threads)
        self.work = self.session.memory()["work"]
        self.losses = [float(self.step()) for _ in range(WARMUP)]
        start = time.perf_counter()
        self.step()
        self.steps = max(1, round(TURN / (time.perf_counter() - start)))

    def step(self):
        return self.session.train_step(self.feeds)["loss"]

    def turn(self):
        start = time.perf_counter()
        for _ in range(self.steps):
            self.step()
        return (time.perf_counter() - start) / self.steps


def least(onnx):
    """Bytes that a session needs at least, and those of them that are no temporaries."""
    import bessemer
    try:
        bessemer.compile(onnx, loss="cross_entropy", optimizer={"kind": "adamw", "lr": 1e-3}, memory_limit=1)
    except bessemer.Error as error:
        match = re.search(r"at least (\d+) bytes \((\d+) of", str(error))
        return int(match[1]), int(match[2])
    raise SystemExit("a limit of one byte was accepted")


def measure(model, shares, options):
    import models
    inputs, labels = models.batch(model)
    feeds = {name: value.numpy() for name, value in inputs.items()} | {"labels": labels.numpy()}
    with tempfile.TemporaryDirectory() as folder:
        onnx = os.path.join(folder, "m.onnx")
        models.export(model, onnx)
        sides = [Side(onnx, None, None, options.threads, feeds)]
        needed, around = least(onnx)
        for share in shares:
            limit = max(needed, around + int(share * sides[0].work))
            sides.append(Side(onnx, share, limit, options.threads, feeds))
    for side in sides[1:]:
        if side.losses != sides[0].losses:
            raise SystemExit(f"{model}: losses with {side.work} bytes differ: {side.losses}, {sides[0].losses}")
    others = Others([os.getpid()])
    times = [[] for _ in sides]
    for pair in range(options.pairs):
        for i in range(len(sides)):
            at = (pair + i) % len(sides)
            times[at].append(sides[at].turn())
    for side, taken in zip(sides, times):
        ratio = statistics.median(a / b for a, b in zip(taken, times[0]))
        wish = "no limit" if side.share is None else "least" if side.share == 0 else f"{side.share:.0%}"
        print(f"| {model} | {wish} | {side.work / 1e6:.1f} | {side.work / sides[0].work:.2f} | "
              f"{statistics.median(taken) * 1e3:.2f} | {ratio:.2f} | {side.compile:.2f} |", flush=True)
    return others.share()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default="gpt,bert,vit,resnet18")
    parser.add_argument("--shares", default="0.8,0.6,0.4,0")
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    import models
    names = options.models.split(",")
    for name in names:
        if name not in models.MODELS:
            raise SystemExit(f"--models: expected some of {', '.join(models.MODELS)}, got '{name}'")
    own_autogroup()
    print("| model | limit | temporaries MB | of all | ms per step | ratio | compile s |\n|---|---|--:|--:|--:|--:|--:|")
    others = max(measure(name, [float(share) for share in options.shares.split(",")], options) for name in names)
    print(f"\nother processes used up to {others:.0%} of the cores")


if __name__ == "__main__":
    main()
