# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers of a model: distributions, seeds, and dropout that exporters write with them."""

import json
import math

import numpy as np
import pytest
from onnx import TensorProto, helper

import bessemer
from models import make_model

ROWS = 4000


def draw(program, seed):
    return program.session(seed=seed).predict({"x": np.zeros((ROWS, 5), np.float32)})


@pytest.fixture(scope="module")
def noise():
    nodes = [helper.make_node("RandomUniformLike", ["x"], ["uniform"], low=-1.0, high=3.0),
             helper.make_node("RandomNormalLike", ["x"], ["normal"], mean=2.0, scale=0.5),
             helper.make_node("RandomNormal", [], ["other"], shape=[ROWS, 5]),
             helper.make_node("Constant", [], ["p"], value_float=0.2),
             helper.make_node("Add", ["x", "p"], ["probability"]),
             helper.make_node("Bernoulli", ["probability"], ["flag"], dtype=TensorProto.INT64),
             helper.make_node("Cast", ["flag"], ["bernoulli"], to=TensorProto.FLOAT)]
    outputs = ["uniform", "normal", "other", "bernoulli"]
    return bessemer.compile(make_model(nodes, [("x", "f", [ROWS, 5])], [(name, "f", [ROWS, 5]) for name in outputs]))


def test_distributions(noise):
    drawn = draw(noise, 1)
    count = ROWS * 5
    # Four standard errors of the mean; the variance's is about var sqrt(2 / n).
    for name, mean, deviation in [("uniform", 1.0, 4 / math.sqrt(12)), ("normal", 2.0, 0.5), ("other", 0.0, 1.0),
                                  ("bernoulli", 0.2, 0.4)]:
        assert abs(drawn[name].mean() - mean) < 4 * deviation / math.sqrt(count), name
        assert abs(drawn[name].std() / deviation - 1) < 4 * math.sqrt(1 / count), name
    assert drawn["uniform"].min() >= -1 and drawn["uniform"].max() < 3
    # Kolmogorov and Smirnov's distance to the normal distribution, 0.1 % level: 1.95 / sqrt(n).
    ordered = np.sort(drawn["other"].ravel().astype(np.float64))
    expected = np.array([0.5 * (1 + math.erf(v / math.sqrt(2))) for v in ordered])
    assert np.abs(expected - (np.arange(count) + 0.5) / count).max() < 1.95 / math.sqrt(count)
    assert abs(np.corrcoef(drawn["normal"].ravel(), drawn["other"].ravel())[0, 1]) < 4 / math.sqrt(count)


def test_seeds(noise):
    first, same, other = draw(noise, 1), draw(noise, 1), draw(noise, 2)
    for name in first:
        np.testing.assert_array_equal(first[name], same[name])
        assert np.any(first[name] != other[name])


@pytest.fixture(scope="module")
def jitter():
    """y = x + u with numbers u of each row, in batches of 8 rows; the loss is the mean of y^2 against labels 0."""
    nodes = [helper.make_node("RandomUniformLike", ["x"], ["u"]), helper.make_node("Mul", ["u", "w"], ["v"]),
             helper.make_node("Add", ["x", "v"], ["y"])]
    return bessemer.compile(make_model(nodes, [("x", "f", ["batch", 4])], [("y", "f", ["batch", 4])],
                                       {"w": np.ones(4, np.float32)}), loss="mse", batch=8)


def test_every_batch_of_rows_draws_its_own(jitter, cli, tmp_path):
    x = np.zeros((20, 4), np.float32)
    drawn = jitter.session(seed=3).predict({"x": x})["y"]
    assert len(np.unique(drawn)) == drawn.size
    # The same seed draws the same, the first batch what it draws alone; other seeds and steps draw others.
    again = jitter.session(seed=3)
    np.testing.assert_array_equal(again.predict({"x": x})["y"], drawn)
    np.testing.assert_array_equal(again.predict({"x": x[:8]})["y"], drawn[:8])
    again.step = 1
    assert not np.intersect1d(again.predict({"x": x})["y"], drawn).size
    assert not np.intersect1d(jitter.session(seed=4).predict({"x": x})["y"], drawn).size
    # The mean of all rows' squares, each with its own numbers.
    found = jitter.session(seed=3).evaluate({"x": x, "labels": x})
    assert found["loss"] == pytest.approx(np.mean(drawn.astype(np.float64) ** 2), rel=1e-6)

    jitter.save(tmp_path / "jitter.bsm")
    np.save(tmp_path / "x.npy", x)
    done = cli("run", tmp_path / "jitter.bsm", "--input", f"x={tmp_path}/x.npy", "--seed", 3, "--output-dir", tmp_path)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), drawn)


def test_evaluation_of_files_draws_for_every_batch(jitter, cli, tmp_path):
    jitter.save(tmp_path / "jitter.bsm")
    x = np.zeros((20, 4), np.float32)
    np.savez(tmp_path / "data.npz", x=x, labels=x)
    done = cli("eval", tmp_path / "jitter.bsm", "--data", tmp_path / "data.npz", "--json")
    assert done.returncode == 0, done.stderr
    expected = jitter.session(seed=0).evaluate({"x": x, "labels": x})["loss"]
    assert json.loads(done.stdout)["loss"] == pytest.approx(expected, rel=1e-6)


def stochastic_depth(kept):
    """x + w * mask / kept, a mask per row: torchvision's StochasticDepth as PyTorch exports it."""
    nodes = [helper.make_node("Constant", [], ["zeros"], value=helper.make_tensor("z", 1, [ROWS, 1], [0.0] * ROWS)),
             helper.make_node("RandomUniformLike", ["zeros"], ["u"], low=0.0, high=1.0),
             helper.make_node("Constant", [], ["p"], value_float=kept),
             helper.make_node("Less", ["u", "p"], ["less"]),
             helper.make_node("CastLike", ["less", "zeros"], ["mask"]),
             helper.make_node("Div", ["mask", "p"], ["scaled"]),
             helper.make_node("Mul", ["w", "scaled"], ["branch"]),
             helper.make_node("Add", ["x", "branch"], ["y"]),
             helper.make_node("ReduceMean", ["y"], ["loss"], keepdims=0)]
    return make_model(nodes, [("x", "f", [ROWS, 5])], [("loss", "f", []), ("y", "f", [ROWS, 5])],
                      {"w": np.ones((1, 5), np.float32)})


@pytest.mark.parametrize("kept", [0.8, 1.0])
def test_stochastic_depth(kept):
    program = bessemer.compile(stochastic_depth(kept), loss="output:loss", train=["w"],
                               optimizer={"kind": "sgd", "lr": 1.0})
    session = program.session(seed=3)
    x = np.zeros((ROWS, 5), np.float32)
    # Inference takes the branch whole.
    np.testing.assert_array_equal(session.predict({"x": x})["y"], np.ones((ROWS, 5)))
    assert session.evaluate({"x": x})["loss"] == 1
    # The loss is the share of rows kept over its expectation, and dloss/dw a fifth of it.
    loss = session.train_step({"x": x})["loss"]
    assert abs(loss - 1) < 4 * math.sqrt((1 - kept) / kept / ROWS) + 1e-6
    assert (loss != 1) == (kept != 1)
    np.testing.assert_allclose(session.state_dict()["w"], 1 - loss / 5, rtol=1e-5)
    assert session.train_step({"x": x})["loss"] != session.train_step({"x": x})["loss"] or kept == 1
