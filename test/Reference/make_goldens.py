#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes goldens.json: single ops of the graph level and what NumPy, PyTorch or the ONNX reference evaluator say that
they give, for test/unit/Reference/GoldenTest.cpp.

    make_goldens.py            (needs torch and onnx; run by hand, the result is committed)

A case is the body of a function on float64 arguments %a0, %a1, ... and the expected results %r0, %r1, ..."""
import json
import math
import os

import numpy as np
import onnx
import onnx.helper as oh
import onnx.reference
import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
rng = np.random.default_rng(0)
CASES = []
KINDS = {"float64": "f64", "float32": "f32", "int64": "i64", "bool": "i1", "int32": "i32", "int8": "i8"}


def array(x):
    x = x.detach().numpy() if isinstance(x, torch.Tensor) else np.asarray(x)
    return x


def type_of(x):
    return "tensor<" + "".join(f"{n}x" for n in x.shape) + KINDS[str(x.dtype)] + ">"


def plain(x):
    # Infinities and NaN are no JSON numbers.
    data = [v if isinstance(v, (int, bool)) else float(f"{v:.12g}") if math.isfinite(v) else str(v)
            for v in x.reshape(-1).tolist()]
    return {"type": type_of(x), "data": [int(v) if isinstance(v, bool) else v for v in data]}


def case(name, body, arguments, results):
    """`body` uses {a0}, {r0}, ... for the types."""
    arguments, results = [array(a) for a in arguments], [array(r) for r in results]
    types = {f"a{i}": type_of(a) for i, a in enumerate(arguments)}
    types |= {f"r{i}": type_of(r) for i, r in enumerate(results)}
    for key, value in types.items():
        body = body.replace("{" + key + "}", value)
    CASES.append({"name": name, "body": body, "arguments": [plain(a) for a in arguments],
                  "results": [plain(r) for r in results]})


def normal(*shape):
    return np.round(rng.standard_normal(shape), 4)  # short to print


# Elementwise ---------------------------------------------------------------------------------------------------------
special = np.array([-2.5, -1.0, -0.5, -0.0, 0.0, 0.3, 0.5, 1.0, 1.5, 2.5, np.inf, -np.inf, np.nan])
erf = np.vectorize(math.erf)
with np.errstate(all="ignore"):
    for op, f in {"math.absf": np.abs, "math.ceil": np.ceil, "math.floor": np.floor, "math.trunc": np.trunc,
                  "math.roundeven": np.round, "math.exp": np.exp, "math.exp2": np.exp2, "math.expm1": np.expm1,
                  "math.log": np.log, "math.log2": np.log2, "math.log10": np.log10, "math.log1p": np.log1p,
                  "math.sqrt": np.sqrt, "math.rsqrt": lambda x: 1 / np.sqrt(x), "math.tanh": np.tanh, "math.erf": erf,
                  "math.sin": np.sin, "math.cos": np.cos, "math.tan": np.tan, "math.sinh": np.sinh,
                  "math.cosh": np.cosh, "math.asin": np.arcsin, "math.acos": np.arccos, "math.atan": np.arctan,
                  "arith.negf": np.negative}.items():
        case(op, f"%r0 = {op} %a0 : {{a0}}", [special], [f(special)])
    a = np.repeat(special, len(special))
    b = np.tile(special, len(special))
    short = np.array([-1.5, 0.0, 2.0, np.nan, np.inf])
    a, b = np.repeat(short, len(short)), np.tile(short, len(short))
    for op, f in {"arith.addf": np.add, "arith.subf": np.subtract, "arith.mulf": np.multiply, "arith.divf": np.divide,
                  "arith.maximumf": np.maximum, "arith.minimumf": np.minimum, "arith.maxnumf": np.fmax,
                  "arith.minnumf": np.fmin, "math.powf": np.power, "arith.remf": np.fmod}.items():
        case(op, f"%r0 = {op} %a0, %a1 : {{a0}}", [a, b], [f(a, b)])
    nan = np.isnan(a) | np.isnan(b)
    for p, f in {"oeq": a == b, "ogt": a > b, "oge": a >= b, "olt": a < b, "ole": a <= b, "one": (a != b) & ~nan,
                 "ord": ~nan, "ueq": (a == b) | nan, "ugt": (a > b) | nan, "uge": (a >= b) | nan, "ult": (a < b) | nan,
                 "ule": (a <= b) | nan, "une": (a != b) | nan, "uno": nan}.items():
        case(f"arith.cmpf_{p}", f"%r0 = arith.cmpf {p}, %a0, %a1 : {{a0}}", [a, b], [f])
values = np.array([-7, -2, -1, 0, 1, 3, 2**62, -2**63])
a, b = np.repeat(values, len(values)), np.tile(values, len(values))
with np.errstate(all="ignore"):
    for op, f in {"arith.addi": a + b, "arith.subi": a - b, "arith.muli": a * b, "arith.andi": a & b, "arith.ori": a | b,
                  "arith.xori": a ^ b, "arith.maxsi": np.maximum(a, b), "arith.minsi": np.minimum(a, b)}.items():
        case(op, f"%r0 = {op} %a0, %a1 : {{a0}}", [a, b], [f])
    u, v = a.astype(np.uint64), b.astype(np.uint64)
    for p, f in {"eq": a == b, "ne": a != b, "slt": a < b, "sle": a <= b, "sgt": a > b, "sge": a >= b, "ult": u < v,
                 "ule": u <= v, "ugt": u > v, "uge": u >= v}.items():
        case(f"arith.cmpi_{p}", f"%r0 = arith.cmpi {p}, %a0, %a1 : {{a0}}", [a, b], [f])
x = normal(2, 3)
flags = x > 0
case("arith.select", "%r0 = arith.select %a0, %a1, %a2 : {a0}, {a1}", [flags, x, -x], [np.abs(x)])
case("arith.truncf", "%n = arith.truncf %a0 : {a0} to tensor<2x3xf32>\n%r0 = arith.extf %n : tensor<2x3xf32> to {r0}",
     [x], [x.astype(np.float32).astype(np.float64)])
case("arith.fptosi", "%r0 = arith.fptosi %a0 : {a0} to {r0}", [np.array([-2.7, -0.2, 0.0, 1.9, 5.0])],
     [np.array([-2, 0, 0, 1, 5])])
case("arith.sitofp", "%r0 = arith.sitofp %a0 : {a0} to {r0}", [np.array([-3, 0, 7])], [np.array([-3.0, 0.0, 7.0])])
case("arith.uitofp_i1", "%r0 = arith.uitofp %a0 : {a0} to {r0}", [flags], [flags.astype(np.float64)])
case("arith.trunci", "%r0 = arith.trunci %a0 : {a0} to {r0}", [np.array([300, -129, 5])],
     [np.array([300, -129, 5]).astype(np.int8)])
case("arith.extui_i1", "%r0 = arith.extui %a0 : {a0} to {r0}", [flags], [flags.astype(np.int64)])

# Shape, reductions, contractions -------------------------------------------------------------------------------------
x = normal(2, 3, 4)
case("graph.transpose", "%r0 = graph.transpose %a0 permutation = [2, 0, 1] : {a0} -> {r0}", [x],
     [x.transpose(2, 0, 1)])
case("graph.broadcast", "%r0 = graph.broadcast %a0 dims = [0, 2] : {a0} -> {r0}", [normal(2, 3)], [np.zeros((2, 5, 3))])
CASES[-1]["results"][0]["data"] = np.broadcast_to(
    np.array(CASES[-1]["arguments"][0]["data"]).reshape(2, 1, 3), (2, 5, 3)).reshape(-1).tolist()
case("tensor.collapse_shape", "%r0 = tensor.collapse_shape %a0 [[0, 1], [2]] : {a0} into {r0}", [x], [x.reshape(6, 4)])
case("tensor.expand_shape",
     "%r0 = tensor.expand_shape %a0 [[0], [1], [2, 3]] output_shape [2, 3, 2, 2] : {a0} into {r0}", [x],
     [x.reshape(2, 3, 2, 2)])
case("graph.iota", "%r0 = graph.iota dim = 1 : {r0}", [], [np.broadcast_to(np.arange(4), (3, 4)).copy()])
for kind, f in {"sum": np.sum, "max": np.max, "min": np.min, "product": np.prod}.items():
    case(f"graph.reduce_{kind}", f"%r0 = graph.reduce {kind} %a0 dims = [0, 2] : {{a0}} -> {{r0}}", [x],
         [f(x, (0, 2))])
    i = rng.integers(-5, 5, (3, 4))
    case(f"graph.reduce_{kind}_i64", f"%r0 = graph.reduce {kind} %a0 dims = [1] : {{a0}} -> {{r0}}", [i], [f(i, 1)])
with_nan = np.array([[1.0, np.nan, 2.0], [3.0, 1.0, 2.0]])
case("graph.reduce_max_nan", "%r0 = graph.reduce max %a0 dims = [1] : {a0} -> {r0}", [with_nan], [np.max(with_nan, 1)])
for equation, dims, a, b in [
        ("mk,nk->mn", "batch = [] x [] contract = [1] x [1]", normal(2, 3), normal(4, 3)),
        ("km,kn->mn", "batch = [] x [] contract = [0] x [0]", normal(3, 2), normal(3, 4)),
        ("mbk,knb->bmn", "batch = [1] x [2] contract = [2] x [0]", normal(2, 5, 3), normal(3, 4, 5)),
        ("mkl,lnk->mn", "batch = [] x [] contract = [1, 2] x [2, 0]", normal(2, 3, 4), normal(4, 5, 3)),
        ("k,k->", "batch = [] x [] contract = [0] x [0]", normal(3), normal(3))]:
    case("graph.contract_" + equation.replace(",", "_").replace("->", "_"),
         f"%r0 = graph.contract %a0, %a1 {dims} : ({{a0}}, {{a1}}) -> {{r0}}", [a, b],
         [np.asarray(np.einsum(equation, a, b))])


# Convolution and pooling ---------------------------------------------------------------------------------------------
def onnx_run(op, inputs, **attributes):
    """One node through the ONNX reference evaluator, opset 22, in float64."""
    names = [f"i{k}" for k in range(len(inputs))]
    graph = oh.make_graph([oh.make_node(op, names, ["y"], **attributes)], "g",
                          [oh.make_tensor_value_info(n, onnx.TensorProto.DOUBLE, v.shape)
                           for n, v in zip(names, inputs)],
                          [oh.make_tensor_value_info("y", onnx.TensorProto.DOUBLE, None)])
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 22)])
    return onnx.reference.ReferenceEvaluator(model).run(None, dict(zip(names, inputs)))[0]


def geometry(strides, pads, dilations, extra=""):
    arrays = {"strides": strides, "pads": pads, "dilations": dilations}
    return "{" + ", ".join(f"{k} = array<i64: {', '.join(map(str, v))}>" for k, v in arrays.items()) + extra + "}"


for name, xs, ws, strides, pads, dilations, groups in [
        ("plain", (2, 3, 5, 4), (4, 3, 3, 2), (1, 1), (0, 0, 0, 0), (1, 1), 1),
        ("padded", (2, 3, 5, 4), (4, 3, 3, 2), (1, 1), (1, 0, 1, 1), (1, 1), 1),
        ("strided_groups", (1, 4, 6, 7), (6, 2, 2, 3), (2, 3), (0, 1, 1, 1), (1, 1), 2),
        ("dilated_depthwise", (2, 2, 7, 7), (2, 1, 3, 3), (1, 1), (0, 1, 0, 1), (2, 2), 2)]:
    x, w, b = normal(*xs), normal(*ws), normal(ws[0])
    y = onnx_run("Conv", [x, w, b], strides=strides, pads=pads, dilations=dilations, group=groups)
    attributes = geometry(strides, pads, dilations, f", groups = {groups} : i64")
    case("graph.conv_" + name, f"%r0 = graph.conv %a0, %a1 bias %a2 {attributes} : ({{a0}}, {{a1}}, {{a2}}) -> {{r0}}",
         [x, w, b], [y])
    tx, tw = torch.tensor(x, requires_grad=True), torch.tensor(w, requires_grad=True)
    padded = F.pad(tx, (pads[1], pads[3], pads[0], pads[2]))
    ty = F.conv2d(padded, tw, None, strides, 0, dilations, groups)
    dy = normal(*ty.shape)
    dx, dw = torch.autograd.grad(ty, (tx, tw), torch.tensor(dy))
    case("graph.conv_input_grad_" + name,
         f"%r0 = graph.conv_input_grad %a0, %a1 {attributes} : ({{a0}}, {{a1}}) -> {{r0}}", [dy, w], [dx])
    case("graph.conv_weight_grad_" + name,
         f"%r0 = graph.conv_weight_grad %a0, %a1 {attributes} : ({{a0}}, {{a1}}) -> {{r0}}", [x, dy], [dw])

for name, xs, window, strides, pad, dilations, ceil in [
        ("plain", (2, 2, 4, 4), (2, 2), (2, 2), (0, 0), (1, 1), False),
        ("overlapping", (1, 2, 6, 5), (3, 3), (2, 2), (1, 1), (1, 1), False),
        ("ceil", (1, 2, 6, 6), (3, 2), (2, 3), (1, 0), (1, 1), True),
        ("dilated", (1, 1, 6, 6), (2, 2), (3, 1), (0, 0), (2, 2), False)]:
    x = normal(*xs)
    tx = torch.tensor(x, requires_grad=True)
    pads = pad + pad
    base = f"{{window = array<i64: {window[0]}, {window[1]}>, " + geometry(strides, pads, dilations)[1:]
    ty = F.max_pool2d(tx, window, strides, pad, dilations, ceil)
    case("graph.pool_max_" + name, f"%r0 = graph.pool max %a0 {base} : ({{a0}}) -> {{r0}}", [x], [ty])
    dy = normal(*ty.shape)
    case("graph.max_pool_grad_" + name, f"%r0 = graph.max_pool_grad %a0, %a1 {base} : ({{a0}}, {{a1}}) -> {{r0}}",
         [x, dy], torch.autograd.grad(ty, tx, torch.tensor(dy)))
    if dilations != (1, 1):
        continue  # PyTorch's average pooling has no dilation
    for include in (True, False):
        ty = F.avg_pool2d(tx, window, strides, pad, ceil, include)
        full = base[:-1] + (", count_include_pad}" if include else "}")
        suffix = name + ("_padded" if include else "")
        case("graph.pool_average_" + suffix, f"%r0 = graph.pool average %a0 {full} : ({{a0}}) -> {{r0}}", [x], [ty])
        dy = normal(*ty.shape)
        case("graph.average_pool_grad_" + suffix, f"%r0 = graph.average_pool_grad %a0 {full} : ({{a0}}) -> {{r0}}",
             [dy], torch.autograd.grad(ty, tx, torch.tensor(dy)))
x = normal(1, 1, 5, 5)
case("graph.pool_average_onnx_dilated",
     "%r0 = graph.pool average %a0 {window = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, "
     "0>, dilations = array<i64: 2, 2>} : ({a0}) -> {r0}", [x],
     [onnx_run("AveragePool", [x], kernel_shape=(2, 2), dilations=(2, 2))])
tied = np.zeros((1, 1, 2, 4))
case("graph.max_pool_grad_tie",
     "%r0 = graph.max_pool_grad %a0, %a1 {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, "
     "0, 0, 0>, dilations = array<i64: 1, 1>} : ({a0}, {a1}) -> {r0}", [tied, np.array([[[[1.0, 2.0]]]])],
     [np.array([[[[1.0, 0, 2.0, 0], [0, 0, 0, 0]]]])])

# Moving elements (a generator of its own: the numbers of the other cases stay) ---------------------------------------
moved = np.random.default_rng(1)
table, keys = np.round(moved.standard_normal((2, 4, 3)), 4), np.array([[3, 0, 0], [1, 2, 3]])
case("graph.gather", "%r0 = graph.gather %a0, %a1 dim = 1 : ({a0}, {a1}) -> {r0}", [table, keys],
     [np.take(table, keys, axis=1)])
case("graph.gather_batch", "%r0 = graph.gather %a0, %a1 dim = 1 batch = 1 : ({a0}, {a1}) -> {r0}", [table, keys],
     [np.stack([table[i][keys[i]] for i in range(2)])])
case("graph.gather_elements", "%r0 = graph.gather %a0, %a1 dim = 1 batch = 1 : ({a0}, {a1}) -> {r0}", [table[:, :, 0], keys],
     [torch.gather(torch.tensor(table[:, :, 0]), 1, torch.tensor(keys))])
case("graph.gather_integers", "%r0 = graph.gather %a0, %a1 dim = 0 : ({a0}, {a1}) -> {r0}",
     [np.array([5, 6, 7]), np.array([2, 3, -1, 0])], [np.array([7, 0, 0, 5])])
case("graph.gather_outside", "%r0 = graph.gather %a0, %a1 dim = 0 : ({a0}, {a1}) -> {r0}",
     [np.array([5.0, 6.0]), np.array([1, 2, -1])], [np.array([6.0, np.nan, np.nan])])
updates = np.round(moved.standard_normal((2, 2, 3, 3)), 4)
sums = np.zeros((2, 4, 3))
np.add.at(sums, (slice(None), keys), updates)
case("graph.scatter_add", "%r0 = graph.scatter_add %a0, %a1 dim = 1 : ({a0}, {a1}) -> {r0}", [updates, keys], [sums])
sums = np.zeros((2, 4, 3))
for i in range(2):
    np.add.at(sums[i], keys[i], updates[i, 0])
case("graph.scatter_add_batch", "%r0 = graph.scatter_add %a0, %a1 dim = 1 batch = 1 : ({a0}, {a1}) -> {r0}",
     [updates[:, 0], keys], [sums])
case("graph.scatter_add_outside", "%r0 = graph.scatter_add %a0, %a1 dim = 0 : ({a0}, {a1}) -> {r0}",
     [np.array([1.0, 2.0, 4.0]), np.array([1, 2, -1])], [np.array([0.0, 1.0])])
case("graph.slice", "%r0 = graph.slice %a0 offsets = [1, 1, 0] : {a0} -> {r0}", [table], [table[1:, 1:3]])
case("graph.pad", "%r0 = graph.pad %a0 low = [0, 2, 1] : {a0} -> {r0}", [table],
     [np.pad(table, ((0, 0), (2, 1), (1, 0)))])
case("graph.concat", "%r0 = graph.concat %a0, %a1, %a0 dim = 1 : ({a0}, {a1}, {a0}) -> {r0}", [table, table[:, :1]],
     [np.concatenate([table, table[:, :1], table], 1)])

# Composites ----------------------------------------------------------------------------------------------------------
x = normal(2, 3, 4) * 3
for dim in range(3):
    case(f"graph.softmax_{dim}", f"%r0 = graph.softmax %a0 dim = {dim} : {{a0}}", [x],
         [onnx_run("Softmax", [x], axis=dim)])
    case(f"graph.log_softmax_{dim}", f"%r0 = graph.log_softmax %a0 dim = {dim} : {{a0}}", [x],
         [onnx_run("LogSoftmax", [x], axis=dim)])
case("graph.softmax_large", "%r0 = graph.softmax %a0 dim = 0 : {a0}", [np.array([1e4, 1e4 - 1, -1e4])],
     [F.softmax(torch.tensor([1e4, 1e4 - 1, -1e4], dtype=torch.float64), 0)])
x, scale, bias, mean, var = normal(3, 2, 2, 2), normal(2), normal(2), normal(2), rng.random(2) + 0.5
case("graph.batch_norm",
     "%r0 = graph.batch_norm %a0, %a1, %a2, %a3, %a4 {epsilon = 1.0e-3 : f64, momentum = 0.9 : f64} : ({a0}, {a1}, "
     "{a2}, {a3}, {a4}) -> {r0}", [x, scale, bias, mean, var],
     [onnx_run("BatchNormalization", [x, scale, bias, mean, var], epsilon=1e-3)])
for shape in ((3, 2, 2, 2), (5, 2)):
    x = normal(*shape)
    tx, ts, tb = (torch.tensor(v, requires_grad=True) for v in (x, scale, bias))
    ty = F.batch_norm(tx, None, None, ts, tb, True, eps=1e-3)
    dims = tuple(d for d in range(len(shape)) if d != 1)
    batch_mean, batch_var = x.mean(dims), x.var(dims)
    case(f"graph.batch_norm_train_{len(shape)}",
         "%r0, %r1, %r2 = graph.batch_norm_train %a0, %a1, %a2 {epsilon = 1.0e-3 : f64} : ({a0}, {a1}, {a2}) -> ({r0}, "
         "{r1}, {r2})", [x, scale, bias], [ty, batch_mean, batch_var])
    dy = normal(*shape)
    case(f"graph.batch_norm_grad_{len(shape)}",
         "%r0, %r1, %r2 = graph.batch_norm_grad %a0, %a1, %a2, %a3, %a4 {epsilon = 1.0e-3 : f64} : ({a0}, {a1}, {a2}, "
         "{a3}, {a4}) -> ({r0}, {r1}, {r2})", [x, scale, batch_mean, batch_var, dy],
         torch.autograd.grad(ty, (tx, ts, tb), torch.tensor(dy)))
logits, labels, dloss = normal(5, 4), np.array([0, 3, -100, 1, 2]), normal(5)
for smoothing in (0.0, 0.1):
    tx, ty = torch.tensor(logits, requires_grad=True), torch.tensor(labels)
    loss = F.cross_entropy(tx, ty, reduction="none", label_smoothing=smoothing)
    lse = torch.logsumexp(tx, 1)
    suffix = "_smoothing" if smoothing else ""
    attributes = f"{{ignore_index = -100 : i64, label_smoothing = {smoothing} : f64}}"
    case("graph.cross_entropy" + suffix,
         f"%r0, %r1 = graph.cross_entropy %a0, %a1 {attributes} : ({{a0}}, {{a1}}) -> ({{r0}}, {{r1}})",
         [logits, labels], [loss, lse])
    case("graph.cross_entropy_grad" + suffix,
         f"%r0 = graph.cross_entropy_grad %a0, %a1, %a2, %a3 {attributes} : ({{a0}}, {{a1}}, {{a2}}, {{a3}}) -> {{r0}}",
         [logits, labels, lse, dloss], torch.autograd.grad(loss, tx, torch.tensor(dloss)))
g0, g1 = normal(2, 3), normal(4)
case("graph.square_sum", "%r0 = graph.square_sum %a0, %a1 : ({a0}, {a1}) -> {r0}", [g0, g1],
     [np.asarray((g0**2).sum() + (g1**2).sum())])

# Optimizers: one step from a state that PyTorch reached ---------------------------------------------------------------
scalar = lambda v: np.asarray(v, dtype=np.float64)


def optimizer_step(make, moments):
    """p, g, moments before the third step and p, moments after it."""
    p = torch.tensor(normal(2, 3), requires_grad=True)
    optimizer = make([p])
    for _ in range(3):
        before = [p.detach().clone()] + [optimizer.state[p][m].clone() for m in moments if optimizer.state[p]]
        p.grad = torch.tensor(normal(2, 3))
        optimizer.step()
    return before, p.grad, [p.detach()] + [optimizer.state[p][m] for m in moments]


for name, attributes, keywords in [
        ("momentum", "momentum = 0.9 : f64", dict(momentum=0.9)),
        ("nesterov", "momentum = 0.9 : f64, weight_decay = 0.1 : f64, nesterov",
         dict(momentum=0.9, weight_decay=0.1, nesterov=True)),
        ("dampening", "momentum = 0.9 : f64, dampening = 0.3 : f64", dict(momentum=0.9, dampening=0.3))]:
    before, g, after = optimizer_step(lambda p: torch.optim.SGD(p, lr=0.1, **keywords), ["momentum_buffer"])
    case("graph.sgd_" + name,
         f"%r0, %r1 = graph.sgd %a0, %a1, %a2, %a3, %a4 buffer %a5 {{{attributes}}} : ({{a0}}, {{a1}}, {{a2}}, {{a3}}, "
         "{a4}, {a5}) -> ({r0}, {r1})",
         [before[0], g * 2.0, scalar(0.1), scalar(0.5), scalar(0.0), before[1]], after)
before, g, after = optimizer_step(lambda p: torch.optim.SGD(p, lr=0.1, weight_decay=0.1), [])
case("graph.sgd_plain",
     "%r0 = graph.sgd %a0, %a1, %a2, %a3, %a4 {weight_decay = 0.1 : f64} : ({a0}, {a1}, {a2}, {a3}, {a4}) -> {r0}",
     [before[0], g * 2.0, scalar(0.1), scalar(0.5), scalar(0.0)], after)
before, g, after = optimizer_step(lambda p: torch.optim.AdamW(p, lr=0.01, betas=(0.8, 0.9), eps=1e-4, weight_decay=0.1),
                                  ["exp_avg", "exp_avg_sq"])
case("graph.adamw",
     "%r0, %r1, %r2 = graph.adamw %a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7 {beta1 = 0.8 : f64, beta2 = 0.9 : f64, epsilon "
     "= 1.0e-4 : f64, weight_decay = 0.1 : f64} : ({a0}, {a1}, {a2}, {a3}, {a4}, {a5}, {a6}, {a7}) -> ({r0}, {r1}, {r2})",
     [before[0], g * 2.0, before[1], before[2], scalar(0.01), scalar(0.5), scalar(1 - 0.8**3), scalar(1 - 0.9**3)],
     after)

# Transformers ---------------------------------------------------------------------------------------------------------
for name, shape, inner in [("", (2, 3, 5), (5,)), ("_two_dims", (3, 2, 4), (2, 4)), ("_one_row", (6,), (6,))]:
    x, scale, bias, dy = normal(*shape) + 3, normal(*inner), normal(*inner), normal(*shape)
    tx, ts, tb = (torch.tensor(v, requires_grad=True) for v in (x, scale, bias))
    ty, mean, rstd = torch.native_layer_norm(tx, inner, ts, tb, 1e-3)
    rows = shape[:len(shape) - len(inner)]
    mean, rstd = mean.detach().reshape(rows), rstd.detach().reshape(rows)
    case("graph.layer_norm" + name, "%r0, %r1, %r2 = graph.layer_norm %a0, %a1 bias %a2 {epsilon = 1.0e-3 : f64} : "
         "({a0}, {a1}, {a2}) -> ({r0}, {r1}, {r2})", [x, scale, bias], [ty, mean, rstd])
    case("graph.layer_norm_grad" + name, "%r0, %r1, %r2 = graph.layer_norm_grad %a0, %a1, %a2, %a3, %a4 : ({a0}, {a1}, "
         "{a2}, {a3}, {a4}) -> ({r0}, {r1}, {r2})", [x, scale, mean, rstd, dy],
         torch.autograd.grad(ty, (tx, ts, tb), torch.tensor(dy)))
    ty = F.rms_norm(tx, inner, ts, 1e-3)
    rstd = torch.rsqrt((torch.tensor(x)**2).mean(list(range(len(rows), len(shape)))) + 1e-3)
    case("graph.rms_norm" + name, "%r0, %r1 = graph.rms_norm %a0, %a1 {epsilon = 1.0e-3 : f64} : ({a0}, {a1}) -> "
         "({r0}, {r1})", [x, scale], [ty, rstd])
    case("graph.rms_norm_grad" + name, "%r0, %r1 = graph.rms_norm_grad %a0, %a1, %a2, %a3 : ({a0}, {a1}, {a2}, {a3}) "
         "-> ({r0}, {r1})", [x, scale, rstd, dy], torch.autograd.grad(ty, (tx, ts), torch.tensor(dy)))
x, scale = normal(2, 3, 5), normal(5)
case("graph.layer_norm_without_bias", "%r0, %r1, %r2 = graph.layer_norm %a0, %a1 {epsilon = 1.0e-3 : f64} : ({a0}, "
     "{a1}) -> ({r0}, {r1}, {r2})", [x, scale],
     [v.reshape(r) for v, r in zip(torch.native_layer_norm(torch.tensor(x), (5,), torch.tensor(scale), None, 1e-3),
                                   ((2, 3, 5), (2, 3), (2, 3)))])
x = np.concatenate([np.linspace(-6, 6, 17), np.round(rng.standard_normal(8), 4)])
for kind in ("none", "tanh"):
    tx, dy = torch.tensor(x, requires_grad=True), normal(len(x))
    ty = F.gelu(tx, approximate=kind)
    case("graph.gelu_" + kind, f"%r0 = graph.gelu {kind} %a0 : {{a0}}", [x], [ty])
    case("graph.gelu_grad_" + kind, f"%r0 = graph.gelu_grad {kind} %a0, %a1 : {{a0}}", [x, dy],
         torch.autograd.grad(ty, tx, torch.tensor(dy)))

# name, heads, groups, queries, keys, depth, width, causal, shape of the mask
for name, h, g, tq, tk, d, w, causal, mask_shape in [
        ("", 2, 2, 3, 4, 5, 6, False, None), ("_causal", 2, 2, 5, 5, 3, 2, True, None),
        ("_causal_more_keys", 1, 1, 3, 5, 2, 2, True, None), ("_causal_more_queries", 1, 1, 5, 3, 2, 2, True, None),
        ("_grouped", 4, 2, 3, 3, 2, 2, False, None), ("_masked", 2, 2, 3, 4, 5, 2, False, (2, 1, 3, 4)),
        ("_mask_of_keys", 2, 1, 3, 4, 2, 2, False, (2, 1, 1, 4))]:
    q, k, v, dy = normal(2, h, tq, d), normal(2, g, tk, d), normal(2, g, tk, w), normal(2, h, tq, w)
    arguments, mask = [q, k, v], None
    if mask_shape:
        mask = normal(*mask_shape)
        mask[0, 0, 0, 1] = -np.inf
        if mask_shape[2] > 1:
            mask[1, 0, 1] = -np.inf  # a row that sees nothing
    tq_, tk_, tv_ = (torch.tensor(a, requires_grad=True) for a in arguments)
    tm = None if mask is None else torch.tensor(mask)
    ty = F.scaled_dot_product_attention(tq_, tk_, tv_, tm, is_causal=causal, scale=0.3, enable_gqa=h != g)
    scores = 0.3 * tq_ @ tk_.repeat_interleave(h // g, 1).transpose(2, 3)
    if mask is not None:
        scores = scores + tm
    if causal:
        scores = scores.masked_fill(torch.ones(tq, tk).tril() == 0, -torch.inf)
    lse = torch.logsumexp(scores, 3)
    attributes = "{scale = 0.3 : f64" + (", causal}" if causal else "}")
    masked = [] if mask is None else [mask]
    case("graph.attention" + name, "%r0, %r1 = graph.attention %a0, %a1, %a2 " + ("mask %a3 " if masked else "") +
         attributes + " : ({a0}, {a1}, {a2}" + (", {a3}" if masked else "") + ") -> ({r0}, {r1})",
         arguments + masked, [ty, lse])
    case("graph.attention_grad" + name, "%r0, %r1, %r2 = graph.attention_grad %a0, %a1, %a2, %a3, %a4, %a5 " +
         ("mask %a6 " if masked else "") + attributes + " : ({a0}, {a1}, {a2}, {a3}, {a4}, {a5}" +
         (", {a6}" if masked else "") + ") -> ({r0}, {r1}, {r2})", arguments + [ty, lse, dy] + masked,
         torch.autograd.grad(ty, (tq_, tk_, tv_), torch.tensor(dy)))

x = np.concatenate([np.linspace(-6, 6, 17), np.round(rng.standard_normal(8), 4)])
tx, dy = torch.tensor(x, requires_grad=True), normal(len(x))
ty = F.silu(tx)
case("graph.silu", "%r0 = graph.silu %a0 : {a0}", [x], [ty])
case("graph.silu_grad", "%r0 = graph.silu_grad %a0, %a1 : {a0}", [x, dy], torch.autograd.grad(ty, tx, torch.tensor(dy)))
case("graph.sigmoid", "%r0 = graph.sigmoid %a0 : {a0}", [x], [torch.sigmoid(tx)])

with open(os.path.join(HERE, "goldens.json"), "w") as file:
    file.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in CASES) + "\n]\n")
print(f"{len(CASES)} cases, {os.path.getsize(os.path.join(HERE, 'goldens.json'))} bytes")
