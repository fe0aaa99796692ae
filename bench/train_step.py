#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training step, compile time and memory against PyTorch and JAX, one interleaved run.

    bench/train_step.py [--models gpt,mlp] [--peers eager,compile,jax] [--pairs 30] [--json FILE]

All sides are processes that take turns; a figure is the median of the ratios
of paired turns, so that a machine whose speed drifts does not favour one side.
Each model is compared with its fastest peer. On the same weights and batch the
losses of the first steps must agree with PyTorch's. Prints a Markdown table.
Needs torch and onnxscript beside the packages of scripts/requirements.txt, and
jax (pip's default, for the CPU) unless it is left out.
"""

import argparse
import importlib.util
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from machine import Others, own_autogroup  # noqa: E402
from torch_memory import peak_of  # noqa: E402
from worker import WARMUP  # noqa: E402

NAMES = {"eager": "PyTorch", "compile": "torch.compile", "jax": "JAX"}
TURN = 0.25  # seconds, at least one step
WARM_TURNS = 2


class SideFailed(Exception):
    pass


class Side:
    def __init__(self, name, model, threads, folder, *more):
        self.name = name
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), TORCHINDUCTOR_FORCE_DISABLE_CACHES="1",
                           TORCHINDUCTOR_CACHE_DIR=os.path.join(folder, "inductor-" + name))
        self.log = open(os.path.join(folder, name + ".log"), "w+")
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "worker.py"), name, model, str(threads),
             os.path.join(folder, "batch.npz"), *more],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True, env=environment)
        self.started = self.read()
        self.steps = 1

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            self.log.seek(0)
            lines = [line for line in self.log.read().splitlines() if line.strip()]
            raise SideFailed(f"{self.name}: {lines[-1] if lines else 'ended without a word'}")
        return json.loads(line)

    def turn(self):
        """Seconds per step."""
        self.process.stdin.write(f"{self.steps}\n")
        self.process.stdin.flush()
        return self.read() / self.steps

    def close(self):
        self.process.stdin.close()
        peak = self.read()["peak"]
        self.process.wait()
        return peak


def compile_model(model, artifact, options):
    """The median of three processes from start to exit."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        result = subprocess.run([options.bessemer, "compile", model, "-o", artifact, "--loss", "cross_entropy",
                                 "--optimizer", "adamw", "--lr", "1e-3"], capture_output=True, text=True)
        times.append(time.perf_counter() - start)
        if result.returncode:
            raise SideFailed("does not compile: " + (result.stderr.strip().splitlines() or ["no message"])[-1])
    return statistics.median(times)


def spread(values):
    low, median, high = statistics.quantiles(values, n=4)
    return {"median": median, "low": low, "high": high}


def take_turns(sides, pairs):
    """Seconds per step of every side at every turn; who begins rotates."""
    for side in sides:
        side.steps = max(1, round(TURN / max(side.turn(), 1e-6)))
        for _ in range(WARM_TURNS):
            side.turn()
    others = Others([side.process.pid for side in sides])
    times = {side.name: [] for side in sides}
    for pair in range(pairs):
        begin = pair % len(sides)
        for side in sides[begin:] + sides[:begin]:
            times[side.name].append(side.turn())
    return times, others.share()


def measure(model, peers, options):
    import bessemer
    import models
    import numpy as np
    with tempfile.TemporaryDirectory() as folder:
        onnx, artifact = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.bsm")
        models.export(model, onnx)
        inputs, labels = models.batch(model)
        np.savez(os.path.join(folder, "batch.npz"), labels=labels.numpy(),
                 **{name: value.numpy() for name, value in inputs.items()})
        result = {"model": model, "compile": compile_model(onnx, artifact, options)}
        memory = bessemer.load(artifact).session(threads=options.threads).memory()
        sides = [Side("bessemer", model, options.threads, folder, artifact)]
        sides += [Side(peer, model, options.threads, folder) for peer in peers]
        times, result["others"] = take_turns(sides, options.pairs)
        result["peak"] = {side.name: side.close() for side in sides}
        first = {side.name: side.started for side in sides}
    result["seconds"] = {name: statistics.median(values) for name, values in times.items()}
    result["ratios"] = {peer: spread([a / b for a, b in zip(times["bessemer"], times[peer])]) for peer in peers}
    result["best"] = min(peers, key=lambda peer: result["seconds"][peer])
    result["memory"] = memory
    if "eager" in peers:
        # Relative to the first loss: a later one may be near zero.
        ours, theirs = first["bessemer"]["losses"], first["eager"]["losses"]
        result["loss_difference"] = [abs(a - b) / theirs[0] for a, b in zip(ours, theirs)]
        result["torch_live"] = peak_of(model)
    if "compile" in peers:
        result["cold_first_step"] = first["compile"]["first_step"]
    return result


def header(peers):
    cells = ["model", "ms per step"] + [NAMES[peer] for peer in peers] + [
        "ratio to the fastest (quartiles)", "compile s", "torch.compile's cold first step s", "peak RSS MB",
        "PyTorch's", "held MB", "PyTorch's live", "packed / bound", "library scratch MB", f"loss difference (step 1 / {WARMUP})"]
    return "| " + " | ".join(cells) + " |\n|---|" + "--:|" * (len(cells) - 1)


def row(r, peers):
    def number(value, form, scale=1):
        return format(value * scale, form) if value is not None else "-"
    ratio, memory = r["ratios"][r["best"]], r["memory"]
    cells = [r["model"], number(r["seconds"]["bessemer"], ".2f", 1e3)]
    cells += [number(r["seconds"][peer], ".2f", 1e3) for peer in peers]
    cells += [f"{ratio['median']:.2f} ({ratio['low']:.2f}-{ratio['high']:.2f})", f"{r['compile']:.2f}",
              number(r.get("cold_first_step"), ".1f"), number(r["peak"]["bessemer"], ".0f", 1e-6),
              number(r["peak"].get("eager"), ".0f", 1e-6), number(memory["total"], ".1f", 1e-6),
              number(r.get("torch_live"), ".1f", 1e-6), f"{memory['work'] / max(1, memory['work_bound']):.3f}",
              number(memory["library_scratch"], ".1f", 1e-6),
              " / ".join(number(r["loss_difference"][i], ".0e") for i in (0, -1)) if "loss_difference" in r else "-"]
    return "| " + " | ".join(cells) + " |"


def summary(results):
    best = [r["ratios"][r["best"]]["median"] for r in results]
    print(f"\ngeometric mean of {len(results)} models {statistics.geometric_mean(best):.2f}, "
          f"largest ratio {max(best):.2f}, slowest compile {max(r['compile'] for r in results):.2f} s")
    compile_ratios = [r["compile"] / r["cold_first_step"] for r in results if "cold_first_step" in r]
    if compile_ratios:
        print(f"compile time over torch.compile's cold first step: at most {max(compile_ratios):.2f}")
    memory = [r["peak"]["bessemer"] / r["peak"]["eager"] for r in results if "eager" in r["peak"]]
    if memory:
        print(f"peak memory of the process over PyTorch's: at most {max(memory):.2f}")
    # The first losses differ by rounding; later ones by what ten steps make of it.
    wrong = [r["model"] for r in results
             if "loss_difference" in r and not (r["loss_difference"][0] < 1e-5 and max(r["loss_difference"]) < 1e-2)]
    if wrong:
        print("losses differ from PyTorch's:", ", ".join(wrong))
    others = max(r["others"] for r in results)
    print(f"other processes used up to {others * 100:.0f} % of the cores: "
          + ("a quiet machine" if others < 0.05 else "NOT a quiet machine"))


def choose(text, known, what):
    names = text.split(",")
    for name in names:
        if name not in known:
            raise SystemExit(f"--{what}: expected some of {', '.join(known)}, got '{name}'")
    return names


def main():
    import models
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=",".join(models.MODELS))
    parser.add_argument("--peers", default=",".join(NAMES))
    parser.add_argument("--pairs", type=int, default=30, help="at least 2")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", metavar="FILE", help="write all figures")
    parser.add_argument("--bessemer", default=os.path.join(HERE, "..", "build", "bin", "bessemer"))
    options = parser.parse_args()
    options.pairs = max(options.pairs, 2)
    names = choose(options.models, models.MODELS, "models")
    peers = choose(options.peers, NAMES, "peers")
    if "jax" in peers and not importlib.util.find_spec("jax"):
        print("jax is not installed: left out")
        peers.remove("jax")
    grouped = own_autogroup()
    import torch
    print(f"f32, AdamW, {options.threads} threads, PyTorch {torch.__version__} (fused=True), {options.pairs} pairs"
          + ("" if grouped else ", shared autogroup") + "\n")
    print(header(peers), flush=True)
    results, failed = [], []
    for name in names:
        try:
            results.append(measure(name, peers, options))
            print(row(results[-1], peers), flush=True)
        except SideFailed as error:
            failed.append({"model": name, "error": str(error)})
            print(f"| {name} | {error} |", flush=True)
    if results:
        summary(results)
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"torch": torch.__version__, "threads": options.threads, "pairs": options.pairs,
                       "results": results, "failed": failed}, file, indent=1)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
