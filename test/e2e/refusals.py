# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small model, its data and its program, and what the command line says, for the tests of refusals."""

import hashlib
import os

import numpy as np
import pytest

INPUT, USAGE = 1, 2
ROWS = 40
COMPILE = ["--loss", "cross_entropy", "--batch", "6", "--optimizer", "adamw", "--lr", "0.01"]


@pytest.fixture
def model(golden):
    return golden("mlp_cross_entropy").model  # x f32 [batch, 3, 4], 5 classes


@pytest.fixture
def data(tmp_path):
    random = np.random.default_rng(1)
    np.savez(tmp_path / "d.npz", x=random.standard_normal((ROWS, 3, 4)).astype(np.float32),
             labels=random.integers(0, 5, ROWS))
    return tmp_path / "d.npz"


@pytest.fixture
def program(cli, model, tmp_path):
    ok(cli("compile", model, "-o", tmp_path / "m.bsm", *COMPILE))
    return tmp_path / "m.bsm"


def ok(result):
    assert result.returncode == 0, result.stderr
    return result.stdout


def expect(result, status, *parts):
    assert result.returncode == status, (result.returncode, result.stderr)
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("error: "), result.stderr
    for part in parts:
        assert part in lines[0], lines[0]


def contents(folder):
    """Every file below, by hash."""
    return {os.path.join(at, name): hashlib.sha256(open(os.path.join(at, name), "rb").read()).hexdigest()
            for at, _, names in os.walk(folder) for name in names}
