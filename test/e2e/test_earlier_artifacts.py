# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Artifacts of earlier compilers load, train, and are as safe as when they were made."""

import os

import numpy as np
import pytest

import bessemer

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "artifacts")
EARLIER, MODEL = os.path.join(FOLDER, "format-1.2.bsm"), os.path.join(FOLDER, "linear.onnx")


def feeds(label=2):
    rng = np.random.default_rng(1)
    return {"x": rng.normal(size=(4, 3)).astype(np.float32), "labels": np.array([0, 3, label, -1])}


def test_trains():
    session = bessemer.load(EARLIER).session(threads=1)
    before, batch = session.state_dict(), feeds()
    loss = session.train_step(batch)["loss"]
    x, kept = batch["x"].astype(np.float64), batch["labels"] >= 0
    logits = x @ before["w"].astype(np.float64) + before["b"]
    probabilities = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    rows = np.flatnonzero(kept)
    assert loss == pytest.approx(-np.log(probabilities[rows, batch["labels"][rows]]).mean(), rel=1e-6)
    gradient = probabilities
    gradient[rows, batch["labels"][rows]] -= 1
    gradient = gradient * kept[:, None] / kept.sum()
    after = session.state_dict()
    # Sums of three and four numbers in float32.
    np.testing.assert_allclose(after["w"], before["w"] - 0.5 * x.T @ gradient, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(after["b"], before["b"] - 0.5 * gradient.sum(0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("label", [99, 4, -100])
def test_labels_are_checked(cli, tmp_path, label):
    session = bessemer.load(EARLIER).session(threads=1)
    before = session.state_dict()
    for function in (session.train_step, session.evaluate):
        with pytest.raises(bessemer.Error, match=rf"'labels'\[2\]: expected a label in \[0, 3\] or -1, got {label}"):
            function(feeds(label))
    for name, value in session.state_dict().items():
        assert value.tobytes() == before[name].tobytes(), name
    np.savez(tmp_path / "data.npz", **feeds(label))
    result = cli("train", EARLIER, "--data", tmp_path / "data.npz")
    assert result.returncode == 1 and f"expected a label in [0, 3] or -1, got {label}" in result.stderr


def test_its_memory_limit_is_the_same_number_of_bytes(cli, tmp_path):
    np.savez(tmp_path / "data.npz", **feeds())
    command = ["train", EARLIER, "--data", tmp_path / "data.npz", "--steps", 1, "--memory-limit"]
    for limit in ("500MB", "500000000", "0.5GB"):
        result = cli(*command, limit)
        assert result.returncode == 0, result.stderr
    other = cli(*command, "500MiB")
    assert other.returncode == 1 and "compiled with memory_limit 500MB, got 524288000" in other.stderr


@pytest.mark.parametrize("limit", [None, "500MB"])
def test_resume_with_another_compiler_says_so(cli, tmp_path, limit):
    """One computation, and code that another compiler made: a note, as bits may differ."""
    program = bessemer.compile(MODEL, loss="cross_entropy", ignore_index=-1, batch=4, optimizer={"kind": "sgd", "lr": 0.5},
                               target="cpu:x86-64-v3", memory_limit=limit)
    program.save(tmp_path / "now.bsm")
    np.savez(tmp_path / "data.npz", **feeds())

    def train(program, steps, *options):
        result = cli("train", program, "--data", tmp_path / "data.npz", "--steps", steps, "--threads", 1,
                     "--checkpoint-dir", tmp_path / "run", *options)
        assert result.returncode == 0, result.stderr
        return result.stderr

    train(EARLIER, 1)
    assert "may not be bit-exact" not in train(EARLIER, 2, "--resume")
    note = [line for line in train(tmp_path / "now.bsm", 3, "--resume").splitlines() if line.startswith("note:")]
    assert len(note) == 1 and "made with artifact '" in note[0] and note[0].endswith("it may not be bit-exact")
    assert "may not be bit-exact" not in train(tmp_path / "now.bsm", 4, "--resume")
