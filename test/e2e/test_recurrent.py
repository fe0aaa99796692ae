# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""RNN, LSTM and GRU nodes against the formulas of ONNX's operator documents."""

import numpy as np
import pytest
from onnx import helper, numpy_helper

import bessemer
from bessemer.onnx_backend import prepare
from models import make_model

GATES = {"RNN": 1, "LSTM": 4, "GRU": 3}
STEPS, BATCH, INPUT, HIDDEN = 5, 3, 4, 6

ACTIVATIONS = {
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)), "Tanh": np.tanh, "Relu": lambda x: np.maximum(x, 0),
    "Affine": lambda x: 0.7 * x + 0.3, "LeakyRelu": lambda x: np.where(x >= 0, x, 0.05 * x),
    "ThresholdedRelu": lambda x: np.where(x > 1.0, x, 0), "ScaledTanh": lambda x: 1.5 * np.tanh(0.4 * x),
    "HardSigmoid": lambda x: np.clip(0.2 * x + 0.5, 0, 1), "Elu": lambda x: np.where(x >= 0, x, np.exp(x) - 1),
    "Softsign": lambda x: x / (1 + np.abs(x)), "Softplus": lambda x: np.log1p(np.exp(x)),
}


def gates(z, count):
    return [z[:, i * HIDDEN:(i + 1) * HIDDEN] for i in range(count)]


def step(kind, x, h, c, W, R, B, P, f, options):
    """One step of one direction: new h and c."""
    count = GATES[kind]
    wb, rb = B[:count * HIDDEN], B[count * HIDDEN:]
    clip = (lambda v: np.clip(v, -options["clip"], options["clip"])) if "clip" in options else lambda v: v
    if kind == "RNN":
        return f[0](clip(x @ W.T + h @ R.T + wb + rb)), c
    if kind == "LSTM":
        i, o, forget, g = gates(x @ W.T + h @ R.T + wb + rb, 4)
        pi, po, pf = P[:HIDDEN], P[HIDDEN:2 * HIDDEN], P[2 * HIDDEN:]
        i = f[0](clip(i + pi * c))
        forget = 1 - i if options.get("input_forget") else f[0](clip(forget + pf * c))
        c = forget * c + i * f[1](clip(g))
        return f[0](clip(o + po * c)) * f[2](c), c
    xs, (rz, rr, rh) = gates(x @ W.T + wb, 3), (R[i * HIDDEN:(i + 1) * HIDDEN] for i in range(3))
    bz, br, bh = (rb[i * HIDDEN:(i + 1) * HIDDEN] for i in range(3))
    z, r = f[0](clip(xs[0] + h @ rz.T + bz)), f[0](clip(xs[1] + h @ rr.T + br))
    inner = r * (h @ rh.T + bh) if options.get("linear_before_reset") else (r * h) @ rh.T + bh
    return (1 - z) * f[1](clip(xs[2] + inner)) + z * h, c


def expected(kind, a, f, direction, options):
    directions = 2 if direction == "bidirectional" else 1
    ys, hs, cs = [], [], []
    for d in range(directions):
        h, c = a["h"][d], a["c"][d]
        order = range(STEPS) if direction == "forward" or (directions == 2 and d == 0) else range(STEPS)[::-1]
        y = np.zeros((STEPS, BATCH, HIDDEN))
        per = len(f) // directions
        for t in order:
            h, c = step(kind, a["x"][t], h, c, a["W"][d], a["R"][d], a["B"][d], a["P"][d], f[d * per:(d + 1) * per],
                        options)
            y[t] = h
        ys.append(y), hs.append(h), cs.append(c)
    return np.stack(ys, 1), np.stack(hs), np.stack(cs)


def arrays(kind, directions):
    rng, count = np.random.default_rng(7), GATES[kind]
    uniform = lambda *shape: rng.uniform(-1, 1, shape).astype(np.float32)  # noqa: E731
    return {"x": uniform(STEPS, BATCH, INPUT), "W": uniform(directions, count * HIDDEN, INPUT),
            "R": uniform(directions, count * HIDDEN, HIDDEN), "B": uniform(directions, 2 * count * HIDDEN),
            "h": uniform(directions, BATCH, HIDDEN), "c": uniform(directions, BATCH, HIDDEN),
            "P": uniform(directions, 3 * HIDDEN)}


def check(kind, direction="forward", layout=0, names=None, alpha=None, beta=None, absent=(), lengths=False, **options):
    directions = 2 if direction == "bidirectional" else 1
    a = arrays(kind, directions)
    for name in absent:
        a[name] = np.zeros_like(a[name])
    default = {"RNN": ["Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"]}[kind]
    f = [ACTIVATIONS[n] for n in (names or default * directions)]
    y, h, c = expected(kind, {k: v.astype(np.float64) for k, v in a.items()}, f, direction, options)

    attributes = dict(hidden_size=HIDDEN, direction=direction, layout=layout, **options)
    if names:
        attributes["activations"] = names
    if alpha:
        attributes["activation_alpha"] = alpha
    if beta:
        attributes["activation_beta"] = beta
    swap = (lambda v: np.ascontiguousarray(v.swapaxes(0, 1))) if layout else lambda v: v
    inputs = ["x", "W", "R", "B", "lengths" if lengths else "", "h"] + (["c", "P"] if kind == "LSTM" else [])
    initializers = {k: a[k] for k in "WRBP" if k in inputs and k not in absent}
    if lengths:
        initializers["lengths"] = np.full(BATCH, STEPS, np.int32)
    states = [k for k in ("h", "c") if k in inputs and k not in absent]
    inputs = ["" if i in absent else i for i in inputs]
    while not inputs[-1]:
        inputs.pop()
    outputs = [("y", list((y.transpose(2, 0, 1, 3) if layout else y).shape)), ("yh", list(swap(h).shape))]
    if kind == "LSTM":
        outputs.append(("yc", list(swap(c).shape)))
    model = make_model([helper.make_node(kind, inputs, [n for n, _ in outputs], **attributes)],
                       [("x", "f", list(swap(a["x"]).shape))] + [(k, "f", list(swap(a[k]).shape)) for k in states],
                       [(n, "f", s) for n, s in outputs], initializers, opset=22)
    results = prepare(model, verify_numerics=True).run([swap(a["x"])] + [swap(a[k]) for k in states])
    got = dict(zip([name for name, _ in outputs], results))
    want = {"y": y.transpose(2, 0, 1, 3) if layout else y, "yh": swap(h), "yc": swap(c)}
    for name, _ in outputs:
        np.testing.assert_allclose(got[name], want[name], rtol=1e-5, atol=2e-6, err_msg=name)


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("layout", [0, 1])
def test_directions_and_layouts(kind, direction, layout):
    check(kind, direction, layout)


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("absent", [("B",), ("h", "c", "P"), ("B", "h", "c", "P")])
def test_optional_inputs(kind, absent):
    check(kind, absent=absent)


def test_gru_scales_the_product_or_the_state():
    check("GRU", linear_before_reset=1)
    check("GRU", "bidirectional", linear_before_reset=1, absent=("B",))


def test_lstm_couples_its_gates():
    check("LSTM", input_forget=1)


@pytest.mark.parametrize("kind", GATES)
def test_clip_and_lengths(kind):
    check(kind, clip=0.4, lengths=True)


@pytest.mark.parametrize("name,alpha,beta", [
    ("Relu", None, None), ("Affine", [0.7], [0.3]), ("LeakyRelu", [0.05], None), ("ThresholdedRelu", None, None),
    ("ScaledTanh", [1.5], [0.4]), ("HardSigmoid", None, None), ("Elu", None, None), ("Softsign", None, None),
    ("Softplus", None, None), ("Sigmoid", None, None)])
def test_activations(name, alpha, beta):
    check("RNN", names=[name], alpha=alpha, beta=beta)


def test_activations_of_directions_take_their_own_constants():
    check("GRU", "bidirectional", names=["Sigmoid", "LeakyRelu", "HardSigmoid", "Affine"], alpha=[0.05, 0.2, 0.7],
          beta=[0.5, 0.3])


@pytest.mark.parametrize("attributes,extra,message", [
    (dict(direction="sideways"), {}, "expected direction forward, reverse or bidirectional, got 'sideways'"),
    (dict(activations=["Sine"]), {}, "expected an activation of ONNX, got 'Sine'"),
    (dict(activations=["Tanh", "Tanh"]), {}, "expected 1 activations, got 2"),
    ({}, {"lengths": np.array([5, 4, 5], np.int32)}, r"expected sequence_lens of 5 \(the whole sequence\), got 4"),
    ({}, {"R": np.zeros((1, HIDDEN, HIDDEN + 1), np.float32)}, "expected input 'R' of shape"),
])
def test_refuses(attributes, extra, message):
    a = {**arrays("RNN", 1), **extra}
    inputs = ["x", "W", "R", "B"] + (["lengths"] if "lengths" in a else [])
    graph = helper.make_graph(
        [helper.make_node("RNN", inputs, ["y"], hidden_size=HIDDEN, **attributes)], "g",
        [helper.make_tensor_value_info("x", 1, [STEPS, BATCH, INPUT])],
        [helper.make_tensor_value_info("y", 1, [STEPS, 1, BATCH, HIDDEN])],
        [numpy_helper.from_array(a[k], k) for k in inputs if k != "x"])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)])
    model.ir_version = 10
    with pytest.raises(bessemer.Error, match=message):
        bessemer.compile(model)


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("direction", ["reverse", "bidirectional"])
def test_gradients_are_central_differences(kind, direction):
    """An SGD step with rate 1 moves weights by the gradient of the mean square
    error, which central differences of the formulas' loss give in float64."""
    directions = 2 if direction == "bidirectional" else 1
    a = {k: v.astype(np.float64) for k, v in arrays(kind, directions).items()}
    names = {"RNN": ["Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"]}[kind] * directions
    f = [ACTIVATIONS[n] for n in names]
    target = np.random.default_rng(3).uniform(-1, 1, (STEPS, directions, BATCH, HIDDEN))

    def loss():
        return np.mean((expected(kind, a, f, direction, {})[0] - target) ** 2)

    weights, states = ["W", "R", "B"] + (["P"] if kind == "LSTM" else []), ["h", "c"] if kind == "LSTM" else ["h"]
    inputs = ["x", "W", "R", "B", "", "h"] + (["c", "P"] if kind == "LSTM" else [])
    initializers = {k: a[k].astype(np.float32) for k in inputs if k and k != "x"}
    model = make_model([helper.make_node(kind, inputs, ["y"], hidden_size=HIDDEN, direction=direction)],
                       [("x", "f", [STEPS, BATCH, INPUT])], [("y", "f", list(target.shape))], initializers, opset=22)
    program = bessemer.compile(model, loss="mse", optimizer={"kind": "sgd", "lr": 1.0}, train=weights + states,
                               verify_numerics=True)
    session = program.session()
    got = session.train_step({"x": a["x"].astype(np.float32), "labels": target.astype(np.float32)})
    assert got["loss"] == pytest.approx(loss(), rel=1e-5)
    after = session.state_dict()
    rng = np.random.default_rng(1)
    for name in weights + states:
        for _ in range(6):
            at = tuple(rng.integers(n) for n in a[name].shape)
            moved = a[name][at].astype(np.float32) - after[name][at]
            value, eps = a[name][at], 1e-5
            a[name][at] = value + eps
            above = loss()
            a[name][at] = value - eps
            below = loss()
            a[name][at] = value
            # The moved weight is rounded to float32: 6e-8 of at most 1.
            assert moved == pytest.approx((above - below) / (2 * eps), rel=1e-4, abs=3e-7), (name, at)
