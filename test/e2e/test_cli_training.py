# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line end to end: files in, trained files out."""

import csv
import gzip
import json
import os
import signal
import struct
import subprocess
import time

import numpy as np
import pytest

from conftest import GOLDENS

ROWS = 40


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    """Threads that wait for each other crawl when others use the machine; test_training.py compares thread counts."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.fixture
def model(golden):
    return golden("mlp_cross_entropy").model  # x f32 [batch, 3, 4], 5 classes


@pytest.fixture
def data(tmp_path):
    random = np.random.default_rng(1)
    x = random.standard_normal((ROWS, 3, 4)).astype(np.float32)
    labels = random.integers(0, 5, ROWS)
    np.savez(tmp_path / "d.npz", x=x, labels=labels)
    return tmp_path / "d.npz"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """Batch 6, adamw; compiled once."""
    path = tmp_path_factory.mktemp("program") / "m.bsm"
    model = os.path.join(GOLDENS, "mlp_cross_entropy", "model.onnx")
    subprocess.run([os.environ.get("BESSEMER_BIN", "build/bin/bessemer"), "compile", model, "-o", path, "--loss",
                    "cross_entropy", "--batch", "6", "--optimizer", "adamw", "--lr", "0.01"], check=True)
    return path


def ok(result):
    assert result.returncode == 0, result.stderr
    return result.stdout


def losses(folder):
    with open(folder / "metrics.csv") as file:
        return [(row["step"], row["kind"], row["loss"], row["learning_rate"]) for row in csv.DictReader(file)]


def test_interrupted_and_resumed_run_is_the_uninterrupted_one(cli, program, data, tmp_path):
    random = np.random.default_rng(6)
    np.savez(tmp_path / "many.npz", x=random.standard_normal((900, 3, 4)), labels=random.integers(0, 5, 900))

    def command(name, *more):
        return ["train", program, "--data", tmp_path / "many.npz", "--eval-data", data, "--steps", "20000", "--schedule", "cosine",
                "--warmup-steps", "50", "--log-every", "500", "--checkpoint-dir", tmp_path / name,
                "--log-dir", tmp_path / name / "log", "--seed", "3", *more]
    ok(cli(*command("whole")))
    binary = os.environ.get("BESSEMER_BIN", "build/bin/bessemer")
    process = subprocess.Popen([binary, *map(str, command("parts"))], stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if line.startswith("step 1000/"):
            process.send_signal(signal.SIGINT)
            break
    rest = process.stdout.read()
    assert process.wait(60) == 130
    assert "interrupted at step" in rest
    with open(tmp_path / "parts/last/trainer.json") as file:
        assert 1000 <= json.load(file)["step"] < 20000
    ok(cli(*command("parts", "--resume")))
    assert losses(tmp_path / "parts/log") == losses(tmp_path / "whole/log")
    whole, parts = [(tmp_path / name / "last/state.safetensors").read_bytes() for name in ("whole", "parts")]
    assert whole == parts


def test_resuming_with_other_rows_is_noted(cli, program, data, tmp_path):
    with np.load(data) as file:
        x, labels = file["x"], file["labels"]
    x[-1, 0, 0] += 1
    np.savez(tmp_path / "other.npz", x=x, labels=labels)
    ok(cli("train", program, "--data", data, "--steps", 2, "--checkpoint-dir", tmp_path / "run"))
    for steps, rows, flags, noted in ((3, data, [], False), (4, data, ["--scale", 1], False), (5, data, ["--scale", 0.5], True),
                                      (6, tmp_path / "other.npz", ["--scale", 0.5], True)):
        result = cli("train", program, "--data", rows, "--steps", steps, "--checkpoint-dir", tmp_path / "run", "--resume", *flags)
        ok(result)
        assert ("note: the rows, or what --map, --scale, --mean and --std make of them, differ" in result.stderr) == noted


def test_resuming_at_another_rate_is_noted(cli, program, data, tmp_path):
    train = ["train", program, "--data", data, "--checkpoint-dir", tmp_path / "run"]
    ok(cli(*train, "--steps", 2, "--lr", 0.3))
    for steps, rate, note in ((3, "3e-1", ""), (4, "0.1", "note: --lr 0.1 differs from the checkpoint's 0.3; "
                                                "the losses will differ from an uninterrupted run\n")):
        result = cli(*train, "--resume", "--steps", steps, "--lr", rate)
        ok(result)
        assert result.stderr == note


def test_a_killed_run_leaves_a_checkpoint(cli, program, data, tmp_path):
    binary = os.environ.get("BESSEMER_BIN", "build/bin/bessemer")
    command = [binary, "train", program, "--data", data, "--steps", "1000000", "--checkpoint-every", "1",
               "--checkpoint-dir", tmp_path / "run"]
    for attempt in range(5):
        resume = ["--resume"] if attempt else []
        process = subprocess.Popen([str(word) for word in command + resume], stdout=subprocess.DEVNULL)
        deadline = time.time() + 30
        while not (tmp_path / "run/last/trainer.json").exists() and time.time() < deadline:
            time.sleep(0.01)
        time.sleep(0.1 + 0.03 * attempt)
        process.kill()
        process.wait()
        ok(cli("eval", program, "--data", data, "--checkpoint", tmp_path / "run"))


def test_safetensors_reads_the_state(cli, program, data, tmp_path):
    from safetensors import numpy as safetensors
    ok(cli("train", program, "--data", data, "--steps", "5", "--checkpoint-dir", tmp_path / "run"))
    tensors = safetensors.load_file(tmp_path / "run/last/state.safetensors")
    states = json.loads(ok(cli("inspect", program, "--json")))["states"]
    assert sorted(tensors) == sorted(state["name"] for state in states)
    for state in states:
        if state["role"] == "parameter":
            assert tensors[state["name"]].dtype == np.float32
            moment = tensors["adamw.exp_avg/" + state["name"]]
            assert moment.shape == tensors[state["name"]].shape and np.abs(moment).max() > 0
    assert tensors["updates"] == 5 and tensors["nonfinite_step"] == -1


def test_run_predicts_any_number_of_rows(cli, model, program, data, tmp_path):
    from onnx.reference import ReferenceEvaluator
    x = np.load(data)["x"]
    ok(cli("run", program, "--input", f"x={data}:x", "--output-dir", tmp_path / "out"))
    want = ReferenceEvaluator(model).run(None, {"x": x})[0]
    files = os.listdir(tmp_path / "out")
    assert len(files) == 1
    np.testing.assert_allclose(np.load(tmp_path / "out" / files[0]), want, rtol=1e-5, atol=1e-6)


def test_eval_agrees_with_predictions(cli, program, data, tmp_path):
    ok(cli("train", program, "--data", data, "--epochs", "30", "--checkpoint-dir", tmp_path / "run"))
    ok(cli("run", program, "--checkpoint", tmp_path / "run", "--input", f"x={data}:x", "--output-dir", tmp_path / "o"))
    logits = np.load(tmp_path / "o" / os.listdir(tmp_path / "o")[0]).astype(np.float64)
    labels = np.load(data)["labels"]
    shifted = logits - logits.max(1, keepdims=True)
    rows = np.log(np.exp(shifted).sum(1)) - shifted[np.arange(ROWS), labels]
    got = json.loads(ok(cli("eval", program, "--data", data, "--checkpoint", tmp_path / "run", "--json")))
    assert got["count"] == ROWS
    assert got["loss"] == pytest.approx(rows.mean(), rel=1e-5)
    assert got["accuracy"] == pytest.approx((logits.argmax(1) == labels).mean())
    assert got["accuracy"] > 0.5  # It has learned something of its 40 rows.


def test_images_of_every_format_are_the_same_data(cli, golden, tmp_path):
    """convnet takes x f32 [4, 2, 10, 10]: u8 channels-last in .npy and channels-first in gzipped IDX."""
    random = np.random.default_rng(2)
    images = random.integers(0, 256, (12, 2, 10, 10), np.uint8)
    labels = random.integers(0, 3, 12, np.uint8)
    np.save(tmp_path / "last.npy", images.transpose(0, 2, 3, 1))
    with gzip.open(tmp_path / "first.gz", "wb") as file:
        file.write(struct.pack(">BBBB4I", 0, 0, 8, 4, 12, 2, 10, 10) + images.tobytes())
    with open(tmp_path / "labels.idx", "wb") as file:
        file.write(struct.pack(">BBBBI", 0, 0, 8, 1, 12) + labels.tobytes())
    mean, std = np.float64([0.3, 0.4]), np.float64([0.5, 0.25])
    floats = (images / 255 - mean[:, None, None]) / std[:, None, None]
    np.savez_compressed(tmp_path / "f.npz", x=floats.astype(np.float32), y=labels.astype(np.int64))
    ok(cli("compile", golden("convnet").model, "-o", tmp_path / "c.bsm", "--loss", "cross_entropy", "--batch", "4"))
    normalized = ["--mean", "0.3,0.4", "--std", "0.5,0.25"]
    results = [ok(cli("eval", tmp_path / "c.bsm", "--json", "--data", *words)) for words in (
        [f"x={tmp_path}/last.npy,labels={tmp_path}/labels.idx", *normalized],
        [f"x={tmp_path}/first.gz,labels={tmp_path}/labels.idx", *normalized],
        [tmp_path / "f.npz"])]
    assert results[0] == results[1] == results[2]


def test_a_recipe_is_the_same_as_flags(cli, model, program, tmp_path):
    (tmp_path / "r.yaml").write_text(
        "loss: cross_entropy\noptimizer: {kind: adamw, lr: 0.5}\nbatch: 6\nepochs: 7\ndata: {x: a.npy, labels: b.npy}\n")
    ok(cli("compile", model, "-o", tmp_path / "r.bsm", "--recipe", tmp_path / "r.yaml", "--lr", "0.01"))
    assert (tmp_path / "r.bsm").read_bytes() == program.read_bytes()


def test_python_takes_the_same_recipe(model, program, tmp_path):
    import bessemer
    (tmp_path / "r.yaml").write_text(
        "loss: cross_entropy\noptimizer: {kind: adamw, lr: 0.01}\nbatch: 7\nepochs: 7\n")
    compiled = bessemer.compile(model, recipe=tmp_path / "r.yaml", batch=6)
    assert compiled.functions["predict"]["inputs"]["x"][1] == (6, 3, 4)
    compiled.save(tmp_path / "r.bsm")
    assert (tmp_path / "r.bsm").read_bytes() == program.read_bytes()
    (tmp_path / "r.yaml").write_text("loss: cross_entropy\noptimiser: adamw\n")
    with pytest.raises(bessemer.Error, match="r.yaml:2: unknown key 'optimiser', did you mean 'optimizer'?"):
        bessemer.compile(model, recipe=tmp_path / "r.yaml")
    (tmp_path / "r.yaml").write_text("devices: 2\n")
    with pytest.raises(bessemer.Error, match="r.yaml:1: devices: this version trains on one device"):
        bessemer.compile(model, recipe=tmp_path / "r.yaml")


def test_training_an_onnx_model_leaves_its_program(cli, model, program, data, tmp_path):
    flags = ["--data", data, "--steps", "7", "--seed", "4"]
    ok(cli("train", model, *flags, "--loss", "cross_entropy", "--batch", "6", "--optimizer", "adamw", "--lr", "0.01",
           "--checkpoint-dir", tmp_path / "onnx"))
    ok(cli("train", program, *flags, "--checkpoint-dir", tmp_path / "bsm"))
    assert (tmp_path / "onnx/model.bsm").read_bytes() == program.read_bytes()
    first, second = [(tmp_path / n / "last/state.safetensors").read_bytes() for n in ("onnx", "bsm")]
    assert first == second


def test_keep_best_keeps_the_best(cli, program, data, tmp_path):
    out = ok(cli("train", program, "--data", data, "--eval-data", data, "--epochs", "5", "--checkpoint-dir",
                 tmp_path / "run", "--keep-best", "loss", "--log-dir", tmp_path / "log"))
    with open(tmp_path / "log/metrics.jsonl") as file:
        rows = [json.loads(line) for line in file]
    evaluations = [row for row in rows if row["kind"] == "eval"]
    assert len(evaluations) == 5 and "(best)" in out
    with open(tmp_path / "run/best/trainer.json") as file:
        best = json.load(file)
    wanted = min(evaluations, key=lambda row: row["loss"])
    assert best["step"] == wanted["step"] and best["best"] == pytest.approx(wanted["loss"])


def test_the_loss_of_an_earlier_step_is_not_an_epochs(cli, program, data):
    output = ok(cli("train", program, "--data", data, "--eval-data", data, "--epochs", "3", "--log-every", "1000"))
    lines = [line for line in output.splitlines() if "eval loss" in line and line.startswith("step")]
    assert ["train loss" in line for line in lines] == [False, False, True], output


def test_inspect_shows_everything(cli, model, program):
    text = ok(cli("inspect", program, "--params", "--commands"))
    for part in ("settings", "train_step(x f32[6x3x4], labels i64[6])", "labels: a label in [0, 4] or -100", "fc1.weight", "adamw.exp_avg/fc1.weight",
                 "liveness bound", "gap", "kernels:", "x86-64-v4", "launch"):
        assert part.lower() in text.lower(), part
    report = json.loads(ok(cli("inspect", program, "--json")))
    for exec_program in report["programs"]:
        assert exec_program["liveness_bound"] <= exec_program["packed_peak"]
    # The same from the model itself.
    again = json.loads(ok(cli("inspect", model, "--json", "--loss", "cross_entropy", "--batch", "6", "--optimizer",
                              "adamw", "--lr", "0.01")))
    assert {**again, "program": ""} == {**report, "program": ""}


def test_a_terminal_gets_a_progress_bar(program, data):
    import pty
    binary = os.environ.get("BESSEMER_BIN", "build/bin/bessemer")
    try:
        leader, terminal = pty.openpty()
    except OSError as problem:  # a chroot without /dev/pts
        pytest.skip(str(problem))
    process = subprocess.Popen([binary, "train", program, "--data", data, "--steps", "3000", "--log-every", "10"],
                               stdout=terminal)
    os.close(terminal)
    shown = b""
    try:
        while chunk := os.read(leader, 4096):
            shown += chunk
    except OSError:  # The other end is closed.
        pass
    assert process.wait() == 0
    last = shown.decode().split("\r")
    bar = next(text for text in last if " 100%" in text)
    for part in ("epoch 500/500", "[#", "loss ", "samples/s", "0:00 left"):
        assert part in bar, bar
    assert "step 10/3000" not in shown.decode()


def test_run_starts_with_the_runtime_alone(program, data, tmp_path):
    """Starting is fast because nothing of the compiler, nor what the program does not call, is loaded: counted in
    libraries, as time depends on who else uses the machine."""
    binary = os.environ.get("BESSEMER_BIN", "build/bin/bessemer")
    command = [binary, "run", program, "--input", f"x={data}:x", "--output-dir", tmp_path / "out"]
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                            env={**os.environ, "LD_DEBUG": "files"})
    assert result.returncode == 0
    loaded = [os.path.basename(line.split()[-1]) for line in result.stderr.splitlines() if "calling init: " in line]
    assert any(name.startswith("libz") for name in loaded), loaded
    for part in ("compiler", "LLVM", "MLIR", "protobuf", "dnnl", "python"):
        assert not [name for name in loaded if part in name], loaded
    assert len(loaded) <= 12, loaded


def test_help_teaches(cli):
    for command in ("compile", "train", "run", "eval", "inspect", "export", "doctor"):
        assert f"bessemer {command}" in ok(cli(command, "--help"))
    assert "x86-64" in ok(cli("doctor"))
    assert ok(cli("--version")).startswith("bessemer ")
