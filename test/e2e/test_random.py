# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers of a model: distributions, seeds, and dropout that exporters write with them."""

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
