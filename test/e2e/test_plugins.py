# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples of plugins, built outside of the tree against an installed
Bessemer: a pass and an op of their own."""

import functools
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import bessemer
from models import make_model
from onnx import helper

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("BESSEMER_BUILD", os.path.join(ROOT, "build")))
LIT = os.path.join(os.path.dirname(sys.executable), "lit")


def run(*command, cwd=None):
    result = subprocess.run([str(part) for part in command], cwd=cwd, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, timeout=900)
    assert result.returncode == 0, f"{command}:\n{result.stdout[-4000:]}"
    return result.stdout


@functools.cache
def compiler():
    """What built Bessemer: GCC's code does not fit to Clang's."""
    with open(os.path.join(BUILD, "CMakeCache.txt")) as file:
        return re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", file.read(), re.MULTILINE)[1]


def build(source, folder, prefix):
    launcher = shutil.which("ccache")
    run("cmake", "-G", "Ninja", "-S", source, "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DLIT={LIT}",
        f"-DCMAKE_CXX_COMPILER={compiler()}",
        *([f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"] if launcher else []))
    run("ninja", "-C", folder)


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """Bessemer, installed for authors of passes and ops."""
    folder = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", BUILD, "--prefix", folder, "--component", "compiler")
    return folder


@pytest.fixture(scope="module")
def plugin(prefix, tmp_path_factory):
    """plugin("pass") -> the build folder of examples/plugin-pass."""
    folders = {}

    def get(name):
        if name not in folders:
            folders[name] = tmp_path_factory.mktemp(name)
            build(os.path.join(ROOT, "examples", "plugin-" + name), folders[name], prefix)
        return folders[name]
    return get


def test_the_prefix_has_only_public_headers(prefix):
    headers = {os.path.relpath(os.path.join(folder, name), prefix / "include")
               for folder, _, names in os.walk(prefix / "include") for name in names}
    assert {"bessemer/Pipelines/Plugin.h", "bessemer/Dialect/Graph/IR/GraphOps.td",
            "bessemer/Dialect/Graph/IR/GraphOps.h.inc", "bessemer/Version.h"} <= headers
    assert not [name for name in headers if name.startswith(("bessemer/Codegen", "bessemer/Emit", "bessemer/Format"))]


@pytest.mark.parametrize("name", ["pass", "op"])
def test_the_plugin_passes_its_own_tests(plugin, name):
    assert "Passed" in run("ninja", "-C", plugin(name), "check")


def test_a_plugin_builds_against_the_build_tree(tmp_path):
    build(os.path.join(ROOT, "examples", "plugin-pass"), tmp_path, BUILD)
    assert (tmp_path / "sink_scale.so").exists()


def test_a_plugin_by_gcc_is_refused_where_it_would_not_fit(prefix, tmp_path):
    package = tmp_path / "cmake"
    shutil.copytree(prefix / "lib" / "cmake" / "Bessemer", package)
    config = package / "BessemerConfig.cmake"
    # As if Clang had built it.
    text, count = re.subn(r'if\("\w+" STREQUAL "Clang"', 'if("Clang" STREQUAL "Clang"', config.read_text())
    assert count == 1
    config.write_text(text)
    result = subprocess.run(["cmake", "-S", os.path.join(ROOT, "examples", "plugin-pass"), "-B", tmp_path / "build",
                             f"-DBessemer_DIR={package}", "-DCMAKE_CXX_COMPILER=g++"],
                            capture_output=True, text=True)
    assert result.returncode != 0
    assert "was built by Clang, so its plugins must be, too" in " ".join(result.stderr.split())


def test_the_page_leads_to_a_pass(prefix, tmp_path):
    """What docs/writing-a-pass.md says, done."""
    with open(os.path.join(ROOT, "docs", "writing-a-pass.md")) as file:
        page = file.read()
    pattern, = re.findall(r"```cpp\n(.*?)```", page, re.DOTALL)
    test, = re.findall(r"```mlir\n(.*?)```", page, re.DOTALL)
    folder = tmp_path / "my-pass"
    shutil.copytree(os.path.join(ROOT, "examples", "plugin-pass"), folder)
    source = (folder / "SinkScale.cpp").read_text()
    for old, new in [("struct SinkScalePass", pattern + "\nstruct SinkScalePass"),
                     ("patterns.add<SinkScale>(", "patterns.add<DivideByPower>("),
                     ('return "sink-scale";', 'return "divide-by-power";')]:
        assert source.count(old) == 1
        source = source.replace(old, new)
    (folder / "SinkScale.cpp").write_text(source)
    (folder / "test" / "sink-scale.mlir").write_text(test)
    build(folder, folder / "build", prefix)
    assert "Passed" in run("ninja", "-C", folder / "build", "check")


# ---------------------------------------------------------------------------
# The pass

def scaled_model():
    """y = (x / 4) w: the factor is on the larger side of the product."""
    rng = np.random.default_rng(0)
    nodes = [helper.make_node("Mul", ["x", "quarter"], ["s"]), helper.make_node("MatMul", ["s", "w"], ["y"])]
    return make_model(nodes, [("x", "f", [8, 64])], [("y", "f", [8, 4])],
                      {"w": rng.normal(size=(64, 4)).astype(np.float32), "quarter": np.float32(0.25)})


def test_the_pass_runs_in_the_pipeline(plugin, cli, tmp_path):
    import onnx
    onnx.save(scaled_model(), tmp_path / "m.onnx")
    library = plugin("pass") / "sink_scale.so"

    def kernels(*flags):
        result = cli("compile", tmp_path / "m.onnx", "--emit=kern", *flags)
        assert result.returncode == 0, result.stderr
        return [line.split(" = ")[1].split("(")[0].split()[0] for line in result.stdout.splitlines()
                if " = kern.map" in line or " = kern.gemm" in line]
    # Without it the product with 1/4 is a kernel of its own before the gemm.
    assert kernels() == ["kern.map", "kern.gemm"]
    assert kernels("--pass-plugin", library) == ["kern.gemm"]


def test_the_pass_keeps_results_and_bytes(plugin):
    library = plugin("pass") / "sink_scale.so"
    x = np.random.default_rng(1).normal(size=(8, 64)).astype(np.float32)
    plain = bessemer.compile(scaled_model())
    first, second = (bessemer.compile(scaled_model(), pass_plugins=[library], verify_numerics=True)
                     for _ in range(2))
    assert first._core.bytes() == second._core.bytes()
    assert first.settings["pass_plugin"] == "sink-scale 1.0"
    # A factor of 2^-2 changes no bit of a product.
    np.testing.assert_array_equal(first.session().predict({"x": x})["y"], plain.session().predict({"x": x})["y"])


def test_every_extension_point_sees_what_it_should(golden):
    """A loss and gradients of four parameters come and go among the results."""
    library = os.path.join(BUILD, "lib", "extension-points.so")
    with pytest.warns(UserWarning) as seen:
        golden("mlp_mse").compile(pass_plugins=[library])
    said = [str(warning.message).split(": ", 1)[1] for warning in seen]
    functions = "@predict/1 @eval_step/2 @train_step/1"
    assert said == ["after-import @model/1 graph", f"before-autodiff {functions} graph",
                    f"after-autodiff {functions} graph update", f"before-fusion {functions} graph update",
                    f"after-fusion {functions} kern update", f"before-memory {functions} kern update"]
    with pytest.warns(UserWarning) as seen:
        bessemer.compile(golden("mlp_mse").model, batch=7, pass_plugins=[library])
    said = [str(warning.message).split(": ", 1)[1] for warning in seen]
    assert said == ["after-import @model/1 graph", "before-fusion @predict/1 graph", "after-fusion @predict/1 kern",
                    "before-memory @predict/1 kern"]


# ---------------------------------------------------------------------------
# The op

def capped_model(custom, opset=18):
    """A classifier whose logits are capped, by the plugin's op or by ONNX's."""
    rng = np.random.default_rng(2)
    weights = {"w1": rng.normal(size=(6, 16)).astype(np.float32), "w2": rng.normal(size=(16, 5)).astype(np.float32),
               "cap": np.float32(2.0)}
    nodes = [helper.make_node("MatMul", ["x", "w1"], ["a"]), helper.make_node("Relu", ["a"], ["h"]),
             helper.make_node("MatMul", ["h", "w2"], ["z"])]
    if custom:
        del weights["cap"]
        nodes.append(helper.make_node("SoftCap", ["z"], ["c"], domain="com.acme", cap=2.0))
    else:
        nodes += [helper.make_node("Div", ["z", "cap"], ["q"]), helper.make_node("Tanh", ["q"], ["t"]),
                  helper.make_node("Mul", ["t", "cap"], ["c"])]
    # A composite of ONNX behind it, which is expanded only where shapes are known.
    nodes.append(helper.make_node("Celu", ["c"], ["y"], alpha=1.5))
    return make_model(nodes, [("x", "f", [8, 6])], [("y", "f", [8, 5])], weights, opset=opset,
                      domains=["com.acme"] if custom else [])


def train(model, **options):
    rng = np.random.default_rng(3)
    session = bessemer.compile(model, loss="cross_entropy", optimizer={"kind": "adamw", "lr": 0.05},
                               **options).session(threads=1)
    batch = {"x": rng.normal(size=(8, 6)).astype(np.float32), "labels": rng.integers(0, 5, 8)}
    losses = [session.train_step(batch)["loss"] for _ in range(20)]
    return np.array(losses), session.state_dict()


def test_the_op_trains_as_the_ops_that_it_stands_for(plugin):
    library = plugin("op") / "acme.so"
    losses, state = train(capped_model(custom=True), pass_plugins=[library], verify_numerics=True)
    expected, expected_state = train(capped_model(custom=False))
    assert losses[-1] < 0.5 * losses[0]
    # x (1 / cap) against x / cap: cap is a power of two, only the gradients'
    # formulas differ (in y and in x), by roundings of 2^-24 in 20 steps.
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    for name in ("w1", "w2"):
        np.testing.assert_allclose(state[name], expected_state[name], rtol=0, atol=1e-3)


def test_the_op_is_fused(plugin, cli, tmp_path):
    import onnx
    onnx.save(capped_model(custom=True), tmp_path / "m.onnx")
    result = cli("compile", tmp_path / "m.onnx", "--emit=kern", "--pass-plugin", plugin("op") / "acme.so")
    assert result.returncode == 0, result.stderr
    # The first line says how to replay, by the plugin's file.
    kernels = result.stdout.split("\n", 1)[1]
    assert "acme." not in kernels and "math.tanh" in kernels
    assert "kern.map" not in result.stdout  # it is part of the epilogue


def test_errors_of_the_import_are_the_plugins(plugin):
    library = plugin("op") / "acme.so"
    model = capped_model(custom=True)
    with pytest.raises(bessemer.Error, match="com.acme.SoftCap.*unsupported op"):
        bessemer.compile(model)
    attribute = next(node for node in model.graph.node if node.op_type == "SoftCap").attribute[0]
    attribute.f = -1.0
    with pytest.raises(bessemer.Error, match="com.acme.SoftCap.*expected cap above 0, got -1"):
        bessemer.compile(model, pass_plugins=[library])
    attribute.CopyFrom(helper.make_attribute("cap", 3))
    with pytest.raises(bessemer.Error, match="expected attribute 'cap' of type float, got int"):
        bessemer.compile(model, pass_plugins=[library])


# ---------------------------------------------------------------------------
# What is no plugin

def compile_c(text, path):
    source = path.with_suffix(".c")
    source.write_text(text)
    run("cc", "-shared", "-fPIC", "-o", path, source)
    return path


def test_what_is_no_plugin_is_refused(cli, tmp_path, golden):
    missing = tmp_path / "missing.so"
    other = compile_c("int nothing;", tmp_path / "other.so")
    # A plugin of another Bessemer: only the first three fields are read.
    old = compile_c("""
        struct { unsigned api; const char *bessemer, *llvm; } plugin = {7, "0.0.9", "1.0"};
        void *bessemerGetPlugin(void) { return &plugin; }""", tmp_path / "old.so")
    for path, expected in [
            (missing, "cannot be opened"),
            (other, "expected the function bessemerGetPlugin"),
            (old, "got plugin API 7 of bessemer 0.0.9 with LLVM 1.0: build it again")]:
        result = cli("compile", golden("mlp_mse").model, "--batch", 7, "-o", tmp_path / "m.bsm", "--pass-plugin", path)
        assert result.returncode == 1
        assert len(result.stderr.splitlines()) == 1 and expected in result.stderr and str(path) in result.stderr
        with pytest.raises(bessemer.Error, match=expected):
            golden("mlp_mse").compile(pass_plugins=[path])
        opt = os.path.join(BUILD, "bin", "bessemer-opt")
        result = subprocess.run([opt, f"--pass-plugin={path}"], input="", capture_output=True, text=True)
        assert result.returncode == 1 and expected in result.stderr
