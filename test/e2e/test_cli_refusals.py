# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the command line refuses leaves everything as it was; what goes wrong
during a run ends it with one line and keeps the checkpoint before."""

import ctypes
import json
import os
import re
import resource
import shutil
import signal
import stat
import struct
import subprocess

import numpy as np
import onnx
import pytest
from refusals import COMPILE, INPUT, USAGE, contents, data, expect, model, ok, program  # noqa: F401, fixtures among them
from sanitizers import SANITIZED


def test_a_batch_of_ignored_labels_is_named(cli, program, tmp_path):
    np.savez(tmp_path / "i.npz", x=np.ones((12, 3, 4), np.float32), labels=np.full(12, -100))
    expect(cli("train", program, "--data", tmp_path / "i.npz", "--epochs", 1), INPUT,
           "step 1: the loss is not a number, as every label of the batch is the ignored one")


def test_numbers_out_of_range(cli, program, data):
    train = ["train", program, "--data", data]
    # 6 batches an epoch: the number of steps would wrap.
    expect(cli(*train, "--epochs", "9000000000000000000"), USAGE, "--epochs: expected at most 715827882 epochs of 6 steps",
           "got 9000000000000000000")
    for threads in ("4294967297", "4097", "-1"):
        expect(cli(*train, f"--threads={threads}"), USAGE, "--threads: expected at", threads)
    # As in Python and C, and as the flag's absence.
    all_cores = [re.findall("^training .* threads$", ok(cli(*train, "--steps", 2, *flags)), re.MULTILINE)
                 for flags in ([], ["--threads", 0])]
    assert all_cores[0] == all_cores[1] and len(all_cores[0]) == 1, all_cores


def test_a_refused_training_leaves_its_folder_alone(cli, model, data, tmp_path):
    run = tmp_path / "run"
    train = ["train", model, *COMPILE, "--checkpoint-dir", run, "--data"]
    # Nothing is made for a run that cannot begin.
    for flags, status in ((["nowhere.npz"], INPUT), ([data, "--map", "z=x"], INPUT), ([data, "--device", "cuda"], USAGE),
                          ([data, "--steps", "2", "--warmup-steps", "3"], USAGE), ([data, "--resume"], INPUT),
                          ([data, "--keep-best", "loss"], USAGE)):
        expect(cli(*train, *flags), status)
        assert not run.exists(), flags
    ok(cli(*train, data, "--steps", "3"))
    before = contents(run)
    assert str(run / "model.bsm") in before
    other = [word if word != "6" else "4" for word in train]
    expect(cli(*other, data), INPUT, "run/last", "--resume")
    expect(cli(*other, data, "--steps", "9", "--resume"), INPUT, "another compiled program")
    expect(cli(*train, data, "--steps", "9", "--resume", "--seed", "8"), USAGE, "--seed")
    expect(cli(*train, "nowhere.npz", "--resume"), INPUT, "nowhere.npz")
    assert contents(run) == before


@pytest.mark.parametrize("change", [["--clip-norm", "1"], ["--betas", "0.8,0.999"], ["--label-smoothing", "0.1"],
                                    ["--strict"]])
def test_resuming_needs_the_program_of_the_checkpoint(cli, model, program, data, tmp_path, change):
    run = tmp_path / "run"
    ok(cli("train", program, "--data", data, "--steps", "3", "--checkpoint-dir", run))
    other = tmp_path / "other.bsm"
    ok(cli("compile", model, "-o", other, *COMPILE, *change))
    with open(run / "last/trainer.json") as file:
        saved = json.load(file)["artifact"]
    before = contents(run)
    expect(cli("train", other, "--data", data, "--steps", "6", "--checkpoint-dir", run, "--resume"), INPUT,
           "belongs to another compiled program", saved, "other.bsm")
    assert contents(run) == before
    # The state alone fits all of them.
    ok(cli("eval", other, "--data", data, "--checkpoint", run))
    ok(cli("train", program, "--data", data, "--steps", "6", "--lr", "0.5", "--checkpoint-dir", run, "--resume"))


def test_run_wants_the_scale_of_pixels_said(cli, program, data, tmp_path):
    pixels = np.random.default_rng(3).integers(0, 256, (7, 3, 4), np.uint8)
    np.save(tmp_path / "p.npy", pixels)
    np.save(tmp_path / "f.npy", (pixels / 255).astype(np.float32))
    np.save(tmp_path / "n.npy", ((pixels / 255 - 0.25) / 0.5).astype(np.float32))
    run = ["run", program, "--input"]
    expect(cli(*run, f"x={tmp_path}/p.npy"), INPUT, "'x'", "uint8", "train and eval multiply uint8 by 1/255", "--scale")
    expect(cli(*run, f"x={tmp_path}/p.npy", "--mean", "0.5"), INPUT, "--scale")

    def outputs(name, *flags):
        ok(cli(*run, f"x={tmp_path}/{name}.npy", *flags, "--output-dir", tmp_path / "out"))
        return np.load(tmp_path / "out" / os.listdir(tmp_path / "out")[0])
    scale = ["--scale", "0.00392156862745098"]
    np.testing.assert_array_equal(outputs("p", *scale), outputs("f"))
    np.testing.assert_allclose(outputs("p", *scale, "--mean", "0.25", "--std", "0.5"), outputs("n"), rtol=1e-5, atol=1e-6)
    assert not np.allclose(outputs("p", "--scale", "1"), outputs("f"))


def test_doctor_opens_onednn_as_the_runtime_does(cli, tmp_path):
    def line(**environment):
        out = ok(cli("doctor", env={**os.environ, **environment}))
        return next(text for text in out.splitlines() if text.startswith("oneDNN"))
    assert "oneDNN 2." in line() and "libdnnl.so.2" in line()
    assert "nowhere.so" in line(BESSEMER_ONEDNN="nowhere.so")
    assert "expected oneDNN 2" in line(BESSEMER_ONEDNN="libm.so.6")


def test_a_loss_of_the_model_needs_whole_batches_to_evaluate(cli, tmp_path):
    import onnx
    from onnx import helper
    from models import make_model
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("Mul", ["y", "y"], ["s"]),
             helper.make_node("ReduceMean", ["s"], ["loss"], keepdims=0)]
    onnx.save(make_model(nodes, [("x", "f", [4, 3])], [("loss", "f", []), ("y", "f", [4, 2])],
                         {"w": np.ones((3, 2), np.float32)}), tmp_path / "o.onnx")
    x = np.arange(24, dtype=np.float32).reshape(8, 3) / 10
    np.savez(tmp_path / "even.npz", x=x)
    np.savez(tmp_path / "odd.npz", x=x[:7])
    ok(cli("compile", tmp_path / "o.onnx", "-o", tmp_path / "o.bsm", "--loss", "output:loss"))
    got = json.loads(ok(cli("eval", tmp_path / "o.bsm", "--data", tmp_path / "even.npz", "--json")))
    assert got["loss"] == pytest.approx(np.square(x.sum(1)).mean(), rel=1e-6)
    message = "whole batches: expected a multiple of 4 rows, got 7"
    expect(cli("eval", tmp_path / "o.bsm", "--data", tmp_path / "odd.npz"), INPUT, message)
    result = cli("train", tmp_path / "o.bsm", "--data", tmp_path / "even.npz", "--eval-data", tmp_path / "odd.npz")
    expect(result, INPUT, message)
    assert "step" not in result.stdout.replace("steps", "").replace("eval_step", "")


def test_settings_compare_by_what_was_done(cli, golden, tmp_path):
    import onnx
    from onnx import helper, numpy_helper
    # The batch dimension has another name than "batch".
    w = numpy_helper.from_array(np.ones((3, 2), np.float32), "w")
    info = helper.make_tensor_value_info
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [info("x", 1, ["N", 3])],
                              [info("y", 1, ["N", 2])], [w])
    named = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    named.ir_version = 10
    onnx.save(named, tmp_path / "n.onnx")
    ok(cli("compile", tmp_path / "n.onnx", "-o", tmp_path / "n.bsm", "--loss", "mse", "--dim", "batch=4"))
    np.savez(tmp_path / "n.npz", x=np.ones((8, 3), np.float32), labels=np.ones((8, 2), np.float32))
    train = ["train", tmp_path / "n.bsm", "--data", tmp_path / "n.npz", "--dim"]
    for dim in ("batch=4", "N=4"):
        ok(cli(*train, dim))
    for dim in ("batch=5", "N=5"):
        expect(cli(*train, dim), INPUT, "--dim", "4", "5")

    # The formula of running variances comes from the producer unless given.
    model = onnx.load(golden("convnet").model)
    images, labels = np.ones((4, 2, 10, 10), np.float32), np.zeros(4, np.int64)
    np.savez(tmp_path / "c.npz", x=images, labels=labels)
    for producer, effective, other in (("pytorch", "unbiased", "biased"), ("somebody", "biased", "unbiased")):
        model.producer_name = producer
        onnx.save(model, tmp_path / "c.onnx")
        ok(cli("compile", tmp_path / "c.onnx", "-o", tmp_path / "c.bsm", "--loss", "cross_entropy", "--batch", "4"))
        train = ["train", tmp_path / "c.bsm", "--data", tmp_path / "c.npz", "--batch-norm-variance"]
        ok(cli(*train, effective))
        expect(cli(*train, other), INPUT, "--batch-norm-variance", effective, other)


def limit_files(size):
    """The next process cannot write files beyond this: a disk that is full."""
    def prepare():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return prepare


@pytest.mark.skipif(SANITIZED, reason="LLVM's OpenMP starts with a file of its own")
def test_a_full_disk_keeps_the_checkpoint(cli, program, data, tmp_path):
    run = tmp_path / "run"
    train = ["train", program, "--data", data, "--checkpoint-dir", run]
    expect(cli(*train, "--steps", "3", preexec_fn=limit_files(1000)), INPUT, "cannot write", "state.safetensors")
    assert not os.listdir(run)
    ok(cli(*train, "--steps", "3"))
    before = contents(run / "last")
    expect(cli(*train, "--steps", "6", "--resume", preexec_fn=limit_files(1000)), INPUT, "cannot write",
           "state.safetensors")
    assert contents(run / "last") == before and os.listdir(run) == ["last"]
    expect(cli(*train, "--steps", "6", "--resume", "--log-dir", tmp_path / "log", preexec_fn=limit_files(100)), INPUT,
           "metrics.csv", "cannot write")
    ok(cli(*train, "--steps", "6", "--resume"))
    assert os.listdir(run) == ["last"]


def obey_modes():
    """Root may write everywhere; the next process shall not (CAP_DAC_OVERRIDE)."""
    if os.getuid() == 0 and ctypes.CDLL(None).prctl(24, 1, 0, 0, 0) != 0:
        os._exit(99)


def obey_reading_modes():
    if os.getuid() == 0 and any(ctypes.CDLL(None).prctl(24, capability, 0, 0, 0) != 0 for capability in (1, 2)):
        os._exit(99)


def test_a_read_only_directory_keeps_the_checkpoint(cli, program, data, tmp_path):
    run = tmp_path / "run"
    train = ["train", program, "--data", data, "--checkpoint-dir", run]
    (tmp_path / "file").write_text("")
    expect(cli(*train[:-1], tmp_path / "file/run"), INPUT, "file", "Not a directory")
    ok(cli(*train, "--steps", "3"))
    before = contents(run)
    os.chmod(run, 0o555)
    try:
        result = cli(*train, "--steps", "6", "--resume", preexec_fn=obey_modes)
        if result.returncode == 99:
            pytest.skip("root cannot give up writing everywhere")
        expect(result, INPUT, "cannot create", "Permission denied")
        assert contents(run) == before
    finally:
        os.chmod(run, 0o755)


def test_what_may_not_be_read_is_not_called_absent(cli, model, program, data, tmp_path):
    """Root reads everything; without those capabilities the next process does not (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH)."""
    import onnx
    run, locked = tmp_path / "run", tmp_path / "locked"
    ok(cli("train", program, "--data", data, "--steps", "2", "--checkpoint-dir", run))
    locked.mkdir()
    (locked / "r.yaml").write_text("epochs: 1\n")
    for name in ("d.npz", "m.bsm"):
        shutil.copy(tmp_path / name, locked)
    shutil.copy(model, locked / "m.onnx")
    shutil.copytree(run, locked / "run")
    external = onnx.load(model)
    onnx.save(external, tmp_path / "e.onnx", save_as_external_data=True, location="locked/w", size_threshold=0)
    d, m, x = locked / "d.npz", locked / "m.bsm", f"x={locked / 'd.npz'}:x"
    train, compile = ["train", program, "--data", data], ["compile", model, "-o", tmp_path / "o.bsm"]
    cases = [([*compile, "--recipe", locked / "r.yaml"], "r.yaml"), (["train", program, "--data", d], "d.npz"),
             (["train", program, "--data", data, "--eval-data", d], "d.npz"), (["run", program, "--input", x], "d.npz"),
             (["eval", m, "--data", data], "m.bsm"), (["compile", locked / "m.onnx", "-o", tmp_path / "o.bsm"], "m.onnx"),
             (["eval", program, "--data", data, "--checkpoint", locked / "run"], "state.safetensors"),
             (["export", program, "--checkpoint", locked / "run", "-o", tmp_path / "t.onnx"], "state.safetensors"),
             ([*train, "--checkpoint-dir", locked / "run"], "state.safetensors"),
             ([*train, "--checkpoint-dir", locked / "run", "--resume"], "state.safetensors"),
             ([*train, "--log-dir", locked], "locked"), (["compile", tmp_path / "e.onnx", "-o", tmp_path / "o.bsm"], "locked/w")]

    def check():
        for words, named in cases:
            result = cli(*words, preexec_fn=obey_reading_modes)
            if result.returncode == 99:
                pytest.skip("root cannot give up reading everything")
            expect(result, INPUT, named, "ermission denied")
    try:
        os.chmod(locked, 0)
        check()
        os.chmod(locked, 0o755)
        for at, _, names in os.walk(locked):
            for name in names:
                os.chmod(os.path.join(at, name), 0)
        # Whether a checkpoint is there can be seen then; another log is not.
        cases = [case for case in cases if case[1] != "locked" and (case[0][0] != "train" or "--resume" in case[0] or case[1] == "d.npz")]
        check()
    finally:
        os.chmod(locked, 0o755)


BINARY = os.environ.get("BESSEMER_BIN", "build/bin/bessemer")


def start(command):
    process = subprocess.Popen([BINARY, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in process.stdout:
        if "checkpoint" in line:
            return process
    raise AssertionError(process.stderr.read())


def test_data_that_vanishes_during_a_run(cli, program, tmp_path):
    random = np.random.default_rng(1)
    rows = 4000  # Many pages, so that a file that is cut loses some.
    train = ["train", program, "--data", f"x={tmp_path}/x.npy,labels={tmp_path}/y.npy", "--steps", "10000000",
             "--log-every", "1000000", "--checkpoint-every", "500", "--checkpoint-dir", tmp_path / "run"]
    x = random.standard_normal((rows, 3, 4)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", random.integers(0, 5, rows))
    # The name may go: the file stays open.
    process = start(train)
    os.unlink(tmp_path / "x.npy")
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130 and error == ""
    # Its contents may not.
    np.save(tmp_path / "x.npy", x)
    process = start([*train, "--resume"])
    os.truncate(tmp_path / "x.npy", 5000)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 1, error
    assert error == "error: a file was cut short or became unreadable while it was read\n"
    # When they are back, the run goes on as if nothing had happened.
    np.save(tmp_path / "x.npy", x)
    step = json.loads((tmp_path / "run/last/trainer.json").read_text())["step"] + 100
    ok(cli(*train[:5], step, *train[6:], "--resume"))
    ok(cli(*train[:5], step, *train[6:-1], tmp_path / "whole"))
    resumed, whole = [sorted(contents(tmp_path / name / "last").values()) for name in ("run", "whole")]
    assert resumed == whole and len(whole) == 2


def xxh64(data):
    """The public xxHash algorithm, seed 0."""
    p1, p2, p3, p4, p5 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63,
                          0x27D4EB2F165667C5)
    mask = 2**64 - 1

    def rotate(value, bits):
        value &= mask
        return (value << bits | value >> (64 - bits)) & mask

    def mix(lane, value):
        return rotate(lane + value * p2, 31) * p1 & mask
    lanes, at = [p1 + p2, p2, 0, -p1], 0
    for at in range(32, len(data) + 1, 32):
        lanes = [mix(lane, value) for lane, value in zip(lanes, struct.unpack("<4Q", data[at - 32:at]))]
    value = sum(rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18))) if at else p5
    for lane in lanes if at else ():
        value = ((value ^ mix(0, lane)) * p1 + p4) & mask
    value += len(data)
    while len(data) - at >= 8:
        value = rotate(value ^ mix(0, struct.unpack_from("<Q", data, at)[0]), 27) * p1 + p4
        at += 8
    if len(data) - at >= 4:
        value = rotate(value ^ struct.unpack_from("<I", data, at)[0] * p1, 23) * p2 + p3
        at += 4
    for byte in data[at:]:
        value = rotate(value ^ byte * p5, 11) * p1
    for bits, factor in ((33, p2), (29, p3), (32, 1)):
        value = (value & mask ^ (value & mask) >> bits) * factor & mask
    return f"{value:016x}"


@pytest.mark.parametrize("key,value,expected", [
    ("schedule", "linear", "constant or cosine"), ("steps", "-4", "from 1 to 4294967295"), ("steps", "many", "from 1 to 4294967295"),
    ("steps", "4294967296", "from 1 to 4294967295"),
    ("lr", "fast", "a number"), ("warmup-steps", "1e3", "a whole number")])
def test_settings_of_a_checkpoint_that_mean_nothing(cli, program, data, tmp_path, key, value, expected):
    train = ["train", program, "--data", data, "--checkpoint-dir", tmp_path / "run"]
    ok(cli(*train, "--steps", "3"))
    path = tmp_path / "run/last/trainer.json"
    trainer = json.loads(path.read_text())
    saved = trainer.pop("hash")

    def hashed():
        return xxh64(json.dumps(trainer, separators=(",", ":"), ensure_ascii=False).encode())
    assert hashed() == saved
    trainer["settings"][key] = value
    path.write_text(json.dumps({**trainer, "hash": hashed()}))
    expect(cli(*train, "--resume"), INPUT, "trainer.json", f"'{key}'", expected, f"got '{value}'")


def test_steps_are_below_2_to_the_32(cli, program, data, tmp_path):
    """Above 32 bits the batches of a step count, for random numbers of their own."""
    most, more = 2 ** 32 - 1, 2 ** 32
    train = ["train", program, "--data", data, "--checkpoint-dir", tmp_path / "run"]
    for flag in ("--steps", "--warmup-steps"):
        expect(cli(*train, flag, more), USAGE, f"{flag}: expected at most {most}, got '{more}'")
    np.save(tmp_path / "x.npy", np.load(data)["x"])
    run = ["run", program, "--input", f"x={tmp_path / 'x.npy'}", "--step"]
    ok(cli(*run, most))
    expect(cli(*run, more), USAGE, f"--step: expected at most {most}, got '{more}'")
    ok(cli(*train, "--steps", "3"))
    path = tmp_path / "run/last/trainer.json"
    trainer = json.loads(path.read_text())
    del trainer["hash"]
    trainer["step"] = more
    text = json.dumps(trainer, separators=(",", ":"), ensure_ascii=False)
    path.write_text(json.dumps({**trainer, "hash": xxh64(text.encode())}))
    before = path.read_bytes()
    expect(cli(*train, "--resume"), INPUT, f"trainer.json: step: expected at most {most}, got {more}")
    assert path.read_bytes() == before


def test_a_bad_checkpoint_folder_is_known_before_training(cli, program, data, tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below", "/proc/nowhere"):
        result = cli("train", program, "--data", data, "--steps", 2, "--checkpoint-dir", folder)
        # The level that cannot be made is named.
        expect(result, INPUT, str(folder).removesuffix("/below"))
        assert "step" not in result.stdout


def test_outputs_that_are_no_files(cli, model, program, tmp_path):
    compile = ["compile", model, *COMPILE, "-o"]
    expect(cli(*compile, "/dev/full"), INPUT, "/dev/full: cannot write: No space left on device")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)
    expect(cli(*compile, tmp_path), INPUT, "expected a file, got a directory")
    os.symlink("m.bsm", tmp_path / "link.bsm")
    before = program.read_bytes()
    program.write_bytes(b"")
    ok(cli(*compile, tmp_path / "link.bsm"))
    assert os.path.islink(tmp_path / "link.bsm") and program.read_bytes() == before


def test_a_full_standard_output(program):
    with open("/dev/full", "w") as full:
        expect(subprocess.run([BINARY, "inspect", program], stdout=full, stderr=subprocess.PIPE, text=True), INPUT,
               "standard output: cannot write: No space left on device")


def test_closed_standard_files_are_no_others(model, program, tmp_path):
    """The artifact would be the first file opened, and take what is printed."""
    command = [BINARY, "compile", model, *COMPILE, "-o", tmp_path / "closed.bsm"]
    assert subprocess.run(["sh", "-c", 'exec "$0" "$@" <&- >&- 2>&-', *command]).returncode == 0
    assert (tmp_path / "closed.bsm").read_bytes() == program.read_bytes()


def test_names_that_are_no_text(cli, model, data, tmp_path):
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    shutil.copy(model, odd + ".onnx")
    expect(cli("compile", odd + ".onnx", "-o", tmp_path / "m.bsm", *COMPILE), USAGE, "model: expected text in UTF-8")
    expect(cli("compile", model, "-o", tmp_path / "m.bsm", "--freeze", os.fsdecode(b"\xfe"), *COMPILE), USAGE,
           "freeze: expected text in UTF-8")
    # Names that only the system sees are bytes.
    shutil.copy(data, odd + ".npz")
    for command in (["compile", model, "-o", odd + ".bsm", *COMPILE], ["inspect", odd + ".bsm", "--json"],
                    ["train", odd + ".bsm", "--data", odd + ".npz", "--steps", "2", "--checkpoint-dir", odd]):
        ok(cli(*command, errors="replace"))


def test_data_and_checkpoints_are_regular_files(cli, program, data, tmp_path):
    """Opening a pipe that nobody writes to would wait for good."""
    pipe, folder = tmp_path / "pipe", tmp_path / "checkpoint"
    os.mkfifo(pipe)
    folder.mkdir()
    os.mkfifo(folder / "state.safetensors")
    np.save(tmp_path / "x.npy", np.zeros((6, 3, 4), np.float32))
    for path, what in ((pipe, "a pipe"), ("/dev/null", "a device or a socket")):
        for words in (["eval", program, "--data", path], ["train", program, "--data", f"x={path},labels={path}"],
                      ["run", program, "--input", f"x={path}"], ["eval", path, "--data", data],
                      ["train", program, "--data", data, "--eval-data", path]):
            expect(cli(*words, timeout=20), INPUT, f"{path}: expected a regular file, got {what}")
    for words in (["eval", program, "--data", data], ["run", program, "--input", f"x={tmp_path / 'x.npy'}"],
                  ["export", program, "-o", tmp_path / "out.onnx"]):
        expect(cli(*words, "--checkpoint", folder, timeout=20), INPUT, "expected a regular file, got a pipe")
    expect(cli("eval", program, "--data", data, "--checkpoint", data), INPUT,
           f"{data}: expected the directory of a checkpoint, got a file")
    # A file under another name is one.
    with open(data, "rb") as file:
        ok(cli("eval", program, "--data", "/dev/stdin", stdin=file))


@pytest.mark.parametrize("words,named", [
    (["compile", "MODEL", "-o", ""], "--output: expected FILE, got ''"),
    (["compile", "", "-o", "m.bsm"], "MODEL: expected the .onnx file, got ''"),
    (["compile", "MODEL", "-o", "m.bsm", "--recipe", ""], "--recipe: expected FILE.yaml, got ''"),
    (["compile", "MODEL", "-o", "m.bsm", "--dump-dir", ""], "--dump-dir: expected DIR, got ''"),
    (["export", "PROGRAM", "--checkpoint", "run", "-o", ""], "--output: expected FILE.onnx, got ''"),
    (["export", "PROGRAM", "--checkpoint", "", "-o", "x.onnx"], "--checkpoint: expected DIR, got ''"),
    (["train", "PROGRAM", "--data", "DATA", "--checkpoint-dir", ""], "--checkpoint-dir: expected DIR, got ''"),
    (["train", "PROGRAM", "--data", "DATA", "--log-dir", ""], "--log-dir: expected DIR, got ''"),
    (["eval", "PROGRAM", "--data", ""], "--data: expected a list without empty parts, got ''"),
    (["run", "PROGRAM", "--input", "x="], "--input: expected NAME=VALUE, got 'x='"),
    (["run", "PROGRAM", "--output-dir", "", "--input", "x=DATA"], "--output-dir: expected DIR, got ''"),
    (["inspect", ""], "MODEL: expected"),
])
def test_empty_names(cli, model, program, data, words, named):
    words = [{"MODEL": model, "PROGRAM": program, "DATA": data}.get(word, word) for word in words]
    expect(cli(*words), USAGE, named)


def test_adamws_constants_need_adamw(cli, model, data, tmp_path):
    for flags in (["--lazy-embeddings"], ["--betas", "0.8,0.9"], ["--eps", "1e-6"]):
        for words in (["compile", model, "-o", tmp_path / "m.bsm"], ["inspect", model],
                      ["train", model, "--data", data]):
            expect(cli(*words, "--loss", "cross_entropy", *flags), USAGE,
                   f"{flags[0]}: is of adamw, and without --optimizer adamw the optimizer is sgd")


@pytest.mark.parametrize("limit", ["18446744073709551615", "5EB", "0", "-1", "MB", "1.5.5GB", "4611686018427387904",
                                   "1e30", "nan", "inf", "0.1"])
def test_memory_limits_that_are_none(cli, model, tmp_path, limit):
    expect(cli("compile", model, "-o", tmp_path / "m.bsm", *COMPILE, f"--memory-limit={limit}"), USAGE,
           f"--memory-limit: expected bytes above 0 and below 2^62, e.g. 500000000, 500MB (10^6 each) or 1.5GiB (2^30 each), got '{limit}'")


def test_help_names_defaults_and_units(cli):
    text = " ".join(cli("compile", "--help").stdout.split())
    assert "(default: sgd)" in text and "kB, MB, GB, TB (powers of 1000)" in text


@pytest.mark.parametrize("line,expected", [
    ("batch: 450.5", "batch: expected a whole number, got '450.5'"),
    ("accumulate: 1.5", "accumulate: expected a whole number, got '1.5'"),
    ("dims: {batch: 6.5}", "expected"),
    ("class_axis: 1.0", "class_axis: expected a whole number, got '1.0'"),
    ("memory_limit: 5parsecs", "memory_limit: expected bytes above 0 and below 2^62"),
])
def test_whole_numbers_in_recipes(cli, model, tmp_path, line, expected):
    (tmp_path / "r.yaml").write_text("loss: cross_entropy\n" + line + "\n")
    result = cli("compile", model, "-o", tmp_path / "m.bsm", "--recipe", tmp_path / "r.yaml")
    assert result.returncode == USAGE and expected in result.stderr, result.stderr
    assert not (tmp_path / "m.bsm").exists()


@pytest.mark.parametrize("rows", [0, 2, 6, 8])
def test_run_prints_and_writes_the_rows_it_was_given(cli, program, tmp_path, rows):
    np.save(tmp_path / "x.npy", np.zeros((rows, 3, 4), np.float32))
    words = ["run", program, "--input", f"x={tmp_path / 'x.npy'}"]
    alone, written = cli(*words), cli(*words, "--output-dir", tmp_path / "out")
    assert alone.returncode == written.returncode == 0, written.stderr
    assert alone.stdout == written.stdout and f"f32[{rows}x5]" in alone.stdout
    [file] = (tmp_path / "out").iterdir()
    assert np.load(file).shape == (rows, 5)


def test_no_rows_have_no_mean(cli, program, tmp_path):
    np.savez(tmp_path / "none.npz", x=np.zeros((0, 3, 4), np.float32), labels=np.zeros(0, np.int64))
    for command in ("eval", "train"):
        expect(cli(command, program, "--data", tmp_path / "none.npz"), INPUT, "'x' has no rows")


@pytest.mark.parametrize("batch", [10 ** 7, 10 ** 9, 10 ** 12, 10 ** 18])
def test_batches_beyond_the_machine(cli, model, data, tmp_path, batch):
    """A batch that nothing holds is an error with numbers, when compiling or when the session is made."""
    compiled = cli("compile", model, "-o", tmp_path / "m.bsm", *COMPILE[:2], "--batch", batch)
    if compiled.returncode == 0:
        result = cli("eval", tmp_path / "m.bsm", "--data", data)
        if result.returncode == 0:
            return  # the machine holds it
        expect(result, INPUT, "not enough memory: a session takes", "bytes (state", "smaller batch")
    else:
        expect(compiled, INPUT, "expected at most 2^40 elements")
        assert "internal" not in compiled.stderr


@pytest.mark.parametrize("flag", ["--lr", "--eps", "--weight-decay"])
def test_numbers_that_float32_does_not_hold(cli, model, program, data, tmp_path, flag):
    """They would be infinite in the kernels."""
    expect(cli("compile", model, "-o", tmp_path / "n.bsm", *COMPILE[:6], flag, "1e39"), USAGE,
           f"{flag}: expected at most 3.40282e+38, got '1e39'")
    if flag == "--lr":
        expect(cli("train", program, "--data", data, flag, "1e39"), USAGE, "--lr: expected at most 3.40282e+38, got '1e39'")
