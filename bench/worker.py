# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One side of a comparison, a process of its own: prints "ready", then for
every line "N" on its input runs N training steps and prints the seconds."""

import sys
import time


def bessemer_step(name, artifact, threads):
    import bessemer
    import numpy as np
    session = bessemer.load(artifact).session(threads=threads)
    feeds = dict(np.load(artifact + ".npz"))
    return lambda: session.train_step(feeds)


def torch_step(name, threads):
    import models
    import torch
    torch.set_num_threads(threads)
    model = models.make(name)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True, **models.ADAMW)
    x, labels = models.batch(name)

    def step():
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(model(x), labels).backward()
        optimizer.step()
    return step


def main():
    side, name, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    step = bessemer_step(name, sys.argv[4], threads) if side == "bessemer" else torch_step(name, threads)
    for _ in range(10):
        step()
    print("ready", flush=True)
    for line in sys.stdin:
        start = time.perf_counter()
        for _ in range(int(line)):
            step()
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main()
