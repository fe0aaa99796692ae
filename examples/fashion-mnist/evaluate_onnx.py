#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Accuracy of an .onnx model in the ONNX reference evaluator.

    evaluate_onnx.py MODEL.onnx IMAGES.idx.gz LABELS.idx.gz [ROWS]

Uses nothing of Bessemer, so that it tells whether the exported model means
what was trained. The reference evaluator is slow: a few minutes at most for
all 10,000 test images."""

import gzip
import struct
import sys

import numpy as np
from onnx.reference import ReferenceEvaluator


def read_idx(path):
    with gzip.open(path) as file:
        _, kind, rank = struct.unpack(">HBB", file.read(4))
        assert kind == 8, "expected unsigned bytes"
        shape = struct.unpack(f">{rank}I", file.read(4 * rank))
        return np.frombuffer(file.read(), np.uint8).reshape(shape)


def main():
    model, images, labels = sys.argv[1], read_idx(sys.argv[2]), read_idx(sys.argv[3])
    rows = int(sys.argv[4]) if len(sys.argv) > 4 else len(images)
    session = ReferenceEvaluator(model)
    correct, batch = 0, 500
    for start in range(0, rows, batch):
        x = images[start:min(start + batch, rows), None].astype(np.float32) / 255
        logits = session.run(None, {session.input_names[0]: x})[0]
        correct += int((logits.argmax(1) == labels[start:start + len(x)]).sum())
        done = start + len(x)
        if sys.stdout.isatty() or done == rows:
            print(f"\rONNX reference evaluator: {done} images, accuracy {correct / done:.4f}", end="", flush=True)
    print()


if __name__ == "__main__":
    main()
