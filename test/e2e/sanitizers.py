# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tests need to know of a build by scripts/sanitize.sh."""

import os

SANITIZED = "BESSEMER_SANITIZED" in os.environ
# Instrumented code takes several times as long: limits of time are multiplied by this.
SLOWDOWN = 10 if SANITIZED else 1
