# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One side of a comparison, a process of its own: `worker.py SIDE MODEL THREADS
BATCH.npz [ARTIFACT]`, SIDE being bessemer, eager, compile or jax.

Runs WARMUP steps and prints {"losses": [...], "first_step": seconds}; then for
every line "N" on its input runs N more and prints the seconds; at the end of
the input it prints {"peak": bytes}."""

import json
import os
import sys
import time

WARMUP = 10


def bessemer_step(model, threads, inputs, labels, artifact):
    import bessemer
    session = bessemer.load(artifact).session(threads=threads)
    feeds = {**inputs, "labels": labels}
    return lambda: session.train_step(feeds)["loss"]


def torch_step(model, threads, inputs, labels, compiled):
    import models
    import torch
    from adamw import ADAMW
    torch.set_num_threads(threads)
    network = models.make(model)
    optimizer = torch.optim.AdamW(network.parameters(), fused=True, **ADAMW)
    inputs, labels = [torch.from_numpy(x) for x in inputs.values()], torch.from_numpy(labels)

    def loss_of(*x):
        return torch.nn.functional.cross_entropy(network(*x), labels)
    forward = torch.compile(loss_of) if compiled else loss_of

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = forward(*inputs)
        loss.backward()
        optimizer.step()
        return loss
    return step


def jax_step(model, threads, inputs, labels):
    # XLA has no flag for it: its pool is as large as the cores it may use.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    import jax_models
    from adamw import ADAMW
    return jax_models.train_step(model, list(inputs.values()), labels, **ADAMW)


def peak_memory():
    """Of this process alone: ru_maxrss would start from the parent's."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


def main():
    side, model, threads, batch = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    import numpy as np
    arrays = dict(np.load(batch))
    labels = arrays.pop("labels")
    if side == "bessemer":
        step = bessemer_step(model, threads, arrays, labels, sys.argv[5])
    elif side == "jax":
        step = jax_step(model, threads, arrays, labels)
    else:
        step = torch_step(model, threads, arrays, labels, side == "compile")
    start = time.perf_counter()
    losses = [float(step())]
    first = time.perf_counter() - start
    losses += [float(step()) for _ in range(WARMUP - 1)]
    print(json.dumps({"losses": losses, "first_step": first}), flush=True)
    for line in sys.stdin:
        start = time.perf_counter()
        for _ in range(int(line)):
            step()
        print(time.perf_counter() - start, flush=True)
    print(json.dumps({"peak": peak_memory()}), flush=True)


if __name__ == "__main__":
    main()
