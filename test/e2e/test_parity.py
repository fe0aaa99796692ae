# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The larger parity cases, where a folder with them lies beside the checkout
(BESSEMER_PARITY, default ../shared/parity); users have only the goldens."""

import os
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PARITY = os.environ.get("BESSEMER_PARITY", os.path.join(os.path.dirname(ROOT), "shared", "parity"))
CASES = ["mlp", "mlp.legacy", "mlp_mse", "mlp_bcelogits", "lenet", "resnet_mini", "resnet_mini.legacy",
         "nanogpt_sdpa", "bert_tiny", "vit_tiny_hf", "dlrm", "lstm_lm"]


@pytest.mark.skipif(not os.path.isdir(PARITY), reason="no parity cases beside the checkout")
@pytest.mark.parametrize("case", CASES)
def test_case(case):
    result = subprocess.run([sys.executable, os.path.join(PARITY, "check.py"), os.path.join(PARITY, case)],
                            capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
