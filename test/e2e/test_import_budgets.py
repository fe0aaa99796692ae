# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What importing may take: large honest models pass, small files that would take forever are refused soon."""

import time

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import bessemer
from models import make_model
from sanitizers import SLOWDOWN

MILLION = 1 << 20


def node(*arguments, **attributes):
    return helper.make_node(*arguments, **attributes)


def loop(nodes, carried=(), initializers=(), body_initializers=(), trips=""):
    """u = f(u) in a Loop, endless without trips, that carries integers along."""
    values = [helper.make_tensor_value_info(name, TensorProto.INT64, array.shape) for name, array in carried]
    u, v = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "uv")
    body = helper.make_graph(
        [node("Identity", ["on"], ["still"]), *nodes], "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []),
         helper.make_tensor_value_info("on", TensorProto.BOOL, []), u, *values],
        [helper.make_tensor_value_info("still", TensorProto.BOOL, []), v, *values],
        [numpy_helper.from_array(array, name) for name, array in body_initializers])
    call = node("Loop", [trips, "", "x", *(f"first.{name}" for name, _ in carried)],
                ["y", *(f"last.{name}" for name, _ in carried)], name="loop", body=body)
    return make_model([call], [("x", "f", [2])], [("y", "f", [2])],
                      {**dict(initializers), **{f"first.{name}": array for name, array in carried}})


def body_initializer(trips=""):
    """Each iteration multiplies by the largest of a million numbers."""
    return loop([node("ReduceMax", ["w"], ["s"], keepdims=0), node("Mul", ["u", "s"], ["v"])], trips=trips,
                initializers=[("trips", np.int64(100))] if trips else (),
                body_initializers=[("w", np.linspace(0, 1, MILLION, dtype=np.float32))])


def body_constant():
    large = numpy_helper.from_array(np.arange(MILLION, dtype=np.int64), "w")
    return loop([node("Constant", [], ["w"], value=large), node("Gather", ["w", "i"], ["k"]),
                 node("Exp", ["u"], ["v"])])


def carried(count, size):
    return loop([node("Exp", ["u"], ["v"])], [(f"c{i}", np.full(size, i, np.int64)) for i in range(count)])


def branches():
    """If nodes that hand on a million numbers, in each iteration."""
    def branch(name):
        return helper.make_graph([node("Identity", ["w"], [name])], name, [],
                                 [helper.make_tensor_value_info(name, TensorProto.INT64, [MILLION])])
    nodes = [node("If", ["on"], [f"q{i}"], then_branch=branch(f"t{i}"), else_branch=branch(f"e{i}"))
             for i in range(50)]
    return loop([*nodes, node("Exp", ["u"], ["v"])], initializers=[("w", np.arange(MILLION))])


@pytest.mark.parametrize("model", [
    body_initializer(), body_constant(), carried(300, 4000), carried(300, 1), carried(1, MILLION), branches(),
], ids=["body_initializer", "body_constant", "many_carried", "many_names", "large_carried", "branches"])
def test_endless_loops_are_refused_soon(model):
    start = time.process_time()
    with pytest.raises(bessemer.Error, match=r"node 'loop' \(Loop, opset \d+\): takes the iterations of the model's "
                                             r"loops that cannot be computed together above 131072 nodes"):
        bessemer.compile(model)
    assert time.process_time() - start < 2 * SLOWDOWN


def test_loops_with_large_initializers_run():
    x = np.array([1, -2], np.float32)
    y = bessemer.compile(body_initializer("trips")).session().predict({"x": x})["y"]
    np.testing.assert_array_equal(y, x)  # the largest is 1


def test_large_constants_leave_folding_what_it_may_take():
    """More elements in a Constant than folding may make, then a Range, which is always computed when compiling."""
    size = (1 << 26) + 1
    large = numpy_helper.from_array(np.zeros(size, np.int8), "large")
    nodes = [node("Constant", [], ["large"], value=large), node("Size", ["large"], ["size"]),
             node("Range", ["zero", "end", "one"], ["range"]), node("Add", ["range", "size"], ["sum"]),
             node("Add", ["x", "sum"], ["y"])]
    model = make_model(nodes, [("x", "i", [2000])], [("y", "i", [2000])],
                       {"zero": np.int64(0), "end": np.int64(2000), "one": np.int64(1)})
    y = bessemer.compile(model).session().predict({"x": np.zeros(2000, np.int64)})["y"]
    np.testing.assert_array_equal(y, np.arange(2000) + size)


def test_too_much_folding_is_named():
    """Ranges of four million elements each: together more than is computed when compiling."""
    size = 1 << 22
    nodes = [node("Range", ["zero", f"end{i}", "one"], [f"r{i}"]) for i in range(20)]
    nodes += [node("Gather", [f"r{i}", "k"], [f"g{i}"]) for i in range(20)]
    nodes.append(node("Sum", ["x", *(f"g{i}" for i in range(20))], ["y"]))
    model = make_model(nodes, [("x", "f", []), ("k", "i", [])], [("y", "f", [])],
                       {"zero": np.float32(0), "one": np.float32(1),
                        **{f"end{i}": np.float32(size - i) for i in range(20)}})
    with pytest.raises(bessemer.Error, match="cannot be computed when compiling: the model's known values "
                                             "take more than 67108864 elements"):
        bessemer.compile(model)
