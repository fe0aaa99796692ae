# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs that are killed, stopped, or run out of disk: what they leave is whole,
and the resumed run is the uninterrupted one. test_kill.py kills more often."""

import os
import re
import signal
import subprocess

import numpy as np
import pytest

from interrupted import PROGRAM, killed_and_resumed, state_of, train, words


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    """Threads that wait for each other crawl when others use the machine."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """m.bsm and d.npz: 5 classes, 600 rows."""
    from conftest import Golden
    folder = tmp_path_factory.mktemp("interrupts")
    Golden("mlp_cross_entropy").compile({"kind": "adamw", "lr": 0.01}).save(folder / "m.bsm")
    rng = np.random.default_rng(0)
    np.savez(folder / "d.npz", x=rng.standard_normal((600, 3, 4), np.float32), labels=rng.integers(0, 5, 600))
    return folder


def command(folder, *more):
    return ["train", folder / "m.bsm", "--data", folder / "d.npz", "--seed", 5, "--schedule", "cosine", *more]


def start(command, run, hangup=signal.SIG_DFL):
    """A run, once its training has begun; nohup would have it ignore SIGHUP."""
    process = subprocess.Popen(words(command, run), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               preexec_fn=lambda: signal.signal(signal.SIGHUP, hangup))
    for line in process.stdout:
        if line.startswith("memory"):
            return process
    raise AssertionError(process.stderr.read())


def test_a_killed_run_resumes_to_the_same_bits(folder, tmp_path):
    whole = command(folder, "--steps", 3000, "--checkpoint-every", 10)
    assert train(whole, tmp_path / "whole").returncode == 0
    killed_and_resumed(whole, tmp_path / "killed", kills=4, longest=0.2, seed=1)
    assert state_of(tmp_path / "killed") == state_of(tmp_path / "whole")
    assert os.listdir(tmp_path / "killed") == ["last"]


@pytest.mark.parametrize("stop,status", [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_after_the_step_with_a_checkpoint(folder, tmp_path, stop, status):
    endless = command(folder, "--steps", 10_000_000, "--log-every", 10_000_000)
    process = start(endless, tmp_path / "run")
    process.send_signal(stop)
    try:
        out, error = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, error) == (status, "")
    # Before the first report there is a loss all the same, unless there was no step.
    found = re.search(r"interrupted at step (\d+) of 10000000(: loss (\S+);|, before a step of this run\n)", out)
    assert found, out
    step = int(found[1])
    assert (step > 0) == (found[3] is not None) == (tmp_path / "run/last").exists()
    if not step:
        return
    assert 0 < float(found[3]) < 10
    # test_cli_training.py resumes one to the end.
    assert f'  "step": {step},' in state_of(tmp_path / "run")[1]


def test_a_closed_pipe_ends_after_the_step_with_a_checkpoint(folder, tmp_path):
    process = start(command(folder, "--steps", 10_000_000, "--log-every", 100), tmp_path / "run")
    try:
        process.stdout.close()
        assert process.wait(60) == 141
    finally:
        process.kill()
    assert (tmp_path / "run/last/trainer.json").exists()


def test_nohup_is_obeyed(folder, tmp_path):
    process = start(command(folder, "--steps", 10_000_000), tmp_path / "run", hangup=signal.SIG_IGN)
    try:
        process.send_signal(signal.SIGHUP)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        assert process.returncode == 143
    finally:
        process.kill()


def can_mount(tmp_path):
    return subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", tmp_path],
                          capture_output=True).returncode == 0


def test_a_full_disk_is_lossless(folder, tmp_path):
    """A file system of its own that fills up during the run."""
    if not can_mount(tmp_path):
        pytest.skip("cannot mount a small file system")
    disk = tmp_path / "disk"
    disk.mkdir()
    flags = "--steps 80000 --checkpoint-every 4000 --seed 5 --schedule cosine --threads 1"
    script = f"""
        set -e
        mount -t tmpfs -o size=256k tmpfs {disk}
        run="{PROGRAM} train {folder}/m.bsm --data {folder}/d.npz {flags} --checkpoint-dir {disk}/run"
        # Stops long before the last of the 80,000 steps, then finds the disk full.
        (ulimit -t 60; $run --log-every 4000 & pid=$!
         until grep -q '"step": [1-9]' {disk}/run/last/trainer.json 2>/dev/null; do sleep 0.01; done
         kill -INT $pid; wait $pid || test $? = 130)
        head -c 1M /dev/zero > {disk}/filler 2>/dev/null || true
        cp -r {disk}/run {tmp_path}/before
        if $run --resume; then echo "no error" >&2; fi
        diff -r {disk}/run/last {tmp_path}/before/last
        rm {disk}/filler
        $run --resume
        cp -r {disk}/run {tmp_path}/after
    """
    result = subprocess.run(["unshare", "-rm", "bash", "-c", script], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    lines = [line for line in result.stderr.splitlines() if line.startswith("error") or "no error" in line]
    assert len(lines) == 1 and "No space left on device" in lines[0], result.stderr
    assert train(command(folder, "--steps", 80000, "--checkpoint-every", 4000, "--threads", 1), tmp_path / "whole"
                 ).returncode == 0
    assert state_of(tmp_path / "after") == state_of(tmp_path / "whole")
    assert os.listdir(tmp_path / "after") == ["last"]
