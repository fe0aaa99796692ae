# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bessemer compiles an ONNX model into one file that trains.

    import bessemer
    program = bessemer.compile("model.onnx", loss="cross_entropy",
                               optimizer={"kind": "adamw", "lr": 3e-4})
    session = program.session()
    metrics = session.train_step({"x": x, "labels": y})
    print(metrics["loss"])
"""

from ._program import Error, Program, compile, load
from ._session import Metrics, Session

__all__ = ["Error", "Metrics", "Program", "Session", "compile", "load"]
__version__ = "0.1.0"
