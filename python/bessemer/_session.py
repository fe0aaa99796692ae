# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running a compiled program."""

import collections.abc
import contextlib
import functools
import threading
import weakref

import numpy as np

from . import _arguments, _core
from ._arguments import Error

_DTYPES = {"f32": "float32", "f64": "float64", "f16": "float16", "i8": "int8",
           "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8",
           "u16": "uint16", "u32": "uint32", "u64": "uint64", "bool": "bool"}


_MOST_SEED = 2 ** 64 - 1
# A step's batches count on above these bits, for random numbers of their own.
_MOST_STEP = 2 ** 32 - 1


class Metrics(collections.abc.Mapping):
    """The results of one call, read from the device when asked for, which uses
    the session."""

    def __init__(self, session, function, names):
        self._session, self._function, self._names = session, function, names
        self._values = {}

    def __getitem__(self, name):
        if name not in self._names:
            raise KeyError(name)
        if name not in self._values:
            with self._session._used_by(name):
                self._read(name)
        return self._values[name]

    def _read(self, name):
        # Another thread's call may have settled it meanwhile.
        if name not in self._values:
            value = self._session._core.output(self._function, name)
            self._values[name] = value.item() if value.ndim == 0 else value.copy()

    def __iter__(self):
        return iter(self._names)

    def __len__(self):
        return len(self._names)

    def __repr__(self):
        return repr(dict(self))

    def _settle(self):
        """Reads everything, before the next call of the session, which is in
        use by it, overwrites it."""
        for name in self._names:
            self._read(name)


def _alone(method):
    """Of a session: for the time of the call it serves no other."""
    @functools.wraps(method)
    def call(self, *arguments, **options):
        with self._used_by(method.__name__):
            return method(self, *arguments, **options)
    return call


class Session:
    """State on a device, for one thread at a time. Made by Program.session."""

    def __init__(self, program, device, threads, seed):
        if not isinstance(device, str):
            raise Error(f"device: expected text such as 'cpu', got {type(device).__name__}")
        threads = _arguments.count("threads", threads, _core.most_threads)
        self.seed = seed
        self.program = program
        self._core = _core.Session.create(program._core, device, threads)
        self._functions = program.functions
        self._last = {}
        self._use = threading.Lock()
        self.step = 0
        self.learning_rate = float(program.settings.get("lr", 0.0))

    @contextlib.contextmanager
    def _used_by(self, what):
        """A call that meets another one in the session, of another thread or of
        its own, fails and does nothing."""
        if not self._use.acquire(blocking=False):
            raise Error(f"{what}: the session is in use")
        try:
            yield
        finally:
            self._use.release()

    @property
    def step(self):
        """Calls of train_step so far; drives random numbers."""
        return self._step

    @step.setter
    def step(self, value):
        self._step = _arguments.count("step", value, _MOST_STEP)

    @property
    def seed(self):
        """Of random numbers."""
        return self._seed

    @seed.setter
    def seed(self, value):
        self._seed = _arguments.count("seed", value, _MOST_SEED)

    @property
    def learning_rate(self):
        """The learning rate of the next train_step."""
        return self._learning_rate

    @learning_rate.setter
    def learning_rate(self, value):
        self._learning_rate = _arguments.rate("learning_rate", value)

    @property
    def target(self):
        """The instruction set whose code runs."""
        return self._core.target

    @property
    def threads(self):
        return self._core.threads

    def memory(self):
        """Bytes held, by kind."""
        return self._core.memory()

    def _signature(self, function):
        if function not in self._functions:
            has = ", ".join(self._functions)
            raise Error(f"{function}: the program has no such function, it has {has}")
        return self._functions[function]

    def _array(self, function, name, value):
        """`value` as the array that input `name` takes, without a copy where
        type and layout allow."""
        inputs = self._signature(function)["inputs"]
        if name not in inputs:
            raise Error(f"{function}: no input is named '{name}', expected "
                        + ", ".join(inputs))
        array = _arguments.convert(f"{function}: input '{name}'", value, _DTYPES[inputs[name][0]])
        # ascontiguousarray would make a scalar one-dimensional.
        return array if array.flags.c_contiguous else array.copy(order="C")

    def _feeds(self, function, feeds):
        if not hasattr(feeds, "items"):
            raise Error(f"{function}: expected a mapping of input names to arrays, got {type(feeds).__name__}")
        arrays = {name: self._array(function, name, value)
                  for name, value in feeds.items()}
        missing = [name for name in self._signature(function)["inputs"]
                   if name not in arrays]
        if missing:
            raise Error(f"{function}: input '{missing[0]}' is missing")
        return arrays

    def _run(self, function, arrays, learning_rate=0.0, valid_rows=None, batch=0):
        last = self._last.pop(function, None)
        if last is not None and last() is not None:
            last()._settle()
        if valid_rows is None:
            valid_rows = max((array.shape[0] for array in arrays.values()
                              if array.ndim), default=0)
        self._core.run(function, arrays, self.step, batch, self.seed, learning_rate, valid_rows)
        metrics = Metrics(self, function, list(self._functions[function]["outputs"]))
        self._last[function] = weakref.ref(metrics)
        return metrics

    @_alone
    def train_step(self, feeds, learning_rate=None):
        """One optimizer step on one batch, {input name: array}. Returns the
        metrics, a lazy mapping. Arrays of another type are converted: for a
        float input numbers, also integers, become the nearest float; between
        integer types they keep their value, or are an error; floats never
        become integers. A loss that is not finite is
        returned as it is, as by `evaluate`, and the step is taken: where
        `bessemer train` and `bessemer eval` end with an error, a program looks
        itself."""
        rate = (self.learning_rate if learning_rate is None
                else _arguments.rate("learning_rate", learning_rate))
        following = _arguments.count("step", self.step + 1, _MOST_STEP)
        arrays = self._feeds("train_step", feeds)
        metrics = self._run("train_step", arrays, rate)
        self.step = following
        return metrics

    def _batches(self, function, feeds):
        """Splits any number of rows into batches, the last one padded by
        repeating its last row, and yields (arrays, valid rows, all rows, batch)."""
        inputs = self._signature(function)["inputs"]
        arrays = self._feeds(function, feeds)
        for name, array in arrays.items():
            shape = inputs[name][1]
            if array.ndim != len(shape) or array.shape[1:] != tuple(shape[1:]):
                expected = ", ".join(map(str, ("rows", *shape[1:]))) if shape else ""
                raise Error(f"{function}: input '{name}': expected the shape [{expected}], got {list(array.shape)}")
        rows = {name: array.shape[0] for name, array in arrays.items() if array.ndim}
        if all(array.shape == tuple(inputs[name][1]) for name, array in arrays.items()):
            # One whole batch; not every input needs to have its rows.
            total = max(rows.values(), default=1)
            yield arrays, total, total, total
            return
        if len(set(rows.values())) > 1:
            raise Error(f"{function}: inputs have different numbers of rows: "
                        + ", ".join(f"{n} {c}" for n, c in rows.items()))
        for name, array in arrays.items():
            self._core.check_ranges(function, name, array)
        total = next(iter(rows.values()), 1)
        batch = self._batch(function)
        for start in range(0, total, batch):
            valid = min(batch, total - start)
            part = {}
            for name, array in arrays.items():
                if name in rows:
                    array = array[start:start + valid]
                    if valid < batch:
                        last = np.repeat(array[-1:], batch - valid, axis=0)
                        array = np.concatenate([array, last])
                part[name] = array
            yield part, valid, total, batch

    def _batch(self, function):
        """Rows of one call: dimension 0 of the first input that has one."""
        inputs = self._signature(function)["inputs"].values()
        return next((shape[0] for _, shape in inputs if shape), 1)

    @_alone
    def predict(self, feeds):
        """The model's outputs in inference mode, {name: array}, for any number
        of rows."""
        outputs = self._signature("predict")["outputs"]
        parts = {name: [] for name in outputs}
        for index, (arrays, valid, total, batch) in enumerate(self._batches("predict", feeds)):
            self._run("predict", arrays, valid_rows=valid, batch=index)
            for name in outputs:
                value = self._core.output("predict", name)
                has_rows = value.ndim and value.shape[0] == batch
                if not has_rows and total != batch:
                    raise Error(f"predict: output '{name}' has no row per input row, so it needs "
                                f"whole batches of {batch} rows, got {total}")
                parts[name].append(value[:valid].copy() if has_rows else value.copy())
        return {name: part[0] if len(part) == 1 else np.concatenate(part) if part
                else self._no_rows(name, *outputs[name]) for name, part in parts.items()}

    def _no_rows(self, name, dtype, shape):
        """Output `name` for no input rows."""
        batch = self._batch("predict")
        if not shape or shape[0] != batch:
            raise Error(f"predict: output '{name}' has no row per input row, so it needs "
                        f"whole batches of {batch} rows, got 0")
        return np.empty((0,) + shape[1:], _DTYPES[dtype])

    @_alone
    def evaluate(self, feeds):
        """Mean loss, and accuracy where the loss is a classification, over any
        number of rows: {"loss": ..., "accuracy": ..., "count": ...}. As in
        `train_step` a loss that is not finite is returned as it is."""
        loss = count = correct = 0.0
        accuracy = "correct" in self._signature("eval_step")["outputs"]
        total = 0
        for index, (arrays, valid, total, batch) in enumerate(self._batches("eval_step", feeds)):
            if self.program.settings["loss"] == "output" and total % batch:
                raise Error("eval_step: the model computes its loss itself, over whole batches: "
                            f"expected a multiple of {batch} rows, got {total}")
            result = self._run("eval_step", arrays, valid_rows=valid, batch=index)
            result._settle()
            loss += result["loss_sum"]
            count += result["count"]
            correct += result["correct"] if accuracy else 0.0
        if not total:
            raise Error("eval_step: expected at least one row, got none: a mean over nothing is no number")
        if not count:
            raise Error("eval_step: no row counts (are all labels ignored?)")
        metrics = {"loss": loss / count, "count": count}
        if accuracy:
            metrics["accuracy"] = correct / count
        return metrics

    @_alone
    def state_dict(self):
        """Every state as an array of its own, {name: array}."""
        return {name: self._core.read_state(name).copy()
                for name in self.program.states}

    @_alone
    def load_state_dict(self, states):
        """Sets every state, or none: a missing or extra name and a wrong shape
        are errors."""
        if not hasattr(states, "items"):
            raise Error(f"expected a mapping of state names to arrays, got {type(states).__name__}")
        names = self.program.states
        for name in names:
            if name not in states:
                raise Error(f"state '{name}' is missing")
        for name in states:
            if name not in names:
                raise Error(f"the program has no state named '{name}'")
        arrays = {}
        for name, value in states.items():
            array = _arguments.convert(f"state '{name}'", value, _DTYPES[names[name]["dtype"]])
            if list(array.shape) != list(names[name]["shape"]):
                raise Error(f"state '{name}': expected the shape {list(names[name]['shape'])}, "
                            f"got {list(array.shape)}")
            # A copy, as a state of the session's own may be among them.
            arrays[name] = array.copy(order="C")
        for name, array in arrays.items():
            self._core.write_state(name, array)

    @_alone
    def save(self, directory):
        """Writes a checkpoint directory, whole or not at all."""
        self._core.save(_arguments.path("directory", directory), self.step, self.seed)

    @_alone
    def load(self, directory, weights_only=False):
        """Reads a checkpoint; training goes on bit by bit as if it had not
        stopped. With `weights_only` it takes parameters and statistics alone,
        from a checkpoint of the same model with any optimizer or none."""
        found = self._core.load(_arguments.path("directory", directory), _arguments.flag("weights_only", weights_only))
        if found:
            self.step, self.seed = found
