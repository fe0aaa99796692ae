# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dropout: which elements are kept is Philox4x32-10 of (seed, step, element),
whatever the number of threads."""

import numpy as np
import pytest
from onnx import helper

import bessemer
from models import make_model

ROWS, COLUMNS, RATIO = 250, 80, 0.3


def philox(key, counter):
    """First output word of Philox4x32-10 (Salmon et al., SC'11), vectorised
    over counters; written from the paper, checked below with its vectors."""
    c = [np.asarray(v, np.uint64) for v in counter]
    k0, k1 = (np.uint64(k) for k in key)
    mask = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        p0, p1 = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ k0, p1 & mask, (p0 >> np.uint64(32)) ^ c[3] ^ k1, p0 & mask]
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & mask, (k1 + np.uint64(0xBB67AE85)) & mask
    return c


def test_philox_known_answers():
    # Random123's kat_vectors: all zeros, all ones, digits of pi.
    zeros = philox((0, 0), (0, 0, 0, 0))
    assert [int(v) for v in zeros] == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    ones = 0xFFFFFFFF
    assert [int(v) for v in philox((ones, ones), (ones,) * 4)] == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
    pi = philox((0xA4093822, 0x299F31D0), (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344))
    assert [int(v) for v in pi] == [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]


def model():
    """loss = mean(dropout(x w)), a scalar w."""
    nodes = [helper.make_node("Mul", ["x", "w"], ["a"]),
             helper.make_node("Dropout", ["a", "ratio", "mode"], ["d"]),
             helper.make_node("ReduceMean", ["d"], ["loss"], keepdims=0)]
    return make_model(nodes, [("x", "f", [ROWS, COLUMNS])], [("loss", "f", []), ("d", "f", [ROWS, COLUMNS])],
                      {"w": np.ones(1, np.float32), "ratio": np.float32(RATIO), "mode": np.bool_(True)})


@pytest.fixture(scope="module")
def program():
    return bessemer.compile(model(), loss="output:loss", optimizer={"kind": "sgd", "lr": 0.0}, train=["w"])


def losses(program, threads, seed, steps=3):
    session = program.session(threads=threads, seed=seed)
    x = np.ones((ROWS, COLUMNS), np.float32)
    return [session.train_step({"x": x})["loss"] for _ in range(steps)]


@pytest.mark.parametrize("seed", [0, 7, 2**40 + 5])
def test_kept_elements_are_philox_numbers(program, seed):
    index = np.arange(ROWS * COLUMNS, dtype=np.uint64)
    for step, loss in enumerate(losses(program, 2, seed)):
        word = philox((seed & 0xFFFFFFFF, seed >> 32), (index, 0, step, 0))[0]  # id 0: the first dropout
        kept = (word >> np.uint64(8)) * 2.0**-24 >= RATIO
        # The loss counts the kept elements; float32 sums of 20,000 keep the count.
        assert abs(loss * (1 - RATIO) * kept.size - kept.sum()) < 0.5
        # 5 standard deviations of the mean of a Bernoulli variable.
        assert abs(kept.mean() - (1 - RATIO)) < 5 * np.sqrt(RATIO * (1 - RATIO) / kept.size)


def test_threads_do_not_matter_but_steps_and_seeds_do(program):
    one, two, other = losses(program, 1, 3), losses(program, 2, 3), losses(program, 2, 4)
    assert one == two
    assert len(set(one)) == 3 and one != other


def test_dropout_is_off_in_predict(program):
    x = np.random.default_rng(0).random((ROWS, COLUMNS), np.float32)
    np.testing.assert_array_equal(program.session().predict({"x": x})["d"], x)
