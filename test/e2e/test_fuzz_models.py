# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Damaged models through the whole compiler: each compiles or gets an error
that blames the model; none crashes or hangs."""

import json
import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
BATCH = 50
# Every mutant goes through the importer in the usual suite (test/unit/Import/FuzzTest.cpp), these through it all.
USUAL = 100


@pytest.mark.parametrize("first", [pytest.param(first, marks=pytest.mark.long if first >= USUAL else ())
                                   for first in range(0, 2000, BATCH)])
def test_mutants_compile_or_are_refused(first):
    library = os.path.join(os.environ.get("BESSEMER_BUILD", "build"), "lib", "libbessemer_compiler.so")
    run = subprocess.run([sys.executable, os.path.join(HERE, "fuzz_models.py"), os.path.abspath(library),
                          str(first), str(BATCH)], capture_output=True, text=True, timeout=600)
    lines = run.stdout.splitlines()
    assert run.returncode == 0 and len(lines) == BATCH, \
        f"mutant {lines[-1] if lines else first} ended the process ({run.returncode}): {run.stderr[-2000:]}"
    outcomes = [line.split(" ", 2) for line in lines]
    for index, status, error in outcomes:
        assert status in ("0", "1", "2"), f"mutant {index}: {error}"
        assert (status == "0") == (json.loads(error) == ""), f"mutant {index}: {error}"
    # Otherwise only the parser would be tested.
    assert any(status == "0" for _, status, _ in outcomes)


@pytest.mark.long
def test_long_vectors_are_not_spelled_out(cli, tmp_path):
    """ONNX's data propagation made an object per element of a vector."""
    import resource
    from onnx import TensorProto, helper
    nodes = [helper.make_node("Shape", ["x"], ["s"], end=1),
             helper.make_node("Constant", [], ["n"], value_ints=[1 << 62]),
             helper.make_node("Reshape", ["s", "n"], ["long"], name="reshape"),
             helper.make_node("Concat", ["long", "s"], ["both"], axis=0),
             helper.make_node("Reshape", ["x", "both"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 3])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 3])])
    model = tmp_path / "model.onnx"
    model.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
                      .SerializeToString())
    limit = 8 << 30
    run = cli("compile", model, "-o", tmp_path / "model.bsm",
              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    assert run.returncode == 1 and "node 'reshape' (Reshape, opset 20): expected" in run.stderr, run.stderr
