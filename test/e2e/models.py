# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models written with onnx.helper."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

KINDS = {"f": TensorProto.FLOAT, "i": TensorProto.INT64}


def make_model(nodes, inputs, outputs, initializers=(), opset=20, domains=()):
    """`inputs` and `outputs` are (name, "f" or "i", shape); `initializers` a
    dict of arrays; `domains` are those of custom ops."""
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info(n, KINDS[k], s) for n, k, s in inputs],
        [helper.make_tensor_value_info(n, KINDS[k], s) for n, k, s in outputs],
        [numpy_helper.from_array(np.asarray(v), n) for n, v in dict(initializers).items()])
    model = helper.make_model(graph, opset_imports=[
        helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)])
    model.ir_version = 10
    onnx.checker.check_model(model)
    return model
