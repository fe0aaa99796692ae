#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports models of the zoo and records how PyTorch trains them.

    make_cases.py OUT [NAME ...]   writes OUT/<name>/{model.onnx,case.json,data.npz}; needs torch and onnxscript
    make_cases.py --goldens        writes those that are committed, in goldens

data.npz holds the batches (`<input>.<step>`), and the parameters before and
after SGD and AdamW (`start/`, `sgd/`, `adamw/<name>`), by initializer name; in
goldens `sample/<name>` has the elements that SGD moved most, a row each for
their numbers and for every one of KINDS. `noise/`
says how far the same training ends from there with gradients that differ by
rounding errors: what no comparison can ask for.
"""

import json
import os
import sys
import warnings

import numpy as np
import onnx
import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cases import CASES  # noqa: E402

STEPS = 3
# One of each kind whose path through the compiler differs from the others'.
GOLDENS = ["gpt2", "masked_fill_dynamic", "llama_legacy", "bert", "padded_attention", "local_attention_opset23",
           "t5", "convnext", "unet_bilinear", "group_norm", "tcn", "pointnet", "dlrm_mean", "dlrm_legacy",
           "two_tower", "two_tower_legacy", "sine_encoder_legacy", "saturated", "neural_operator", "lstm_deep",
           "lstm_lm", "gru", "rnn_tanh", "cell_loop", "padded_embedding", "straight_through", "bags_sum_legacy",
           "bags_mean", "bags_max", "experts", "mean_of_neighbours", "unpool", "volume"]
SAMPLED = 16
KINDS = ["start", "sgd", "adamw", "noise/sgd", "noise/adamw"]
OPTIMIZERS = {"sgd": {"kind": "sgd", "lr": 0.02, "momentum": 0.9},
              "adamw": {"kind": "adamw", "lr": 0.001, "weight_decay": 0.1}}
LOSSES = {
    "cross_entropy": lambda y, t: F.cross_entropy(y.flatten(0, 1) if y.dim() == 3 else y,
                                                  t.flatten() if y.dim() == 3 else t),
    "mse": F.mse_loss, "bce": F.binary_cross_entropy, "bce_with_logits": F.binary_cross_entropy_with_logits,
}


def randomise(model):
    """Away from the initial zeros and ones, where gradients and errors hide."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() <= 1:
                parameter += 0.1 * torch.randn_like(parameter)


def export(model, inputs, path, options):
    arguments = tuple(inputs.values())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if options.get("legacy"):
            torch.onnx.export(model.train(), arguments, path, dynamo=False, do_constant_folding=False,
                              training=torch.onnx.TrainingMode.TRAINING, input_names=list(inputs), verbose=False,
                              opset_version=options.get("opset", 17))
        else:
            dynamic = options.get("dynamic")
            torch.onnx.export(model.train(), arguments, path, dynamo=True, optimize=False, external_data=False,
                              input_names=list(inputs), opset_version=options.get("opset", 18), verbose=False,
                              dynamic_shapes=tuple(dynamic[n] for n in inputs) if dynamic else None)


def blur(model, generator):
    """Adds errors as large as those of float32 to the gradients: some are zero but for rounding."""
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    largest = max(g.abs().max() for g in gradients)
    for gradient in gradients:
        size = 2e-6 * gradient.abs().max() + 2e-8 * largest
        gradient += size * torch.randn(gradient.shape, generator=generator)


def train(make, batches, loss, optimizer, seed=0):
    torch.manual_seed(1)
    model = make()
    randomise(model)
    model.train()
    kind = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}[optimizer["kind"]]
    solver = kind(model.parameters(), **{k: v for k, v in optimizer.items() if k != "kind"})
    losses = []
    for inputs, labels in batches:
        solver.zero_grad()
        value = LOSSES[loss](model(*inputs.values()), labels)
        value.backward()
        if seed:
            blur(model, torch.Generator().manual_seed(seed))
        solver.step()
        losses.append(value.item())
    return model, losses


def sample(data):
    """Keeps the elements of every parameter that SGD moved most."""
    for key in [k for k in data if k.startswith("start/")]:
        name = key[len("start/"):]
        moved = np.abs(data["sgd/" + name] - data[key]).ravel()
        index = np.sort(np.argsort(-moved, kind="stable")[:SAMPLED])
        rows = [data.pop(f"{kind}/{name}").ravel()[index] for kind in KINDS]
        data["sample/" + name] = np.stack([index, *rows]).astype(np.float64)


def strip(proto):
    """Drops what the exporter writes down of each node, most of the file, but
    the ops of which the importer asks for more than ONNX says."""
    def strip_nodes(nodes):
        for node in nodes:
            kept = [p.value for p in node.metadata_props if p.key == "pkg.torch.onnx.fx_node"
                    and any(op in p.value for op in ("aten.embedding", "aten.detach", "aten.scatter_reduce"))]
            del node.metadata_props[:]
            for value in kept:
                node.metadata_props.add(key="pkg.torch.onnx.fx_node", value=value)
            for attribute in node.attribute:
                strip_nodes(attribute.g.node)

    strip_nodes(proto.graph.node)
    for function in proto.functions:
        strip_nodes(function.node)
    return proto


def make_case(name, out, golden=False):
    make, inputs, (loss, labels), *rest = CASES[name]
    options = rest[0] if rest else {}
    torch.manual_seed(0)
    batches = [({n: f() for n, f in inputs.items()}, labels()) for _ in range(STEPS)]
    os.makedirs(out, exist_ok=True)
    torch.manual_seed(1)
    model = make()
    randomise(model)
    path = os.path.join(out, "model.onnx")
    start = {k: v.detach().clone() for k, v in model.state_dict().items()}
    export(model, batches[0][0], path, options)
    model.load_state_dict(start)  # tracing moves running statistics
    proto = onnx.load(path)
    names = {i.name for i in proto.graph.initializer}
    case = {"name": name, "loss": loss, "inputs": list(inputs), "steps": STEPS, "optimizers": OPTIMIZERS,
            "losses": {}, "no_check": bool(options.get("no_check")), "opset": proto.opset_import[0].version}
    buffers = [k for k, v in model.named_buffers()
               if k in names and v.is_floating_point() and not k.endswith(("running_mean", "running_var"))]
    if buffers:
        case["buffers"] = buffers
    if options.get("dynamic"):
        case["dims"] = {symbol: batches[0][0][n].shape[axis]
                        for n, axes in options["dynamic"].items() for axis, symbol in axes.items()}
        declared = {}
        for value in proto.graph.input:
            for axis, dim in enumerate(value.type.tensor_type.shape.dim):
                if dim.dim_param and value.name in inputs:
                    declared[dim.dim_param] = batches[0][0][value.name].shape[axis]
        case["dims"] = declared
    data = {}
    for i, (feed, target) in enumerate(batches):
        for n, v in feed.items():
            data[f"{n}.{i}"] = v.numpy()
        data[f"labels.{i}"] = target.numpy()
    for kind, optimizer in OPTIMIZERS.items():
        trained, case["losses"][kind] = train(make, batches, loss, optimizer)
        others = [train(make, batches, loss, optimizer, seed)[0].state_dict() for seed in (11, 12, 13, 14)]
        end = trained.state_dict()
        noise = {k: np.max([np.abs((o[k] - end[k]).numpy()) for o in others], axis=0) for k in names if k in end}
        for key, value in trained.named_parameters():
            if key in names:
                data[f"{kind}/{key}"] = value.detach().numpy()
                data[f"start/{key}"] = start[key].numpy()
                data[f"noise/{kind}/{key}"] = noise[key]
        for key, value in trained.named_buffers():
            if key in names and key.endswith(("running_mean", "running_var")):
                data[f"statistic/{kind}/{key}"] = value.numpy()
                data[f"noise/statistic/{kind}/{key}"] = noise[key]
    if golden:
        sample(data)
        onnx.save(strip(proto), path)
    np.savez_compressed(os.path.join(out, "data.npz"), **data)
    with open(os.path.join(out, "case.json"), "w") as f:
        json.dump(case, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    torch.set_num_threads(1)
    failed = 0
    goldens = sys.argv[1] == "--goldens"
    target = os.path.join(os.path.dirname(os.path.abspath(__file__)), "goldens")
    for case_name in GOLDENS if goldens else sys.argv[2:] or CASES:
        try:
            make_case(case_name, os.path.join(target if goldens else sys.argv[1], case_name), goldens)
            print("made", case_name, flush=True)
        except Exception as error:  # an exporter's fault is not ours
            failed += 1
            print("NOT EXPORTED", case_name, "-", str(error).replace("\n", " ")[:200], flush=True)
    sys.exit(failed != 0)
