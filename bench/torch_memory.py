# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Peak live bytes of a PyTorch training step.

    bench/torch_memory.py MODEL
"""

import json
import os
import subprocess
import sys
import tempfile


def peak_of(model):
    """In a process of its own: the profiler's total would hold what is left of
    other models."""
    return float(subprocess.run([sys.executable, __file__, model], check=True, capture_output=True,
                                text=True).stdout)


def peak_in(profile):
    """Most bytes live at once in a profile with profile_memory=True."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profile.export_chrome_trace(path)
        with open(path) as file:
            events = json.load(file)["traceEvents"]
    return max(event["args"]["Total Allocated"] for event in events if event.get("name") == "[memory]")


def measure(model):
    """What PyTorch's profiler reports over three steps: parameters, gradients,
    moments and activations included, batch excluded."""
    import models
    import torch
    from adamw import ADAMW
    inputs, labels = models.batch(model)
    with torch.profiler.profile(profile_memory=True, activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        network = models.make(model)
        optimizer = torch.optim.AdamW(network.parameters(), fused=True, **ADAMW)
        for _ in range(3):
            optimizer.zero_grad(set_to_none=True)
            torch.nn.functional.cross_entropy(network(*inputs.values()), labels).backward()
            optimizer.step()
    return peak_in(profile)


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    print(measure(sys.argv[1]))
