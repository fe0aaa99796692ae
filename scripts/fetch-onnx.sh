#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Brings ONNX's source archive into a cache folder through pip and checks its
# hash; prints the archive's path. Does nothing when it is there already.
#
#   fetch-onnx.sh [FOLDER]     default: ${XDG_CACHE_HOME:-~/.cache}/bessemer
set -eu
version=1.23.2
sha256=008cb0467b2bbee41448acc7da8b6f4e704624cb0d327a2d5adafc7ce19bc5b8
folder=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/bessemer}
archive=$folder/onnx-$version.tar.gz

matches() {
  [ -f "$1" ] && echo "$sha256  $1" | sha256sum --check --status
}

if ! matches "$archive"; then
  mkdir -p "$folder"
  scratch=$(mktemp -d "$folder/fetch.XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  # Any Python with pip will do: the archive is only downloaded, not built.
  "${PYTHON:-python3}" -m pip download --quiet --disable-pip-version-check \
    --no-binary onnx --no-deps --dest "$scratch" "onnx==$version" >&2
  if ! matches "$scratch/onnx-$version.tar.gz"; then
    echo "fetch-onnx.sh: onnx-$version.tar.gz has another hash than $sha256" >&2
    exit 1
  fi
  # Renamed into place, so that builds running side by side never see a part.
  mv "$scratch/onnx-$version.tar.gz" "$archive"
fi
echo "$archive"
