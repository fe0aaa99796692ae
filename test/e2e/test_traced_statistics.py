# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The TorchScript exporter's tracing run leaves one batch in the running
statistics; a model that is not trained yet starts from mean 0, variance 1."""

import numpy as np
import pytest
from onnx import helper

import bessemer
from models import make_model


def model(mean, variance, producer="pytorch", mode=1):
    outputs = ["y", "m", "v"] if mode else ["y"]
    node = helper.make_node("BatchNormalization", ["x", "scale", "bias", "mean", "var"], outputs,
                            momentum=0.9, training_mode=mode)
    proto = make_model([node], [("x", "f", [4, 2, 3, 3])], [("y", "f", [4, 2, 3, 3])],
                       {"scale": np.ones(2, np.float32), "bias": np.zeros(2, np.float32),
                        "mean": np.float32(mean), "var": np.float32(variance)})
    proto.producer_name = producer
    return proto


def statistics(proto):
    states = bessemer.compile(proto, loss="mse").session().state_dict()
    return states["mean"].tolist(), states["var"].tolist()


def test_one_batch_is_forgotten_with_a_warning():
    with pytest.warns(UserWarning, match="hold one batch only"):
        assert statistics(model([0.01, -0.02], [0.93, 1.7])) == ([0, 0], [1, 1])


def test_a_layer_that_keeps_no_statistics_is_passed_over():
    proto = model([0.01, -0.02], [0.93, 1.7])
    # As PyTorch writes track_running_stats=False: the batch's own, computed.
    own = [helper.make_node("Constant", [], ["axes"], value_ints=[0, 2, 3]),
           helper.make_node("ReduceMean", ["y", "axes"], ["own"], keepdims=0),
           helper.make_node("BatchNormalization", ["y", "scale", "bias", "own", "own"], ["z", "om", "ov"],
                            training_mode=1)]
    proto.graph.node.extend(own)
    proto.graph.output[0].name = "z"
    with pytest.warns(UserWarning, match="its 1 BatchNormalization nodes hold one batch only"):
        assert statistics(proto) == ([0, 0], [1, 1])


@pytest.mark.parametrize("proto", [
    model([0.5, 1.5], [0.25, 1.75]),                      # trained: a variance below the momentum
    model([0.5, 1.5], [1.25, 1.75], producer="other"),    # not PyTorch's exporter
    model([0.5, 1.5], [1.25, 1.75], mode=0),              # exported in inference mode
    model([0, 0], [1, 1]),                                # nothing to forget
])
def test_other_statistics_stay(proto, recwarn):
    stats = {t.name: np.frombuffer(t.raw_data, np.float32).tolist() for t in proto.graph.initializer}
    assert statistics(proto) == (stats["mean"], stats["var"])
    assert not [w for w in recwarn if "batch only" in str(w.message)]
