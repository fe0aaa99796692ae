# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Indices outside of a table are refused before a step, wherever the call comes from; negative ones count from the end."""

import numpy as np
import pytest

import bessemer

ROWS, WIDTH, BATCH, LENGTH, CLASSES = 50, 8, 4, 6, 5
TABLE = np.random.default_rng(0).standard_normal((ROWS, WIDTH)).astype(np.float32)
HEAD = np.random.default_rng(2).standard_normal((WIDTH, CLASSES)).astype(np.float32)


def model(text, **initializers):
    import onnx
    made = onnx.parser.parse_model('<ir_version: 10, opset_import: ["" : 20]>' + text)
    made.graph.initializer.extend(onnx.numpy_helper.from_array(np.asarray(value), name)
                                  for name, value in initializers.items())
    return made


@pytest.fixture(scope="module")
def program():
    return bessemer.compile(model(f"""
        words (int64[{BATCH}, {LENGTH}] ids) => (float[{BATCH}, {CLASSES}] y) {{
            rows = Gather(table, ids)
            mean = ReduceMean <keepdims = 0> (rows, axes)
            y = MatMul(mean, head)
        }}""", table=TABLE, head=HEAD, axes=np.array([1])), loss="cross_entropy", optimizer={"kind": "sgd", "lr": 0.1})


@pytest.fixture(scope="module")
def artifact(program, tmp_path_factory):
    path = tmp_path_factory.mktemp("words") / "words.bsm"
    program.save(path)
    return path


def feeds(rows=BATCH):
    rng = np.random.default_rng(1)
    return {"ids": rng.integers(0, ROWS, (rows, LENGTH)), "labels": rng.integers(0, CLASSES, rows)}


@pytest.mark.parametrize("index", [ROWS, -ROWS - 1, 10 ** 12])
@pytest.mark.parametrize("function", ["train_step", "predict", "evaluate"])
def test_an_index_outside_is_an_error_and_changes_nothing(program, function, index):
    session = program.session(threads=1)
    before = session.state_dict()
    bad = feeds()
    bad["ids"][3, 2] = index
    if function == "predict":
        del bad["labels"]
    with pytest.raises(bessemer.Error) as error:
        getattr(session, function)(bad)
    assert f"input 'ids'[3, 2]: expected an index into {ROWS} rows (node 'rows', Gather)" in str(error.value)
    assert str(error.value).endswith(f"in [-{ROWS}, {ROWS - 1}], got {index}")
    assert session.step == 0
    for name, value in session.state_dict().items():
        assert value.tobytes() == before[name].tobytes(), name


def test_the_place_is_the_one_of_the_whole_value(program):
    session = program.session(threads=1)
    many = feeds(3 * BATCH + 1)["ids"]
    many[2 * BATCH + 1, 5] = ROWS
    with pytest.raises(bessemer.Error, match=rf"'ids'\[{2 * BATCH + 1}, 5\]"):
        session.predict({"ids": many})


def test_negative_indices_count_from_the_end(program):
    ids = feeds()["ids"]
    want = TABLE.astype(np.float64)[ids].mean(1) @ HEAD
    for given in (ids, ids - ROWS):
        found = program.session(threads=1).predict({"ids": given})["y"]
        # Sums of 6 and of 8 numbers in float32.
        np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("function", ["train_step", "evaluate"])
@pytest.mark.parametrize("label", [CLASSES, -1])
def test_a_label_outside_is_an_error(program, function, label):
    bad = feeds()
    bad["labels"][1] = label
    with pytest.raises(bessemer.Error, match=rf"'labels'\[1\]: expected a label in \[0, {CLASSES - 1}\] or -100, got {label}"):
        getattr(program.session(threads=1), function)(bad)


def test_command_line(artifact, cli, tmp_path):
    bad = feeds(3 * BATCH)
    bad["ids"][9, 1] = -ROWS - 1
    data = tmp_path / "data.npz"
    np.savez(data, **bad)
    np.save(tmp_path / "ids.npy", bad["ids"])
    want = rf"row 9 at [1] for input 'ids': expected an index into {ROWS} rows"
    for words in (["train", artifact, "--data", data], ["eval", artifact, "--data", data],
                   ["run", artifact, "--input", f"ids={tmp_path / 'ids.npy'}", "--output-dir", tmp_path / "out"]):
        result = cli(*words)
        assert result.returncode == 1, words
        assert want in result.stderr and len(result.stderr.splitlines()) == 1, result.stderr
    assert not (tmp_path / "out").exists()
    shown = cli("inspect", artifact).stdout
    assert f"  ids: an index into {ROWS} rows (node 'rows', Gather) in [-{ROWS}, {ROWS - 1}]\n" in shown
    # Synthetic inputs know the range.
    assert cli("profile", artifact, "--steps", 2).returncode == 0


def test_one_input_into_several_tables():
    """Columns of one input have the ranges of their tables, also with accumulation."""
    large, small, head = np.ones((40, 3), np.float32), np.ones((7, 3), np.float32), np.ones((3, 2), np.float32)
    session = bessemer.compile(model("""
        tables (int64[n, 3] ids) => (float[n, 2] y) {
            first = Gather <axis = 1> (ids, zero)
            others = Slice(ids, one, three, one)
            a = Gather(large, first)
            rows = Gather(small, others)
            b = ReduceSum <keepdims = 0> (rows, one)
            sum = Add(a, b)
            y = MatMul(sum, head)
        }""", large=large, small=small, head=head, zero=np.array(0), one=np.array([1]), three=np.array([3])),
        loss="cross_entropy", batch=4, accumulate=2).session(threads=1)
    labels = np.zeros(4, np.int64)
    ids = np.array([[39, 6, 6]] * 4)
    assert np.isfinite(session.train_step({"ids": ids, "labels": labels})["loss"])
    for column, least, most in ((0, -40, 39), (1, -7, 6), (2, -7, 6)):
        for index in (least - 1, most + 1):
            bad = ids.copy()
            bad[3, column] = index
            with pytest.raises(bessemer.Error, match=rf"'ids'\[3, {column}\]: .* in \[{least}, {most}\], got {index}"):
                session.train_step({"ids": bad, "labels": labels})


def test_computed_indices_stay_within_memory():
    """What a model computes is not checked: a row that is not there reads as NaN."""
    table = np.arange(15, dtype=np.float32).reshape(5, 3)
    session = bessemer.compile(model("""
        shifted (int64[3] ids) => (float[3, 3] y) {
            twice = Add(ids, ids)
            y = Gather(table, twice)
        }""", table=table)).session(threads=1)
    found = session.predict({"ids": np.array([2, 10 ** 15, 1])})["y"]
    np.testing.assert_array_equal(found[[0, 2]], table[[4, 2]])
    assert np.isnan(found[1]).all()


def test_narrow_indices_are_not_checked():
    """Ranges are of int32 and int64 inputs; others are converted first, which is a computation."""
    table = np.arange(15, dtype=np.float32).reshape(5, 3)
    session = bessemer.compile(model("""
        narrow (int8[3] ids) => (float[3, 3] y) {
            wide = Cast <to = 7> (ids)
            y = Gather(table, wide)
        }""", table=table)).session(threads=1)
    found = session.predict({"ids": np.array([4, 100, -1], np.int8)})["y"]
    np.testing.assert_array_equal(found[[0, 2]], table[[4, 4]])
    assert np.isnan(found[1]).all()


def loss_program(loss):
    """A model that computes its loss from logits x head."""
    return bessemer.compile(model(f"""
        inner (float[{BATCH}, {WIDTH}] x, int64[{BATCH}] target) => (float loss) {{
            logits = MatMul(x, head)
            {loss}
        }}""", head=HEAD), loss="output:loss", optimizer={"kind": "sgd", "lr": 0.1})


LOSSES = {"SoftmaxCrossEntropyLoss": "loss = SoftmaxCrossEntropyLoss{} (logits, target)",
          "NegativeLogLikelihoodLoss": "logs = LogSoftmax(logits) loss = NegativeLogLikelihoodLoss{} (logs, target)"}


@pytest.mark.parametrize("op", LOSSES)
@pytest.mark.parametrize("ignored", [None, -100, 2])
def test_labels_of_a_loss_in_the_model(op, ignored):
    attributes = "" if ignored is None else f" <ignore_index = {ignored}>"
    program = loss_program(LOSSES[op].format(attributes))
    x = np.random.default_rng(3).standard_normal((BATCH, WIDTH)).astype(np.float32)
    target = np.array([0, CLASSES - 1, 1, 2 if ignored is None else ignored])
    logits = x.astype(np.float64) @ HEAD
    logs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    counted = [row for row in range(BATCH) if target[row] != ignored]
    want = -np.mean([logs[row, target[row]] for row in counted])
    session = program.session(threads=1)
    assert session.train_step({"x": x, "target": target})["loss"] == pytest.approx(want, rel=1e-5)
    suffix = "" if ignored is None else f" or {ignored}"
    for label in (-1, CLASSES, 99):
        bad = target.copy()
        bad[2] = label
        with pytest.raises(bessemer.Error) as error:
            session.train_step({"x": x, "target": bad})
        assert f"'target'[2]: expected a label (node 'loss', {op}) in [0, {CLASSES - 1}]{suffix}, got {label}" in str(error.value)
    assert session.step == 1
