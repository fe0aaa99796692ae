#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs what Bessemer needs (Debian 12: apt and PyPI), builds it in build/
# and installs the Python package into .venv/. Running it again is cheap.
#
#   setup.sh [TARGET ...]   builds only these targets (default: everything)
#
#   BUILD=dir     build elsewhere than build/
#   JOBS=n        parallel compilations (default 2)

set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build}
jobs=${JOBS:-2}

packages=(
  build-essential ccache cmake git ninja-build pkg-config python3-dev python3-pip python3-venv
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools libclang-rt-22-dev
  libprotobuf-dev protobuf-compiler libflatbuffers-dev flatbuffers-compiler
  libdnnl-dev libcli11-dev nlohmann-json3-dev libyaml-cpp-dev zlib1g-dev
  libgtest-dev libgmock-dev dataset-fashion-mnist bible-kjv
)
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  sudo=()
  [ "$(id -u)" -eq 0 ] || sudo=(sudo)
  echo "installing ${#missing[@]} Debian packages: ${missing[*]}"
  "${sudo[@]}" apt-get update -qq
  if ! apt-cache show libmlir-22-dev >/dev/null 2>&1; then
    echo "setup: expected the package libmlir-22-dev (Debian 12 with its security archive enabled), but apt does not know it" >&2
    exit 1
  fi
  DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

if [ ! -x .venv/bin/python ]; then
  python3 -m venv .venv
fi
if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
  .venv/bin/python -m ensurepip >/dev/null
fi
stamp=.venv/requirements.stamp
if ! cmp -s scripts/requirements.txt "$stamp"; then
  .venv/bin/python -m pip install -q --disable-pip-version-check -r scripts/requirements.txt
  cp scripts/requirements.txt "$stamp"
fi

export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1
sdist=$(PYTHON=.venv/bin/python scripts/fetch-onnx.sh)
cmake -G Ninja -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DONNX_SDIST="$sdist" \
  -DPython_EXECUTABLE="$PWD/.venv/bin/python" -DBESSEMER_BUILD_PYTHON=ON >"$build.configure.log" 2>&1 || {
  cat "$build.configure.log" >&2
  exit 1
}
rm -f "$build.configure.log"
ninja -C "$build" -j"$jobs" "$@"

# The Python package takes what was just built.
.venv/bin/python -m pip install -q --disable-pip-version-check --no-build-isolation --no-deps \
  --config-settings=build-dir="$build" --config-settings=cmake.define.ONNX_SDIST="$sdist" .
