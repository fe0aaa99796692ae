# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ONNX backend class, and outputs that equal the ONNX reference evaluator's."""

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

import bessemer
import bessemer.onnx_backend as backend
from models import make_model


def test_run_model_and_prepare():
    nodes = [helper.make_node("Softmax", ["x"], ["a"], axis=-1), helper.make_node("Mul", ["a", "y"], ["z"])]
    model = make_model(nodes, [("x", "f", [3, 7]), ("y", "f", [7])], [("z", "f", [3, 7]), ("a", "f", [3, 7])])
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((3, 7), np.float32), rng.standard_normal(7, np.float32)
    want = ReferenceEvaluator(model).run(None, {"x": x, "y": y})
    for got in (backend.run_model(model, [x, y]), backend.prepare(model).run([x, y])):
        for a, b in zip(got, want):
            np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-7)
    with pytest.raises(bessemer.Error, match="expected 2 inputs"):
        backend.run_model(model, [x])


@pytest.mark.parametrize("op,attributes,shapes", [
    ("Gemm", {"transB": 1, "alpha": 0.5}, [(5, 4), (3, 4), (3,)]),
    ("MatMul", {}, [(2, 3, 4), (2, 4, 5)]),
    ("Conv", {"pads": [1, 0, 1, 2], "strides": [2, 1]}, [(2, 3, 7, 6), (4, 3, 3, 2), (4,)]),
    ("AveragePool", {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1], "count_include_pad": 1}, [(2, 3, 7, 6)]),
    ("LogSoftmax", {"axis": 1}, [(2, 5, 3)]),
    ("Tanh", {}, [(17,)]), ("Sigmoid", {}, [(4, 9)]), ("Erf", {}, [(33,)]),
    ("Sign", {}, [(33,)]), ("Atan", {}, [(33,)]), ("Tan", {}, [(33,)]), ("Sinh", {}, [(33,)]), ("Cosh", {}, [(33,)]),
    ("Asin", {}, [(33,)]), ("Acos", {}, [(33,)]), ("Asinh", {}, [(33,)]), ("Acosh", {}, [(33,)]),  # also NaN
    ("Atanh", {}, [(33,)]), ("ArgMax", {"axis": 1}, [(3, 7, 2)]), ("ArgMin", {"axis": 0, "keepdims": 0}, [(5, 3)]),
    ("DFT", {"onesided": 1}, [(3, 9, 1)]), ("DFT", {"inverse": 1}, [(3, 9, 2)]), ("DFT", {}, [(3, 8, 2)]),
    ("Conv", {"pads": [1, 0, 1, 2, 1, 0], "strides": [2, 1, 1], "dilations": [1, 2, 1], "group": 2},
     [(2, 4, 5, 6, 4), (6, 2, 3, 2, 3), (6,)]),
    ("ConvTranspose", {"pads": [1, 0, 1, 2, 1, 0], "strides": [2, 1, 2], "output_padding": [1, 0, 0]},
     [(2, 4, 3, 4, 3), (4, 3, 3, 3, 2), (3,)]),
    ("MaxPool", {"kernel_shape": [2, 3, 2], "strides": [2, 1, 2], "pads": [1, 1, 0, 0, 1, 1]}, [(2, 3, 5, 6, 4)]),
    ("AveragePool", {"kernel_shape": [2, 3, 2], "pads": [1, 1, 0, 0, 1, 1]}, [(2, 3, 5, 6, 4)]),
    ("AveragePool", {"kernel_shape": [2, 3, 2], "pads": [1, 1, 0, 0, 1, 1], "count_include_pad": 1},
     [(2, 3, 5, 6, 4)]),
])
def test_run_node(op, attributes, shapes):
    rng = np.random.default_rng(2)
    arrays = [rng.standard_normal(shape, np.float32) for shape in shapes]
    node = helper.make_node(op, [f"i{k}" for k in range(len(arrays))], ["o"], **attributes)
    got = backend.run_node(node, arrays)[0]
    want = ReferenceEvaluator(node).run(None, {f"i{k}": a for k, a in enumerate(arrays)})[0]
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("attributes,shape", [
    ({"kernel_shape": [2, 2], "strides": [2, 2]}, (2, 3, 7, 6)),
    ({"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1], "dilations": [1, 2]}, (2, 3, 7, 6)),
    ({"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}, (1, 2, 6, 8)),
    ({"kernel_shape": [1, 1]}, (2, 3, 4, 5)),
    ({"kernel_shape": [3], "pads": [1, 1], "strides": [2]}, (2, 3, 9)),
    ({"kernel_shape": [2, 3, 2], "strides": [2, 1, 2], "pads": [1, 1, 0, 0, 1, 1]}, (2, 3, 5, 6, 4)),
])
def test_pool_indices(attributes, shape):
    """Small integers, so that maxima repeat: the first counts, as in PyTorch."""
    x = np.random.default_rng(3).integers(-3, 0, shape).astype(np.float32)
    node = helper.make_node("MaxPool", ["x"], ["y", "i"], **attributes)
    maxima, indices = backend.run_node(node, [x])
    rank = len(shape) - 2
    kernel, ones = attributes["kernel_shape"], [1] * rank
    strides, dilations = attributes.get("strides", ones), attributes.get("dilations", ones)
    pads = attributes.get("pads", [0] * (2 * rank))
    assert indices.dtype == np.int64 and indices.shape == maxima.shape
    for at in np.ndindex(*maxima.shape):  # by definition
        best, where = -np.inf, None
        for offset in np.ndindex(*kernel):
            place = tuple(a * s + o * d - p for a, s, o, d, p in zip(at[2:], strides, offset, dilations, pads))
            if all(0 <= p < size for p, size in zip(place, shape[2:])) and x[at[:2] + place] > best:
                best, where = x[at[:2] + place], at[:2] + place
        assert maxima[at] == best and indices[at] == np.ravel_multi_index(where, shape)


@pytest.mark.parametrize("rows,place", [([[1, np.nan], [5, 6]], 1), ([[np.nan, 7], [np.nan, 6]], 2)])
def test_pool_indices_of_nans(rows, place):
    """The last NaN, as torch.nn.functional.max_pool2d(x, 2, return_indices=True) gives it."""
    node = helper.make_node("MaxPool", ["x"], ["y", "i"], kernel_shape=[2, 2])
    maxima, indices = backend.run_node(node, [np.array([[rows]], np.float32)])
    assert np.isnan(maxima).all() and indices.tolist() == [[[[place]]]]


def test_pool_indices_take_no_tables(tmp_path):
    """Two million windows in a file of a few kilobytes."""
    node = helper.make_node("MaxPool", ["x"], ["y", "i"], kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    shape = [1, 1, 1024, 2048]
    model = make_model([node], [("x", "f", shape)], [("i", "i", shape)])
    bessemer.compile(model).save(tmp_path / "pool.bsm")
    assert (tmp_path / "pool.bsm").stat().st_size < 1 << 20


def scatter_mean(kwargs="", prefix=""):
    """What PyTorch's exporter writes of x.scatter_reduce(0, i, u, "mean", **kwargs)."""
    name = f"{prefix}scatter_reduce"
    nodes = [helper.make_node("ScatterElements", ["x", "i", "u"], [name], name=f"node_{name}", axis=0)]
    if kwargs:  # the first one clears the elements
        nodes[0].input[0] = f"{prefix}val_2"
        nodes = [
            helper.make_node("Shape", ["u"], [f"{prefix}val_0"]),
            helper.make_node("ConstantOfShape", [f"{prefix}val_0"], [f"{prefix}val_1"]),
            helper.make_node("ScatterElements", ["x", "i", f"{prefix}val_1"], [f"{prefix}val_2"],
                             name=f"node_{prefix}ScatterElements_2", axis=0), nodes[0]]
    for node in nodes:
        node.metadata_props.add(
            key="pkg.torch.onnx.fx_node",
            value="%scatter_reduce : [num_users=1] = call_function[target=torch.ops.aten.scatter_reduce.two]"
                  f"(args = (%x, 0, %i, %u, mean), kwargs = {{{kwargs}}})")
    return nodes


def scatter_model(nodes, constants=()):
    model = make_model(nodes, [("x", "f", [3]), ("i", "i", [4]), ("u", "f", [4])], [("y", "f", [3])], constants)
    model.producer_name = "pytorch"
    return model


def in_function(nodes, opset):
    function = helper.make_function("local", "reduce", ["x", "i", "u"], [nodes[-1].output[0]], nodes,
                                    [helper.make_opsetid("", opset)])
    model = scatter_model([helper.make_node("Neg", ["u"], ["y"])])
    del model.graph.node[:]
    model.graph.node.append(helper.make_node("reduce", ["x", "i", "u"], ["y"], domain="local"))
    model.opset_import.append(helper.make_opsetid("local", 1))
    model.functions.append(function)
    return model


def in_branch(nodes, other):
    graphs = [helper.make_graph(body, f"branch{k}", [], [helper.make_tensor_value_info(body[-1].output[0], 1, [3])])
              for k, body in enumerate((nodes, other))]
    node = helper.make_node("If", ["yes"], ["y"], then_branch=graphs[0], else_branch=graphs[1])
    return scatter_model([node], {"yes": np.array(True)})


def at_top(nodes):
    return scatter_model([*nodes, helper.make_node("Identity", ["scatter_reduce"], ["y"])])


INCLUDED, EXCLUDED = [17 / 4, 2, 9 / 2], [16 / 3, 2, 6]
WITHOUT = "include_self: False"


@pytest.mark.parametrize("model,warnings,want", [
    (at_top(scatter_mean()), 1, INCLUDED),
    (at_top(scatter_mean(WITHOUT)), 1, EXCLUDED),  # two nodes are one mean
    (in_function(scatter_mean(), 18), 1, INCLUDED),  # converted while it is inlined
    (in_function(scatter_mean(WITHOUT), 18), 1, EXCLUDED),
    (in_function(scatter_mean(WITHOUT), 20), 1, EXCLUDED),
    (in_branch(scatter_mean(), scatter_mean(WITHOUT, prefix="other_")), 2, INCLUDED),
    (in_branch(scatter_mean(WITHOUT), scatter_mean(prefix="other_")), 2, EXCLUDED),
], ids=["included", "excluded", "function", "excluded-function", "same-opset", "branch", "excluded-branch"])
def test_scatter_means(model, warnings, want):
    with pytest.warns(UserWarning, match=r"node '\w*scatter_reduce\w*' \(ScatterElements, opset 20\): PyTorch's "
                                         r"scatter_reduce with 'mean', which ONNX lacks") as seen:
        program = bessemer.compile(model)
    assert len(seen) == warnings, [str(warning.message) for warning in seen]
    feed = {"x": np.float32([1, 2, 3]), "i": np.array([0, 0, 2, 0]), "u": np.float32([4, 5, 6, 7])}
    np.testing.assert_allclose(program.session().predict(feed)["y"], want, rtol=1e-6)


def test_compatibility():
    model = make_model([helper.make_node("Det", ["x"], ["y"])], [("x", "f", [2, 2])], [("y", "f", [])])
    assert not backend.is_compatible(model)
    assert backend.supports_device("CPU") and not backend.supports_device("CUDA")


def test_moves_elements():
    """Lookups and pieces, one after the other in compiled kernels: equal to the bit."""
    nodes = [
        helper.make_node("Gather", ["x", "i"], ["rows"]),  # also negative indices
        helper.make_node("GatherElements", ["x", "i2"], ["some"], axis=1),
        helper.make_node("GatherND", ["x", "pairs"], ["points"]),
        helper.make_node("Slice", ["x", "from", "to", "axes", "steps"], ["strided"]),
        helper.make_node("Split", ["x"], ["left", "right"], axis=1, num_outputs=2),
        helper.make_node("Concat", ["right", "strided", "left"], ["joined"], axis=1),
        helper.make_node("Pad", ["x", "pads", "value"], ["padded"]),
        helper.make_node("Pad", ["x", "pads"], ["reflected"], mode="reflect"),
        helper.make_node("Tile", ["x", "times"], ["tiled"]),
        helper.make_node("Trilu", ["x"], ["upper"]),
    ]
    shapes = {"rows": [2, 3, 7], "some": [4, 2], "points": [3], "joined": [4, 10], "padded": [4, 12],
              "reflected": [4, 12], "tiled": [8, 7], "upper": [4, 7]}
    constants = {"from": [6], "to": [-100], "axes": [1], "steps": [-3], "pads": [0, 2, 0, 3], "value": np.float32(-1.5),
                 "times": [2, 1]}
    model = make_model(nodes, [("x", "f", [4, 7]), ("i", "i", [2, 3]), ("i2", "i", [4, 2]), ("pairs", "i", [3, 2])],
                       [(name, "f", shape) for name, shape in shapes.items()], constants)
    rng = np.random.default_rng(3)
    inputs = [rng.standard_normal((4, 7), np.float32), np.array([[0, -1, 3], [2, 2, -4]]),
              rng.integers(-7, 7, (4, 2)), np.array([[0, -1], [-4, 6], [3, 2]])]
    want = ReferenceEvaluator(model).run(None, dict(zip(["x", "i", "i2", "pairs"], inputs)))
    for name, a, b in zip(shapes, backend.run_model(model, inputs), want):
        np.testing.assert_array_equal(a, b, err_msg=name)


def test_orders_and_places_elements():
    nodes = [
        helper.make_node("TopK", ["x", "three"], ["largest", "where"], axis=1),
        helper.make_node("TopK", ["x", "all"], ["sorted", "order"], axis=0, largest=0),
        helper.make_node("OneHot", ["where", "seven", "levels"], ["hot"], axis=1),
        helper.make_node("ScatterElements", ["x", "where", "largest"], ["placed"], axis=1),
        helper.make_node("ScatterND", ["x", "pairs", "u"], ["replaced"]),
        helper.make_node("Slice", ["x", "zero", "zero", "one"], ["nothing"]),
        helper.make_node("Concat", ["nothing", "x", "nothing"], ["same"], axis=1),
        helper.make_node("Mod", ["order", "divisor"], ["left"]),
        helper.make_node("Mod", ["x", "step"], ["rest"], fmod=1),
    ]
    outputs = [("largest", "f", [5, 3]), ("where", "i", [5, 3]), ("sorted", "f", [5, 7]), ("order", "i", [5, 7]),
               ("hot", "f", [5, 7, 3]), ("placed", "f", [5, 7]), ("replaced", "f", [5, 7]), ("same", "f", [5, 7]),
               ("left", "i", [5, 7]), ("rest", "f", [5, 7])]
    model = make_model(nodes, [("x", "f", [5, 7]), ("pairs", "i", [3, 2]), ("divisor", "i", [7])], outputs, {
        "three": np.array([3]), "all": np.array([5]), "seven": np.array(7), "levels": np.array([-1, 2], np.float32),
        "u": np.array([1, 2, 3], np.float32), "zero": np.array([0]), "one": np.array([1]),
        "step": np.array(0.7, np.float32)})
    x = np.random.default_rng(4).integers(-3, 4, (5, 7)).astype(np.float32)  # with ties
    feed = [x, np.array([[0, 1], [-1, 3], [2, 6]]), np.array([3, -3, 2, -2, 1, -1, 4])]
    want = ReferenceEvaluator(model).run(None, dict(zip(("x", "pairs", "divisor"), feed)))
    # Of equal elements NumPy's order is its own; ONNX wants the first index first.
    want[1] = np.argsort(-x, axis=1, kind="stable")[:, :3]
    want[3] = np.argsort(x, axis=0, kind="stable")
    got = backend.run_model(model, feed)
    for (name, _, _), a, b in zip(outputs, got, want):
        if name in ("hot", "placed", "left"):
            continue  # follow from the indices
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6, err_msg=name)
    hot = np.where(got[1][:, None, :] == np.arange(7)[None, :, None], 2, -1)
    np.testing.assert_array_equal(got[4], hot)
    np.testing.assert_array_equal(got[5], x)  # each to its place
    np.testing.assert_array_equal(got[8], np.mod(got[3], feed[2]))
