# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an embedder gets: an installed prefix, examples built against it outside the tree, a small library that exports
the C API and nothing else."""

import os
import re
import shutil
import subprocess

import pytest
from sanitizers import SANITIZED

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# bessemer.h, README and the brief of an embedded runtime: less than 2 MB without symbols.
MOST_BYTES = 2_000_000


def run(*command, **options):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300, **options)
    assert result.returncode == 0, f"{command}: {result.stdout}{result.stderr}"
    return result.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    build = os.environ.get("BESSEMER_BUILD", os.path.join(ROOT, "build"))
    folder = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", build, "--prefix", folder, "--component", "runtime")
    return folder


@pytest.fixture(scope="module")
def artifact(tmp_path_factory):
    import bessemer
    model = os.path.join(ROOT, "test", "e2e", "goldens", "mlp_cross_entropy", "model.onnx")
    path = tmp_path_factory.mktemp("artifact") / "model.bsm"
    bessemer.compile(model, loss="cross_entropy", batch=8, optimizer={"kind": "sgd", "lr": 0.1}).save(str(path))
    return path


def build_example(name, prefix, folder, *options):
    # A copy, so that nothing of this tree is found by accident.
    source = folder / "source"
    shutil.copytree(os.path.join(ROOT, "examples", name), source)
    run("cmake", "-S", source, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}", *options)
    run("cmake", "--build", folder / "build")
    return folder / "build" / "train_step"


def losses(output):
    return [float(number) for number in re.findall(r"step \d+: \S+ (\S+)", output)]


@pytest.mark.parametrize("options", [
    [], pytest.param(["-DSTATIC=ON"], marks=pytest.mark.skipif(SANITIZED, reason="the archive needs the sanitizers")),
], ids=["shared", "static"])
def test_c_example_trains(prefix, artifact, tmp_path, options):
    program = build_example("c", prefix, tmp_path, *options)
    found = losses(run(program, artifact, 20, 0.1, 2))
    assert len(found) == 20
    assert found[-1] < 0.7 * found[0], "the batch is not learned by heart"
    libraries = run("ldd", program)
    assert ("libbessemer_runtime.so.0" in libraries) == (not options)
    # A damaged file is an error with the library's message.
    damaged = tmp_path / "damaged.bsm"
    damaged.write_bytes(artifact.read_bytes()[:40])
    result = subprocess.run([program, damaged], capture_output=True, text=True)
    assert result.returncode == 1 and "damaged or incomplete" in result.stderr


def test_pkg_config_builds_the_c_example(prefix, artifact, tmp_path):
    environment = {**os.environ, "PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "bessemer-runtime", env=environment).split()
    assert run("pkg-config", "--modversion", "bessemer-runtime", env=environment).strip() == "0.1.0"
    program = tmp_path / "train_step"
    run("cc", "-Wall", "-Werror", os.path.join(ROOT, "examples", "c", "train_step.c"), *flags, "-lm", "-o", program)
    found = losses(run(program, artifact, 5, 0.1, 2, env={**os.environ, "LD_LIBRARY_PATH": str(prefix / "lib")}))
    assert len(found) == 5 and found[-1] < found[0]


def test_cpp_example_trains_in_several_sessions(prefix, artifact, tmp_path):
    program = build_example("cpp", prefix, tmp_path, "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
    output = run(program, artifact, 20)
    runs = re.findall(r"rate (\S+): loss (\S+) -> (\S+)", output)
    assert [rate for rate, _, _ in runs] == ["0", "0.001", "0.01", "0.1"]
    assert len({first for _, first, _ in runs}) == 1, "sessions share no state, so they start alike"
    assert runs[0][1] == runs[0][2], "rate 0 changes nothing"
    last = [float(value) for _, _, value in runs]
    assert last == sorted(last, reverse=True) and len(set(last)) == 4, "the larger the rate, the lower the loss"


def test_package_knows_its_version(prefix, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES C)\nfind_package(BessemerRuntime 1.0 REQUIRED)\n")
    result = subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}"],
                            capture_output=True, text=True)
    assert result.returncode != 0 and "0.1.0" in result.stderr


def test_library_exports_the_c_api_alone(prefix):
    library = prefix / "lib" / "libbessemer_runtime.so"
    exported = {line.split()[-1] for line in run("nm", "-D", "--defined-only", library).splitlines()}
    exported.discard("BESSEMER_0.1")
    with open(os.path.join(ROOT, "runtime", "include", "bessemer", "bessemer.h")) as file:
        declared = set(re.findall(r"\b(bsm_\w+)\(", file.read()))
    assert exported == {name + "@@BESSEMER_0.1" for name in declared}
    dynamic = run("readelf", "-d", library)
    assert "soname: [libbessemer_runtime.so.0]" in dynamic
    for part in ("LLVM", "MLIR", "protobuf", "dnnl", "python"):
        assert part not in dynamic


@pytest.mark.skipif(SANITIZED, reason="instrumented code is larger")
def test_library_is_small(prefix, tmp_path):
    stripped = tmp_path / "stripped.so"
    run("strip", "-o", stripped, prefix / "lib" / "libbessemer_runtime.so")
    assert 100_000 < stripped.stat().st_size < MOST_BYTES


def test_headers_are_plain_c_and_cpp17(prefix, tmp_path):
    (tmp_path / "c.c").write_text("#include <bessemer/bessemer.h>\nint main(void) { return 0; }\n")
    (tmp_path / "cpp.cpp").write_text("#include <bessemer/bessemer.hpp>\nint main() {}\n")
    run("cc", "-std=c99", "-pedantic-errors", "-Wall", "-Wextra", "-Werror", f"-I{prefix}/include", "-c",
        tmp_path / "c.c", "-o", tmp_path / "c.o")
    run("c++", "-std=c++17", "-pedantic-errors", "-Wall", "-Wextra", "-Werror", f"-I{prefix}/include", "-c",
        tmp_path / "cpp.cpp", "-o", tmp_path / "cpp.o")
