# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a user sees of the compiler: levels, dumps, inspect, a loss that is not
a number."""

import json
import os

import numpy as np
import pytest


@pytest.mark.parametrize("level,text", [
    ("graph", "graph.cross_entropy"), ("kern", "kern.gemm"), ("exec", "exec.launch"), ("llvm", "define void @gemm")])
def test_emit_prints_a_level(golden, cli, tmp_path, level, text):
    out = tmp_path / "level.txt"
    result = cli("compile", golden("mlp_cross_entropy").model, "--batch", 6, "--loss", "cross_entropy",
                 f"--emit={level}", "-o", out)
    assert result.returncode == 0, result.stderr
    assert text in out.read_text()


def test_dump_dir_has_a_numbered_file_per_phase(golden, cli, tmp_path):
    result = cli("compile", golden("mlp_mse").model, "--batch", 7, "--loss", "mse", "-o", tmp_path / "m.bsm",
                 "--dump-dir", tmp_path / "dump")
    assert result.returncode == 0, result.stderr
    assert sorted(os.listdir(tmp_path / "dump")) == [
        "00-import.mlir", "01-raising.mlir", "02-training.mlir", "03-fusion.mlir", "04-memory.mlir", "05-codegen.ll"]


def test_inspect_tells_functions_memory_and_parameters(golden, cli, tmp_path):
    golden("convnet").compile(1).save(tmp_path / "m.bsm")
    result = cli("inspect", tmp_path / "m.bsm", "--params", "--commands")
    assert result.returncode == 0, result.stderr
    for text in ("train_step", "labels i64[4]", "liveness bound", "conv2.weight", "PARAMETER", "running_var",
                 "adamw.exp_avg/fc.weight"):
        assert text in result.stdout
    table = json.loads(cli("inspect", tmp_path / "m.bsm", "--json").stdout)
    assert table


def test_inspect_lists_initializers_that_became_constants(cli, tmp_path):
    import bessemer
    from onnx import helper
    from models import make_model
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Mul", ["a", "half"], ["y"])]
    model = make_model(nodes, [("x", "f", [4, 3])], [("y", "f", [4, 2])],
                       {"w": np.ones((3, 2), np.float32), "half": np.float32(0.5)})
    bessemer.compile(model, loss="mse").save(tmp_path / "m.bsm")
    lines = cli("inspect", tmp_path / "m.bsm", "--params").stdout.splitlines()
    assert [line.split()[1] for line in lines if line.split()[:1] in (["w"], ["half"])] == ["parameter", "constant"]


def test_packed_peak_is_near_the_liveness_bound():
    """On a model whose tensors are large against the alignment of 64 bytes."""
    import bessemer
    from onnx import helper
    from models import make_model
    rng = np.random.default_rng(0)
    nodes, weights, last = [], {}, "x"
    for layer, (rows, columns) in enumerate([(64, 256), (256, 192), (192, 320), (320, 10)]):
        weights[f"w{layer}"] = rng.standard_normal((rows, columns)).astype(np.float32) / 16
        nodes += [helper.make_node("MatMul", [last, f"w{layer}"], [f"m{layer}"]),
                  helper.make_node("Tanh", [f"m{layer}"], [f"t{layer}"])]
        last = f"t{layer}"
    model = make_model(nodes, [("x", "f", [128, 64])], [(last, "f", [128, 10])], weights)
    memory = bessemer.compile(model, loss="cross_entropy", optimizer="adamw").session().memory()
    assert memory["work_bound"] > 200_000
    assert memory["work"] <= 1.05 * memory["work_bound"]


def test_loss_that_is_not_finite_names_the_step(golden, cli, tmp_path):
    case = golden("mlp_mse")
    case.compile(0).save(tmp_path / "m.bsm")
    x = np.concatenate([case.data[f"x.{s}"] for s in range(5)])
    labels = np.concatenate([case.data[f"labels.{s}"] for s in range(5)])
    np.savez(tmp_path / "d.npz", x=x, labels=labels)
    # The first update throws the parameters to 1e30, so that the second loss overflows.
    result = cli("train", tmp_path / "m.bsm", "--data", tmp_path / "d.npz", "--epochs", 1, "--lr", "1e30")
    assert result.returncode == 1
    assert "not finite" in result.stderr and "step 2" in result.stderr, result.stderr
