#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes what the fuzz harnesses start from: make_seeds.py FOLDER

A folder per harness. Artifacts are compiled from the golden models, so this runs with an ordinary build's Python package;
the other seeds need numpy only."""

import glob
import gzip
import io
import json
import os
import re
import shutil
import struct
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDENS = os.path.join(os.path.dirname(HERE), "e2e", "goldens")
IMPORT_TESTS = os.path.join(os.path.dirname(HERE), "Import")
# Of the golden models, the small ones.
MODELS = ("mlp_mse", "mlp_cross_entropy", "nll")


def writer(folder, harness):
    os.makedirs(os.path.join(folder, harness), exist_ok=True)

    def write(name, content):
        with open(os.path.join(folder, harness, name), "wb") as file:
            file.write(content)
    return write


def npy(array, version=(1, 0)):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=version)
    return file.getvalue()


def npz(save, **arrays):
    file = io.BytesIO()
    save(file, **arrays)
    return file.getvalue()


def idx(array):
    codes = {"uint8": 8, "int8": 9, "int16": 11, "int32": 12, "float32": 13, "float64": 14}
    head = struct.pack(">BBBB", 0, 0, codes[array.dtype.name], array.ndim) + struct.pack(f">{array.ndim}I", *array.shape)
    return head + array.astype(array.dtype.newbyteorder(">")).tobytes()


def data_seeds(folder):
    write = writer(folder, "data")
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    write("c.npy", npy(x))
    write("fortran.npy", npy(np.asfortranarray(x)))
    write("big.npy", npy(x.astype(">f8")))
    write("v2.npy", npy(x.astype(np.int64), (2, 0)))
    write("bool.npy", npy(x > 5))
    write("stored.npz", npz(np.savez, x=x, labels=np.arange(3)))
    write("deflated.npz", npz(np.savez_compressed, x=x, labels=np.arange(3)))
    for kind in ("uint8", "int16", "float32"):
        write(f"{kind}.idx", idx(x.astype(kind)))
    write("npy.gz", gzip.compress(npy(x), mtime=0))
    write("idx.gz", gzip.compress(idx(x.astype("uint8")), mtime=0))


def checkpoint_seeds(folder):
    write = writer(folder, "checkpoint")
    trainer = {"format": 1, "step": 7, "epoch": 1, "position": 64, "seed": 3, "data_rows": 1000,
               "settings": {"lr": "0.1"}, "best": 0.5, "evaluated_step": 5, "target": "x86-64-v3", "library": "",
               "threads": 2, "artifact": "0" * 16, "states": "0", "hash": "0" * 16}
    header = json.dumps({"__metadata__": {"format": "bessemer", "hash64/w": "0" * 16},
                         "w": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
                         "n": {"dtype": "I64", "shape": [], "data_offsets": [16, 24]}}).encode()
    tensors = struct.pack("<Q", len(header)) + header + bytes(24)
    write("both", json.dumps(trainer).encode() + b"\0" + tensors)
    write("state", b"\0" + tensors)
    write("empty", b"\0" + struct.pack("<Q", 2) + b"{}")


def text_seeds(folder):
    recipe, options = writer(folder, "recipe"), writer(folder, "options")
    recipe("flags.yaml", b"loss: cross_entropy\nbatch: 32\nlr: 1e-3\nverify-numerics: true\n")
    recipe("maps.yaml", b"optimizer: {kind: adamw, lr: 0.001, weight_decay: 0.1}\ndims: {batch: 4}\n"
                        b"train: ['*.weight', \"fc?\"]\ndata: {x: a.npy, labels: b.npy}\n")
    recipe("train.yaml", b"epochs: 3\nschedule: cosine\nwarmup_steps: 10\nmean: [0.1, 0.2]\nresume: true\n")
    options("all.json", json.dumps({
        "model": "m.onnx", "loss": "cross_entropy", "optimizer": {"kind": "adamw", "lr": 0.1, "betas": [0.9, 0.99]},
        "batch": 8, "dims": {"sequence": 16}, "train": ["*"], "freeze": ["fc1.*"], "targets": ["x86-64-v3"],
        "clip_norm": 1.0, "label_smoothing": 0.1, "ignore_index": -100, "precision": "f32"}).encode())
    options("least.json", b'{"model": "m.onnx"}')


def model_seeds(folder):
    import bessemer
    onnx, artifact = writer(folder, "onnx"), writer(folder, "artifact")
    for name in MODELS:
        path = os.path.join(GOLDENS, name, "model.onnx")
        shutil.copy(path, os.path.join(folder, "onnx", name + ".onnx"))
        with open(os.path.join(GOLDENS, name, "case.json")) as file:
            case = json.load(file)
        program = bessemer.compile(path, loss=case["loss"], batch=2, target="cpu:x86-64-v3",
                                   optimizer={"kind": "adamw", "lr": 0.1})
        saved = os.path.join(folder, "artifact", name + ".bsm")
        program.save(saved)


def text_model_seeds(folder):
    """The models of the importer's tests, valid and not."""
    import onnx
    write = writer(folder, "onnx")
    for path in sorted(glob.glob(os.path.join(IMPORT_TESTS, "*.onnxtxt"))):
        with open(path) as file:
            parts = re.split(r"^#--- .*$", file.read(), flags=re.MULTILINE)
        for i, part in enumerate(parts):
            try:
                model = onnx.parser.parse_model(part)
            except onnx.parser.ParseError:
                continue  # the lines in front of a test's parts
            write(f"{os.path.basename(path)}.{i}", model.SerializeToString())


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: make_seeds.py FOLDER")
    folder = sys.argv[1]
    data_seeds(folder)
    checkpoint_seeds(folder)
    text_seeds(folder)
    text_model_seeds(folder)
    model_seeds(folder)


if __name__ == "__main__":
    main()
