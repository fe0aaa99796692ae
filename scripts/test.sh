#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Sets up (scripts/setup.sh), then runs every test: lit, GoogleTest, pytest.
# Ends with one line, "N passed, N failed".
#
#   test.sh            the tier that ends within 30 minutes on two cores, build included
#   test.sh --long     the longer suites: kill tests, sweeps

set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
exec .venv/bin/python scripts/run_tests.py --build "${BUILD:-build}" "$@"
