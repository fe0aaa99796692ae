# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ONNX backend interface (onnx.backend.base.Backend) over `predict`.

    import bessemer.onnx_backend as backend
    outputs = backend.prepare(model).run([x])
"""

import numpy as np
import onnx
from onnx.backend.base import Backend, BackendRep

from ._program import Error, compile


class BessemerRep(BackendRep):
    """A model ready to run."""

    def __init__(self, program):
        self._session = program.session()
        signature = program.functions["predict"]
        self._inputs, self._outputs = list(signature["inputs"]), list(signature["outputs"])

    def run(self, inputs, **kwargs):
        """Runs on a list of arrays in the order of the model's inputs and
        returns its outputs in order."""
        if len(inputs) != len(self._inputs):
            raise Error(f"expected {len(self._inputs)} inputs ({', '.join(self._inputs)}), got {len(inputs)}")
        arrays = {name: self._session._array("predict", name, np.asarray(value))
                  for name, value in zip(self._inputs, inputs)}
        self._session._run("predict", arrays)
        return tuple(self._session._core.output("predict", name).copy() for name in self._outputs)


class BessemerBackend(Backend):
    """Compiles and runs models on the CPU."""

    @classmethod
    def is_compatible(cls, model, device="CPU", **kwargs):
        try:
            compile(model)
        except Error:
            return False
        return cls.supports_device(device)

    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        super().prepare(model, device, **kwargs)
        return BessemerRep(compile(model, **kwargs))

    @classmethod
    def run_model(cls, model, inputs, device="CPU", **kwargs):
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node, inputs, device="CPU", outputs_info=None, **kwargs):
        """Runs one node; output types come from ONNX's shape inference."""
        super().run_node(node, inputs, device, outputs_info, **kwargs)
        arrays = [np.asarray(value) for value in inputs]
        values = [onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
                  for name, a in zip(node.input, arrays)]
        outputs = [onnx.helper.make_empty_tensor_value_info(name) for name in node.output]
        graph = onnx.helper.make_graph([node], "node", values, outputs)
        model = onnx.shape_inference.infer_shapes(
            onnx.helper.make_model(graph, **({"opset_imports": kwargs.pop("opset_imports")}
                                             if "opset_imports" in kwargs else {})))
        return cls.run_model(model, arrays, device, **kwargs)

    @classmethod
    def supports_device(cls, device):
        return device == "CPU"


is_compatible = BessemerBackend.is_compatible
prepare = BessemerBackend.prepare
run_model = BessemerBackend.run_model
run_node = BessemerBackend.run_node
supports_device = BessemerBackend.supports_device
