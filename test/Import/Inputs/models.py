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


SIGNATURE = "pkg.torch.export.ExportedProgram.graph_signature"


def op(kind, inputs, output, call=None, **attributes):
    """A node that PyTorch's exporter made of `call`, such as "relu.default(%x,)"."""
    node = helper.make_node(kind, inputs, [output] if isinstance(output, str) else output, name=f"node_{output}",
                            **attributes)
    if call:
        target, arguments = call.split("(", 1)
        helper.set_metadata_props(node, {
            "pkg.torch.onnx.fx_node": f"%{output} : [num_users=1] = call_function[target=torch.ops.aten.{target}]"
                                      f"(args = ({arguments}, kwargs = {{}})"})
    return node


def exported(path, nodes, initializers, module, *, folded_from=None, shape=(2, 4), out=None):
    """What the current exporter leaves of a module with the tensors `module`."""
    kinds = {name: "BUFFER" if "running" in name or name.startswith("buf") else "PARAMETER" for name in module}
    placeholders = {name: kind[0].lower() + "_" + name.replace(".", "_") for name, kind in kinds.items()}
    signature = "".join(f"{placeholders[name]}: {kind} target='{name}'" + " persistent=True" * (kind == "BUFFER") + "\n"
                        for name, kind in kinds.items())
    infos = [value(name, initializers[name].shape, kind) for name, kind in kinds.items() if name in initializers]
    for name, sources in (folded_from or {}).items():
        infos.append(value(name, initializers[name].shape))
        helper.set_metadata_props(infos[-1], {"pkg.onnxscript.optimizer.folded_from": str(sources)})
    last = nodes[-1].output[0]
    save(path, nodes, initializers, [value("x", shape)], [value(last, out or shape)], infos=infos,
         graph_metadata={SIGNATURE: f"\n# inputs\n{signature}x: USER_INPUT\n\n# outputs\n{last}: USER_OUTPUT\n"})


def folded(path):
    """The default call of PyTorch's exporter folds BatchNorm into convolutions;
    the signature of the module still tells of it, and of what lost its mark."""
    exported(path, [helper.make_node("Conv", ["x", "conv.weight", "conv.weight_bias"], ["y"])],
             {"conv.weight": floats(3, 2, 1, 1), "conv.weight_bias": floats(3)},
             ["conv.weight", "bn.weight", "bn.running_mean", "bn.running_var"], shape=(1, 2, 4, 4), out=(1, 3, 4, 4))


def linear(i, x, w, b, name):
    """A Gemm as traced with the parameters of the layer `name`."""
    return op("Gemm", [x, w] + [b] * bool(b), f"linear_{i}", f"linear.default(%{x}, %p_{name}_weight, %p_{name}_bias)")


def batch_norms(path):
    """Of two batch norms in training mode one is folded and the statistics of
    the other one are merged with its weights. A third one is not used."""
    call = "_native_batch_norm_legit_functional.default(%{}, " + ", ".join(
        f"%{{}}_{n}" for n in ("weight", "bias")) + ", %{}_running_mean, %{}_running_var, True, 0.1, 1e-05)"
    conv = op("Conv", ["x", "c.weight", "c.bias"], "getitem", call.format("conv1d", "p_b1", "p_b1", "b_b1", "b_b1"))
    norm = op("BatchNormalization", ["getitem", "b2.weight", "b2.bias", "b2.bias", "b2.weight"], "getitem_5",
              call.format("getitem", "p_b2", "p_b2", "b_b2", "b_b2"))
    exported(path, [conv, norm],
             {"c.weight": floats(3, 2, 1), "c.bias": floats(3), "b2.weight": floats(3), "b2.bias": floats(3)},
             ["c.weight"] + [f"b{i}.{n}" for i in (1, 2, 3) for n in ("weight", "bias", "running_mean", "running_var")],
             shape=(1, 2, 4), out=(1, 3, 4))


def merged_norms(path, second):
    """Two layer norms of equal values."""
    nodes = [op("LayerNormalization", [x, "n1.weight", "n1.bias"], y,
                f"layer_norm.default(%{x}, [4], %p_{n}_weight, %p_{n}_bias, 1e-05, False)")
             for x, y, n in (("x", "layer_norm", "n1"), ("layer_norm", "layer_norm_1", second))]
    exported(path, nodes, {"n1.weight": floats(4), "n1.bias": floats(4)},
             ["n1.weight", "n1.bias", "n2.weight", "n2.bias"])


def merged_buffer(path):
    """A parameter that stands for a buffer of its values, too."""
    exported(path, [op("Mul", ["x", "g"], "mul", "mul.Tensor(%x, %p_g)"),
                    op("Mul", ["mul", "g"], "mul_1", "mul.Tensor(%mul, %b_buf)")], {"g": floats(4)}, ["g", "buf"])


def dropped(path):
    """Biases of zeros are no inputs of the nodes any more."""
    exported(path, [linear(1, "x", "a.weight", "", "a"), linear(2, "linear_1", "b.weight", "", "b")],
             {"a.weight": floats(4, 4), "b.weight": floats(4, 4)}, ["a.weight", "a.bias", "b.weight", "b.bias"])


def detached(path, source):
    """The second layer reads %detach, of which there is no node."""
    node = linear(2, source, "b.weight", "b.bias", "b")
    text = node.metadata_props[0].value.replace(f"(%{source},", "(%detach,")
    helper.set_metadata_props(node, {"pkg.torch.onnx.fx_node": text})
    exported(path, [linear(1, "x", "a.weight", "a.bias", "a"), node,
                    op("Add", ["linear_1", "linear_2"], "add", "add.Tensor(%linear_1, %linear_2)")],
             {n: floats(4, 4) if "w" in n else floats(4) for n in ("a.weight", "a.bias", "b.weight", "b.bias")},
             ["a.weight", "a.bias", "b.weight", "b.bias"])


def detached_constant(path):
    """What stands for a value and its %detach is a Constant node."""
    constant = helper.make_node("Constant", [], ["val_9"], value=helper.make_tensor("v", TensorProto.FLOAT, [4], [1, 2, 3, 4]))
    exported(path, [linear(1, "x", "a.weight", "a.bias", "a"), constant,
                    op("Add", ["linear_1", "val_9"], "add", "add.Tensor(%linear_1, %detach)")],
             {"a.weight": floats(4, 4), "a.bias": floats(4)}, ["a.weight", "a.bias"])


def kept_detach(path):
    """With optimize=False there is a node."""
    exported(path, [op("Mul", ["x", "g"], "mul", "mul.Tensor(%x, %p_g)"),
                    op("Identity", ["mul"], "detach", "detach.default(%mul,)"),
                    op("Add", ["mul", "detach"], "add", "add.Tensor(%mul, %detach)")], {"g": floats(4)}, ["g"])


def scaled(path, constant, *, name="view", module=("a.weight", "g"), folded_from=None, node=False):
    """Scores plus a constant, in a model of which one parameter may not be there."""
    add = op("Add", ["h", name], "add", f"add.Tensor(%h, %{name})" if not name.startswith("val_") else "add.Tensor(%h, 2)")
    tensor = helper.make_node("Constant", [], [name], value=numpy_helper.from_array(constant, name))
    exported(path, [tensor] * node + [helper.make_node("MatMul", ["x", "a.weight"], ["h"]), add],
             {"a.weight": floats(4, 4)} | ({} if node else {name: constant}), module,
             folded_from=folded_from and {name: folded_from}, shape=(4, 4))


def transposed(path, **options):
    """A weight that the exporter replaced by its transpose is no parameter."""
    exported(path, [helper.make_node("MatMul", ["x", "a.weight"], ["h"]), helper.make_node("MatMul", ["h", "val_3"], ["y"])],
             {"a.weight": floats(4, 4), "val_3": floats(4, 4)}, ["a.weight", "b.weight"], **options)


def masked(path):
    """The constant has nothing to do with g, which is the same tensor as a.weight."""
    scaled(path, np.triu(np.full((4, 4), -np.inf, np.float32), 1))


def waves(path):
    """Nor has a table of sines."""
    angles = np.arange(4.0)[:, None] * 10000.0 ** (-np.arange(2) / 2)
    scaled(path, np.stack([np.sin(angles), np.cos(angles)], -1).reshape(4, 4).astype(np.float32))


def legacy_folded(path):
    """The older exporter names what it folds after the op."""
    save(path, [helper.make_node("Conv", ["x", "onnx::Conv_7", "onnx::Conv_8"], ["y"], name="/conv/Conv")],
         {"onnx::Conv_7": floats(3, 2, 1, 1), "onnx::Conv_8": floats(3)}, [value("x", [1, 2, 4, 4])],
         [value("y", [1, 3, 4, 4])])


def legacy_norms(path, *, tied=False):
    """The older exporter keeps the names of what it merged; a module that uses one
    tensor twice has one name. The last output is a parameter as it is."""
    second = ["n1.weight", "n1.bias"] if tied else ["n2.weight", "n2.bias"]
    nodes = [] if tied else [helper.make_node("Identity", ["n1.bias"], ["n2.bias"], name="Identity_0"),
                             helper.make_node("Identity", ["n1.weight"], ["n2.weight"], name="Identity_1")]
    nodes += [helper.make_node("LayerNormalization", ["x", "n1.weight", "n1.bias"], ["h"]),
              helper.make_node("LayerNormalization", ["h", *second], ["y"]),
              helper.make_node("Identity", ["n1.weight"], ["scale"], name="Identity_2"),
              helper.make_node("Identity", ["n1.weight"], ["onnx::Add_8"], name="Identity_3"),
              helper.make_node("Add", ["y", "onnx::Add_8"], ["z"])]
    save(path, nodes, {"n1.weight": floats(4), "n1.bias": floats(4)}, [value("x", [2, 4])],
         [value("z", [2, 4]), value("scale", [4])])


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
    "told-transposed": lambda path: transposed(path, folded_from={"val_3": ["b.weight"]}),
    "viewed": lambda path: scaled(path, floats(1, 4)),
    "folded-scalar": lambda path: scaled(path, np.float32(1.5), name="exp"),
    "folded-node": lambda path: scaled(path, np.float32(1.5), name="exp", node=True),
    "told-scalar": lambda path: scaled(path, np.float32(1.5), name="exp", folded_from=["g"]),
    "copied": lambda path: scaled(path, floats(4, 4), module=["a.weight"], folded_from=["a.weight", "val_1"]),
    "shape-only": lambda path: scaled(path, floats(1, 4) * 0, module=["a.weight"], folded_from=["a.weight"]),
    "unused": lambda path: scaled(path, floats(1, 4), folded_from=["arange", "val_1"]),
    "unused-scalar": lambda path: scaled(path, np.float32(2), name="val_1"),
    "unused-node": lambda path: scaled(path, np.float32([2, 3, 4, 5]), name="val_1", node=True),
    "waves": waves,
    "batch-norms": batch_norms,
    "merged-norms": lambda path: merged_norms(path, "n2"),
    "tied-norms": lambda path: merged_norms(path, "n1"),
    "merged-buffer": merged_buffer,
    "dropped": dropped,
    "detached": lambda path: detached(path, "linear_1"),
    "detached-input": lambda path: detached(path, "x"),
    "detached-constant": detached_constant,
    "kept-detach": kept_detach,
    "legacy-norms": legacy_norms,
    "legacy-tied": lambda path: legacy_norms(path, tied=True),
    "masked": masked,
    "legacy-folded": legacy_folded,
    "trained": trained,
    "merged": merged,
    "torchscript": torchscript,
}

if __name__ == "__main__":
    MODELS[sys.argv[1]](sys.argv[2])
