# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bad input gets one clear error that names the thing, what was expected and
what was found."""

import numpy as np
import pytest

import bessemer


def node_model(nodes, inputs, outputs, initializers=(), opset=20):
    import onnx
    from onnx import TensorProto, helper
    kinds = {"f": TensorProto.FLOAT, "i": TensorProto.INT64}
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info(n, kinds[k], s) for n, k, s in inputs],
        [helper.make_tensor_value_info(n, kinds[k], s) for n, k, s in outputs], list(initializers))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 10
    return model


def test_all_unsupported_ops_are_reported_at_once():
    from onnx import helper
    nodes = [helper.make_node("NonZero", ["x"], ["a"], name="first"),
             helper.make_node("Det", ["y"], ["b"], name="second")]
    model = node_model(nodes, [("x", "f", [3]), ("y", "f", [2, 2])], [("a", "i", [1, None]), ("b", "f", [])])
    with pytest.raises(bessemer.Error) as error:
        bessemer.compile(model)
    text = str(error.value)
    assert "'first' (NonZero, opset 20)" in text and "'second' (Det, opset 20)" in text


def test_unbound_dimension_names_symbol_and_input(golden):
    case = golden("mlp_mse")
    with pytest.raises(bessemer.Error, match="mlp_mse/model.onnx: .*dimension.*(batch|s[0-9]+).*x"):
        bessemer.compile(case.model, loss="mse")


def test_fixed_batch_shows_the_export_call(golden):
    from onnx import helper, numpy_helper
    weight = numpy_helper.from_array(np.ones((3, 2), np.float32), "w")
    model = node_model([helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", "f", [4, 3])], [("y", "f", [4, 2])], [weight])
    with pytest.raises(bessemer.Error, match="dynamic_shapes"):
        bessemer.compile(model, loss="mse", batch=8)


@pytest.mark.parametrize("options,match", [
    (dict(loss="hinge"), "hinge"),
    (dict(loss="output:nowhere"), "nowhere"),
    (dict(optimizer="adagrad2"), "adagrad2"),
    (dict(optimizer={"kind": "sgd", "betas": [0.9, 0.9]}), "betas"),
    (dict(optimizer={"kind": "adamw", "betas": [0.9, 1.5]}), "1.5"),
    (dict(optimizer={"kind": "sgd", "lr": -1}), "-1"),
    (dict(target="cpu:z80"), "z80"),
    (dict(dims={"time": 3}), "time"),
    (dict(clip_norm=0), "clip_norm"),
    (dict(colour="red"), "colour"),
    (dict(precision="f8"), "f8"),
    (dict(freeze=["no.such.*"]), "no.such"),
])
def test_wrong_options_are_named(golden, options, match):
    with pytest.raises(bessemer.Error, match=match):
        golden("mlp_mse").compile(**options)


@pytest.mark.parametrize("option", [dict(optimizer="sgd"), dict(clip_norm=1.0), dict(label_smoothing=0.1),
                                    dict(class_axis=1), dict(ignore_index=0), dict(batch_norm_variance="biased")])
def test_training_options_need_a_loss(golden, option):
    with pytest.raises(bessemer.Error, match=f"'{next(iter(option))}' needs a loss"):
        bessemer.compile(golden("mlp_mse").model, batch=7, **option)


def test_missing_and_damaged_models(tmp_path, golden):
    with pytest.raises(bessemer.Error, match="nowhere.onnx"):
        bessemer.compile(tmp_path / "nowhere.onnx", loss="mse")
    data = open(golden("convnet").model, "rb").read()
    for size in (0, 10, len(data) // 2, len(data) - 1):
        path = tmp_path / "cut.onnx"
        path.write_bytes(data[:size])
        with pytest.raises(bessemer.Error, match="cut.onnx"):
            bessemer.compile(path, loss="cross_entropy", batch=4)


def test_missing_external_data_names_the_file(tmp_path, golden):
    import onnx
    model = onnx.load(golden("mlp_cross_entropy").model)
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    bessemer.compile(tmp_path / "m.onnx", loss="cross_entropy", batch=6)
    (tmp_path / "m.data").unlink()
    with pytest.raises(bessemer.Error, match="m.data"):
        bessemer.compile(tmp_path / "m.onnx", loss="cross_entropy", batch=6)


@pytest.mark.parametrize("change,match", [
    (lambda f: f.pop("labels"), "labels"),
    (lambda f: f.update(z=f["x"]), "'z'"),
    (lambda f: f.update(x=f["x"][:3]), "x.*\\[6x3x4\\].*\\[3x3x4\\]|x.*6.*3"),
    (lambda f: f.update(labels=f["labels"].astype(np.float32)), "int64.*float32"),
])
def test_wrong_feeds_are_named(golden, change, match):
    case = golden("mlp_cross_entropy")
    session = case.compile().session()
    feeds = case.batch(0)
    change(feeds)
    with pytest.raises(bessemer.Error, match=match):
        session.train_step(feeds)


def test_a_device_that_is_not_there(golden):
    program = golden("mlp_mse").compile()
    for device in ("cuda", "cpu:z80", "tpu"):
        with pytest.raises(bessemer.Error, match=device.split(":")[-1]):
            program.session(device=device)


def test_a_wrong_pass_is_named(golden):
    """--verify-numerics evaluates the program around every pass."""
    with pytest.raises(bessemer.Error, match="test-break-numerics"):
        golden("mlp_mse").compile(verify_numerics=True, inject_pass="test-break-numerics")
    golden("mlp_mse").compile(verify_numerics=True)


@pytest.mark.parametrize("name,classes", [("mlp_cross_entropy", 5), ("nll", 7)])
def test_labels_outside_the_classes_are_refused(golden, name, classes):
    case = golden(name)
    session = case.compile().session()
    for label in (classes, 1000, -1):
        feeds = case.batch(0)
        feeds["labels"] = feeds["labels"].copy()
        feeds["labels"][2] = label
        expected = rf"'labels'\[2\]: expected a label in \[0, {classes - 1}\] or -100, got {label}"
        for call in (session.train_step, session.evaluate):
            with pytest.raises(bessemer.Error, match=expected):
                call(feeds)
        # What embedders call, too.
        with pytest.raises(bessemer.Error, match=expected):
            session._core.run("train_step", feeds, 0, 0, 0, 0.1, len(feeds["labels"]))
    assert session.state_dict()["updates"] == 0
    feeds["labels"][2] = -100  # the ignored label is none of them
    assert np.isfinite(session.train_step(feeds)["loss"])


def test_the_state_says_which_loss_is_no_number(golden):
    case = golden("mlp_cross_entropy")
    session = case.compile().session()
    assert np.isfinite(session.train_step(case.batch(0))["loss"])
    feeds = case.batch(0)
    feeds["x"] = np.full_like(feeds["x"], np.nan)
    assert np.isnan(session.train_step(feeds)["loss"])
    assert session.state_dict()["nonfinite_step"] == 1


def test_a_loss_of_the_model_needs_whole_batches_to_evaluate():
    from onnx import helper
    from models import make_model
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("Mul", ["y", "y"], ["s"]),
             helper.make_node("ReduceMean", ["s"], ["loss"], keepdims=0)]
    model = make_model(nodes, [("x", "f", [4, 3])], [("loss", "f", []), ("y", "f", [4, 2])],
                       {"w": np.ones((3, 2), np.float32)})
    session = bessemer.compile(model, loss="output:loss").session()
    x = np.arange(24, dtype=np.float32).reshape(8, 3) / 10
    assert session.evaluate({"x": x})["loss"] == pytest.approx(np.square(x.sum(1)).mean(), rel=1e-6)
    with pytest.raises(bessemer.Error, match="multiple of 4 rows, got 7"):
        session.evaluate({"x": x[:7]})
    with pytest.raises(bessemer.Error, match="'loss'.*whole batches of 4 rows, got 7"):
        session.predict({"x": x[:7]})


def test_load_state_dict_sets_all_or_nothing(golden):
    session = golden("mlp_mse").compile().session()
    before = {name: np.array(value) for name, value in session.state_dict().items()}
    states = {name: value + 1 for name, value in before.items()}
    last = list(states)[-1]
    states[last] = np.zeros(np.shape(before[last]) + (2,), before[last].dtype)
    with pytest.raises(bessemer.Error, match=f"state '{last}': expected the shape"):
        session.load_state_dict(states)
    with pytest.raises(bessemer.Error, match="expected a mapping"):
        session.load_state_dict(None)
    for name, value in session.state_dict().items():
        np.testing.assert_array_equal(value, before[name])


@pytest.mark.parametrize("op,shapes,kernel", [
    ("MatMul", [[4, 4], [4, 4]], r"kern\.gemm"),
    ("MaxPool", [[1, 1, 4, 4]], r"kern\.window"),
    ("Conv", [[1, 1, 4, 4], [1, 1, 3, 3]], r"kern\.conv"),
])
def test_doubles_are_refused_at_their_node(op, shapes, kernel):
    from onnx import TensorProto, helper
    values = [helper.make_tensor_value_info(f"i{k}", TensorProto.DOUBLE, shape) for k, shape in enumerate(shapes)]
    attributes = {"kernel_shape": [2, 2]} if op == "MaxPool" else {}
    node = helper.make_node(op, [value.name for value in values], ["y"], name="op", **attributes)
    result = helper.make_tensor_value_info("y", TensorProto.DOUBLE, [None] * len(shapes[0]))
    model = helper.make_model(helper.make_graph([node], "g", values, [result]), ir_version=10,
                              opset_imports=[helper.make_opsetid("", 20)])
    with pytest.raises(bessemer.Error, match=rf"node 'op': expected float \(f32\) operands of '{kernel}', got .*xf64>': "
                                             r"convert the model to float \(model\.float\(\)\)$"):
        bessemer.compile(model)
