# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The GPT of examples/kjv-gpt learns what it learns in PyTorch (golden.py)."""

import json
import os
import shutil
import subprocess
import sys

import pytest

EXAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "kjv-gpt")
with open(os.path.join(EXAMPLE, "golden.json")) as file:
    GOLDEN = json.load(file)["validation_loss"]


@pytest.mark.skipif(not shutil.which("bible"), reason="Debian's bible-kjv is not installed")
@pytest.mark.parametrize("steps", [pytest.param(steps, marks=[] if steps == "200" else [pytest.mark.long])
                                   for steps in sorted(GOLDEN)])
def test_trains_as_in_pytorch_and_writes(tmp_path, steps):
    program = os.environ.get("BESSEMER_BIN", "build/bin/bessemer")
    run = subprocess.run([os.path.join(EXAMPLE, "train.sh"), program, sys.executable, tmp_path, steps],
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    with open(tmp_path / "validation.json") as file:
        loss = json.load(file)["loss"]
    # Different rounding leads to different weights; the same quality is what counts.
    assert loss == pytest.approx(GOLDEN[steps], rel=0.01)
    text = (tmp_path / "sample.txt").read_text()
    assert text.startswith("And God said, ") and len(text.rstrip("\n")) >= 380
    # The same seed writes the same.
    again = subprocess.run([sys.executable, os.path.join(EXAMPLE, "sample.py"), tmp_path / "gpt-sampler.bsm",
                            tmp_path / "vocabulary.json", "--seed", "1"], capture_output=True, text=True)
    assert again.stdout == text
