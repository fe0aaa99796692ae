# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints across programs of one model: eval, run and export take parameters and statistics whatever the optimizer,
to go on training takes the same computation, with the same bits whatever its memory limit, on one instruction set."""

import json

import numpy as np
import pytest

import bessemer

SGD = {"kind": "sgd", "lr": 0.05, "momentum": 0.9}
ADAMW = {"kind": "adamw", "lr": 0.01}


@pytest.fixture
def trained(golden, tmp_path):
    """A convolutional network with running statistics after three steps of SGD."""
    case = golden("convnet")
    session = case.compile(optimizer=SGD).session(threads=1)
    for step in range(3):
        session.train_step(case.batch(step))
    session.save(tmp_path / "checkpoint")
    return case, session, tmp_path / "checkpoint"


def weights(session):
    states = session.program.states
    return {name: value for name, value in session.state_dict().items()
            if states[name]["role"] in ("parameter", "statistic")}


def other_programs(case):
    batch = case.case["batch"]
    return {"adamw": case.compile(optimizer=ADAMW), "plain sgd": case.compile(optimizer={"kind": "sgd"}),
            "predict": bessemer.compile(case.model, batch=batch)}


@pytest.mark.parametrize("name", ["adamw", "plain sgd", "predict"])
def test_weights_go_into_any_program_of_the_model(trained, name):
    case, session, checkpoint = trained
    other = other_programs(case)[name].session(threads=1)
    rest = {key: value for key, value in other.state_dict().items() if key not in weights(other)}
    other.load(checkpoint, weights_only=True)
    want = weights(session)
    assert weights(other).keys() == want.keys()
    for key, value in weights(other).items():
        assert value.tobytes() == want[key].tobytes(), key
    # Nothing else changes, the count of steps neither.
    for key, value in rest.items():
        assert other.state_dict()[key].tobytes() == value.tobytes(), key
    assert other.step == 0
    x = {"x": case.batch(0)["x"]}
    for key, value in session.predict(x).items():
        np.testing.assert_array_equal(other.predict(x)[key], value)


@pytest.mark.parametrize("name,what", [("adamw", "state 'adamw.exp_avg"), ("plain sgd", "state 'sgd.momentum"),
                                       ("predict", "is not in the program")])
def test_to_go_on_training_takes_all_states(trained, name, what):
    case, _, checkpoint = trained
    other = other_programs(case)[name].session(threads=1)
    before = other.state_dict()
    with pytest.raises(bessemer.Error, match=f"{what}.*weights_only=True"):
        other.load(checkpoint)
    for key, value in other.state_dict().items():
        assert value.tobytes() == before[key].tobytes(), key


def test_another_model_is_refused(trained, golden):
    _, _, checkpoint = trained
    other = golden("mlp_mse").compile().session(threads=1)
    with pytest.raises(bessemer.Error, match="state '.*' is missing"):
        other.load(checkpoint, weights_only=True)


def test_command_line_takes_weights(trained, cli, tmp_path):
    case, session, checkpoint = trained
    batch = case.batch(0)
    np.savez(tmp_path / "data.npz", **batch)
    np.save(tmp_path / "x.npy", batch["x"])
    want = session.evaluate(batch)["loss"]
    programs = other_programs(case)
    for name, program in programs.items():
        program.save(tmp_path / f"{name}.bsm")
    found = cli("eval", tmp_path / "adamw.bsm", "--checkpoint", checkpoint, "--data", tmp_path / "data.npz", "--json")
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["loss"] == pytest.approx(want, rel=1e-6)
    for name in programs:
        ran = cli("run", tmp_path / f"{name}.bsm", "--checkpoint", checkpoint, "--input", f"x={tmp_path / 'x.npy'}",
                  "--output-dir", tmp_path / name)
        assert ran.returncode == 0, ran.stderr
        exported = cli("export", tmp_path / f"{name}.bsm", "--checkpoint", checkpoint, "-o", tmp_path / f"{name}.onnx")
        assert exported.returncode == 0, exported.stderr
    outputs = [sorted((file.name, file.read_bytes()) for file in (tmp_path / name).iterdir()) for name in programs]
    assert outputs[0] == outputs[1] == outputs[2]
    models = [(tmp_path / f"{name}.onnx").read_bytes() for name in programs]
    assert models[0] == models[1] == models[2]


def train(cli, program, data, run, steps, *options):
    return cli("train", program, "--data", data, "--steps", steps, "--checkpoint-dir", run, "--threads", 1, *options)


def states(run):
    return (run / "last" / "state.safetensors").read_bytes()


def test_resume_across_memory_limits_and_targets(golden, cli, tmp_path):
    case = golden("convnet")
    batch = case.batch(0)
    data = tmp_path / "data.npz"
    np.savez(data, **batch)
    session = case.compile(optimizer=SGD).session(threads=1)
    memory = session.memory()
    # What the plan counts: states, inputs and outputs, temporaries.
    limit = sum(memory[part] for part in ("state", "work", "values")) + sum(value.nbytes for value in batch.values()) + 4096
    variants = {"plain": {}, "limited": {"memory_limit": limit}, "target": {"target": f"cpu:{session.target}"}, "other": {"clip_norm": 0.5}}
    for name, options in variants.items():
        case.compile(optimizer=SGD, **options).save(tmp_path / f"{name}.bsm")
    assert train(cli, tmp_path / "plain.bsm", data, tmp_path / "whole", 4).returncode == 0
    want = states(tmp_path / "whole")
    for name in ("limited", "target"):
        run = tmp_path / name
        assert train(cli, tmp_path / "plain.bsm", data, run, 2).returncode == 0
        resumed = train(cli, tmp_path / f"{name}.bsm", data, run, 4, "--resume")
        assert resumed.returncode == 0, resumed.stderr
        assert states(run) == want
        assert "may not be bit-exact" not in resumed.stderr
    refused = train(cli, tmp_path / "other.bsm", data, tmp_path / "limited", 5, "--resume")
    assert refused.returncode == 1 and "belongs to another compiled program" in refused.stderr


@pytest.mark.parametrize("how", ["compiled", "chosen"])
def test_resume_on_another_instruction_set(cli, tmp_path, golden, how):
    """The same training, rounded otherwise, and a note that says so."""
    case = golden("mlp_cross_entropy")
    program = case.compile(optimizer=SGD)
    try:
        program.session(device="cpu:x86-64-v4")
    except bessemer.Error:
        pytest.skip("this machine has no AVX-512")
    program.save(tmp_path / "all.bsm")
    case.compile(optimizer=SGD, target="cpu:x86-64-v3").save(tmp_path / "v3.bsm")
    again, options = ("v3.bsm", ()) if how == "compiled" else ("all.bsm", ("--device", "cpu:x86-64-v3"))
    data, whole, run = (tmp_path / name for name in ("data.npz", "whole", "run"))
    np.savez(data, **case.batch(0))
    for directory, steps in ((whole, 6), (run, 3)):
        assert train(cli, tmp_path / "all.bsm", data, directory, steps).returncode == 0
    resumed = train(cli, tmp_path / again, data, run, 6, "--resume", *options)
    assert resumed.returncode == 0, resumed.stderr
    notes = [line for line in resumed.stderr.splitlines() if line.startswith("note:")]
    assert notes == ["note: the checkpoint was made with target 'x86-64-v4', this run has 'x86-64-v3'; it may not be bit-exact"]
    found, want = program.session(threads=1), program.session(threads=1)
    found.load(run / "last")
    want.load(whole / "last")
    assert found.step == want.step == 6
    for name, value in want.state_dict().items():
        # Sums in float32 in another order.
        np.testing.assert_allclose(found.state_dict()[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


def test_a_limit_is_recorded_as_bytes(golden, cli, tmp_path):
    case = golden("mlp_mse")
    programs = [case.compile(memory_limit=limit) for limit in ("500MB", " 500 MB", 500_000_000, "500000000", "0.5GB")]
    assert {program.settings["memory_limit"] for program in programs} == {"500000000"}
    with pytest.raises(bessemer.Error, match="memory_limit.*below 2\\^62"):
        case.compile(memory_limit=2 ** 64 - 1)
    programs[0].save(tmp_path / "model.bsm")
    np.savez(tmp_path / "data.npz", **case.batch(0))
    for limit in ("500MB", "500000000", "500000kB"):
        same = train(cli, tmp_path / "model.bsm", tmp_path / "data.npz", tmp_path / limit, 1, "--memory-limit", limit)
        assert same.returncode == 0, same.stderr
    other = train(cli, tmp_path / "model.bsm", tmp_path / "data.npz", tmp_path / "other", 1, "--memory-limit", "500MiB")
    assert other.returncode == 1 and "compiled with memory_limit 500000000, got 524288000" in other.stderr
