# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measuring on a machine that others use, too."""

import os
import time


def own_autogroup():
    """Kernels share the cores by session group; one of our own is not slowed
    by what the caller's group does. Without rights this changes nothing."""
    try:
        os.setsid()
    except OSError:
        pass
    try:
        with open("/proc/self/autogroup", "w") as file:
            file.write("-15")
        return True
    except OSError:
        return False


def busy_seconds():
    """Seconds that all cores together spent on anything since boot; time that
    the hypervisor took counts, too."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, interrupt, soft, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + interrupt + soft + steal) / os.sysconf("SC_CLK_TCK")


def process_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Others:
    """What share of the cores anything but the given processes used."""

    def __init__(self, pids):
        self.pids = pids
        self.start = self.read()

    def read(self):
        ours = sum(map(process_seconds, self.pids)) + sum(os.times()[:2])
        return time.monotonic(), busy_seconds() - ours

    def share(self):
        (before, busy_before), (now, busy_now) = self.start, self.read()
        return max(0.0, (busy_now - busy_before) / ((now - before) * os.cpu_count()))
