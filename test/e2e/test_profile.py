# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bessemer profile: every command of a step, timed."""

import json
import re

import pytest


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """Compiled once."""
    from conftest import Golden
    path = tmp_path_factory.mktemp("profile") / "m.bsm"
    Golden("mlp_cross_entropy").compile(0).save(path)
    return path


def ok(result):
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_counts_every_command(cli, program):
    profile = json.loads(ok(cli("profile", program, "--steps", 7, "--warmup", 1, "--threads", 1, "--json")))
    programs = json.loads(ok(cli("inspect", program, "--json")))["programs"]
    commands = next(p["commands"] for p in programs
                    if p["function"] == "train_step" and p["target"] == profile["target"])
    rows = profile["rows"]
    assert sorted(r["command"] for r in rows) == sorted(c.get("kernel", c["kind"]) for c in commands)
    assert all(r["calls"] == 7 and r["bytes"] > 0 for r in rows)
    assert 0 < sum(r["seconds"] for r in rows) <= 7 * profile["mean_seconds"]
    assert [r["seconds"] for r in rows] == sorted((r["seconds"] for r in rows), reverse=True)
    gemms = [r for r in rows if r["command"].startswith("gemm_")]
    for row in gemms:
        extents = row["command"].split("_")[1].split("x")
        product = 2
        for extent in extents:
            product *= int(extent)
        assert row["operations"] == 7 * product
    assert gemms


def test_sums_by_kernel(cli, program):
    rows = json.loads(ok(cli("profile", program, "--steps", 3, "--threads", 1, "--by", "kernel", "--json")))["rows"]
    names = [row["command"] for row in rows]
    assert len(names) == len(set(names))


def test_prints_a_table(cli, program):
    lines = ok(cli("profile", program, "--steps", 2, "--threads", 1, "--top", 3)).splitlines()
    assert re.match(r"train_step on x86-64-\S+, 1 threads: 2 steps, mean [\d.]+ ms, median [\d.]+ ms$", lines[0])
    assert lines[1].split()[:2] == ["ms/step", "%"]
    assert len(lines) == 6 and "more rows" in lines[5]


def test_top_also_limits_json(cli, program):
    profile = ["profile", program, "--steps", 2, "--threads", 1, "--json"]
    everything, three = (json.loads(ok(cli(*profile, *more)))["rows"] for more in ([], ["--top", 3]))
    assert len(everything) > 3 and len(three) == 3


def test_takes_data_and_refuses_what_does_not_fit(cli, program, tmp_path):
    import numpy as np
    np.savez(tmp_path / "d.npz", x=np.ones((9, 3, 4), np.float32), labels=np.zeros(9, np.int64))
    ok(cli("profile", program, "--steps", 2, "--data", tmp_path / "d.npz"))
    result = cli("profile", program, "--data", tmp_path / "absent.npz")
    assert result.returncode == 1 and "absent.npz" in result.stderr
    result = cli("profile", program, "--function", "absent")
    assert result.returncode == 1 and "has no function 'absent'" in result.stderr
