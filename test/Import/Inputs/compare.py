# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of exported models, with ONNX's own Python package.

    compare.py initializers SOURCE EXPORTED ADDED   trained ones grew by ADDED
    compare.py inference SOURCE EXPORTED            runs, and as inference
    compare.py names EXPORTED                       names of initializers
"""

import sys

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

CONSTANTS = {"ratio", "training", "onnx::Mul_9"}


def initializers(source, exported, added):
    # Weights are those of the source plus ADDED; constants stay.
    before = {t.name: numpy_helper.to_array(t) for t in onnx.load(source).graph.initializer}
    after = {t.name: numpy_helper.to_array(t) for t in onnx.load(exported).graph.initializer}
    assert list(before) == list(after), (list(before), list(after))
    for name, value in before.items():
        wanted = value if name in CONSTANTS else value + np.float32(added)
        np.testing.assert_array_equal(after[name], wanted, err_msg=name)


def inference(source, exported):
    onnx.checker.check_model(exported, full_check=True)
    model = onnx.load(exported)
    norm = next(n for n in model.graph.node if n.op_type == "BatchNormalization")
    assert len(norm.output) == 1 and not any(a.name == "training_mode" for a in norm.attribute), norm
    assert len(next(n for n in model.graph.node if n.op_type == "Dropout").input) == 2
    kept = next(n for n in model.graph.node if n.name == "last").metadata_props
    assert [(p.key, p.value) for p in kept] == [("note", "kept")], kept
    x = np.random.default_rng(0).standard_normal((3, 2, 5, 5)).astype(np.float32)
    got, = ReferenceEvaluator(model).run(None, {"x": x})

    w, scale, bias, mean, var = (numpy_helper.to_array(t).astype(np.float64) for t in model.graph.initializer[:5])
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    conv = np.einsum("nchwij,ocij->nohw", windows, w)
    shape = (1, 3, 1, 1)
    normal = (conv - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + 1e-5)
    wanted = 0.5 * (normal * scale.reshape(shape) + bias.reshape(shape))
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)


def names(exported):
    print(*(t.name for t in onnx.load(exported).graph.initializer))


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    {"initializers": initializers, "inference": inference, "names": names}[command](*arguments)
