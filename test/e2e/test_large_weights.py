# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights beyond 2 GB: external data, offsets of 64 bits."""

import struct

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

ROWS, WIDTH = 17_000_000, 32  # 2.2 GB


def external(name, rows, width, file):
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[rows, width],
                         data_location=TensorProto.EXTERNAL)
    for key, value in {"location": file, "offset": 0, "length": rows * width * 4}.items():
        tensor.external_data.add(key=key, value=str(value))
    return tensor


@pytest.mark.long
def test_table_of_more_than_2_gb(tmp_path, cli):
    rows = {0: 1.5, 123: -2.0, 16_900_000: 3.25, ROWS - 1: 4.0}
    with open(tmp_path / "table.bin", "wb") as file:
        file.truncate(ROWS * WIDTH * 4)  # sparse: takes no room but for the rows
        for row, value in rows.items():
            file.seek(row * WIDTH * 4)
            file.write(struct.pack("<f", value) * WIDTH)
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "x"], ["rows"], axis=0),
         helper.make_node("ReduceSum", ["rows", "axis"], ["y"], keepdims=0)],
        "lookup", [helper.make_tensor_value_info("x", TensorProto.INT64, [5])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [5])],
        [external("table", ROWS, WIDTH, "table.bin"), helper.make_tensor("axis", TensorProto.INT64, [1], [1])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, tmp_path / "model.onnx")

    compiled = cli("compile", tmp_path / "model.onnx", "-o", tmp_path / "model.bsm", "--freeze", "table", timeout=600)
    assert compiled.returncode == 0, compiled.stderr
    index = np.array([*rows, 5], dtype=np.int64)
    np.save(tmp_path / "x.npy", index)
    ran = cli("run", tmp_path / "model.bsm", "--function", "predict", "--input", f"x={tmp_path / 'x.npy'}",
              "--output-dir", tmp_path / "out", timeout=600)
    assert ran.returncode == 0, ran.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "y.npy"),
                                  np.array([*rows.values(), 0], dtype=np.float32) * WIDTH)
