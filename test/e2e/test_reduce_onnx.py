# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/reduce_onnx.py leaves the nodes that an error is about."""

import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import helper

from models import make_model

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def reduce_model(model, folder, *command):
    onnx.save(model, folder / "m.onnx")
    return subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "reduce_onnx.py"), folder / "m.onnx", "-o",
                           folder / "small.onnx", "--", *map(str, command)], capture_output=True, text=True, timeout=300)


def deep_model():
    """Twelve layers, and a determinant in the middle, which is not supported."""
    nodes, weights, last = [], {}, "x"
    for i in range(12):
        weights[f"w{i}"] = np.ones((4, 4), np.float32)
        nodes += [helper.make_node("MatMul", [last, f"w{i}"], [f"a{i}"]), helper.make_node("Relu", [f"a{i}"], [f"h{i}"])]
        last = f"h{i}"
    nodes.insert(11, helper.make_node("Det", ["h4"], ["d"], name="culprit"))
    return make_model(nodes, [("x", "f", [4, 4])], [(last, "f", [4, 4]), ("d", "f", [])], weights)


def test_what_is_left_is_the_op_that_is_refused(tmp_path):
    program = os.environ.get("BESSEMER_BIN", "build/bin/bessemer")
    script = tmp_path / "test.sh"
    script.write_text(f'#!/bin/sh\n{program} compile "$1" --emit=graph 2>&1 | grep -q "Det.*unsupported op"\n')
    script.chmod(0o755)
    result = reduce_model(deep_model(), tmp_path, script)
    assert result.returncode == 0, result.stderr
    small = onnx.load(tmp_path / "small.onnx")
    onnx.checker.check_model(small)
    assert [node.op_type for node in small.graph.node] == ["Det"]
    assert not small.graph.initializer and len(small.graph.input) == 1


def test_a_model_that_is_not_interesting(tmp_path):
    result = reduce_model(deep_model(), tmp_path, "false")
    assert result.returncode == 1
    assert result.stderr.strip().endswith("is not interesting: the command does not exit with 0")
