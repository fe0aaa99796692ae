# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables that are only looked up: an update without a gradient in memory is the one with it, bit for bit."""

import json
import os

import numpy as np
import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
CASE = os.path.join(HERE, "zoo", "goldens", "dlrm_mean")
OPTIMIZERS = {
    "sgd": {"kind": "sgd", "lr": 0.1},
    "sgd with decay": {"kind": "sgd", "lr": 0.1, "weight_decay": 0.01},
    "momentum": {"kind": "sgd", "lr": 0.1, "momentum": 0.9},
    "nesterov": {"kind": "sgd", "lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
    "adamw": {"kind": "adamw", "lr": 0.01},
    "adamw without decay": {"kind": "adamw", "lr": 0.01, "weight_decay": 0},
}


def train(optimizer, threads=1, steps=6, **options):
    import bessemer
    with open(os.path.join(CASE, "case.json")) as file:
        case = json.load(file)
    data = np.load(os.path.join(CASE, "data.npz"))
    session = bessemer.compile(os.path.join(CASE, "model.onnx"), loss=case["loss"], optimizer=optimizer,
                               **options).session(threads=threads)
    losses = [float(session.train_step({n: data[f"{n}.{step % 3}"] for n in case["inputs"] + ["labels"]})["loss"])
              for step in range(steps)]
    return losses, {name: np.asarray(value) for name, value in session.state_dict().items()}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_update_without_a_gradient_in_memory(name):
    # To clip, the norm needs all gradients; a norm that none reaches changes no bit.
    losses, states = train(OPTIMIZERS[name], clip_norm=1e9)
    for threads in (1, 2):
        joined_losses, joined_states = train(OPTIMIZERS[name], threads)
        assert joined_losses == losses
        assert joined_states.keys() == states.keys()
        for key, value in states.items():
            assert joined_states[key].tobytes() == value.tobytes(), key


@pytest.mark.parametrize("name,flags,kernels,touched", [
    ("sgd", ["--optimizer", "sgd"], 3, 3),
    ("momentum", ["--optimizer", "sgd", "--momentum", "0.9"], 3, 0),
    ("adamw", ["--optimizer", "adamw"], 3, 0),
    ("lazy", ["--optimizer", "adamw", "--lazy-embeddings"], 3, 3),
    ("clipped", ["--optimizer", "sgd", "--clip-norm", "1"], 0, 0),
])
def test_which_updates_are_joined(cli, tmp_path, name, flags, kernels, touched):
    output = tmp_path / "kern.mlir"
    result = cli("compile", os.path.join(CASE, "model.onnx"), "-o", output, "--loss", "bce_with_logits", "--emit=kern",
                 *flags)
    assert result.returncode == 0, result.stderr
    text = output.read_text()
    assert text.count("kern.table_update") == kernels
    assert text.count("touched_only") == touched
    gradients = [line for line in text.splitlines() if "kern.scatter" in line and "-> tensor<1x1x40x8xf32>" in line]
    assert len(gradients) == 3 - kernels


def test_lazy_adam_leaves_what_is_not_looked_up(golden):
    case = golden("lazy_embeddings")
    session = case.compile().session()
    start = np.array(session.state_dict()["words.weight"])
    x = case.batch(0)["x"]
    session.train_step(case.batch(0))
    states = session.state_dict()
    moved = np.any(np.asarray(states["words.weight"]) != start, axis=1)
    looked_up = np.isin(np.arange(len(start)), x[:, :4])
    np.testing.assert_array_equal(moved, looked_up)
    moments = np.asarray(states["adamw.exp_avg_sq/words.weight"])
    np.testing.assert_array_equal(np.any(moments != 0, axis=1), looked_up)
    # Without a second lookup an entry rests; AdamW would move it on by its moments.
    before = np.array(states["kinds.weight"])
    session.train_step(case.batch(1))
    resting = ~np.isin(np.arange(len(before)), case.batch(1)["x"][:, 4])
    np.testing.assert_array_equal(np.asarray(session.state_dict()["kinds.weight"])[resting], before[resting])


@pytest.mark.parametrize("model,options,message", [
    ("mlp_mse", {"optimizer": {"kind": "adamw", "lazy_embeddings": True}}, "only looked up by index, found none"),
    ("lazy_embeddings", {"optimizer": {"kind": "sgd", "lazy_embeddings": True}}, "sgd has no such constant"),
    ("lazy_embeddings", {"accumulate": 2}, "lazy_embeddings works without accumulation only, got accumulate 2"),
])
def test_lazy_adam_where_it_cannot_be(golden, model, options, message):
    import bessemer
    with pytest.raises(bessemer.Error, match=message):
        golden(model).compile(**options)
