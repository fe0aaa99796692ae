#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles and trains what make_cases.py recorded and compares with PyTorch.

    check_cases.py OUT [NAME ...]   each case in a process of its own; exit status 1 when one fails

Losses agree within 2e-4 relative; how far each parameter moved within 2 % of
PyTorch's movement plus 2 % of the largest in its tensor plus four times the
recorded noise (under AdamW a gradient of rounding noise moves a parameter as
far as any other).
"""

import json
import os
import subprocess
import sys
import time

import numpy as np

LOSS_TOLERANCE = 2e-4


def compare(kind, name, start, want, noise, have):
    start, want, noise, have = (a.astype(np.float64).ravel() for a in (start, want, noise, have))
    moved, expected = have - start, want - start
    limit = 0.02 * np.abs(expected) + 0.02 * np.abs(expected).max(initial=0) + 4 * noise + 1e-8
    # An element that rounding moves by a tenth of its way has no value to compare with.
    bad = ~(np.abs(moved - expected) <= limit) & (noise <= 0.1 * np.abs(expected))
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        raise SystemExit(f"{kind}: {name}[{i}] moved {moved[i]:.4e}, PyTorch {expected[i]:.4e}, start {start[i]:.3e},"
                         f" noise {noise[i]:.1e} ({bad.sum()} of {bad.size})")


def check(folder):
    import bessemer
    with open(os.path.join(folder, "case.json")) as f:
        case = json.load(f)
    data = dict(np.load(os.path.join(folder, "data.npz")))
    for key in [k for k in data if k.startswith("sample/")]:
        kinds = ["index", "start", "sgd", "adamw", "noise/sgd", "noise/adamw"]
        for kind, row in zip(kinds, data.pop(key)):
            data[f"{kind}/{key[len('sample/'):]}"] = row
    for kind, optimizer in case["optimizers"].items():
        began = time.time()
        program = bessemer.compile(os.path.join(folder, "model.onnx"), loss=case["loss"], optimizer=optimizer,
                                   dims=case.get("dims"))
        session = program.session()
        seconds = time.time() - began
        for step in range(case["steps"]):
            feed = {n: data[f"{n}.{step}"] for n in case["inputs"] + ["labels"]}
            got, want = float(session.train_step(feed)["loss"]), case["losses"][kind][step]
            if case["no_check"]:
                assert np.isfinite(got)
                continue
            if not abs(got - want) <= LOSS_TOLERANCE * max(1.0, abs(want)):
                raise SystemExit(f"{kind} step {step}: loss {got:.6f}, PyTorch {want:.6f}")
        if case["no_check"]:
            continue
        state = session.state_dict()
        if trained := set(case.get("buffers", ())) & set(state):
            raise SystemExit(f"{kind}: buffers are trained: {', '.join(sorted(trained))}")
        for key in data:
            if key.startswith(kind + "/"):
                name = key[len(kind) + 1:]
                if name not in state:
                    raise SystemExit(f"{name} is missing from state_dict()")
                have = np.asarray(state[name]).ravel()
                if "index/" + name in data:
                    have = have[data["index/" + name].astype(np.int64)]
                compare(kind, name, data["start/" + name], data[key], data[f"noise/{kind}/{name}"], have)
            elif key.startswith(f"statistic/{kind}/"):
                name = key.split("/", 2)[2]
                have, want, noise = np.asarray(state[name]), data[key], data["noise/" + key]
                if np.any(np.abs(have - want) > 1e-3 * np.abs(want) + 1e-4 * np.abs(want).max() + 4 * noise.max() + 1e-5):
                    raise SystemExit(f"{kind}: {name}: {have.ravel()[:3]}, PyTorch {want.ravel()[:3]}")
        print(f"{kind} compiled in {seconds:.1f} s", end="; ")


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        check(sys.argv[2])
        sys.exit()
    root, names = sys.argv[1], sys.argv[2:]
    cases = names or sorted(n for n in os.listdir(root) if os.path.exists(os.path.join(root, n, "case.json")))
    failures = 0
    for name in cases:
        try:
            run = subprocess.run([sys.executable, __file__, "--one", os.path.join(root, name)], capture_output=True,
                                 text=True, timeout=300)
            passed = run.returncode == 0
            text = (run.stdout if passed else run.stderr).strip().splitlines()
        except subprocess.TimeoutExpired:
            passed, text = False, ["no answer in 300 s"]
        failures += not passed
        print("pass" if passed else "FAIL", name, "-", text[-1][:400] if text else "", flush=True)
    print(f"zoo: {len(cases) - failures} passed, {failures} failed")
    sys.exit(failures != 0)
