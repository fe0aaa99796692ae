#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs lit, GoogleTest and pytest on a build and adds up what they count.

The last line is "N passed, N failed" (with ", N skipped" when there are any);
the exit status is 1 when anything failed or a suite ran no test.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Counts:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add(self, passed, failed, skipped=0):
        self.passed += passed
        self.failed += failed
        self.skipped += skipped


def run_lit(build, counts, scratch):
    report = os.path.join(scratch, "lit.json")
    subprocess.run([os.path.join(os.path.dirname(sys.executable), "lit"), "-q", "-j2", "--param", f"build={build}",
                    "--output", report, os.path.join(ROOT, "test")])
    try:
        with open(report) as file:
            results = [test["code"] for test in json.load(file)["tests"]]
    except (OSError, ValueError):
        results = []
    good = sum(code in ("PASS", "XFAIL", "FLAKYPASS") for code in results)
    skipped = sum(code in ("UNSUPPORTED", "SKIPPED", "EXCLUDED") for code in results)
    failed = len(results) - good - skipped
    print(f"lit: {good} passed, {failed} failed", flush=True)
    counts.add(good, failed if results else 1, skipped)


def run_googletest(build, counts, scratch):
    folder = os.path.join(build, "test", "unit")
    programs = sorted(name for name in os.listdir(folder)
                      if os.access(os.path.join(folder, name), os.X_OK)
                      and os.path.isfile(os.path.join(folder, name)))
    if not programs:
        print("GoogleTest: no test programs in", folder)
        counts.add(0, 1)
    for name in programs:
        report = os.path.join(scratch, name + ".json")
        process = subprocess.run([os.path.join(folder, name), "--gtest_brief=1",
                                  "--gtest_output=json:" + report], cwd=folder)
        try:
            with open(report) as file:
                result = json.load(file)
        except (OSError, ValueError):
            print(f"{name}: ended with status {process.returncode} and no report")
            counts.add(0, 1)
            continue
        skipped = sum(case.get("result") == "SKIPPED"
                      for suite in result["testsuites"] for case in suite["testsuite"])
        failed = result["failures"] + result.get("errors", 0)
        if process.returncode and not failed:
            failed = 1
        passed = result["tests"] - result["failures"] - result.get("disabled", 0) - skipped
        print(f"{name}: {passed} passed, {failed} failed", flush=True)
        counts.add(passed, failed, skipped)


def run_pytest(build, counts, scratch, long):
    report = os.path.join(scratch, "pytest.xml")
    environment = dict(os.environ, BESSEMER_BUILD=build,
                       BESSEMER_BIN=os.path.join(build, "bin", "bessemer"))
    command = [sys.executable, "-m", "pytest", "-q", "--junitxml", report,
               "-m", "long" if long else "not long", os.path.join(ROOT, "test", "e2e")]
    process = subprocess.run(command, cwd=ROOT, env=environment)
    try:
        suite = ElementTree.parse(report).getroot().find("testsuite")
        number = {key: int(suite.get(key)) for key in ("tests", "failures", "errors", "skipped")}
    except (OSError, ElementTree.ParseError, AttributeError, TypeError):
        print(f"pytest: ended with status {process.returncode} and no report")
        counts.add(0, 1)
        return
    failed = number["failures"] + number["errors"]
    passed = number["tests"] - failed - number["skipped"]
    counts.add(passed, failed if number["tests"] else 1, number["skipped"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--long", action="store_true", help="the longer suites only")
    parser.add_argument("--only", choices=["lit", "googletest", "pytest"])
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    counts = Counts()
    with tempfile.TemporaryDirectory() as scratch:
        if not arguments.long and arguments.only in (None, "lit"):
            run_lit(build, counts, scratch)
        if not arguments.long and arguments.only in (None, "googletest"):
            run_googletest(build, counts, scratch)
        if arguments.only in (None, "pytest"):
            run_pytest(build, counts, scratch, arguments.long)
    skipped = f", {counts.skipped} skipped" if counts.skipped else ""
    print(f"{counts.passed} passed, {counts.failed} failed{skipped}", flush=True)
    return 1 if counts.failed or not counts.passed else 0


if __name__ == "__main__":
    sys.exit(main())
