# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of the kinds that people train, against what PyTorch made of them:
zoo/make_cases.py writes the goldens, and many more cases than are kept."""

import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDENS = os.path.join(HERE, "zoo", "goldens")


@pytest.mark.parametrize("case", sorted(os.listdir(GOLDENS)))
def test_case(case):
    result = subprocess.run([sys.executable, os.path.join(HERE, "zoo", "check_cases.py"), GOLDENS, case],
                            capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
