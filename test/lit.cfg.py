# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# lit configuration. Run: lit test --param build=BUILD_DIR
# (scripts/test.sh does). Suites: Dialect, Import, Training, ... mirror lib/.

import os
import sys

import lit.formats

config.name = "bessemer"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["unit", "e2e", "tools", "Inputs"]

source_dir = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
build_dir = os.path.abspath(
    lit_config.params.get("build", os.path.join(source_dir, "build")))
config.test_source_root = os.path.join(source_dir, "test")
config.test_exec_root = os.path.join(build_dir, "test", "lit")

llvm_bin = lit_config.params.get("llvm_bin", "/usr/lib/llvm-22/bin")
path = [os.path.join(build_dir, "bin"), llvm_bin, os.environ.get("PATH", "")]
config.environment["PATH"] = os.pathsep.join(path)
config.environment["LD_LIBRARY_PATH"] = os.environ.get("LD_LIBRARY_PATH", "")
config.substitutions.append(("%python", sys.executable))
config.substitutions.append(("%{source}", source_dir))

# Tests that write models with ONNX's Python package need it where lit runs.
try:
    import numpy  # noqa: F401
    import onnx  # noqa: F401

    config.available_features.add("onnx")
except ImportError:
    pass
