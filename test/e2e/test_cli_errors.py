# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every wrong command gives one line that names what is wrong, and the right
exit status: 1 the input's fault, 2 usage."""

import json

import numpy as np
import pytest
from refusals import INPUT, USAGE, expect

ROWS = 20


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A compiled model (batch 6, x [6, 3, 4], 5 classes), data, and a checkpoint."""
    import os
    import subprocess
    from conftest import GOLDENS
    folder = tmp_path_factory.mktemp("cli")
    program = os.environ.get("BESSEMER_BIN", "build/bin/bessemer")
    model = os.path.join(GOLDENS, "mlp_cross_entropy", "model.onnx")
    random = np.random.default_rng(0)
    x = random.standard_normal((ROWS, 3, 4)).astype(np.float32)
    labels = random.integers(0, 5, ROWS)
    np.savez(folder / "d.npz", x=x, labels=labels)
    np.save(folder / "x.npy", x[:6])
    np.save(folder / "wide.npy", np.zeros((6, 3, 5), np.float32))
    np.savez(folder / "strange.npz", x=x, labels=labels + 3)
    np.savez(folder / "nan.npz", x=np.full_like(x, np.nan), labels=labels)
    (folder / "cut.npz").write_bytes((folder / "d.npz").read_bytes()[:-40])
    for command in (["compile", model, "-o", folder / "m.bsm", "--loss", "cross_entropy", "--batch", "6",
                     "--optimizer", "adamw", "--lr", "0.01"],
                    ["compile", model, "-o", folder / "plain.bsm", "--batch", "6"],
                    ["train", folder / "m.bsm", "--data", folder / "d.npz", "--steps", "3", "--checkpoint-dir",
                     folder / "run"]):
        subprocess.run([program, *map(str, command)], check=True)
    (folder / "cut.bsm").write_bytes((folder / "m.bsm").read_bytes()[:1000])
    return folder


@pytest.mark.parametrize("command,part", [
    ([], "subcommand"),
    (["fly"], "fly"),
    (["train"], "MODEL"),
    (["compile", "m.onnx"], "-o"),
    (["train", "m.onnx", "--data", "d.npz"], "--loss"),
    (["train", "m.bsm"], "--data"),
    (["eval", "m.bsm"], "--data"),
    (["export", "m.bsm"], "-o"),
    (["train", "m.bsm", "--data", "d.npz", "--speed", "9"], "--speed"),
    (["train", "m.bsm", "--data", "d.npz", "--lr", "fast"], "--lr: expected a number, got 'fast'"),
    (["train", "m.bsm", "--data", "d.npz", "--lr", "nan"], "--lr"),
    (["train", "m.bsm", "--data", "d.npz", "--epochs", "1.5"], "--epochs: expected a whole number"),
    (["train", "m.bsm", "--data", "d.npz", "--epochs", "0"], "--epochs: expected at least 1"),
    (["train", "m.bsm", "--data", "d.npz", "--lr", "-1"], "--lr: expected at least 0"),
    (["train", "m.bsm", "--data", "d.npz", "--schedule", "linear"], "one of constant, cosine"),
    (["train", "m.bsm", "--data", "d.npz", "--map", "x"], "NAME=VALUE"),
    (["train", "m.bsm", "--data", "d.npz", "--trace", "t.json"], "--trace"),
    (["compile", "m.onnx", "-o", "o.bsm", "--precision", "bf16"], "f32"),
    (["compile", "m.onnx", "-o", "o.bsm", "--target", "sm_80"], "sm_80"),
    (["compile", "m.onnx", "-o", "o.bsm", "--devices", "2"], "--devices"),
    (["compile", "m.onnx", "-o", "o.bsm", "--mesh", "data=2"], "--mesh"),
    (["compile", "m.onnx", "-o", "o.bsm", "--betas", "0.9"], "--betas: expected two numbers, got '0.9'"),
    (["compile", "m.onnx", "--emit", "assembly"], "graph, kern, exec, llvm"),
])
def test_usage(cli, command, part):
    expect(cli(*command), USAGE, part)


def test_usage_with_a_program(cli, files):
    train = ["train", files / "m.bsm", "--data", files / "d.npz"]
    expect(cli(*train, "--epochs", "1", "--steps", "2"), USAGE, "--epochs or --steps")
    expect(cli(*train, "--resume"), USAGE, "--checkpoint-dir")
    expect(cli(*train, "--keep-best", "loss"), USAGE, "--eval-data")
    expect(cli(*train, "--checkpoint-every", "1"), USAGE, "--checkpoint-dir")
    expect(cli(*train, "--steps", "2", "--warmup-steps", "3"), USAGE, "--warmup-steps 3")
    expect(cli(*train, "--device", "cuda"), USAGE, "cuda")
    expect(cli(*train, "--steps", "9", "--checkpoint-dir", files / "run", "--resume", "--seed", "5"), USAGE,
           "seed 0, got 5")


def test_missing_and_damaged_files(cli, files, tmp_path):
    for name in ("nowhere.bsm", "cut.bsm"):
        for command in ("inspect", "run"):
            expect(cli(command, files / name), INPUT, name)
    train = ["train", files / "m.bsm", "--data"]
    expect(cli(*train, files / "nowhere.npz"), INPUT, "nowhere.npz", "cannot open")
    expect(cli(*train, files / "cut.npz"), INPUT, "cut.npz", "truncated")
    expect(cli(*train, files / "m.bsm"), INPUT, "m.bsm", ".npz")
    expect(cli(*train, files / "d.npz", "--checkpoint-dir", tmp_path, "--resume"), INPUT, "no checkpoint")
    expect(cli("eval", files / "m.bsm", "--data", files / "d.npz", "--checkpoint", tmp_path), INPUT, "no checkpoint")
    expect(cli("compile", files / "nowhere.onnx", "-o", tmp_path / "o.bsm", "--loss", "mse"), INPUT, "nowhere.onnx")
    assert not (tmp_path / "o.bsm").exists()
    expect(cli("compile", files / "d.npz", "-o", tmp_path / "o.bsm", "--loss", "mse"), INPUT, "d.npz")


def test_an_onnx_model_must_be_compiled_first(cli, files):
    for command in (["run", "m.onnx"], ["eval", "m.onnx", "--data", files / "d.npz"],
                    ["export", "m.onnx", "-o", "t.onnx", "--checkpoint", files / "run"]):
        expect(cli(*command), INPUT, "m.onnx", "bessemer compile")


def test_data_that_does_not_fit(cli, files):
    train = ["train", files / "m.bsm", "--data"]
    expect(cli(*train, f"x={files}/wide.npy,labels={files}/d.npz:labels"), INPUT, "'x'", "f32[3x4]", "f32[3x5]")
    expect(cli(*train, f"x={files}/x.npy"), INPUT, "'labels'", "--map")
    expect(cli(*train, f"x={files}/x.npy,labels={files}/d.npz:labels"), INPUT, "20 rows", "6")
    expect(cli(*train, f"x={files}/d.npz"), INPUT, "expected one array", "labels")
    expect(cli(*train, f"x={files}/d.npz:z"), INPUT, "no array 'z'")
    expect(cli(*train, files / "strange.npz"), INPUT, "expected a label in [0, 4] or -100")
    expect(cli(*train, files / "d.npz", "--map", "z=x"), INPUT, "no input 'z'")
    expect(cli(*train, files / "d.npz", "--map", "x=z"), INPUT, "no data column 'z'")
    expect(cli(*train, files / "d.npz", "--mean", "1,2"), INPUT, "mean")
    expect(cli(*train, files / "d.npz", "--std", "0"), INPUT, "std")


def test_a_loss_that_is_not_finite_names_its_step(cli, files, tmp_path):
    result = cli("train", files / "m.bsm", "--data", files / "nan.npz", "--checkpoint-dir", tmp_path / "run")
    expect(result, INPUT, "step 1: the loss is not finite")
    assert not (tmp_path / "run" / "last").exists()


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_an_evaluation_that_is_not_finite_is_none(cli, files, tmp_path, flags):
    with np.load(files / "d.npz") as data:
        x, labels = data["x"].copy(), data["labels"]
    x[14, 0, 0] = np.nan
    np.savez(tmp_path / "n.npz", x=x, labels=labels)
    # 20 rows in batches of 6.
    expect(cli("eval", files / "m.bsm", "--data", tmp_path / "n.npz", *flags), INPUT,
           "eval: the loss is not finite, first in rows 12 to 17 (from 0); look for NaN in the data")
    x[14, 0, 0], x[19, 0, 0] = 0, np.inf
    np.savez(tmp_path / "n.npz", x=x, labels=labels)
    expect(cli("eval", files / "m.bsm", "--data", tmp_path / "n.npz", *flags), INPUT, "first in rows 18 to 19 (from 0)")


def test_an_evaluation_that_is_not_finite_ends_the_training(cli, files, tmp_path):
    with np.load(files / "d.npz") as data:
        x, labels = data["x"].copy(), data["labels"]
    x[14, 0, 0] = np.nan
    np.savez(tmp_path / "n.npz", x=x, labels=labels)
    # An epoch of 20 rows has 3 batches of 6.
    result = cli("train", files / "m.bsm", "--data", files / "d.npz", "--eval-data", tmp_path / "n.npz", "--epochs", 2,
                 "--checkpoint-dir", tmp_path / "run", "--checkpoint-every", 2)
    expect(result, INPUT, "step 3: evaluation: the loss is not finite, first in rows 12 to 17 (from 0); look for NaN in the data")
    assert "nan" not in result.stdout and '"step": 3,' in (tmp_path / "run/last/trainer.json").read_text()
    ok = cli("train", files / "m.bsm", "--data", files / "d.npz", "--eval-data", files / "d.npz", "--epochs", 2,
             "--checkpoint-dir", tmp_path / "run", "--resume")
    assert ok.returncode == 0 and "step 6 of 6" in ok.stdout, ok.stderr


def test_a_last_evaluation_that_failed_is_made_up_for(cli, files, tmp_path):
    with np.load(files / "d.npz") as data:
        x, labels = data["x"].copy(), data["labels"]
    x[14, 0, 0] = np.nan
    np.savez(tmp_path / "n.npz", x=x, labels=labels)
    train = ["train", files / "m.bsm", "--data", files / "d.npz", "--epochs", 1, "--checkpoint-dir", tmp_path / "run"]
    expect(cli(*train, "--eval-data", tmp_path / "n.npz"), INPUT, "step 3: evaluation: the loss is not finite")
    again = [*train, "--eval-data", files / "d.npz", "--keep-best", "loss", "--resume"]
    result = cli(*again)
    assert result.returncode == 0, result.stderr
    measured = cli("eval", files / "m.bsm", "--data", files / "d.npz", "--checkpoint", tmp_path / "run/best", "--json")
    loss = json.loads(measured.stdout)["loss"]
    assert f"trained at step 3 of 3: eval loss {loss:.4g}" in result.stdout
    result = cli(*again)
    assert (result.returncode, result.stdout.splitlines()[-1]) == (0, "nothing to do: the checkpoint is at step 3")


@pytest.mark.parametrize("flags,parts", [
    (["--loss", "mse"], ["--loss", "cross_entropy", "mse"]),
    (["--optimizer", "sgd"], ["--optimizer", "adamw", "sgd"]),
    (["--weight-decay", "0.5"], ["--weight-decay", "0.01", "0.5"]),
    (["--betas", "0.9,0.99"], ["--betas", "0.999", "0.99"]),
    (["--clip-norm", "1"], ["--clip-norm", "without"]),
    (["--batch", "7"], ["--batch", "6", "7"]),
    (["--strict"], ["--strict", "false", "true"]),
    (["--dim", "batch=7"], ["--dim", "6", "7"]),
    (["--freeze", "fc1.*"], ["--freeze", "without"]),
])
def test_settings_fixed_at_compile_time(cli, files, flags, parts):
    expect(cli("train", files / "m.bsm", "--data", files / "d.npz", *flags), INPUT, "m.bsm", *parts)


def test_equal_settings_and_the_learning_rate_may_be_given(cli, files):
    result = cli("train", files / "m.bsm", "--data", files / "d.npz", "--loss", "cross_entropy", "--batch", "6",
                 "--optimizer", "adamw", "--betas", "0.9,0.999", "--weight-decay", "1e-2", "--lr", "0.5", "--target", "cpu",
                 "--label-smoothing", "0")
    assert result.returncode == 0, result.stderr


def test_a_recipes_columns_that_do_not_fit_are_placed(cli, files, tmp_path):
    for text, message in (("\nmap: {x: z}\n", "r.yaml:2: map: there is no data column 'z'"),
                          ("\nmap: {z: x}\n", "r.yaml:2: map: there is no input 'z'"),
                          ("\nwindow: 3\n", "r.yaml:2: window: expected one data column")):
        (tmp_path / "r.yaml").write_text(text)
        expect(cli("train", files / "m.bsm", "--data", files / "d.npz", "--recipe", tmp_path / "r.yaml"), INPUT, message)


def test_commas_in_a_recipes_list_are_names(cli, files, tmp_path):
    folder = tmp_path / "a, b"
    folder.mkdir()
    (folder / "d.npz").write_bytes((files / "d.npz").read_bytes())
    for data in (f"['{folder}/d.npz']", f"{{x: '{folder}/d.npz:x', labels: '{folder}/d.npz:labels'}}"):
        (tmp_path / "r.yaml").write_text(f"data: {data}\nsteps: 1\n")
        result = cli("train", files / "m.bsm", "--recipe", tmp_path / "r.yaml")
        assert result.returncode == 0, result.stderr
    # One text is split as the flag's.
    (tmp_path / "r.yaml").write_text(f"data: 'x={files}/d.npz:x,labels={files}/d.npz:labels'\nsteps: 1\n")
    assert cli("train", files / "m.bsm", "--recipe", tmp_path / "r.yaml").returncode == 0
    (tmp_path / "r.yaml").write_text("data: ['']\n")
    expect(cli("train", files / "m.bsm", "--recipe", tmp_path / "r.yaml"), USAGE, "r.yaml:1: data: expected a list without empty")


def test_numbers_beyond_their_type(cli, golden, files, tmp_path):
    model = golden("mlp_cross_entropy").model
    expect(cli("train", files / "m.bsm", "--data", files / "d.npz", "--seed", 2 ** 64 - 1), USAGE,
           "--seed: expected a whole number from 0 to 2^63 - 1, got '18446744073709551615'")
    expect(cli("train", files / "m.bsm", "--data", files / "d.npz", f"--seed={-2 ** 63 - 1}"), USAGE,
           "--seed: expected a whole number from 0 to 2^63 - 1, got '-9223372036854775809'")
    clip = ["compile", model, "-o", tmp_path / "o.bsm", "--loss", "cross_entropy", "--batch", 6, "--clip-norm"]
    for number in ("-1", "1e300", "1e-300", "1.17549e-38", "1.1754942e-38"):
        expect(cli(*clip, number), USAGE, "--clip-norm: expected a number of at least 1.17549435e-38 that float32 holds, got ")
    # The least float32 that is no subnormal, as it is printed.
    assert cli(*clip, "1.17549435e-38").returncode == 0


def test_data_without_columns(cli, files, tmp_path):
    np.savez(tmp_path / "none.npz")
    expect(cli("train", files / "m.bsm", "--data", tmp_path / "none.npz"), INPUT, "none.npz: expected arrays, got none")


def test_empty_lists_and_documents_of_a_recipe_are_nothing(cli, golden, files, tmp_path):
    (tmp_path / "r.yaml").write_text("batch: 6\nfreeze: []\ntrain: []\ndims: {}\ntargets: []\npass_plugins: []\nmean: []\nmap: {}\n---\n# no more\n")
    model = golden("mlp_cross_entropy").model
    assert cli("compile", model, "-o", tmp_path / "r.bsm", "--recipe", tmp_path / "r.yaml").returncode == 0
    assert cli("compile", model, "-o", tmp_path / "o.bsm", "--batch", 6).returncode == 0
    assert (tmp_path / "r.bsm").read_bytes() == (tmp_path / "o.bsm").read_bytes()
    result = cli("train", files / "m.bsm", "--data", files / "d.npz", "--recipe", tmp_path / "r.yaml")
    assert result.returncode == 0, result.stderr
    (tmp_path / "r.yaml").write_text("data: []\n")
    expect(cli("train", files / "m.bsm", "--recipe", tmp_path / "r.yaml"), USAGE, "train needs --data FILES")


def test_steps_or_epochs_override_the_other_of_a_recipe(cli, files, tmp_path):
    for recipe, flags, steps in (("epochs: 3\n", ["--steps", 2], 2), ("steps: 2\n", ["--epochs", 1], 3),
                                 ("steps: 2\nepochs: 3\n", ["--steps", 1], 1), ("steps: 2\nepochs: 3\n", ["--epochs", 1], 3)):
        (tmp_path / "r.yaml").write_text(recipe)
        result = cli("train", files / "m.bsm", "--data", files / "d.npz", "--recipe", tmp_path / "r.yaml", *flags)
        assert result.returncode == 0 and f"training {steps} steps" in result.stdout, result.stderr


def test_a_program_without_a_loss_cannot_train(cli, files):
    for command in ("train", "eval"):
        expect(cli(command, files / "plain.bsm", "--data", files / "d.npz"), INPUT, "--loss")


def test_an_earlier_run_is_not_overwritten(cli, files):
    before = (files / "run/last/state.safetensors").read_bytes()
    expect(cli("train", files / "m.bsm", "--data", files / "d.npz", "--checkpoint-dir", files / "run"), INPUT,
           "run/last", "--resume")
    assert (files / "run/last/state.safetensors").read_bytes() == before


def test_metrics_of_an_earlier_run_are_kept(cli, files, tmp_path):
    train = ["train", files / "m.bsm", "--data", files / "d.npz", "--log-dir", tmp_path / "log", "--checkpoint-dir"]
    assert cli(*train, tmp_path / "run", "--steps", 2).returncode == 0
    before = {name: (tmp_path / "log" / name).read_bytes() for name in ("metrics.csv", "metrics.jsonl")}
    expect(cli(*train, tmp_path / "other", "--steps", 2), INPUT,
           "log/metrics.csv: there are metrics already; remove them, or choose another --log-dir")
    assert not (tmp_path / "other").exists()
    assert before == {name: (tmp_path / "log" / name).read_bytes() for name in before}
    assert cli(*train, tmp_path / "run", "--steps", 4, "--resume").returncode == 0
    for name, content in before.items():
        after = (tmp_path / "log" / name).read_bytes()
        assert after.startswith(content) and len(after) > len(content)


def test_run_names_inputs_and_functions(cli, files):
    run = ["run", files / "m.bsm"]
    expect(cli(*run), INPUT, "'x'", "f32[6x3x4]", "--input x=FILE")
    expect(cli(*run, "--input", f"z={files}/x.npy"), INPUT, "'z'")
    expect(cli(*run, "--input", f"x={files}/wide.npy"), INPUT, "f32[3x4]", "f32[3x5]")
    expect(cli(*run, "--function", "fit"), INPUT, "'fit'", "predict", "train_step")
    expect(cli(*run, "--function", "train_step", "--input", f"x={files}/d.npz:x", f"labels={files}/d.npz:labels"),
           INPUT, "batch of 6 rows", "20")


@pytest.mark.parametrize("text,parts", [
    ("lr: 0.1\nspeed: 3\n", ["r.yaml:2", "'speed'", "did you mean 'seed'?"]),
    ("warmup_step: 3\n", ["r.yaml:1", "'warmup_step'", "did you mean 'warmup_steps'?"]),
    ('"lr\\nx": 3\n', ["r.yaml:1", "unknown key 'lr x'"]),
    ("lr: fast\n", ["r.yaml:1", "lr", "'fast'"]),
    ("lr: 0.1\nlr: 0.2\n", ["r.yaml:2", "twice"]),
    ("optimizer:\n  kind: adamw\n  power: 3\n", ["r.yaml:3", "'power'"]),
    ("strict: perhaps\n", ["r.yaml:1", "true or false"]),
    ("lr: [1, 2]\n", ["r.yaml:1", "single value"]),
    ("\n- lr\n", ["r.yaml:2: expected a map"]),
    ("\n,los\u0140 cr\n", ["r.yaml:2: expected a map"]),
    ("lr: 0.1\n---\nseed: 3\n---\n", ["r.yaml:2: expected one YAML document, got another"]),
    ("lr: 0.1\nseed: {a: b\n", ["r.yaml:3"]),
    # What needs another flag, or another value of one.
    ("\nkeep_best: loss\n", ["r.yaml:2: keep_best needs --eval-data"]),
    ("\ncheckpoint_every: 2\n", ["r.yaml:2: checkpoint_every needs --checkpoint-dir"]),
    ("\nresume: true\n", ["r.yaml:2: resume needs --checkpoint-dir"]),
    ("\ntrace: t.json\n", ["r.yaml:2: trace: is not supported"]),
    ("steps: 2\nwarmup_steps: 3\n", ["r.yaml:2: warmup_steps 3: the run has only 2 steps"]),
    ("steps: 2\nepochs: 3\n", ["r.yaml:2: epochs: give --epochs or --steps, not both"]),
    ("\nepochs: 9000000000000000\n", ["r.yaml:2: epochs: expected at most"]),
    ("threads: 5000\n", ["r.yaml:1: threads: expected at most 4096"]),
])
def test_recipes(cli, files, tmp_path, text, parts):
    (tmp_path / "r.yaml").write_text(text)
    result = cli("train", files / "m.bsm", "--data", files / "d.npz", "--recipe", tmp_path / "r.yaml")
    expect(result, USAGE, *parts)


@pytest.mark.parametrize("text,place,message", [
    ("loss: cross_entropy\nlabel_smoothing: 1.5\n", "r.yaml:2: label_smoothing", ": expected a number in [0, 1], got 1.5"),
    ("loss: cross_entropy\nclip_norm: 0\n", "r.yaml:2: clip_norm", ": expected a number of at least 1.17549435e-38 that float32 holds, got 0"),
    ("\nloss: huber\n", "r.yaml:2: loss", ": "),
    ("\nclip_norm: 1\n", "r.yaml:2: clip_norm", " needs a loss, got none"),
    ("loss: mse\noptimizer:\n  kind: adamw\n  betas: [1.5, 0.9]\n", "r.yaml:4: betas", ": expected a number in [0, 1), got 1.5"),
    ("loss: mse\noptimizer:\n  kind: adamw\n  momentum: 0.9\n", "r.yaml:4: momentum", ": adamw has no such constant"),
    ("\ndims: {batch: 6.5}\n", "r.yaml:2: dims 'batch'", ": expected an integer, got \"6.5\""),
    ("\ntargets: [cpu:z80]\n", "r.yaml:2: targets", ": expected one of cpu, "),
    ("\nmemory_limit: 0\n", "r.yaml:2: memory_limit", ": expected bytes above 0 and below 2^62"),
])
def test_what_the_compiler_refuses_is_placed(cli, golden, tmp_path, text, place, message):
    import bessemer
    model = golden("mlp_cross_entropy").model
    (tmp_path / "r.yaml").write_text(text)
    expect(cli("compile", model, "-o", tmp_path / "o.bsm", "--recipe", tmp_path / "r.yaml"), USAGE, place + message)
    with pytest.raises(bessemer.Error) as error:
        bessemer.compile(model, recipe=tmp_path / "r.yaml")
    assert place + message in str(error.value)


def test_flags_that_the_compiler_refuses_are_called_flags(cli, golden, tmp_path):
    import bessemer
    model = golden("mlp_cross_entropy").model
    compile = ["compile", model, "-o", tmp_path / "o.bsm", "--loss", "cross_entropy"]
    expect(cli(*compile, "--label-smoothing", "2"), USAGE, "error: --label-smoothing: expected a number in [0, 1], got 2")
    expect(cli(*compile, "--dim", "batch=x"), USAGE, "error: --dim 'batch': expected an integer, got \"x\"")
    # An option beside a recipe is not the recipe's.
    (tmp_path / "r.yaml").write_text("loss: cross_entropy\nlabel_smoothing: 0.5\noptimizer: {kind: adamw, eps: 1}\n")
    (tmp_path / "b.yaml").write_text("loss: cross_entropy\noptimizer:\n  kind: adamw\n  betas: [1.5, 0.9]\n  eps: 1\n")
    for given, name in ((dict(lr=0.25), f"{tmp_path}/b.yaml:4: betas"), (dict(betas=[1.5, 0.9]), "option 'optimizer.betas'")):
        with pytest.raises(bessemer.Error, match=f"^{name}: expected a number in .0, 1., got 1.5"):
            bessemer.compile(model, recipe=tmp_path / "b.yaml", optimizer=given)
    for given, name in ((dict(label_smoothing=2), "label_smoothing"), (dict(optimizer={"kind": "sgd", "eps": 1}), "optimizer.eps")):
        with pytest.raises(bessemer.Error, match=f"^option '{name}': "):
            bessemer.compile(model, recipe=tmp_path / "r.yaml", **given)


def test_a_missing_recipe(cli):
    expect(cli("compile", "m.onnx", "-o", "o.bsm", "--recipe", "nowhere.yaml"), INPUT, "nowhere.yaml")
