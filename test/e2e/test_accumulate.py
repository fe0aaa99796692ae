# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradient accumulation: a batch computed in parts is the batch."""

import numpy as np
import pytest
from onnx import helper

import bessemer
from models import make_model

# Models without batch norm: PyTorch's results of the whole batch hold. Of six
# rows the ignored ones are 1 and 4, so that with two parts each has one, with
# three the last has none.
CASES = [("mlp_cross_entropy", 3, 2), ("mlp_cross_entropy", 3, 6), ("mlp_ignored_smoothed", 1, 2),
         ("mlp_ignored_smoothed", 0, 3), ("mlp_clipped", 1, 3), ("nll", 0, 3)]


@pytest.mark.parametrize("name,optimizer,parts", CASES)
def test_parts_make_the_whole(golden, name, optimizer, parts):
    case = golden(name)
    session = case.compile(optimizer, accumulate=parts).session()
    case.check_training(session, optimizer)


def dropout_model():
    """loss = mean(dropout(x w)^2) over any number of rows, a weight per column."""
    nodes = [helper.make_node("Mul", ["x", "w"], ["a"]),
             helper.make_node("Dropout", ["a", "ratio", "mode"], ["d"]),
             helper.make_node("Mul", ["d", "d"], ["s"]),
             helper.make_node("ReduceMean", ["s"], ["loss"], keepdims=0)]
    return make_model(nodes, [("x", "f", ["batch", 16])], [("loss", "f", [])],
                      {"w": np.linspace(1, 2, 16, dtype=np.float32), "ratio": np.float32(0.3),
                       "mode": np.bool_(True)})


def check_random_steps(model, columns, parts, rate):
    """Three steps of 24 rows, whole and in parts, draw the same numbers, and each step others."""
    x = np.random.default_rng(0).random((24, columns), np.float32)
    results = []
    for count in (1, parts):
        program = bessemer.compile(model, loss="output:loss", train=["w"], batch=24, accumulate=count,
                                   optimizer={"kind": "sgd", "lr": rate})
        session = program.session(seed=5)
        losses = [session.train_step({"x": x})["loss"] for _ in range(3)]
        results.append((losses, session.state_dict()["w"]))
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-5)
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-5)
    assert len(set(results[0][0])) == 3


def test_random_numbers_are_those_of_the_batch():
    check_random_steps(dropout_model(), 16, 4, 0.1)


def noise_model():
    """loss = mean(((x + u) (w + v))^2): u for every row, v for the weight."""
    nodes = [helper.make_node("RandomUniformLike", ["x"], ["u"]), helper.make_node("Add", ["x", "u"], ["a"]),
             helper.make_node("RandomNormal", [], ["v"], shape=[6]), helper.make_node("Add", ["w", "v"], ["b"]),
             helper.make_node("Mul", ["a", "b"], ["c"]), helper.make_node("Mul", ["c", "c"], ["s"]),
             helper.make_node("ReduceMean", ["s"], ["loss"], keepdims=0)]
    return make_model(nodes, [("x", "f", ["batch", 6])], [("loss", "f", [])],
                      {"w": np.linspace(1, 2, 6, dtype=np.float32)})


@pytest.mark.parametrize("parts", [2, 4])
def test_random_numbers_of_no_row_are_drawn_once(parts):
    """Parts of 12 and of 6 rows, which are as many as the weight has columns."""
    check_random_steps(noise_model(), 6, parts, 0.01)


def test_random_numbers_in_parts_of_one_row():
    """Those that are drawn for values of the batch: each part has its own."""
    check_random_steps(dropout_model(), 16, 24, 0.1)
    check_random_steps(noise_model(), 6, 24, 0.01)


@pytest.mark.parametrize("shape", [[1, 6], [6]])
def test_noise_that_broadcasts_along_the_batch(shape):
    """loss = mean((v x w)^2): where v has a dimension of one, parts of one row do not tell that it is the same for all rows."""
    nodes = [helper.make_node("Mul", ["x", "w"], ["a"]), helper.make_node("RandomNormal", [], ["v"], name="noise", shape=shape),
             helper.make_node("Mul", ["a", "v"], ["b"]), helper.make_node("Mul", ["b", "b"], ["s"]),
             helper.make_node("ReduceMean", ["s"], ["loss"], keepdims=0)]
    model = make_model(nodes, [("x", "f", ["batch", 6])], [("loss", "f", [])], {"w": np.linspace(1, 2, 6, dtype=np.float32)})
    check_random_steps(model, 6, 12, 0.01)
    if shape == [6]:
        return check_random_steps(model, 6, 24, 0.01)
    with pytest.raises(bessemer.Error, match=r"expected micro-batches of at least 2 rows, got 1: .* of shape \[1, 6\]") as error:
        bessemer.compile(model, loss="output:loss", train=["w"], batch=24, accumulate=24)
    assert "noise" in str(error.value) and len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("name,optimizer,parts", CASES[:2])
def test_numerics_are_verified(golden, name, optimizer, parts):
    case = golden(name)
    case.check_training(case.compile(optimizer, accumulate=parts, verify_numerics=True).session(), optimizer)


def test_memory_falls_and_threads_do_not_matter(golden):
    case = golden("convnet_accumulated")
    work, finals = {}, []
    for parts in (1, 3):
        program = case.compile(0, accumulate=parts)
        session = program.session(threads=1)
        work[parts] = session.memory()["work"]
    # Activations are a third; parameters' gradients are not.
    assert work[3] < 0.6 * work[1]
    program = bessemer.compile(dropout_model(), loss="output:loss", train=["w"], batch=24, accumulate=3)
    for threads in (1, 2):
        session = program.session(threads=threads)
        x = np.random.default_rng(0).random((24, 16), np.float32)
        finals.append((session.train_step({"x": x})["loss"], session.state_dict()["w"].tobytes()))
    assert finals[0] == finals[1]


@pytest.mark.parametrize("arguments,message", [
    (dict(batch=7, accumulate=2), "batch 7 does not split into 2 equal micro-batches"),
    (dict(batch=6, accumulate=0), "accumulate"),
])
def test_wrong_parts_are_refused(golden, arguments, message):
    case = golden("mlp_cross_entropy")
    with pytest.raises(bessemer.Error, match=message):
        bessemer.compile(case.model, loss="cross_entropy", **arguments)


def test_only_the_batch_is_split():
    """An input that has as many rows as a micro-batch, but not the batch."""
    nodes = [helper.make_node("MatMul", ["x", "table"], ["a"]), helper.make_node("Mul", ["a", "w"], ["b"]),
             helper.make_node("Mul", ["b", "b"], ["s"]), helper.make_node("ReduceMean", ["s"], ["loss"], keepdims=0)]
    model = make_model(nodes, [("x", "f", ["batch", 4]), ("table", "f", [4, 3])], [("loss", "f", [])],
                       {"w": np.array([1, 2, 3], np.float32)})
    rng = np.random.default_rng(0)
    feed = {"x": rng.random((8, 4), np.float32), "table": rng.random((4, 3), np.float32)}
    results = []
    for parts in (1, 2):
        session = bessemer.compile(model, loss="output:loss", train=["w"], batch=8, accumulate=parts,
                                   optimizer={"kind": "sgd", "lr": 0.1}).session()
        results.append((session.train_step(feed)["loss"], session.state_dict()["w"]))
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-6)
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-6)


def recurrent_model(*sizes):
    """The mean of the last state of an LSTM over dimension 0."""
    shape = [*sizes, 3]
    nodes = [helper.make_node("LSTM", ["x", "w", "r"], ["", "h"], hidden_size=2),
             helper.make_node("ReduceMean", ["h"], ["loss"], keepdims=0)]
    rng = np.random.default_rng(0)
    return make_model(nodes, [("x", "f", shape)], [("loss", "f", [])],
                      {"w": rng.random((1, 8, 3), np.float32), "r": rng.random((1, 8, 2), np.float32)})


@pytest.mark.parametrize("sizes,dims,message", [
    (["time", "batch"], {"time": 4, "batch": 4},
     "the batch 'batch' is dimension 1 of input 'x'; accumulation splits dimension 0 only"),
    (["T", "B"], {"T": 4, "B": 2}, "the model iterates over dimension 0 of input \"x\""),
    ([4, 4], None, "the model iterates over dimension 0 of input \"x\""),
])
def test_time_is_no_batch(sizes, dims, message):
    with pytest.raises(bessemer.Error, match=message):
        bessemer.compile(recurrent_model(*sizes), loss="output:loss", train=["w"], dims=dims, accumulate=2)
