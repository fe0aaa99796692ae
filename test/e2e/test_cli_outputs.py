# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Outputs replace nothing that is still wanted: inputs, other runs, files of
others; and what is no file is written to as it is."""

import fcntl
import os
import shutil
import subprocess

import numpy as np
import onnx
import pytest
from refusals import COMPILE, INPUT, USAGE, contents, data, expect, model, ok, program  # noqa: F401, fixtures among them


def test_devices_and_pipes_are_no_files(cli, model, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/zero", tmp_path / "pipe"):
        result = cli("compile", path, "-o", tmp_path / "m.bsm", *COMPILE, timeout=20)
        assert result.returncode == INPUT and "is no regular file" in result.stderr
        result = cli("compile", model, "-o", tmp_path / "m.bsm", "--recipe", path, timeout=20)
        assert result.returncode == INPUT and "expected a regular file" in result.stderr
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_pipe_without_a_reader_is_not_waited_for(cli, model, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    result = cli("compile", model, "-o", pipe, *COMPILE, timeout=20)
    assert result.returncode == INPUT
    assert result.stderr.splitlines() == [
        f"error: {pipe}: expected a file to write, got a pipe that nobody reads"]
    ok(cli("compile", model, "-o", tmp_path / "m.bsm", *COMPILE))
    with open(tmp_path / "got", "wb") as got:
        reader = subprocess.Popen(["cat", pipe], stdout=got)
        ok(cli("compile", model, "-o", pipe, *COMPILE, timeout=60))
        assert reader.wait(20) == 0
    assert (tmp_path / "got").read_bytes() == (tmp_path / "m.bsm").read_bytes()


def test_two_runs_do_not_share_a_checkpoint_directory(cli, model, program, data, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    # As a run that is under way holds it.
    other = os.open(run, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    for what in (program, model):
        options = COMPILE if what == model else []
        result = cli("train", what, "--data", data, "--steps", "2", "--checkpoint-dir", run, *options)
        assert result.returncode == INPUT
        assert result.stderr.splitlines()[-1] == (
            f"error: {run}: another run is writing here; choose another --checkpoint-dir")
    assert os.listdir(run) == []
    os.close(other)
    ok(cli("train", program, "--data", data, "--steps", "2", "--checkpoint-dir", run))


def test_two_runs_do_not_share_a_log_directory(cli, program, data, tmp_path):
    log, run = tmp_path / "log", tmp_path / "run"
    log.mkdir()
    train = ["train", program, "--data", data, "--steps", "2", "--log-dir", log]
    other = os.open(log, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    expect(cli(*train, "--checkpoint-dir", run), INPUT, f"{log}: another run is writing here; choose another --log-dir")
    assert os.listdir(log) == [] and not run.exists()
    os.close(other)
    # One run may keep both in one folder.
    ok(cli(*train, "--checkpoint-dir", log))


def test_results_of_two_names_do_not_share_a_file(cli, tmp_path):
    def value(name):
        return onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2])
    nodes = [onnx.helper.make_node(op, ["x"], [name]) for op, name in (("Neg", "a/b"), ("Abs", "a_b"))]
    graph = onnx.helper.make_graph(nodes, "clash", [value("x")], [value("a/b"), value("a_b")])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=9), tmp_path / "m.onnx")
    ok(cli("compile", tmp_path / "m.onnx", "-o", tmp_path / "m.bsm"))
    np.save(tmp_path / "x.npy", np.float32([1, -2]))
    run = ["run", tmp_path / "m.bsm", "--input", f"x={tmp_path}/x.npy"]
    expect(cli(*run, "--output-dir", tmp_path / "out"), INPUT,
           "--output-dir: the outputs 'a/b' and 'a_b' would both be a_b.npy; rename one of them in the model")
    assert not (tmp_path / "out").exists()
    ok(cli(*run))


def test_inputs_are_not_overwritten(cli, model, data, tmp_path):
    copy, run = tmp_path / "copy.onnx", tmp_path / "run"
    shutil.copy(model, copy)
    os.link(copy, tmp_path / "link.onnx")
    for output in (copy, tmp_path / "link.onnx"):
        result = cli("compile", copy, "-o", output, *COMPILE)
        assert result.returncode == USAGE and "expected another file than the input" in result.stderr
    assert copy.read_bytes() == open(model, "rb").read()
    # Also what the compiler reads beside the model.
    (tmp_path / "r.yaml").write_text("batch: 6\n")
    onnx.save(onnx.load(model), tmp_path / "big.onnx", save_as_external_data=True, location="big.data", size_threshold=0)
    for name in ("r.yaml", "big.data"):
        before = (tmp_path / name).read_bytes()
        result = cli("compile", tmp_path / "big.onnx", "-o", tmp_path / name, "--recipe", tmp_path / "r.yaml")
        assert result.returncode in (USAGE, INPUT) and "got" in result.stderr, result.stderr
        assert (tmp_path / name).read_bytes() == before
    (tmp_path / "empty").touch()
    for _ in range(2):
        ok(cli("compile", copy, "-o", tmp_path / "empty", *COMPILE))
    ok(cli("train", copy, "--data", data, "--steps", "2", "--checkpoint-dir", run, *COMPILE))
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    for output in before:
        result = cli("export", run / "model.bsm", "--checkpoint", run, "-o", output)
        assert result.returncode == USAGE and "expected another file than the input" in result.stderr
    assert before == {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    for _ in range(2):
        ok(cli("export", run / "model.bsm", "--checkpoint", run, "-o", run / "trained.onnx"))
    expect(cli("export", run / "model.bsm", "--checkpoint", run, "-o", data), INPUT,
           f"{data}: expected a new file or an ONNX model to replace, got another file")


@pytest.mark.parametrize("name", ["last", "last.new", "last.old", "best", "best.new"])
def test_folders_of_others_are_kept(cli, program, data, tmp_path, name):
    """This is known before the training."""
    other = tmp_path / "run" / name / "mine"
    other.parent.mkdir(parents=True)
    other.write_text("1")
    result = cli("train", program, "--data", data, "--eval-data", data, "--keep-best", "loss", "--checkpoint-dir", tmp_path / "run")
    expect(result, INPUT, f"{tmp_path}/run/{name}: is not a checkpoint, it holds 'mine'")
    assert "training" not in result.stdout and other.read_text() == "1"


def test_the_best_of_an_earlier_run_is_kept(cli, program, data, tmp_path):
    train = ["train", program, "--data", data, "--eval-data", data, "--keep-best", "loss", "--checkpoint-dir", tmp_path / "run"]
    ok(cli(*train))
    # As when a run is killed after its first evaluation.
    shutil.rmtree(tmp_path / "run/last")
    before = contents(tmp_path / "run")
    expect(cli(*train), INPUT, "run/best: there is a checkpoint of an earlier run; choose another --checkpoint-dir")
    assert contents(tmp_path / "run") == before
