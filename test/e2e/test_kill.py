# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The longer suite (scripts/test.sh --long): a training run killed at random
moments and resumed gives exactly the uninterrupted result; every shape in a
sweep trains as PyTorch's formulas say."""

import os

import numpy as np
import pytest

from interrupted import killed_and_resumed, seconds_per_step, state_of, train

pytestmark = pytest.mark.long


@pytest.mark.parametrize("every", [1, 25], ids=["writing", "training"])
def test_killed_runs_resume_to_the_same_bits(golden, tmp_path, every):
    """With a checkpoint after each step most kills hit the writing of one."""
    golden("mlp_cross_entropy").compile(3).save(tmp_path / "m.bsm")
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "d.npz", x=rng.standard_normal((600, 3, 4), np.float32), labels=rng.integers(0, 5, 600))
    command = ["train", tmp_path / "m.bsm", "--data", tmp_path / "d.npz", "--seed", 5, "--schedule", "cosine",
               "--threads", 1, "--checkpoint-every", every]
    # The runs that are killed together take half of the uninterrupted one, unless
    # the machine had other work when the pace was measured.
    kills, longest = 30, 0.25
    pace = seconds_per_step(command, tmp_path / "pace", 50 * every)
    for attempt in range(3):
        steps = ["--steps", int(kills * longest / pace) << attempt]
        killed, whole = tmp_path / f"killed-{attempt}", tmp_path / f"whole-{attempt}"
        count = killed_and_resumed(command + steps, killed, kills, longest, seed=every)
        assert train(command + steps, whole).returncode == 0
        assert state_of(killed) == state_of(whole)
        assert os.listdir(killed) == ["last"]
        if count == kills:
            return
    raise AssertionError(f"the longest run ended after {count} kills")


@pytest.mark.parametrize("rows", [1, 3, 16, 33])
@pytest.mark.parametrize("columns", [1, 2, 15, 17, 84])
def test_linear_regression_of_any_shape(rows, columns):
    """One SGD step of mse against its closed form in float64."""
    import bessemer
    from onnx import helper
    from models import make_model
    rng = np.random.default_rng(rows * 100 + columns)
    for outputs in (1, 5, 16, 49):
        w = rng.standard_normal((columns, outputs)).astype(np.float32)
        model = make_model([helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", "f", [rows, columns])],
                           [("y", "f", [rows, outputs])], {"w": w})
        session = bessemer.compile(model, loss="mse", optimizer={"kind": "sgd", "lr": 0.1}).session()
        x = rng.standard_normal((rows, columns)).astype(np.float32)
        t = rng.standard_normal((rows, outputs)).astype(np.float32)
        loss = session.train_step({"x": x, "labels": t})["loss"]
        error = x.astype(np.float64) @ w - t
        assert loss == pytest.approx(np.square(error).mean(), rel=2e-6)
        want = w - 0.1 * 2 / error.size * (x.T.astype(np.float64) @ error)
        np.testing.assert_allclose(session.state_dict()["w"], want, rtol=2e-6, atol=2e-6)
