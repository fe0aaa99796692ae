# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a pass author gets: the module before a pass that fails, dumps that run
again, and the op that a wrong pass got wrong."""

import os
import re
import shlex
import subprocess

import pytest

import bessemer

BUILD = os.path.abspath(os.environ.get("BESSEMER_BUILD", "build"))


def replay(command, folder):
    """Runs the command that a message or a dump gives."""
    words = shlex.split(command)
    assert words[0] == "bessemer-opt"
    return subprocess.run([os.path.join(BUILD, "bin", words[0]), *words[1:]], cwd=folder, capture_output=True,
                          text=True, timeout=120)


@pytest.fixture
def compile_with(golden, cli, tmp_path):
    """Compiles with a pass that fails on additions."""
    def run(how, *flags):
        return cli("compile", golden("mlp_mse").model, "--batch", 7, "--loss", "mse", "-o", "m.bsm",
                   "--inject-pass", f"func.func(test-fail{{how={how}}})", *flags, cwd=tmp_path)
    return run


@pytest.mark.parametrize("how,what", [("crash", "crashed"), ("invalid", "left a module that is not valid"),
                                      ("silent", "failed without a reason")])
def test_a_broken_pass_leaves_a_reproducer(compile_with, tmp_path, how, what):
    result = compile_with(how)
    assert result.returncode == 70
    match = re.search(r"internal error: pass 'test-fail' (.*); run it alone by: (.*)", result.stderr)
    assert match and match[1] == what, result.stderr
    assert os.listdir(tmp_path) == ["model.reproducer.mlir"]
    first = (tmp_path / "model.reproducer.mlir").read_text().splitlines()[0]
    assert first == "// " + match[2]
    again = replay(match[2], tmp_path)
    assert again.returncode != 0
    if how == "crash":
        assert again.returncode < 0 or "Stack dump" in again.stderr


def test_a_refusal_is_no_fault(compile_with, tmp_path):
    result = compile_with("error")
    assert result.returncode == 1
    assert "is what this pass was told to refuse" in result.stderr
    assert os.listdir(tmp_path) == []


def test_python_writes_it_where_it_is_told(golden, tmp_path):
    options = dict(inject_pass="func.func(test-fail{how=crash})")
    with pytest.raises(bessemer.Error, match="pass 'test-fail' crashed$"):
        golden("mlp_mse").compile(**options)
    with pytest.raises(bessemer.Error, match="run it alone by: bessemer-opt"):
        golden("mlp_mse").compile(reproducer=tmp_path / "r.mlir", **options)
    assert (tmp_path / "r.mlir").exists()
    golden("mlp_mse").compile()  # the process goes on


def test_each_dump_says_how_to_go_on(golden, cli, tmp_path):
    result = cli("compile", golden("convnet").model, "--batch", 4, "--loss", "cross_entropy", "-o", tmp_path / "m.bsm",
                 "--dump-dir", tmp_path / "dump")
    assert result.returncode == 0, result.stderr
    dumps = ["00-import.mlir", "01-raising.mlir", "02-training.mlir", "03-fusion.mlir", "04-memory.mlir"]
    texts = [(tmp_path / "dump" / name).read_text() for name in dumps]
    for text, level in zip(texts, ["graph.", "graph.", "kern.", "exec."]):
        again = replay(text.splitlines()[0].removeprefix("// "), tmp_path)
        assert again.returncode == 0, again.stderr
        assert level in again.stdout
    # Fusion looks at no weights, so that it gives what the compiler got.
    again = replay(texts[2].splitlines()[0].removeprefix("// "), tmp_path)
    assert again.stdout.count("kern.") == texts[3].count("kern.")
