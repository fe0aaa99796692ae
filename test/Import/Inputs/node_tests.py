# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX's own node tests through the importer and the reference evaluator.

    node_tests.py FOLDER computed|constant [--record]

computed: the data is known when running; constant: all is known when importing.
Fails when a test that imports gives another result than ONNX says, or when
fewer tests pass than is recorded here. Prints both numbers."""

import os
import subprocess
import sys
import warnings

import numpy as np
import onnx
from onnx import numpy_helper

# The tests that pass; those of an op that is added to the tables go here.
PASSING = {mode: os.path.join(os.path.dirname(__file__), f"node_tests_passing.{mode}.txt")
           for mode in ("computed", "constant")}

# Not what ONNX says, on purpose: train mode is the compiler's decision, and so a
# Dropout is one whether its training_mode is set or not. Random numbers are ours.
# The expected inverse transforms hold rounding errors of 2e-6 where the result is 0.
DIFFERENT = {"test_dropout_default", "test_dropout_default_old", "test_dropout_random_old",
             "test_dft_inverse", "test_dft_inverse_opset19"} | {
    f"test_bernoulli{kind}{form}" for kind in ("", "_double", "_seed") for form in ("", "_expanded")}

TYPES = {np.dtype(t) for t in ("float32", "float64", "int64", "int32", "int8", "bool")}


def collect():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.seterr(all="ignore")
        from onnx.backend.test.case.node import collect_testcases
        return collect_testcases(None)


def with_constants(model, inputs):
    """Integer inputs are axes and shapes: known, as in real models. Shapes are
    those of the data."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    remaining, kept = [], []
    for info, value in zip(list(model.graph.input), inputs):
        if value.dtype == np.int64 and value.ndim <= 1 and len(inputs) > 1 or info.name in ("min", "max", "ratio", "t", "r"):
            model.graph.initializer.append(numpy_helper.from_array(value, info.name))
            continue
        info.type.tensor_type.shape.Clear()
        for size in value.shape:
            info.type.tensor_type.shape.dim.add().dim_value = size
        remaining.append(info)
        kept.append(value)
    del model.graph.input[:]
    model.graph.input.extend(remaining)
    return model, kept


def all_constant(model, inputs):
    """Every input is a Constant: what can be folded is."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    constants = [onnx.helper.make_node("Constant", [], [info.name], value=numpy_helper.from_array(value, info.name))
                 for info, value in zip(model.graph.input, inputs)]
    nodes = constants + list(model.graph.node)
    del model.graph.input[:], model.graph.node[:]
    model.graph.node.extend(nodes)
    return model, []


def main():
    folder = sys.argv[1]
    expected_file = PASSING[sys.argv[2]]
    transform = all_constant if sys.argv[2] == "constant" else with_constants
    cases = {}
    for case in collect():
        if case.model is None or not case.data_sets or case.model.graph.node[0].domain not in ("", "ai.onnx"):
            continue
        inputs, outputs = case.data_sets[0]
        if any(not isinstance(v, np.ndarray) or v.dtype not in TYPES for v in [*inputs, *outputs]):
            continue
        if any(i.name == "" for i in case.model.graph.input) or len(inputs) != len(case.model.graph.input):
            continue
        path = os.path.join(folder, case.name)
        os.makedirs(path)
        model, inputs = transform(case.model, inputs)
        onnx.save_model(model, os.path.join(path, "model.onnx"))
        for i, value in enumerate(inputs):
            np.ascontiguousarray(value).tofile(os.path.join(path, f"in{i}.bin"))
        cases[path] = (case, outputs)
    subprocess.run(["bessemer-evaluate"], input="".join(path + "\n" for path in cases), text=True, check=True)

    passed, wrong, refused = [], [], []
    for path, (case, outputs) in cases.items():
        error = os.path.join(path, "error.txt")
        if os.path.exists(error):
            refused.append(f"{case.name}: {open(error).read().splitlines()[0]}")
            continue
        try:
            for i, wanted in enumerate(outputs):
                got = np.fromfile(os.path.join(path, f"out{i}.bin"), wanted.dtype).reshape(wanted.shape)
                np.testing.assert_allclose(got, wanted, rtol=case.rtol, atol=case.atol)
            passed.append(case.name)
        except (AssertionError, ValueError) as e:
            if case.name not in DIFFERENT:
                wrong.append(f"{case.name}: {' '.join(str(e).split())[:200]}")
    with open(os.path.join(folder, "refused.txt"), "w") as file:
        print(*refused, sep="\n", file=file)
    if "--record" in sys.argv:
        with open(expected_file, "w") as file:
            print(*sorted(passed), sep="\n", file=file)
    expected = set(open(expected_file).read().split()) if os.path.exists(expected_file) else set()
    missing = sorted(expected - set(passed))
    print(f"{len(passed)} pass, {len(wrong)} wrong, {len(refused)} cannot be imported")
    for line in [*wrong, *(f"{name}: no longer passes" for name in missing)]:
        print(line)
    sys.exit(bool(wrong or missing))


if __name__ == "__main__":
    main()
