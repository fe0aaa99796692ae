#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Builds everything with clang under AddressSanitizer and
# UndefinedBehaviorSanitizer (preset "asan") and runs every test on that build.
# Needs the Debian packages clang-22, libclang-rt-22-dev and libomp-22-dev, and
# what setup.sh installs.
#
#   sanitize.sh [ARGUMENT ...]   arguments of run_tests.py, e.g. --only lit
#
#   BUILD=dir     build elsewhere than build-asan/, which fuzz.sh uses, too
#   JOBS=n        parallel compilations (default 2)
#
# Every report of a sanitizer is a file in BUILD/reports, also of programs that
# a test expects to fail; with any the script fails.

set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath -m "${BUILD:-build-asan}")
python=$(realpath -s "${PYTHON:-.venv/bin/python}")

if ! command -v clang++-22 >/dev/null; then
  echo "sanitize: expected clang++-22 (Debian packages clang-22, libclang-rt-22-dev and libomp-22-dev), found none" >&2
  exit 1
fi
cmake --preset asan -B "$build" ${ONNX_SDIST:+-DONNX_SDIST="$ONNX_SDIST"} \
  -DPython_EXECUTABLE="$python" -DBESSEMER_BUILD_PYTHON=ON >/dev/null
ninja -C "$build" -j"${JOBS:-2}"

rm -rf "$build/reports"
mkdir "$build/reports"
# MLIR's and protobuf's libraries are not instrumented, so containers that cross
# their border look overflowed, and memory of LLVM's allocators that our part has
# marked as free looks free. Objects that live as long as the process leak.
export ASAN_OPTIONS=detect_container_overflow=0:allow_user_poisoning=0:detect_leaks=0:log_path=$build/reports/address
export UBSAN_OPTIONS=print_stacktrace=1:log_path=$build/reports/undefined
# Python is not instrumented: the sanitizers' library must be there before it.
status=0
BESSEMER_SANITIZED=1 PYTHONPATH=$build/python LD_PRELOAD=$(clang++-22 -print-file-name=libclang_rt.asan-x86_64.so) \
  "$python" scripts/run_tests.py --build "$build" "$@" || status=1
count=$(find "$build/reports" -type f | wc -l)
echo "$count reports of sanitizers in $build/reports"
[ "$count" -eq 0 ] && exit $status
exit 1
