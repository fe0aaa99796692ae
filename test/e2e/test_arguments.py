# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments of the Python package are checked when they are given: the error names the argument, what was expected and
what was found."""

import math
import os

import numpy as np
import pytest

import bessemer


@pytest.fixture
def case(golden):
    return golden("mlp_mse")


@pytest.fixture
def session(case):
    return case.compile().session(threads=1)


@pytest.mark.parametrize("value", ["0.1", None, math.nan, math.inf, -1, True, [0.1, 0.2], 1e39, 10 ** 400])
def test_learning_rate(case, session, value):
    before, state = session.learning_rate, session.state_dict()
    with pytest.raises(bessemer.Error, match="learning_rate: expected a number from 0 to 3.40282e\\+38, got"):
        session.learning_rate = value
    if value is not None:  # the session's own
        with pytest.raises(bessemer.Error, match="learning_rate: expected a number from 0 to 3.40282e\\+38, got"):
            session.train_step(case.batch(0), learning_rate=value)
    assert session.learning_rate == before and session.step == 0
    for name, array in session.state_dict().items():
        assert array.tobytes() == state[name].tobytes(), name


@pytest.mark.parametrize("name", ["step", "seed"])
@pytest.mark.parametrize("value", ["1", None, 1.5, -1, 2 ** 64, True])
def test_counts(session, name, value):
    with pytest.raises(bessemer.Error, match=f"{name}: expected a whole number from 0 to {2 ** 64 - 1}, got"):
        setattr(session, name, value)
    assert getattr(session, name) == 0


def test_numbers_of_other_kinds(case, session):
    session.learning_rate, session.step, session.seed = np.float32(0.5), np.int32(3), np.uint64(2 ** 64 - 1)
    assert (session.learning_rate, session.step, session.seed) == (0.5, 3, 2 ** 64 - 1)
    session.train_step(case.batch(0), learning_rate=np.array(0.25))
    assert session.step == 4


@pytest.mark.parametrize("options,match", [
    (dict(device=3), "device: expected text such as 'cpu', got int"),
    (dict(device="gpu"), "gpu"),
    (dict(threads="2"), "threads: expected a whole number from 0 to 4096, got '2'"),
    (dict(threads=-1), "threads: expected a whole number from 0 to 4096, got -1"),
    (dict(threads=5000), "threads: expected a whole number from 0 to 4096, got 5000"),
    (dict(seed="x"), "seed: expected a whole number .*, got 'x'"),
    (dict(seed=1.0), "seed: expected a whole number .*, got 1.0"),
])
def test_session_options(case, options, match):
    with pytest.raises(bessemer.Error, match=match):
        case.compile().session(**options)


@pytest.mark.parametrize("options,match", [
    (dict(batch=7.0), "option 'batch': expected an integer, got 7.0"),
    (dict(batch=[7]), "option 'batch': expected an integer"),
    (dict(optimizer={"kind": "sgd", "lr": math.nan}), "option 'optimizer.lr': expected a finite number, got nan"),
    (dict(optimizer=[3]), "option 'optimizer': expected an object"),
    (dict(target=3), "option 'targets': expected a list of strings, got 3"),
    (dict(pass_plugins=3), "option 'pass_plugins': expected a list of strings, got 3"),
    (dict(freeze=object()), "option 'freeze': expected text, a number, a list or a mapping, got object"),
    (dict(batch=2 ** 63), "option 'batch': expected an integer, got 9223372036854775808"),
    (dict(loss="cross_entropy", class_axis=2 ** 64 - 1), "option 'class_axis': expected an integer, got 18446744073709551615"),
    (dict(optimizer={"kind": "sgd", "lr": 1e39}), "option 'optimizer.lr': expected a number of at least 0 that float32 holds"),
    (dict(freeze="\udcff"), "option 'freeze': expected text in UTF-8"),
    (dict(dims=["batch"]), "option 'dims': expected an object"),
    (dict(recipe=3), "recipe: expected a path in UTF-8, got 3"),
    (dict(recipe=""), "recipe: expected a path in UTF-8, got ''"),
])
def test_compile_options(case, options, match):
    with pytest.raises(bessemer.Error, match=match):
        case.compile(**options)


def test_numpy_numbers_are_options(case):
    program = case.compile(batch=np.int64(7), optimizer={"kind": "sgd", "lr": np.float32(0.5)})
    assert program.functions["predict"]["inputs"]["x"][1][0] == 7
    assert float(program.settings["lr"]) == 0.5


@pytest.mark.parametrize("value", ["", 3, None, "a\0b", "/tmp/\udcff"])
def test_paths(case, session, tmp_path, value):
    for name, call in (("path", bessemer.load), ("path", session.program.save),
                       ("directory", session.save), ("directory", session.load),
                       ("checkpoint", lambda path: session.program.export(path, tmp_path / "x.onnx")),
                       ("path", lambda path: session.program.export(tmp_path, path))):
        with pytest.raises(bessemer.Error, match=f"^{name}: expected a path in UTF-8, got"):
            call(value)
    with pytest.raises(bessemer.Error, match="^model: expected a path"):
        bessemer.compile(value)


def test_save_names_the_file(session, tmp_path):
    path = tmp_path / "missing" / "model.bsm"
    with pytest.raises(bessemer.Error, match=f"^{path}: cannot create: No such file or directory$"):
        session.program.save(path)
    with pytest.raises(bessemer.Error, match=f"^{tmp_path}: expected a file, got a directory$"):
        session.program.save(tmp_path)
    mask = os.umask(0)
    os.umask(mask)
    session.program.save(tmp_path / "model.bsm")
    assert os.stat(tmp_path / "model.bsm").st_mode & 0o777 == 0o666 & ~mask
    assert [file.name for file in tmp_path.iterdir()] == ["model.bsm"]


def test_no_rows(case, session):
    """No rows give no rows; a mean over none is an error."""
    none = {name: value[:0] for name, value in case.batch(0).items()}
    for name, value in session.predict({"x": none["x"]}).items():
        dtype, shape = session.program.functions["predict"]["outputs"][name]
        assert value.shape == (0, *shape[1:]) and value.dtype == np.float32
    with pytest.raises(bessemer.Error, match=r"predict: input 'x': expected the shape \[rows, "):
        session.predict({"x": np.zeros((0, 1, 1, 1), np.float32)})
    with pytest.raises(bessemer.Error, match="eval_step: expected at least one row, got none"):
        session.evaluate(none)
    with pytest.raises(bessemer.Error, match="train_step: input 'x': expected"):
        session.train_step(none)


class OnAnotherDevice:
    def __dlpack__(self, **_):
        raise BufferError("its data is elsewhere")

    def __dlpack_device__(self):
        return (2, 0)


@pytest.mark.parametrize("value,found", [([[1.0], [1.0, 2.0]], "got list: "), ([[1e39]], "a value does not fit float32"), (OnAnotherDevice(), "got OnAnotherDevice: "),
                                         ("text", "expected float32, got <U4"), (None, "expected float32, got object")])
def test_arrays(case, session, value, found):
    for function in (session.train_step, session.evaluate, session.predict):
        with pytest.raises(bessemer.Error, match="input 'x': ") as error:
            function({"x": value})
        assert found in str(error.value)
    state = next(iter(session.program.states))
    with pytest.raises(bessemer.Error, match=f"state '{state}': "):
        session.load_state_dict({**session.state_dict(), state: value})


def test_counters_take_no_fractions(session):
    with pytest.raises(bessemer.Error, match="state 'updates': expected int64, got float64"):
        session.load_state_dict({**session.state_dict(), "updates": 1.5})


def test_one_thread_at_a_time(case, session):
    """As in C: whoever comes second is told, and nothing is mixed up."""
    import threading
    problems, done = [], []

    def work():
        for _ in range(300):
            try:
                done.append(session.train_step(case.batch(0)))
            except bessemer.Error as problem:
                problems.append(str(problem))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) + len(problems) == 1200
    assert session.step == len(done) == session.state_dict()["updates"]
    assert set(problems) <= {"train_step: another thread is using the session"}
