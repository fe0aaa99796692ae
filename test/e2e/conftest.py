# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shared by the end-to-end tests."""

import os
import subprocess

import numpy as np
import pytest
from models import Recorded
from sanitizers import SLOWDOWN

GOLDENS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "goldens")


def pytest_configure(config):
    config.addinivalue_line("markers", "long: part of the longer suite (scripts/test.sh --long)")


class Golden(Recorded):
    """One case of make_goldens.py."""

    def __init__(self, name):
        super().__init__(os.path.join(GOLDENS, name))

    def compile(self, optimizer=0, **options):
        import bessemer
        if isinstance(optimizer, int):
            optimizer = self.case["optimizers"][optimizer]
        options = {**self.case["options"], "loss": self.case["loss"], "batch": self.case["batch"], **options}
        return bessemer.compile(self.model, optimizer=optimizer, **options)

    def batch(self, step):
        return {"x": self.data[f"x.{step}"], "labels": self.data[f"labels.{step}"]}

    def check_training(self, session, optimizer):
        """Takes PyTorch's steps: losses and final states are PyTorch's."""
        for step, want in enumerate(self.case["losses"][optimizer]):
            loss = session.train_step(self.batch(step))["loss"]
            # Both sum in float32 in different orders; five steps of a small model
            # keep that below 1e-5 relative.
            assert loss == pytest.approx(want, rel=1e-5, abs=1e-6), f"step {step}"
        states = session.state_dict()
        for key in self.data.files:
            prefix = f"final.{optimizer}."
            if key.startswith(prefix):
                want = self.data[key]
                # AdamW divides by sqrt(v), which magnifies rounding of small gradients.
                np.testing.assert_allclose(states[key[len(prefix):]], want, rtol=2e-4,
                                           atol=1e-5 * max(1e-3, np.abs(want).max()) + 2e-6, err_msg=key)


@pytest.fixture
def golden():
    return Golden


@pytest.fixture
def cli():
    """Runs the command line: cli("compile", ...) -> CompletedProcess."""
    program = os.environ.get("BESSEMER_BIN", "build/bin/bessemer")

    def run(*arguments, **options):
        return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True,
                              timeout=SLOWDOWN * options.pop("timeout", 120), **options)
    return run
