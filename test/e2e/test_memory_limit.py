# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""--memory-limit: kernels are repeated to fit, with the same bits; what does not fit is refused with the shortfall."""

import json
import os
import re

import numpy as np
import pytest
from onnx import helper

import bessemer
from models import Recorded, make_model

ZOO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "zoo", "goldens")
ADAMW = {"kind": "adamw", "lr": 1e-3}


class Case(Recorded):
    """One case of zoo/make_cases.py."""

    def __init__(self, name):
        super().__init__(os.path.join(ZOO, name))

    def compile(self, **options):
        return bessemer.compile(self.model, loss=self.case["loss"], dims=self.case.get("dims"), optimizer=ADAMW, **options)

    def least(self, **options):
        """What the refusal of one byte names."""
        with pytest.raises(bessemer.Error) as error:
            self.compile(memory_limit=1, **options)
        match = re.search(r"memory limit: expected at least (\d+) bytes \((\d+) of parameters.* and (\d+) of "
                          r"temporaries of 'train_step'.*, got 1: (\d+) bytes short", str(error.value))
        assert match, str(error.value)
        least, around, work, short = map(int, match.groups())
        assert (least, short) == (around + work, least - 1)
        return least, around

    def train(self, program):
        session = program.session(seed=3)
        losses = []
        for step in range(self.case["steps"]):
            losses.append(session.train_step({name: self.data[f"{name}.{step}"]
                                              for name in self.case["inputs"] + ["labels"]})["loss"])
        return session, losses


def labels_of(inspected):
    return [command.get("label", "") for exec_ in inspected["programs"] if exec_["function"] == "train_step"
            for command in exec_["commands"]]


def work(program):
    return program.session(threads=1).memory()["work"]


# How much of the temporaries is enough when everything is recomputed that
# helps. Small models keep what the largest kernel reads and writes.
@pytest.mark.parametrize("name,share", [("gpt2", 0.8), ("bert", 0.8), ("unet_bilinear", 0.95), ("tcn", 0.9),
                                        ("t5", 0.8)])
def test_fits_with_the_same_bits(name, share):
    case = Case(name)
    free = case.compile()
    least, around = case.least()
    tight = case.compile(memory_limit=least)
    assert work(tight) == least - around
    assert work(tight) <= share * work(free)
    want, wanted = case.train(free)
    got, losses = case.train(tight)
    assert losses == wanted
    for key, value in want.state_dict().items():
        np.testing.assert_array_equal(got.state_dict()[key], value, err_msg=key)
    with pytest.raises(bessemer.Error, match=f"got {least - 1}: 1 bytes short"):
        case.compile(memory_limit=least - 1)


def test_a_smaller_limit_never_needs_more():
    case = Case("gpt2")
    least, around = case.least()
    most = around + work(case.compile())
    peaks = [work(case.compile(memory_limit=int(limit))) for limit in np.linspace(most, least, 8)]
    assert peaks[0] == most - around
    assert peaks == sorted(peaks, reverse=True)
    for limit, peak in zip(np.linspace(most, least, 8), peaks):
        assert around + peak <= limit


def test_ample_limits_change_nothing():
    case = Case("gpt2")
    free, ample = case.compile(), case.compile(memory_limit="1 GiB")
    assert work(free) == work(ample)
    want, wanted = case.train(free)
    got, losses = case.train(ample)
    assert losses == wanted


def test_in_the_parts_of_a_batch(golden):
    case = golden("convnet_accumulated")
    free = case.compile(1, accumulate=3)
    with pytest.raises(bessemer.Error) as error:
        case.compile(1, accumulate=3, memory_limit=1)
    least = int(re.search(r"at least (\d+) bytes", str(error.value))[1])
    tight = case.compile(1, accumulate=3, memory_limit=least)
    assert work(tight) < work(free)
    case.check_training(tight.session(), 1)


def test_random_numbers_are_drawn_again(cli, tmp_path):
    # What dropout leaves is read early, and late for the gradient of u; the peak is
    # between them, at the gradient of what "wider" holds.
    nodes = [helper.make_node("Mul", ["x", "w"], ["a"]),
             helper.make_node("Dropout", ["a", "ratio", "mode"], ["d"]),
             helper.make_node("MatMul", ["d", "u"], ["wide"]),
             helper.make_node("Tanh", ["wide"], ["t"]),
             helper.make_node("MatMul", ["t", "large"], ["wider"]),
             helper.make_node("Tanh", ["wider"], ["r"]),
             helper.make_node("MatMul", ["r", "v"], ["s"]),
             helper.make_node("Mul", ["s", "s"], ["q"]),
             helper.make_node("ReduceMean", ["q"], ["loss"], keepdims=0)]
    random = np.random.default_rng(1)
    weights = {"w": random.random(32, np.float32), "u": random.random((32, 128), np.float32) / 32,
               "large": random.random((128, 512), np.float32) / 128, "v": random.random((512, 4), np.float32) / 512,
               "ratio": np.float32(0.3), "mode": np.bool_(True)}
    model = make_model(nodes, [("x", "f", ["batch", 32])], [("loss", "f", [])], weights)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    # The numbers before and behind every pass are equal, so those drawn twice are.
    result = cli("compile", tmp_path / "m.onnx", "-o", tmp_path / "m.bsm", "--loss", "output:loss", "--batch", "1024",
                 "--train", "w,u,large,v", "--optimizer", "sgd", "--verify-numerics")
    assert result.returncode == 0, result.stderr
    inspected = json.loads(cli("inspect", tmp_path / "m.bsm", "--json").stdout)
    assert "recomputed, a, d" in labels_of(inspected)


def test_recomputed_kernels_are_verified_and_named(cli, tmp_path):
    case = Case("gpt2")
    least, _ = case.least()
    options = ["--loss", "cross_entropy", "--optimizer", "adamw", "--lr", "1e-3", "--memory-limit", str(least)]
    program = tmp_path / "m.bsm"
    result = cli("compile", case.model, "-o", program, "--verify-numerics", *options)
    assert result.returncode == 0, result.stderr
    inspected = json.loads(cli("inspect", program, "--json").stdout)
    assert inspected["settings"]["memory_limit"] == str(least)
    assert any(label.startswith("recomputed") for label in labels_of(inspected))


@pytest.mark.parametrize("given,size", [("1kB", 1000), ("0.5 KiB", 512), ("0.002MB", 2000), ("0.001 MiB", 1048),
                                        ("700B", 700), (900, 900), ("900", 900), ("0.000001G", 1000)])
def test_units(given, size):
    with pytest.raises(bessemer.Error, match=f"got {size}: "):
        Case("gpt2").compile(memory_limit=given)


@pytest.mark.parametrize("given", ["", "much", "-5", "5 XB", "1.2.3GB", "1e99GB", 0, -3, 1.5, True, "5GiBs", "GB"])
def test_nonsense(given):
    with pytest.raises(bessemer.Error, match="memory_limit.*expected bytes"):
        Case("gpt2").compile(memory_limit=given)
