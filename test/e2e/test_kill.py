# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The longer suite (scripts/test.sh --long): a training run killed at random
moments and resumed gives exactly the uninterrupted result; every shape in a
sweep trains as PyTorch's formulas say."""

import os
import random
import signal
import subprocess
import time

import numpy as np
import pytest

pytestmark = pytest.mark.long


def state_of(folder):
    from safetensors.numpy import load_file
    return load_file(os.path.join(folder, "last", "state.safetensors"))


def test_killed_runs_resume_to_the_same_bits(golden, cli, tmp_path):
    case = golden("mlp_cross_entropy")
    case.compile(3).save(tmp_path / "m.bsm")
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "d.npz", x=rng.standard_normal((600, 3, 4), np.float32), labels=rng.integers(0, 5, 600))
    command = ["train", tmp_path / "m.bsm", "--data", tmp_path / "d.npz", "--epochs", 200, "--checkpoint-every", 25,
               "--seed", 5, "--threads", 2]
    assert cli(*command, "--checkpoint-dir", tmp_path / "whole").returncode == 0
    program = os.environ.get("BESSEMER_BIN", "build/bin/bessemer")
    killed, chance = 0, random.Random(1)
    folder = tmp_path / "killed"
    for attempt in range(400):
        resume = ["--resume"] if (folder / "last").exists() else []
        process = subprocess.Popen([program, *map(str, command), "--checkpoint-dir", str(folder), *resume],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        time.sleep(chance.uniform(0.02, 0.25))
        done = killed >= 30
        if not done and process.poll() is None:
            process.send_signal(signal.SIGKILL)
        error = process.communicate()[1]
        if process.returncode == -signal.SIGKILL:
            killed += 1
            continue
        assert process.returncode == 0, error
        break
    # A fast machine may finish before 30 kills; then the moments were still random.
    assert killed >= 5
    whole, resumed = state_of(tmp_path / "whole"), state_of(folder)
    assert whole.keys() == resumed.keys()
    for name, value in whole.items():
        np.testing.assert_array_equal(value, resumed[name], err_msg=name)


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
