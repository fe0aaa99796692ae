# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models written with onnx.helper, and those recorded with PyTorch."""

import json
import os

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


class Recorded:
    """A folder with a model, what was done with it, and the arrays of that."""

    def __init__(self, folder):
        self.model = os.path.join(folder, "model.onnx")
        with open(os.path.join(folder, "case.json")) as file:
            self.case = json.load(file)
        self.data = np.load(os.path.join(folder, "data.npz"))
