# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights that lie in blocks for the whole program are row-major to everyone who looks at them."""

import json

import numpy as np
import onnx
import pytest
from models import make_model
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

BATCH = 6


@pytest.fixture
def weights():
    generator = np.random.default_rng(5)
    return {name: (generator.standard_normal(shape) * 0.1).astype(np.float32) for name, shape in {
        "c1.weight": (32, 16, 3, 3), "c1.bias": (32,), "c2.weight": (48, 32, 1, 3), "c3.weight": (32, 24, 3, 3),
        "fc.weight": (5, 32), "fc.bias": (5,)}.items()}


@pytest.fixture
def model(tmp_path, weights):
    """Convolutions whose weights are whole blocks (c1, c2) or not (c3, two groups of 24 inputs)."""
    node = helper.make_node
    path = tmp_path / "model.onnx"
    onnx.save(make_model(
        [node("Conv", ["x", "c1.weight", "c1.bias"], ["a"], pads=[1, 1, 1, 1]), node("Relu", ["a"], ["b"]),
         node("Conv", ["b", "c2.weight"], ["c"], pads=[0, 1, 0, 1], strides=[2, 1]), node("Relu", ["c"], ["d"]),
         node("Conv", ["d", "c3.weight"], ["e"], group=2), node("GlobalAveragePool", ["e"], ["f"]),
         node("Flatten", ["f"], ["g"]), node("Gemm", ["g", "fc.weight", "fc.bias"], ["y"], transB=1)],
        [("x", "f", ["batch", 16, 9, 8])], [("y", "f", ["batch", 5])], weights), path)
    return path


def batch(step):
    generator = np.random.default_rng(100 + step)
    return {"x": generator.standard_normal((BATCH, 16, 9, 8)).astype(np.float32),
            "labels": generator.integers(0, 5, BATCH)}


def compile_model(model, **options):
    import bessemer
    return bessemer.compile(model, loss="cross_entropy", batch=BATCH, clip_norm=0.5,
                            optimizer={"kind": "adamw", "lr": 1e-2, "weight_decay": 0.1}, **options)


def test_layout_is_chosen_for_whole_blocks(cli, model):
    result = cli("compile", model, "--emit=kern", "--loss", "cross_entropy", "--optimizer", "sgd", "--lr", "0.1",
                 "--dim", f"batch={BATCH}")
    assert result.returncode == 0, result.stderr
    laid_out = [line.split()[1] for line in result.stdout.splitlines()
                if "graph.state" in line and "OIhw16i16o" in line]
    assert sorted(laid_out) == ["@c1.weight", "@c2.weight"]


@pytest.mark.parametrize("device", ["cpu:x86-64-v3", "cpu"])
def test_states_files_and_exports_are_row_major(model, weights, tmp_path, device):
    program = compile_model(model)
    session = program.session(device=device)
    for name, value in weights.items():
        np.testing.assert_array_equal(session.state_dict()[name], value, err_msg=name)
    for step in range(3):
        session.train_step(batch(step))
    states = session.state_dict()
    session.save(tmp_path / "c")
    stored = read_safetensors(tmp_path / "c" / "state.safetensors")
    for name, value in states.items():
        np.testing.assert_array_equal(stored[name], value, err_msg=name)
    program.export(tmp_path / "c", tmp_path / "trained.onnx")
    for initializer in onnx.load(tmp_path / "trained.onnx").graph.initializer:
        if initializer.name in weights:
            np.testing.assert_array_equal(numpy_helper.to_array(initializer), states[initializer.name])
    x = batch(0)["x"]
    want = ReferenceEvaluator(str(tmp_path / "trained.onnx")).run(None, {"x": x})[0]
    np.testing.assert_allclose(next(iter(session.predict({"x": x}).values())), want, rtol=1e-4, atol=1e-5)


def test_looking_changes_nothing(model, tmp_path):
    program = compile_model(model)
    quiet, watched = program.session(), program.session()
    for step in range(4):
        loss = quiet.train_step(batch(step))["loss"]
        assert watched.train_step(batch(step))["loss"] == loss
        watched.load_state_dict(watched.state_dict())
        watched.save(tmp_path / "c")
        other = program.session()
        other.load(tmp_path / "c")
        x = {"x": batch(9)["x"]}
        np.testing.assert_array_equal(*(next(iter(s.predict(x).values())) for s in (quiet, other)))
    watched_states = watched.state_dict()
    for name, value in quiet.state_dict().items():
        np.testing.assert_array_equal(watched_states[name], value, err_msg=name)


def test_accumulation_gives_the_same_gradients(model):
    whole, parts = compile_model(model).session(), compile_model(model, accumulate=3).session()
    for step in range(2):
        loss = whole.train_step(batch(step))["loss"]
        # Sums over the batch in other orders.
        assert parts.train_step(batch(step))["loss"] == pytest.approx(loss, rel=1e-5)


def read_safetensors(path):
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + length])
    types = {"F32": np.float32, "I64": np.int64, "BOOL": np.bool_, "F64": np.float64}
    return {name: np.frombuffer(data[8 + length + entry["data_offsets"][0]:8 + length + entry["data_offsets"][1]],
                                types[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in header.items() if name != "__metadata__"}


# Convolutions that are transposed, grouped, frozen, and two with one weight but
# another stride and padding.
def test_blocks_of_every_kind_of_convolution(cli, golden):
    case = golden("blocked_weights")
    result = cli("compile", case.model, "--emit=kern", "--loss", "cross_entropy", "--optimizer", "adamw", "--lr", "0.01",
                 "--batch", "4", "--freeze", "frozen.*")
    assert result.returncode == 0, result.stderr
    laid_out = {line.split()[1].strip("@\"") for line in result.stdout.splitlines()
                if "graph.state" in line and "OIhw16i16o" in line}
    trained = {f"{name}.weight" for name in ("first", "grouped", "up", "shared")}
    moments = {f"adamw.{kind}/{name}" for kind in ("exp_avg", "exp_avg_sq") for name in trained}
    assert laid_out == trained | moments | {"frozen.weight"}


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("device", ["cpu:x86-64-v3", "cpu"])
def test_blocked_weights_train_as_in_pytorch(golden, tmp_path, parts, device):
    case = golden("blocked_weights")
    program = case.compile(0, accumulate=parts)
    session = program.session(device=device)
    before = session.state_dict()
    case.check_training(session, 0)
    states = session.state_dict()
    for name in ("frozen.weight", "frozen.bias"):
        np.testing.assert_array_equal(states[name], before[name])
    x = case.batch(0)["x"]
    # Parameters as above, through three layers.
    np.testing.assert_allclose(next(iter(session.predict({"x": x}).values())), case.data["predict.0"], rtol=1e-3,
                               atol=1e-4)
    session.save(tmp_path / "c")
    program.export(tmp_path / "c", tmp_path / "trained.onnx")
    exported = {tensor.name: numpy_helper.to_array(tensor)
                for tensor in onnx.load(tmp_path / "trained.onnx").graph.initializer}
    for name in before.keys() & exported.keys():
        np.testing.assert_array_equal(exported[name], states[name], err_msg=name)
    assert {"first.weight", "grouped.weight", "up.weight", "shared.weight", "frozen.weight"} <= exported.keys()
