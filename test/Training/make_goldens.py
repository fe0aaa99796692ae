#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes goldens.json: small models trained by PyTorch in float64, for test/unit/Training/GoldenTest.cpp.

    make_goldens.py            (needs torch; run by hand, the result is committed)

A case holds the model as graph IR, the training options, the inputs of each step and what PyTorch got: losses,
gradient norms, final states, sums of the evaluation."""
import json
import os

import numpy as np
import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
torch.manual_seed(0)
CASES = []


def f32(x):
    """Values that f32 holds exactly, as float64."""
    return torch.as_tensor(np.asarray(x)).to(torch.float32).to(torch.float64)


def short(x, digits=9):
    """Nested lists of numbers; 9 digits tell f32 values apart."""
    if isinstance(x, list):
        return [short(v, digits) for v in x]
    return float(f"{x:.{digits}g}") if isinstance(x, float) else x


def dense(x):
    return f"dense<{short(x.tolist())}>"


def tensor_type(x):
    kind = "i64" if x.dtype == torch.int64 else "f32"
    return "tensor<" + "".join(f"{n}x" for n in x.shape) + kind + ">"


def plain(x, digits=9):
    return {"shape": list(x.shape), "data": short(x.reshape(-1).tolist(), digits)}


def state(name, value, role="parameter", trainable=True):
    t = tensor_type(value)
    return f"graph.state @{name} {role} {'trainable ' if trainable else ''}: {t} = {dense(value)} : {t}\n"


def linear_model(w, b, x, after="", result=None):
    """y = x w^T + b, then `after`, which may define %out of type `result`."""
    tx, tw, tb = tensor_type(x), tensor_type(w), tensor_type(b)
    ty = f"tensor<{x.shape[0]}x{w.shape[0]}xf32>"
    value = "%out" if after else "%y"
    result = result or ty
    return (state("w", w) + state("b", b) +
            f'func.func @model(%x: {tx} {{graph.name = "x"}}) -> ({result} {{graph.name = "y"}}) {{\n'
            f"  %w = graph.read @w : {tw}\n  %b = graph.read @b : {tb}\n"
            f"  %p = graph.contract %x, %w batch = [] x [] contract = [1] x [1] : ({tx}, {tw}) -> {ty}\n"
            f"  %bb = graph.broadcast %b dims = [1] : {tb} -> {ty}\n"
            f"  %y = arith.addf %p, %bb : {ty}\n{after}"
            f"  return {value} : {result}\n}}\n")


def train(name, model, params, forward, loss, batches, options, make_optimizer, lr, clip=None, evaluate=None):
    """Steps of PyTorch; forward(params, x) -> prediction, loss(prediction, labels) -> scalar."""
    options = dict(options)
    if clip is not None:
        options["clip_norm"] = clip
    lr = float(np.float32(lr))  # the step block holds f32
    live = {n: v.clone().requires_grad_() for n, v in params.items()}
    optimizer = make_optimizer(list(live.values()), lr)
    case = {"name": name, "model": model, "options": options, "learning_rate": lr, "steps": [], "losses": [],
            "grad_norms": []}
    for x, labels in batches:
        if evaluate:
            with torch.no_grad():
                case.setdefault("evaluations", []).append(evaluate(forward(live, x), labels))
        optimizer.zero_grad()
        value = loss(forward(live, x), labels)
        value.backward()
        if clip is not None:
            case["grad_norms"].append(float(torch.nn.utils.clip_grad_norm_(list(live.values()), clip)))
        optimizer.step()
        case["losses"].append(float(value.detach()))
        case["steps"].append([plain(x)] + ([] if labels is None else [plain(labels)]))
    case["states"] = {n: plain(v.detach(), 12) for n, v in live.items()}
    CASES.append(case)
    return optimizer, live


def sgd(**keywords):
    return lambda params, lr: torch.optim.SGD(params, lr=lr, **keywords)


def linear(params, x):
    return x @ params["w"].T + params["b"]


def linear_case(outputs=4, inputs=3, batch=5):
    w, b = f32(torch.randn(outputs, inputs) * 0.5), f32(torch.randn(outputs) * 0.1)
    xs = [f32(torch.randn(batch, inputs)) for _ in range(3)]
    return {"w": w, "b": b}, xs


# Losses --------------------------------------------------------------------------------------------------------------

def class_evaluation(per_row, valid, ignore=-100):
    """loss_sum, count, correct over the first `valid` samples, classes last and rows flat."""
    def evaluate(scores, labels):
        rows = labels.reshape(labels.shape[0], -1)
        flat = rows[:valid].reshape(-1)
        scores = scores.reshape(labels.shape[0], -1, scores.shape[-1])[:valid].reshape(flat.shape[0], -1)
        counted = flat != ignore
        return {"valid_rows": valid, "loss_sum": float(per_row(scores, flat)[counted].sum()),
                "count": int(counted.sum()),
                "correct": int(((scores.argmax(-1) == flat) & counted).sum())}
    return evaluate


params, xs = linear_case()
labels = [torch.tensor([0, 3, 1, 2, 2]), torch.tensor([1, 1, 0, 3, 2]), torch.tensor([2, 0, 0, 1, 3])]
ignored = [torch.tensor([0, -100, 1, 2, 2]), torch.tensor([-100, -100, 0, 3, 2]), torch.tensor([2, 0, 0, 1, -100])]
rows_ce = lambda s, y: F.cross_entropy(s, y, reduction="none")
train("cross_entropy", linear_model(**params, x=xs[0]), params, linear, F.cross_entropy, list(zip(xs, labels)),
      {"loss": "cross_entropy"}, sgd(), 0.1, evaluate=class_evaluation(rows_ce, 4))
train("cross_entropy_ignore_smoothing", linear_model(**params, x=xs[0]), params, linear,
      lambda s, y: F.cross_entropy(s, y, label_smoothing=0.1), list(zip(xs, ignored)),
      {"loss": "cross_entropy", "label_smoothing": 0.1}, sgd(), 0.1,
      evaluate=class_evaluation(lambda s, y: F.cross_entropy(s, y, reduction="none", label_smoothing=0.1), 3))
train("cross_entropy_ignore_index_2", linear_model(**params, x=xs[0]), params, linear,
      lambda s, y: F.cross_entropy(s, y, ignore_index=2), list(zip(xs, labels)),
      {"loss": "cross_entropy", "ignore_index": 2}, sgd(), 0.1,
      evaluate=class_evaluation(lambda s, y: F.cross_entropy(s, y, reduction="none", ignore_index=2), 5, ignore=2))

log_softmax = "  %out = graph.log_softmax %y dim = 1 : tensor<5x4xf32>\n"
train("nll", linear_model(**params, x=xs[0], after=log_softmax), params,
      lambda p, x: F.log_softmax(linear(p, x), 1), F.nll_loss, list(zip(xs, ignored)), {"loss": "nll"}, sgd(), 0.1,
      evaluate=class_evaluation(lambda s, y: F.nll_loss(s, y, reduction="none"), 4))


def element_evaluation(function, valid):
    def evaluate(prediction, labels):
        return {"valid_rows": valid, "loss_sum": float(function(prediction[:valid], labels[:valid], reduction="sum")),
                "count": labels[:valid].numel()}
    return evaluate


targets = [f32(torch.randn(5, 4)) for _ in range(3)]
train("mse", linear_model(**params, x=xs[0]), params, linear, F.mse_loss, list(zip(xs, targets)), {"loss": "mse"},
      sgd(), 0.1, evaluate=element_evaluation(F.mse_loss, 2))
soft = [f32(torch.rand(5, 4)) for _ in range(3)]
train("bce_with_logits", linear_model(**params, x=xs[0]), params, linear, F.binary_cross_entropy_with_logits,
      list(zip(xs, soft)), {"loss": "bce_with_logits"}, sgd(), 0.1,
      evaluate=element_evaluation(F.binary_cross_entropy_with_logits, 4))
zeros = {"w": torch.zeros(4, 3, dtype=torch.float64), "b": torch.zeros(4, dtype=torch.float64)}
train("bce_with_logits_from_zero", linear_model(**zeros, x=xs[0]), zeros, linear, F.binary_cross_entropy_with_logits,
      list(zip(xs, soft)), {"loss": "bce_with_logits"}, sgd(), 0.1)
sigmoid = ("  %half = arith.constant dense<0.5> : tensor<5x4xf32>\n  %h = arith.mulf %y, %half : tensor<5x4xf32>\n"
           "  %t = math.tanh %h : tensor<5x4xf32>\n  %th = arith.mulf %t, %half : tensor<5x4xf32>\n"
           "  %out = arith.addf %th, %half : tensor<5x4xf32>\n")
train("bce", linear_model(**params, x=xs[0], after=sigmoid), params, lambda p, x: torch.sigmoid(linear(p, x)),
      F.binary_cross_entropy, list(zip(xs, soft)), {"loss": "bce"}, sgd(), 0.1,
      evaluate=element_evaluation(F.binary_cross_entropy, 4))
hard = [torch.round(t) for t in soft]
train("bce_hard_labels", linear_model(**params, x=xs[0], after=sigmoid), params,
      lambda p, x: torch.sigmoid(linear(p, x)), F.binary_cross_entropy, list(zip(xs, hard)), {"loss": "bce"}, sgd(),
      0.1)
square = ("  %sq = arith.mulf %y, %y : tensor<5x4xf32>\n"
          "  %out = graph.reduce sum %sq dims = [0, 1] : tensor<5x4xf32> -> tensor<f32>\n")
train("output", linear_model(**params, x=xs[0], after=square, result="tensor<f32>"), params,
      lambda p, x: (linear(p, x) ** 2).sum(), lambda value, _: value, [(x, None) for x in xs],
      {"loss": "output:y"}, sgd(), 0.01,
      evaluate=lambda value, _: {"valid_rows": 5, "loss_sum": float(value) * 5, "count": 5})

# Class axes: x [2, 3] -> y [2, 12], reshaped to [2, 4, 3] and [2, 4, 3, 1].
params, xs = linear_case(outputs=12, batch=2)


def reshaped(shape):
    t = "tensor<" + "x".join(map(str, shape)) + "xf32>"
    groups = "[[0], [" + ", ".join(map(str, range(1, len(shape)))) + "]]"
    return (f"  %out = tensor.expand_shape %y {groups} output_shape {list(shape)} : tensor<2x12xf32> into {t}\n", t)


def axis_case(name, shape, axis, options):
    after, result = reshaped(shape)
    rest = [n for i, n in enumerate(shape) if i != axis]
    ys = [torch.randint(0, shape[axis], rest) for _ in xs]
    move = lambda s: torch.movedim(s, axis, -1)
    rows = lambda s, y: F.cross_entropy(s, y, reduction="none")
    train(name, linear_model(**params, x=xs[0], after=after, result=result), params,
          lambda p, x: linear(p, x).reshape(shape),
          lambda s, y: F.cross_entropy(move(s).reshape(-1, shape[axis]), y.reshape(-1)), list(zip(xs, ys)),
          {"loss": "cross_entropy", **options}, sgd(), 0.1,
          evaluate=lambda s, y: class_evaluation(rows, 1)(move(s), y))


axis_case("cross_entropy_rank_3", (2, 4, 3), 2, {})
axis_case("cross_entropy_rank_3_axis_1", (2, 4, 3), 1, {"class_axis": 1})
axis_case("cross_entropy_rank_4", (2, 4, 3, 1), 1, {})
axis_case("cross_entropy_rank_4_last", (2, 2, 2, 3), 3, {"class_axis": -1})

# Optimizers ----------------------------------------------------------------------------------------------------------
params, xs = linear_case()
targets = [f32(torch.randn(5, 4)) for _ in range(3)]


def optimizer_case(name, options, make, lr, clip=None, *, batches=list(zip(xs, targets)) * 2):
    optimizer, live = train(name, linear_model(**params, x=xs[0]), params, linear, F.mse_loss, batches,
                            {"loss": "mse", "optimizer": options}, make, lr, clip)
    case = CASES[-1]
    for n, p in live.items():
        for moment in ("momentum_buffer", "exp_avg", "exp_avg_sq"):
            value = optimizer.state[p].get(moment)
            if isinstance(value, torch.Tensor):
                kind = options["kind"]
                case["states"][f"{kind}.{moment}/{n}"] = plain(value, 12)
    case["states"]["updates"] = plain(torch.tensor(len(batches)))
    case["states"]["nonfinite_step"] = plain(torch.tensor(-1))


optimizer_case("sgd", {"kind": "sgd"}, sgd(), 0.1)
optimizer_case("sgd_weight_decay", {"kind": "sgd", "weight_decay": 0.1}, sgd(weight_decay=0.1), 0.1)
optimizer_case("sgd_momentum", {"kind": "sgd", "momentum": 0.9}, sgd(momentum=0.9), 0.05)
optimizer_case("sgd_dampening", {"kind": "sgd", "momentum": 0.8, "dampening": 0.3, "weight_decay": 0.01},
               sgd(momentum=0.8, dampening=0.3, weight_decay=0.01), 0.05)
optimizer_case("sgd_nesterov", {"kind": "sgd", "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
               sgd(momentum=0.9, nesterov=True, weight_decay=0.01), 0.05)
optimizer_case("adamw", {"kind": "adamw"}, lambda p, lr: torch.optim.AdamW(p, lr=lr), 0.01)
optimizer_case("adamw_options", {"kind": "adamw", "beta1": 0.8, "beta2": 0.95, "epsilon": 1e-3, "weight_decay": 0.2},
               lambda p, lr: torch.optim.AdamW(p, lr=lr, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.2), 0.02)
optimizer_case("adamw_no_decay", {"kind": "adamw", "weight_decay": 0.0},
               lambda p, lr: torch.optim.AdamW(p, lr=lr, weight_decay=0.0), 0.02)
optimizer_case("clip", {"kind": "sgd", "momentum": 0.9}, sgd(momentum=0.9), 0.1, clip=0.5)
optimizer_case("clip_above_norm", {"kind": "adamw"}, lambda p, lr: torch.optim.AdamW(p, lr=lr), 0.01, clip=100.0)

# Batch norm ----------------------------------------------------------------------------------------------------------


def norm_case(name, options, unbiased, momentum=0.1, producer=None, uses=1, shape=(3, 2, 2, 2), frozen=False):
    """Batch norm (used `uses` times) of x; the prediction is compared with labels by mse."""
    channels = shape[1]
    params = {"scale": f32(torch.rand(channels) + 0.5), "bias": f32(torch.randn(channels) * 0.1)}
    mean, var = f32(torch.randn(channels) * 0.1), f32(torch.rand(channels) + 0.5)
    xs = [f32(torch.randn(shape)) for _ in range(3)]
    ys = [f32(torch.randn(shape)) for _ in range(3)]
    t, c = tensor_type(xs[0]), tensor_type(mean)
    body, value = "", "%x"
    for i in range(uses):
        body += (f"  %y{i} = graph.batch_norm {value}, %scale, %bias, %mean, %var {{epsilon = 1.0e-3 : f64, momentum "
                 f"= {1 - momentum} : f64}} : ({t}, {c}, {c}, {c}, {c}) -> {t}\n")
        value = f"%y{i}"
    attributes = f' attributes {{graph.producer = "{producer}"}}' if producer else ""
    reads = "".join(f"  %{n} = graph.read @{n} : {c}\n" for n in ("scale", "bias", "mean", "var"))
    model = (f"module{attributes} {{\n" + state("scale", params["scale"]) + state("bias", params["bias"]) +
             state("mean", mean, "statistic", False) + state("var", var, "statistic", False) +
             f'func.func @model(%x: {t} {{graph.name = "x"}}) -> ({t} {{graph.name = "y"}}) {{\n{reads}{body}'
             f"  return {value} : {t}\n}}\n}}\n")
    running = {"mean": mean.clone(), "var": var.clone()}

    def forward(p, x):
        if not torch.is_grad_enabled() or frozen:
            for _ in range(uses):
                x = F.batch_norm(x, running["mean"], running["var"], p["scale"], p["bias"], False, eps=1e-3)
            return x
        for _ in range(uses):
            dims = [d for d in range(x.dim()) if d != 1]
            with torch.no_grad():
                m, v = x.mean(dims), x.var(dims, unbiased=unbiased)
                running["mean"] = (1 - momentum) * running["mean"] + momentum * m
                running["var"] = (1 - momentum) * running["var"] + momentum * v
            x = F.batch_norm(x, None, None, p["scale"], p["bias"], True, eps=1e-3)
        return x

    train(name, model, params, forward, F.mse_loss, list(zip(xs, ys)), {"loss": "mse", **options}, sgd(), 0.1,
          evaluate=element_evaluation(F.mse_loss, 2))
    CASES[-1]["states"]["mean"] = plain(running["mean"], 12)
    CASES[-1]["states"]["var"] = plain(running["var"], 12)


norm_case("batch_norm_biased", {}, False)
norm_case("batch_norm_pytorch", {}, True, producer="pytorch")
norm_case("batch_norm_override", {"batch_norm_variance": "biased"}, False, producer="pytorch", momentum=0.3)
norm_case("batch_norm_unbiased", {"batch_norm_variance": "unbiased"}, True, shape=(6, 3))
norm_case("batch_norm_twice", {}, True, producer="pytorch", uses=2)
norm_case("batch_norm_frozen", {"freeze": ["me*"]}, False, frozen=True)

# F.batch_norm's own running statistics agree with what norm_case computes.
bn = torch.nn.BatchNorm2d(2, dtype=torch.float64)
x = torch.randn(3, 2, 4, 4, dtype=torch.float64)
bn(x)
assert torch.allclose(bn.running_var, 0.9 + 0.1 * x.var([0, 2, 3]))
assert torch.allclose(bn.running_mean, 0.1 * x.mean([0, 2, 3]))

with open(os.path.join(HERE, "goldens.json"), "w") as file:
    file.write("[\n" + ",\n".join(json.dumps(case, separators=(",", ":")) for case in CASES) + "\n]\n")
print(f"{len(CASES)} cases, {os.path.getsize(os.path.join(HERE, 'goldens.json'))} bytes")
