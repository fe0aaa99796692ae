# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Artifacts and checkpoints: same bytes, exact resume, damage is an error."""

import os
import shutil

import numpy as np
import pytest


def test_two_compiles_give_the_same_bytes(golden, tmp_path):
    for name in ("convnet", "mlp_clipped"):
        paths = [tmp_path / f"{name}{i}.bsm" for i in range(2)]
        for path in paths:
            golden(name).compile(1).save(path)
        assert paths[0].read_bytes() == paths[1].read_bytes()


def test_saved_and_loaded_program_is_the_same(golden, tmp_path):
    import bessemer
    case = golden("mlp_cross_entropy")
    program = case.compile()
    program.save(tmp_path / "m.bsm")
    losses = [p.session().train_step(case.batch(0))["loss"]
              for p in (program, bessemer.load(tmp_path / "m.bsm"))]
    assert losses[0] == losses[1]
    assert sorted(os.listdir(tmp_path)) == ["m.bsm"]


def test_model_as_bytes_and_proto(golden):
    import bessemer
    import onnx
    case = golden("mlp_cross_entropy")
    want = case.compile().session().train_step(case.batch(0))["loss"]
    for model in (open(case.model, "rb").read(), onnx.load(case.model)):
        program = bessemer.compile(model, loss="cross_entropy", batch=6, optimizer=case.case["optimizers"][0])
        assert program.session().train_step(case.batch(0))["loss"] == want


@pytest.mark.parametrize("name", ["mlp_cross_entropy", "convnet"])
def test_resume_is_bit_exact(golden, tmp_path, name):
    case = golden(name)
    program = case.compile(1)
    whole = program.session()
    losses = [whole.train_step(case.batch(step))["loss"] for step in range(5)]
    part = program.session()
    for step in range(2):
        part.train_step(case.batch(step))
    part.save(tmp_path / "checkpoint")
    resumed = program.session(seed=99)
    resumed.load(tmp_path / "checkpoint")
    assert (resumed.step, resumed.seed) == (2, 0)
    assert [resumed.train_step(case.batch(step))["loss"] for step in range(2, 5)] == losses[2:]
    for key, value in whole.state_dict().items():
        np.testing.assert_array_equal(value, resumed.state_dict()[key], err_msg=key)


def test_damaged_checkpoint_is_named(golden, tmp_path):
    import bessemer
    program = golden("mlp_cross_entropy").compile()
    program.session().save(tmp_path / "good")
    path = tmp_path / "bad" / "state.safetensors"
    for damage in ("truncate", "flip"):
        shutil.rmtree(tmp_path / "bad", ignore_errors=True)
        shutil.copytree(tmp_path / "good", tmp_path / "bad")
        data = bytearray(path.read_bytes())
        if damage == "truncate":
            data = data[:-5]
        else:
            data[-5] ^= 0x40
        path.write_bytes(data)
        session = program.session()
        before = session.state_dict()
        with pytest.raises(bessemer.Error, match="state.safetensors"):
            session.load(tmp_path / "bad")
        for key, value in before.items():
            np.testing.assert_array_equal(value, session.state_dict()[key])


def test_checkpoint_of_another_model_names_the_state(golden, tmp_path):
    import bessemer
    golden("mlp_mse").compile().session().save(tmp_path / "c")
    with pytest.raises(bessemer.Error, match="fc1.weight|fc2"):
        golden("mlp_cross_entropy").compile().session().load(tmp_path / "c")


def test_truncated_artifact_is_an_error(golden, tmp_path):
    import bessemer
    golden("mlp_mse").compile().save(tmp_path / "m.bsm")
    data = (tmp_path / "m.bsm").read_bytes()
    for size in (0, 3, 15, 16, 100, len(data) // 2, len(data) - 1):
        (tmp_path / "t.bsm").write_bytes(data[:size])
        with pytest.raises(bessemer.Error, match="t.bsm"):
            bessemer.load(tmp_path / "t.bsm").session()


@pytest.mark.parametrize("name", ["mlp_cross_entropy", "convnet"])
def test_exported_model_runs_in_onnx(golden, tmp_path, name):
    import onnx
    from onnx.reference import ReferenceEvaluator
    case = golden(name)
    program = case.compile(1)
    session = program.session()
    for step in range(5):
        session.train_step(case.batch(step))
    session.save(tmp_path / "c")
    program.export(tmp_path / "c", tmp_path / "trained.onnx")
    onnx.checker.check_model(str(tmp_path / "trained.onnx"), full_check=True)
    x = case.data["x.0"]
    want = ReferenceEvaluator(str(tmp_path / "trained.onnx")).run(None, {"x": x})[0]
    got = next(iter(session.predict({"x": x}).values()))
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=2e-5)
    np.testing.assert_allclose(want, case.data["predict.1"], rtol=1e-4, atol=2e-5)
