#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains the parity cases in the reference evaluator and compares with PyTorch, before any code is generated: what
fails here is the import's, the training stage's or (with --level kern) fusion's.

    parity.py [--tool build/bin/bessemer-train-reference] [--level graph|kern] CASE_DIR ...

A case is a folder as `parity/check.py` describes it: case.json, model.onnx, batches.npz, final.npz."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np


def run(tool, level, directory, name):
    """The first difference of one optimizer's run, or None."""
    case = json.load(open(os.path.join(directory, "case.json")))
    batches = np.load(os.path.join(directory, "batches.npz"))
    final = np.load(os.path.join(directory, "final.npz"))
    with tempfile.TemporaryDirectory() as folder:
        steps = []
        for step in range(len(case["expected_losses"][name])):
            feed = {}
            for key in case["inputs"] + ([case["labels"]] if case["labels"] else []):
                feed[key] = os.path.join(folder, f"{key}.{step}.raw")
                batches[f"{key}.{step}"].tofile(feed[key])
            steps.append(feed)
        request = {"model": os.path.join(directory, case["model"]), "loss": case["loss"], "level": level,
                   "optimizer": case["optimizers"][name], "steps": steps, "output_dir": folder}
        path = os.path.join(folder, "request.json")
        json.dump(request, open(path, "w"))
        result = subprocess.run([tool, path], capture_output=True, text=True)
        if result.returncode:
            return result.stderr.strip()
        for step, (have, want) in enumerate(zip(map(float, result.stdout.split()), case["expected_losses"][name])):
            if not abs(have - want) <= case["rtol"] * max(1.0, abs(want)):
                return f"step {step}: loss {have:.6f}, PyTorch {want:.6f}"
        names = open(os.path.join(folder, "states.txt")).read().splitlines()
        states = {n: np.fromfile(os.path.join(folder, f"{i}.bin")) for i, n in enumerate(names)}
    for key in final.files:
        kind, parameter = key.split("/", 1)
        if kind == "index":
            if parameter not in states:
                return f"{parameter} is missing from the states"
            start = final["start/" + parameter].astype(np.float64)
            have = states[parameter][final[key]] - start
            want = final[f"{name}/" + parameter].astype(np.float64) - start
            bad = ~(np.abs(have - want) <= 0.02 * np.abs(want) + 0.02 * np.abs(want).max())
            if bad.any():
                return f"{parameter} moved {have[bad][0]:.3e}, PyTorch {want[bad][0]:.3e}"
        elif kind == "stat" and name == "adamw":
            have, want = states[parameter][:64], final[key]
            bad = ~(np.abs(have - want) <= 1e-3 * np.abs(want) + 1e-4 * np.abs(want).max() + 1e-5)
            if bad.any():
                return f"{parameter} is {have[bad][0]:.6f}, PyTorch {want[bad][0]:.6f}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="+")
    parser.add_argument("--tool", default="build/bin/bessemer-train-reference")
    parser.add_argument("--level", choices=("graph", "kern"), default="graph")
    arguments = parser.parse_args()
    failures = 0
    for directory in arguments.cases:
        for name in ("sgd", "adamw"):
            problem = run(arguments.tool, arguments.level, directory, name)
            failures += problem is not None
            print("FAIL" if problem else "pass", os.path.basename(os.path.normpath(directory)), name,
                  f"- {problem}" if problem else "", flush=True)
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
