# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training is tested by training: every step's loss and where the parameters
end are those of PyTorch (goldens: make_goldens.py)."""

import json
import os

import numpy as np
import pytest
from onnx import helper

import bessemer
from conftest import GOLDENS
from models import make_model

CASES = [(name, index) for name in sorted(os.listdir(GOLDENS))
         for index in range(len(json.load(open(os.path.join(GOLDENS, name, "case.json")))["optimizers"]))]


@pytest.mark.parametrize("name,optimizer", CASES)
def test_steps_match_pytorch(golden, name, optimizer):
    case = golden(name)
    session = case.compile(optimizer).session()
    case.check_training(session, optimizer)
    predicted = session.predict({"x": case.data["x.0"]})
    np.testing.assert_allclose(next(iter(predicted.values())), case.data[f"predict.{optimizer}"],
                               rtol=1e-4, atol=2e-5)


def test_inputs_may_have_any_number_of_rows_in_predict(golden):
    case = golden("mlp_cross_entropy")
    session = case.compile().session()
    x = np.concatenate([case.data["x.0"], case.data["x.1"][:3]])  # 9 rows in batches of 6
    whole = next(iter(session.predict({"x": x}).values()))
    assert whole.shape == (9, 5)
    first = next(iter(session.predict({"x": x[:6]}).values()))
    np.testing.assert_array_equal(whole[:6], first)


def test_a_whole_batch_may_have_inputs_of_other_lengths():
    nodes = [helper.make_node("Gather", ["x", "i"], ["y"])]
    model = make_model(nodes, [("x", "f", [4, 2]), ("i", "i", [6])], [("y", "f", [6, 2])])
    x, i = np.arange(8, dtype=np.float32).reshape(4, 2), np.array([3, 0, 1, 3, 2, 2])
    session = bessemer.compile(model).session()
    np.testing.assert_array_equal(session.predict({"x": x, "i": i})["y"], x[i])
    with pytest.raises(bessemer.Error, match="different numbers of rows: x 4, i 5"):
        session.predict({"x": x, "i": i[:5]})


def test_no_rows_predict_no_rows(golden):
    case = golden("mlp_cross_entropy")
    whole = case.compile().session().predict({"x": case.data["x.0"][:0]})
    assert next(iter(whole.values())).shape == (0, 5)


def test_evaluate_masks_padding(golden):
    case = golden("mlp_cross_entropy")
    session = case.compile().session()
    x = np.concatenate([case.data["x.0"], case.data["x.1"][:3]])
    labels = np.concatenate([case.data["labels.0"], case.data["labels.1"][:3]])
    result = session.evaluate({"x": x, "labels": labels})
    logits = next(iter(session.predict({"x": x}).values())).astype(np.float64)
    shifted = logits - logits.max(1, keepdims=True)
    rows = np.log(np.exp(shifted).sum(1)) - shifted[np.arange(9), labels]
    assert result["count"] == 9
    assert result["loss"] == pytest.approx(rows.mean(), rel=1e-5)
    assert result["accuracy"] == pytest.approx((logits.argmax(1) == labels).mean())


def test_threads_do_not_change_bits(golden):
    case = golden("mlp_cross_entropy")
    program = case.compile(3)
    results = []
    for threads in (1, 2):
        session = program.session(threads=threads)
        losses = [session.train_step(case.batch(step))["loss"] for step in range(4)]
        results.append((losses, session.state_dict()))
    assert results[0][0] == results[1][0]
    for name, value in results[0][1].items():
        np.testing.assert_array_equal(value, results[1][1][name], err_msg=name)


def test_instruction_sets_agree(golden):
    case = golden("convnet")
    program = case.compile()
    losses = {}
    for target in program.targets:
        try:
            session = program.session(device=f"cpu:{target}")
        except Exception:  # this machine cannot run it
            continue
        losses[target] = [session.train_step(case.batch(step))["loss"] for step in range(3)]
    assert losses
    for values in losses.values():
        assert values == pytest.approx(case.case["losses"][0][:3], rel=1e-5)


def test_learning_rate_and_metrics_are_per_step(golden):
    case = golden("mlp_mse")
    session = case.compile(0).session()
    before = session.state_dict()
    first = session.train_step(case.batch(0), learning_rate=0.0)
    for name in ("fc1.weight", "fc2.bias"):
        np.testing.assert_array_equal(before[name], session.state_dict()[name])
    second = session.train_step(case.batch(1))
    # Metrics read late are those of their own step.
    assert first["loss"] == pytest.approx(case.case["losses"][0][0], rel=1e-5)
    assert second["loss"] != first["loss"]
    assert session.step == 2
