#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Builds the fuzz harnesses with clang (preset "asan") and runs them.
#
#   fuzz.sh [HARNESS [SECONDS]]   one of artifact, checkpoint, data, onnx,
#                                 options, recipe, or "all"; default: all, 600 s each
#
#   BUILD=dir     build elsewhere than build-asan/
#   JOBS=n        parallel compilations (default 2)
#
# Findings and the corpus stay in BUILD/corpus/HARNESS and BUILD/crashes/HARNESS.
# Fix what was found as a kind and add its input to test/fuzz/regressions/HARNESS,
# which every run starts with.

set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build-asan}
harnesses=(artifact checkpoint data onnx options recipe)
[ "${1:-all}" = all ] || harnesses=("$1")
seconds=${2:-600}

if ! command -v clang++-22 >/dev/null; then
  echo "fuzz: expected clang++-22 (Debian packages clang-22, libclang-rt-22-dev and libomp-22-dev), found none" >&2
  exit 1
fi
[ -f "$build/build.ninja" ] || cmake --preset asan -B "$build" ${ONNX_SDIST:+-DONNX_SDIST="$ONNX_SDIST"} >/dev/null
ninja -C "$build" -j"${JOBS:-2}" "${harnesses[@]/#/fuzz_}"
python=${PYTHON:-.venv/bin/python}
[ -d "$build/seeds" ] || "$python" test/fuzz/make_seeds.py "$build/seeds"

# MLIR's and protobuf's libraries are not instrumented, so containers that cross
# their border look overflowed, and memory of LLVM's allocators that our part has
# marked as free looks free. Objects that live as long as the process leak.
export ASAN_OPTIONS=allocator_may_return_null=1:detect_container_overflow=0:allow_user_poisoning=0:detect_leaks=0
export UBSAN_OPTIONS=print_stacktrace=1
failed=0
for harness in "${harnesses[@]}"; do
  corpus=$build/corpus/$harness crashes=$build/crashes/$harness
  mkdir -p "$corpus" "$crashes"
  regressions=test/fuzz/regressions/$harness
  [ -d "$regressions" ] || regressions=
  echo "$harness: $seconds s"
  "$build/fuzz/fuzz_$harness" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=3000 -max_len=65536 \
    -artifact_prefix="$crashes/" -print_final_stats=1 -verbosity=0 \
    "$corpus" "$build/seeds/$harness" $regressions || failed=1
done
exit $failed
