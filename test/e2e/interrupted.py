# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training runs that are ended from outside, for the tests of what is left."""

import hashlib
import os
import random
import signal
import subprocess
import time

PROGRAM = os.environ.get("BESSEMER_BIN", "build/bin/bessemer")


def state_of(folder):
    """Hash of the state and the lines of trainer.json of a run's last checkpoint."""
    with open(os.path.join(folder, "last", "state.safetensors"), "rb") as file:
        state = hashlib.sha256(file.read()).hexdigest()
    with open(os.path.join(folder, "last", "trainer.json")) as file:
        return state, file.read().splitlines()


def train(command, folder, **options):
    """The finished process of one run that goes on from what is there."""
    return subprocess.run(words(command, folder), capture_output=True, text=True, timeout=300, **options)


def words(command, folder):
    resume = ["--resume"] if os.path.exists(os.path.join(folder, "last")) else []
    return [PROGRAM, *map(str, command), "--checkpoint-dir", str(folder), *resume]


def killed_and_resumed(command, folder, kills, longest, seed):
    """Kills runs at random moments up to `longest` seconds after their start,
    resumes each, and lets the last one end. Returns how many were killed."""
    moments, killed = random.Random(seed), 0
    while killed < kills:
        process = subprocess.Popen(words(command, folder), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        time.sleep(moments.uniform(0, longest))
        process.send_signal(signal.SIGKILL)
        error = process.communicate()[1]
        assert process.returncode in (0, -signal.SIGKILL), error
        if process.returncode == 0:
            return killed
        killed += 1
    last = train(command, folder)
    assert last.returncode == 0, last.stderr
    return killed


def seconds_per_step(command, folder, steps):
    """Of a run of that many steps, start and end left out."""
    start = time.monotonic()
    first = train([*command, "--steps", 1], os.path.join(folder, "one"))
    middle = time.monotonic()
    rest = train([*command, "--steps", steps], os.path.join(folder, "more"))
    assert first.returncode == rest.returncode == 0, rest.stderr
    return max((time.monotonic() - middle - (middle - start)) / (steps - 1), 1e-6)
