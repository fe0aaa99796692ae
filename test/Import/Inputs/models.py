# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that ONNX's text syntax cannot say: external data, metadata.

    models.py NAME OUT.onnx
"""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

KIND = "pkg.torch.export.graph_signature.InputSpec.kind"


def value(name, shape, kind=None):
    info = helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    if kind:
        helper.set_metadata_props(info, {KIND: kind})
    return info


def save(path, nodes, initializers, inputs, outputs, *, infos=(), graph_metadata=None, **options):
    graph = helper.make_graph(nodes, "g", inputs, outputs,
                              [numpy_helper.from_array(a, n) for n, a in initializers.items()], value_info=list(infos))
    if graph_metadata:
        helper.set_metadata_props(graph, graph_metadata)
    model = helper.make_model(graph, producer_name="pytorch", ir_version=10,
                              opset_imports=[helper.make_opsetid("", 20)])
    onnx.save_model(model, path, **options)


def floats(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape) / 8


def external(path):
    """Two weights in a file beside the model."""
    save(path, [helper.make_node("Gemm", ["x", "w", "b"], ["y"], transB=1)], {"w": floats(16, 8), "b": floats(16)},
         [value("x", ["n", 8])], [value("y", ["n", 16])], save_as_external_data=True,
         location="weights.data", size_threshold=0)


def broken_external(path, **changes):
    external(path)
    model = onnx.load(path, load_external_data=False)
    for entry in model.graph.initializer[0].external_data:
        if entry.key in changes:
            entry.value = changes[entry.key]
    onnx.save_model(model, path)


def marked(path):
    """What PyTorch's exporter leaves: marks, and stack traces on nodes."""
    conv = helper.make_node("Relu", ["x"], ["a"], name="act")
    helper.set_metadata_props(conv, {
        "pkg.torch.onnx.stack_trace":
            'File "train.py", line 7, in forward\n    x = self.block(x)\n'
            'File "model.py", line 41, in forward\n    return F.relu(x)\n'
            'File "/usr/lib/python3/site-packages/torch/nn/functional.py", line 1700, in relu\n    r = torch.relu(x)'})
    softplus = helper.make_node("Softsign", ["a"], ["b"], name="soft")
    helper.set_metadata_props(softplus, {"pkg.torch.onnx.stack_trace": 'File "model.py", line 43, in forward\n    ...'})
    bad = helper.make_node("NonZero", ["b"], ["c"], name="order")
    helper.set_metadata_props(bad, {"pkg.torch.onnx.stack_trace": 'File "model.py", line 44, in forward\n    ...'})
    nodes = [conv, softplus] + ([bad] if path.endswith("bad.onnx") else [])
    nodes += [helper.make_node("Mul", ["b", "w"], ["d"]), helper.make_node("Add", ["d", "table"], ["y"])]
    save(path, nodes, {"w": floats(4), "table": floats(4)}, [value("x", [2, 4])],
         [value("y", [2, 4])], infos=[value("w", [4], "PARAMETER"), value("table", [4], "BUFFER")])


def folded(path):
    """The default call of PyTorch's exporter folds BatchNorm into convolutions;
    the signature of the module still tells of it, and of what lost its mark."""
    signature = ("\n# inputs\np_conv_weight: PARAMETER target='conv.weight'\np_bn_weight: PARAMETER target='bn.weight'\n"
                 "b_bn_running_mean: BUFFER target='bn.running_mean' persistent=True\n"
                 "b_bn_running_var: BUFFER target='bn.running_var' persistent=True\nx: USER_INPUT\n")
    save(path, [helper.make_node("Conv", ["x", "conv.weight", "conv.weight_bias"], ["y"])],
         {"conv.weight": floats(3, 2, 1, 1), "conv.weight_bias": floats(3)}, [value("x", [1, 2, 4, 4])],
         [value("y", [1, 3, 4, 4])], graph_metadata={"pkg.torch.export.ExportedProgram.graph_signature": signature})


def transposed(path):
    """A weight that the exporter replaced by its transpose is no parameter."""
    signature = "\n# inputs\np_a_weight: PARAMETER target='a.weight'\np_b_weight: PARAMETER target='b.weight'\n"
    save(path, [helper.make_node("MatMul", ["x", "a.weight"], ["h"]), helper.make_node("MatMul", ["h", "val_3"], ["y"])],
         {"a.weight": floats(4, 3), "val_3": floats(3, 2)}, [value("x", [1, 4])], [value("y", [1, 2])],
         infos=[value("a.weight", [4, 3], "PARAMETER")],
         graph_metadata={"pkg.torch.export.ExportedProgram.graph_signature": signature})


def scaled(path, scale):
    """Scores times or plus a constant, in a model of which one parameter is not there."""
    signature = "\n# inputs\np_a_weight: PARAMETER target='a.weight'\np_g: PARAMETER target='g'\n"
    save(path, [helper.make_node("MatMul", ["x", "a.weight"], ["h"]), helper.make_node("Add", ["h", "view"], ["y"])],
         {"a.weight": floats(4, 4), "view": scale}, [value("x", [4, 4])], [value("y", [4, 4])],
         infos=[value("a.weight", [4, 4], "PARAMETER")],
         graph_metadata={"pkg.torch.export.ExportedProgram.graph_signature": signature})


def viewed(path):
    """A view of the parameter g is no parameter."""
    scaled(path, floats(1, 4))


def masked(path):
    """The constant has nothing to do with g, which is the same tensor as a.weight."""
    scaled(path, np.triu(np.full((4, 4), -np.inf, np.float32), 1))


def legacy_folded(path):
    """The older exporter names what it folds after the op."""
    save(path, [helper.make_node("Conv", ["x", "onnx::Conv_7", "onnx::Conv_8"], ["y"], name="/conv/Conv")],
         {"onnx::Conv_7": floats(3, 2, 1, 1), "onnx::Conv_8": floats(3)}, [value("x", [1, 2, 4, 4])],
         [value("y", [1, 3, 4, 4])])


def trained(path):
    """Everything that an export must put into inference mode."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", "scale", "bias", "mean", "var"], ["b", "m2", "v2"],
                         training_mode=1),
        helper.make_node("Dropout", ["b", "ratio", "training"], ["d"]),
        helper.make_node("Mul", ["d", "onnx::Mul_9"], ["y"], name="last"),
    ]
    helper.set_metadata_props(nodes[3], {"note": "kept"})
    save(path, nodes, {"w": floats(3, 2, 3, 3), "scale": floats(3) + 1, "bias": floats(3), "mean": floats(3),
                       "var": floats(3) + 0.5, "ratio": np.float32(0.5), "training": np.bool_(True),
                       "onnx::Mul_9": np.float32(0.5)},
         [value("x", ["n", 2, 5, 5])], [value("y", ["n", 3, 5, 5])])


def merged(path):
    """Two batch norms whose statistics the older exporter merged."""
    names = ["scale", "bias", "mean", "var"]
    nodes = [helper.make_node("Identity", ["mean"], ["bn2.mean"]), helper.make_node("Identity", ["var"], ["bn2.var"]),
             helper.make_node("BatchNormalization", ["x", *names], ["h"]),
             helper.make_node("BatchNormalization", ["h", "scale", "bias", "bn2.mean", "bn2.var"], ["y"])]
    save(path, nodes, {"scale": floats(2) + 1, "bias": floats(2), "mean": floats(2), "var": floats(2) + 1},
         [value("x", [4, 2])], [value("y", [4, 2])])


def torchscript(path):
    """What a TorchScript export has beside parameters, without a word on it."""
    waves = np.arange(12.0)[:, None] * 10000.0 ** (-np.arange(4) / 4)
    encoding = np.stack([np.sin(waves), np.cos(waves)], -1).reshape(1, 12, 8).astype(np.float32)
    rotary = np.cos(np.concatenate([waves, waves], -1)).reshape(1, 1, 12, 8).astype(np.float32)
    random = np.random.default_rng(0).uniform(-1, 1, (12, 8)).astype(np.float32)
    tensors = {"encoding": encoding, "rotary": rotary, "inv_freq": waves[1].astype(np.float32), "learned": random,
               "zeros": np.zeros((12, 8), np.float32), "ones": np.ones((12, 8), np.float32),
               "slopes": np.float32([1, 0.5, 0.25, 0.2]), "temperature": np.float32(1.5),
               "masked_bias": np.float32(-1e9), "onnx::Mul_12": np.float32(0.5)}
    names = list(tensors)
    flat = ["inv_freq", "slopes"]
    nodes, last = [helper.make_node("Concat", flat, ["row"], axis=0)], "x"
    for i, name in enumerate(["row"] + [n for n in names if n not in flat]):
        nodes.append(helper.make_node("Add", [last, name], [f"h{i}"]))
        last = f"h{i}"
    save(path, nodes, tensors, [value("x", [2, 3, 12, 8])], [value(last, [2, 3, 12, 8])])


def sparse(path):
    values = helper.make_tensor("w", TensorProto.FLOAT, [1], [2.0])
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", [value("x", [4])], [value("y", [4])],
                              sparse_initializer=[helper.make_sparse_tensor(
                                  values, helper.make_tensor("i", TensorProto.INT64, [1], [3]), [4])])
    onnx.save_model(helper.make_model(graph), path)


MODELS = {
    "external": external,
    "missing-file": lambda path: broken_external(path, location="elsewhere.data"),
    "short-file": lambda path: broken_external(path, offset="100000"),
    "wrong-length": lambda path: broken_external(path, length="12"),
    "odd-offset": lambda path: broken_external(path, offset="ten"),
    "sparse": sparse,
    "outside": lambda path: broken_external(path, location="../weights.data"),
    "marked": marked,
    "folded": folded,
    "transposed": transposed,
    "viewed": viewed,
    "masked": masked,
    "legacy-folded": legacy_folded,
    "trained": trained,
    "merged": merged,
    "torchscript": torchscript,
}

if __name__ == "__main__":
    MODELS[sys.argv[1]](sys.argv[2])
