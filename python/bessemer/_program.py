# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiling models, and the compiled program."""

import json
import os
import warnings as _warnings

from . import _arguments, _core
from ._arguments import Error

_core.set_error_class(Error)


def _compiler_library():
    """The compiler's shared library: installed beside this package, or in the
    build tree that BESSEMER_COMPILER names."""
    given = os.environ.get("BESSEMER_COMPILER")
    if given:
        return given
    here = os.path.dirname(os.path.abspath(__file__))
    return os.path.join(here, "lib", "libbessemer_compiler.so")


def _call(function, *arguments):
    try:
        return function(_compiler_library(), *arguments)
    except RuntimeError as problem:  # the library cannot be opened
        raise Error(str(problem)) from None


def _answer(answer):
    for line in answer.warnings.splitlines():
        _warnings.warn(line, stacklevel=3)
    if answer.status:
        raise Error(answer.error)
    return answer


def _options(values):
    """Python values as the JSON recipe."""
    return json.dumps({key: _arguments.plain(key, value) for key, value in values.items() if value is not None})


def compile(model, *, recipe=None, loss=None, optimizer=None, precision=None,
            target=None, dims=None, batch=None, pass_plugins=None, **options):
    """Compiles an ONNX model and returns a Program.

    model      a path, the bytes of a model, or an onnx.ModelProto
    recipe     a YAML file with any of the options below, as for the command
               line; what is given here replaces what it says
    loss       cross_entropy, nll, mse, bce, bce_with_logits, output, output:NAME;
               without it only `predict` is compiled
    optimizer  a kind ("sgd", "adamw") or {"kind": ..., "lr": ..., ...}; without a
               kind the recipe's optimizer with these constants, else sgd
    precision  "f32"
    target     "cpu" (the default), "cpu:x86-64-v3", "cpu:x86-64-v4", or a list
               of them
    dims       sizes of the model's symbolic dimensions, {"batch": 32}
    batch      size of dimension 0 of every input
    pass_plugins  files of plugins with passes and ops

    Further options have the names of a recipe: accumulate (the parts in which
    train_step computes its batch), clip_norm, train, freeze, class_axis,
    ignore_index, label_smoothing, batch_norm_variance, strict, dump_dir,
    memory_limit (bytes, or a text like "1.5GiB"), verify_numerics, reproducer,
    base_dir. Raises bessemer.Error.
    """
    if target is not None:
        options["targets"] = target
    options.update(loss=loss, optimizer=optimizer, precision=precision, dims=dims, batch=batch,
                   pass_plugins=pass_plugins)
    values = {} if recipe is None else json.loads(_core.read_recipe(_arguments.path("recipe", recipe)))
    given = {key: value for key, value in options.items() if value is not None}
    if given.get("emit", "artifact") != "artifact":
        raise Error("option 'emit': expected artifact, as stages are what `bessemer compile --emit` prints, "
                    f"got {given['emit']!r}")
    # Where the recipe says what is left of it, for errors.
    origins = values.pop("@origins", {})
    for key in given:
        if key != "optimizer" or not isinstance(optimizer, dict) or "kind" in optimizer:
            origins = {name: place for name, place in origins.items() if name.split(".")[0] != key}
        else:
            given[key] = {**values.get(key, {}), **optimizer}
            origins = {name: place for name, place in origins.items()
                       if name != key and name.removeprefix("optimizer.") not in optimizer}
    values.update(given)
    data = None
    if isinstance(model, (str, os.PathLike)):
        values["model"] = _arguments.path("model", model)
    elif isinstance(model, (bytes, bytearray, memoryview)):
        data = bytes(model)
    elif hasattr(model, "SerializeToString"):
        data = model.SerializeToString()
    else:
        raise Error("model: expected a path, bytes or an onnx.ModelProto, "
                    f"got {type(model).__name__}")
    answer = _answer(_call(_core.compile, _options({**values, "@origins": origins}), data))
    name = os.fspath(model) if data is None else "<model>"
    return Program(_core.Program.from_bytes(answer.artifact, name))


def load(path):
    """Loads a compiled program (.bsm): a path, or, as for `compile`, the bytes
    of the file."""
    if isinstance(path, (bytes, bytearray, memoryview)):
        return Program(_core.Program.from_bytes(bytes(path), "<bytes>"))
    text = _arguments.path("path", path)
    return Program(_core.Program.load(text), os.path.abspath(text))


class Program:
    """A compiled program: functions, state and machine code."""

    def __init__(self, core, file=None):
        self._core = core
        self._file = file  # that it was loaded from

    @property
    def functions(self):
        """{function: {"inputs": {name: (dtype, shape)}, "outputs": ...}}"""
        return {
            name: {
                "inputs": {n: (dtype, shape) for n, dtype, shape in inputs},
                "outputs": {n: (dtype, shape) for n, dtype, shape in outputs},
            }
            for name, (inputs, outputs) in self._core.functions().items()
        }

    @property
    def settings(self):
        """How the program was compiled, as text."""
        return self._core.settings()

    @property
    def states(self):
        """{name: {"role", "dtype", "shape", "trainable", "why"}}"""
        keys = ("role", "dtype", "shape", "trainable", "why")
        return {name: dict(zip(keys, rest))
                for name, *rest in self._core.states()}

    @property
    def targets(self):
        """The instruction sets it has code for."""
        return self._core.targets

    def save(self, path):
        """Writes the artifact: beside, then renamed over `path`, which is replaced only
        when it is an artifact (or empty)."""
        self._core.save(_arguments.path("path", path))

    def session(self, device="cpu", threads=0, seed=0):
        """A session: the state of the program on a device. `threads` is at most
        4096, and 0 takes all cores (what OpenMP would take); `seed` is of
        random numbers."""
        from ._session import Session
        return Session(self, device, threads, seed)

    def export(self, checkpoint, path):
        """Writes the model with the weights of a checkpoint as .onnx, whatever
        the checkpoint's optimizer."""
        state = _core.state_file(_arguments.path("checkpoint", checkpoint))
        inputs = [state, os.path.join(os.path.dirname(state), "trainer.json"), *([self._file] if self._file else [])]
        options = {"checkpoint": state, "output": _arguments.output("path", path, inputs)}
        _core.check_model_path(options["output"])
        _answer(_call(_core.export_model, _options(options), self._core.bytes()))
