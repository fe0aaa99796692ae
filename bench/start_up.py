#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time of `bessemer run` of a compiled MLP from start to exit, and the part of
it that is the computation (the median of warm calls in one process).

    bench/start_up.py [--runs 30]      needs torch and onnxscript, as train_step.py
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--bessemer", default=os.path.join(HERE, "..", "build", "bin", "bessemer"))
    options = parser.parse_args()
    import bessemer
    import models
    import numpy as np
    with tempfile.TemporaryDirectory() as folder:
        model, artifact, x = (os.path.join(folder, name) for name in ("m.onnx", "m.bsm", "x.npy"))
        models.export("mlp", model)
        program = bessemer.compile(model, loss="cross_entropy", optimizer="adamw")
        program.save(artifact)
        batch = models.batch("mlp")[0]["x"].numpy()
        np.save(x, batch)
        session = program.session()
        warm = []
        for _ in range(50):
            start = time.perf_counter()
            session.predict({"x": batch})
            warm.append(time.perf_counter() - start)
        whole = []
        for _ in range(options.runs):
            start = time.perf_counter()
            subprocess.run([options.bessemer, "run", artifact, "--function", "predict", "--input", f"x={x}",
                            "--output-dir", folder], check=True, capture_output=True)
            whole.append(time.perf_counter() - start)
    print(f"bessemer run: {statistics.median(whole) * 1e3:.1f} ms (fastest {min(whole) * 1e3:.1f}), "
          f"of it computation {statistics.median(warm) * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
