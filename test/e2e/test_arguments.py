# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments of the Python package are checked when they are given: the error names the argument, what was expected and
what was found."""

import math
import os
import shutil

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


@pytest.mark.parametrize("name,most", [("step", 2 ** 32 - 1), ("seed", 2 ** 64 - 1)])
@pytest.mark.parametrize("value", ["1", None, 1.5, -1, 2 ** 64, pytest.param(10 ** 5000, id="huge"), True])
def test_counts(session, name, most, value):
    with pytest.raises(bessemer.Error, match=f"{name}: expected a whole number from 0 to {most}, got"):
        setattr(session, name, value)
    assert getattr(session, name) == 0
    setattr(session, name, most)
    with pytest.raises(bessemer.Error, match=f"from 0 to {most}, got {most + 1}"):
        setattr(session, name, most + 1)


def test_no_step_after_the_last(case, session):
    """Above 32 bits the batches of a step count."""
    session.step = 2 ** 32 - 2
    session.train_step(case.batch(0))
    before = session.state_dict()
    with pytest.raises(bessemer.Error, match=f"step: expected a whole number from 0 to {2 ** 32 - 1}, got {2 ** 32}"):
        session.train_step(case.batch(0))
    assert session.step == 2 ** 32 - 1
    for name, value in session.state_dict().items():
        assert value.tobytes() == before[name].tobytes(), name


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
    (dict(threads=10 ** 5000), "threads: expected a whole number from 0 to 4096, got an integer of 16610 bits"),
    (dict(seed="x"), "seed: expected a whole number .*, got 'x'"),
    (dict(seed=1.0), "seed: expected a whole number .*, got 1.0"),
])
def test_session_options(case, options, match):
    with pytest.raises(bessemer.Error, match=match):
        case.compile().session(**options)


def itself(container):
    """A list or mapping that holds itself."""
    if isinstance(container, list):
        container.append(container)
    else:
        container["a"] = container
    return container


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
    (dict(seed=10 ** 400), "option 'seed': expected a finite number, got an integer of 1329 bits"),
    (dict(target={1, "a"}), "option 'targets': expected a string, got 1"),
    (dict(dims={10 ** 5000: 3}), "option 'dims': expected names in UTF-8, got an integer of 16610 bits"),
    (dict(target=itself([])), "option 'targets': expected lists and mappings that are nested at most 32 deep"),
    (dict(optimizer=itself({})), r"option 'optimizer\.a\.a.*: expected lists and mappings that are nested at most 32 deep"),
    (dict(dims=["batch"]), "option 'dims': expected an object"),
    (dict(lr=0.1), "option 'lr' is a constant of the optimizer: expected it in optimizer, {\"kind\": ..., \"lr\": ...}"),
    (dict(loss="m\ns\0e"), "loss'.*'m s e'"),
    (dict(emit="graph"), "option 'emit': expected artifact, as stages are what `bessemer compile --emit` prints, got 'graph'"),
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


def test_an_optimizer_without_a_kind(case, tmp_path):
    def constants(**options):
        settings = bessemer.compile(case.model, loss="mse", batch=8, **options).settings
        return settings["optimizer"], float(settings["lr"])
    assert constants(optimizer={"lr": 0.25}) == ("sgd", 0.25)
    (tmp_path / "r.yaml").write_text("optimizer: {kind: adamw, lr: 0.5, eps: 0.125}\n")
    assert constants(recipe=tmp_path / "r.yaml", optimizer={"lr": 0.25}) == ("adamw", 0.25)
    assert constants(recipe=tmp_path / "r.yaml", optimizer={"kind": "sgd", "lr": 0.25}) == ("sgd", 0.25)
    assert constants(recipe=tmp_path / "r.yaml") == ("adamw", 0.5)


def test_inputs_are_not_overwritten(case, tmp_path):
    model = tmp_path / "model.onnx"
    shutil.copy(case.model, model)
    program = bessemer.compile(model, loss="mse", batch=8)
    session = program.session()
    session.save(tmp_path / "run")
    state = tmp_path / "run/state.safetensors"
    before = model.read_bytes(), state.read_bytes()
    for file in (model, os.path.relpath(model)):
        with pytest.raises(bessemer.Error, match="model.onnx: expected a new file or a compiled program to replace, got another file"):
            program.save(file)
    with pytest.raises(bessemer.Error, match="path: expected another file than the input .*state.safetensors"):
        program.export(tmp_path / "run", state)
    assert (model.read_bytes(), state.read_bytes()) == before
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(bessemer.Error, match="notes.txt: expected a new file or an ONNX model to replace, got another file"):
        program.export(tmp_path / "run", tmp_path / "notes.txt")
    with pytest.raises(bessemer.Error, match="weights_only: expected True or False, got 'yes'"):
        session.load(tmp_path / "run", weights_only="yes")
    program.export(tmp_path / "run", model)
    program.save(tmp_path / "model.bsm")
    loaded = bessemer.load(tmp_path / "model.bsm")
    loaded.save(tmp_path / "model.bsm")
    with pytest.raises(bessemer.Error, match="path: expected another file than the input .*model.bsm"):
        loaded.export(tmp_path / "run", tmp_path / "model.bsm")


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


@pytest.mark.parametrize("name", ["batchsize", "origins"])
def test_unknown_options(case, name):
    with pytest.raises(bessemer.Error, match=f"^option '{name}' is unknown, expected one of accumulate, "):
        bessemer.compile(case.model, **{name: {}})


def test_programs_from_bytes(case, session, tmp_path):
    session.program.save(tmp_path / "m.bsm")
    content = (tmp_path / "m.bsm").read_bytes()
    feeds = {"x": case.batch(0)["x"]}
    want = session.predict(feeds)
    for given in (content, bytearray(content), memoryview(content)):
        for name, value in bessemer.load(given).session(threads=1).predict(feeds).items():
            np.testing.assert_array_equal(value, want[name])
    for bad in (b"", b"m.bsm", content[:100]):
        with pytest.raises(bessemer.Error, match="<bytes>: "):
            bessemer.load(bad)


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


def test_losses_that_are_not_finite_are_returned(case, session):
    feeds = case.batch(0)
    feeds["x"] = np.full_like(feeds["x"], np.nan)
    assert math.isnan(session.evaluate(feeds)["loss"])
    assert math.isnan(session.train_step(feeds)["loss"])


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


@pytest.mark.parametrize("value,found", [([[1.0], [1.0, 2.0]], "got list: "), ([[1e39]], "expected a number that float32 holds, got 1e+39"), (OnAnotherDevice(), "got OnAnotherDevice: "),
                                         ("text", "expected float32, got <U4"), (None, "expected float32, got object")])
def test_arrays(case, session, value, found):
    for function in (session.train_step, session.evaluate, session.predict):
        with pytest.raises(bessemer.Error, match="input 'x'") as error:
            function({"x": value})
        assert found in str(error.value)
    state = next(iter(session.program.states))
    with pytest.raises(bessemer.Error, match=f"state '{state}'"):
        session.load_state_dict({**session.state_dict(), state: value})


def test_masked_elements_are_no_numbers(case, session):
    x = np.ma.array(case.batch(0)["x"])
    session.predict({"x": x})
    x[0] = np.ma.masked
    # NumPy reads those in lists as NaN, or as if they were not masked.
    for masked in (x, list(x), [1.5, np.ma.masked], ([1.5, 2.5], [np.ma.masked, 1.5])):
        with pytest.raises(bessemer.Error, match="input 'x': expected an array without a mask, got masked elements"):
            session.predict({"x": masked})


def test_a_private_attribute_is_no_mask(case, session):
    class Owner:
        _mask = 3

        def __array__(self, dtype=None, copy=None):
            return case.batch(0)["x"]

    want = session.predict({"x": case.batch(0)["x"]})
    for name, value in session.predict({"x": Owner()}).items():
        assert np.array_equal(value, want[name])


def test_counters_take_no_fractions(session):
    with pytest.raises(bessemer.Error, match="state 'updates': expected int64, got float64"):
        session.load_state_dict({**session.state_dict(), "updates": 1.5})


def test_floats_are_rounded(case, session):
    """NumPy's own floats are float64; what a step computes is that of the rounded numbers."""
    feeds = case.batch(0)
    wide = {name: value.astype(np.float64) * 1.1 for name, value in feeds.items()}
    rounded = {name: value.astype(np.float32) for name, value in wide.items()}
    other = case.compile().session(threads=1)
    for _ in range(2):
        assert session.train_step(wide)["loss"] == other.train_step(rounded)["loss"]
    assert session.evaluate(wide) == other.evaluate(rounded)
    half = {name: value.astype(np.float16) for name, value in feeds.items()}
    assert session.evaluate(half) == session.evaluate({name: value.astype(np.float32) for name, value in half.items()})
    with pytest.raises(bessemer.Error, match=r"input 'x'\[.*\]: expected a number that float32 holds, got 1e\+300"):
        session.predict({"x": np.full(feeds["x"].shape, 1e300)})
    with pytest.raises(bessemer.Error, match="input 'x': expected float32, got complex64"):
        session.predict({"x": feeds["x"].astype(np.complex64)})


@pytest.mark.parametrize("given", [np.int8, np.int16, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.bool_])
def test_integers_keep_their_value(given):
    for taken in ("int8", "int32", "int64", "bool"):
        session, table = lookup(taken)
        np.testing.assert_array_equal(session.predict({"i": np.array([1, 0], given)})["y"], table[[1, 0]])
    with pytest.raises(bessemer.Error, match="input 'i': expected bool, got float32"):
        session.predict({"i": np.array([1, 0], np.float32)})
    if given != np.bool_:
        with pytest.raises(bessemer.Error, match=r"input 'i'\[1\]: expected a number that bool holds, got 2"):
            session.predict({"i": np.array([1, 2], given)})
        if given != np.int8:
            session, _ = lookup("int8")
            with pytest.raises(bessemer.Error, match=r"input 'i'\[0\]: expected a number that int8 holds, got 128"):
                session.predict({"i": np.array([128, 1], given)})


def lookup(dtype):
    """Rows of a table by indices of a type."""
    import onnx
    table = np.arange(30, dtype=np.float32).reshape(10, 3)
    model = onnx.parser.parse_model(f'''<ir_version: 10, opset_import: ["" : 20]>
        rows ({dtype}[2] i) => (float[2, 3] y) {{ wide = Cast <to = 7> (i)  y = Gather(table, wide) }}''')
    model.graph.initializer.append(onnx.numpy_helper.from_array(table, "table"))
    return bessemer.compile(model).session(threads=1), table


@pytest.mark.parametrize("value,place", [([2 ** 32 + 3, 0], r"\[0\].*int32 holds, got 4294967299"), ([1, -2 ** 31 - 1], r"\[1\].*int32 holds, got -2147483649"),
                                         ([2 ** 63, 2 ** 63], r"\[0\].*int32 holds, got 9223372036854775808")])
def test_integers_that_the_type_does_not_hold(value, place):
    session, table = lookup("int32")
    with pytest.raises(bessemer.Error, match=f"predict: input 'i'{place}"):
        session.predict({"i": value})
    np.testing.assert_array_equal(session.predict({"i": [3, 0]})["y"], table[[3, 0]])


def test_states_that_the_type_does_not_hold(session):
    states = session.state_dict()
    name = next(name for name, value in states.items() if value.dtype == np.float32 and value.ndim == 2)
    large = states[name].astype(np.float64)
    large[1, 0] = 1e300
    for bad, match in (({"updates": np.uint64(2 ** 63)}, "state 'updates': expected a number that int64 holds, got 9223372036854775808"),
                       ({name: large}, rf"state '{name}'\[1, 0\]: expected a number that float32 holds, got 1e\+300")):
        with pytest.raises(bessemer.Error, match=match):
            session.load_state_dict({**states, **bad})
    for key, value in session.state_dict().items():
        assert value.tobytes() == states[key].tobytes(), key
    # What is no number stays none, and rounding is not refused.
    large[1, 0] = np.inf
    session.load_state_dict({**states, name: large, "updates": np.uint64(7)})
    assert np.isinf(session.state_dict()[name][1, 0]) and session.state_dict()["updates"] == 7


def scaled():
    """A model whose first input is a scalar."""
    import onnx
    return bessemer.compile(onnx.parser.parse_model('''<ir_version: 10, opset_import: ["" : 20]>
        scaled (float c, float[batch, 3] x) => (float[batch, 3] y) { y = Mul(x, c) }'''), batch=2).session(threads=1)


def test_rows_beside_a_scalar():
    session = scaled()
    for rows in (0, 1, 2, 5):
        x = np.arange(3 * rows, dtype=np.float32).reshape(rows, 3)
        np.testing.assert_array_equal(session.predict({"c": np.float32(2), "x": x})["y"], 2 * x)


class AsksBack:
    """An array whose elements come from a call of the session that it is given to."""

    def __init__(self, call):
        self.call = call

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.call(), dtype)


def test_calls_within_a_call(case, session):
    """A session serves one call at a time, also of one thread, and reading results is one."""
    batch = case.batch(0)
    metrics = session.train_step(batch)
    for call, what in ((lambda: session.predict({"x": batch["x"]}), "predict"), (lambda: metrics["loss"], "loss")):
        with pytest.raises(bessemer.Error, match=f"{what}: the session is in use"):
            session.predict({"x": AsksBack(call)})
    assert np.isfinite(metrics["loss"])
    # What has been read is there.
    with pytest.raises(bessemer.Error, match="expected the shape"):
        session.predict({"x": AsksBack(lambda: metrics["loss"])})


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
    assert set(problems) <= {"train_step: the session is in use"}
