# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles damaged models through the compiler's C interface. A process of its
own (test_fuzz_models.py starts it), so that a crash ends only this batch.

    fuzz_models.py LIBRARY FIRST COUNT

Prints one line per mutant: its number, then the status and the error. The
number is printed before the compilation: the last line names the mutant that
ended the process."""

import ctypes
import json
import os
import random
import sys

GOLDENS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "goldens")
NUMBERS = [0, 1, 2, 3, 7, 8, 16, 64, 1 << 16, 1 << 31, 1 << 32, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 1,
           (1 << 64) - 2]


def read_varint(data, at):
    value = shift = 0
    while at < len(data) and shift < 64:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at
    raise ValueError


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def parse(data, depth=0):
    """Protobuf fields as [number, wire type, number | bytes | fields]; bytes
    that are no message stay bytes."""
    fields, at = [], 0
    while at < len(data):
        tag, at = read_varint(data, at)
        number, wire = tag >> 3, tag & 7
        if not 0 < number <= 100 or wire not in (0, 1, 2, 5):
            raise ValueError
        if wire == 0:
            value, at = read_varint(data, at)
        else:
            size, at = (8, at) if wire == 1 else (4, at) if wire == 5 else read_varint(data, at)
            if at + size > len(data):
                raise ValueError
            value = data[at:at + size]
            at += size
            if wire == 2 and value and depth < 12:
                try:
                    inner = parse(value, depth + 1)
                    value = inner if write(inner) == value else value
                except ValueError:
                    pass
        fields.append([number, wire, value])
    return fields


def write(fields):
    out = b""
    for number, wire, value in fields:
        out += varint(number << 3 | wire)
        if wire == 0:
            out += varint(value)
        else:
            value = write(value) if isinstance(value, list) else value
            out += (varint(len(value)) if wire == 2 else b"") + value
    return out


def places(fields):
    for i, (_, _, value) in enumerate(fields):
        yield fields, i
        if isinstance(value, list):
            yield from places(value)


def mutate(model, donor, rng):
    siblings, i = rng.choice(list(places(model)))
    number, wire, value = siblings[i]
    kind = rng.randrange(6)
    if kind == 0:
        del siblings[i]
    elif kind == 1:
        siblings.insert(i, parse(write([siblings[i]]))[0])
    elif kind == 2:
        j = rng.randrange(len(siblings))
        siblings[i], siblings[j] = siblings[j], siblings[i]
    elif kind == 3:
        # The same field of another message.
        same = [f[j] for f, j in places(donor) if f[j][:2] == [number, wire]]
        if same:
            siblings[i] = parse(write([rng.choice(same)]))[0]
    elif wire == 0:
        siblings[i][2] = rng.choice(NUMBERS)
    else:
        data = bytearray(write(value) if isinstance(value, list) else value)
        if data:
            data[rng.randrange(len(data))] = rng.randrange(256)
        siblings[i][2] = bytes(data)


def make_mutant(index):
    """(model bytes, options) of mutant `index`."""
    rng = random.Random(index)
    names = sorted(name for name in os.listdir(GOLDENS) if os.path.exists(os.path.join(GOLDENS, name, "model.onnx")))
    name = rng.choice(names)

    def load(name):
        with open(os.path.join(GOLDENS, name, "model.onnx"), "rb") as file:
            return file.read()
    with open(os.path.join(GOLDENS, name, "case.json")) as file:
        case = json.load(file)
    # One level: the others compile the same program.
    options = {"loss": case["loss"], "batch": 4, "targets": ["cpu:x86-64-v3"], "optimizer": "sgd"}
    if rng.random() < 0.1:
        data = bytearray(load(name))
        for _ in range(rng.randrange(1, 8)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        return bytes(data[:rng.randrange(len(data))] if rng.random() < 0.3 else data), options
    model, donor = parse(load(name)), parse(load(rng.choice(names)))
    for _ in range(rng.randrange(1, 3)):
        mutate(model, donor, rng)
    return write(model), options


def main(library, first, count):
    compiler = ctypes.CDLL(library)
    compiler.bsc_compile.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t,
                                     ctypes.POINTER(ctypes.c_void_p)]
    compiler.bsc_result_error.argtypes = compiler.bsc_result_free.argtypes = [ctypes.c_void_p]
    compiler.bsc_result_error.restype = ctypes.c_char_p
    for index in range(first, first + count):
        print(index, end=" ", flush=True)
        model, options = make_mutant(index)
        result = ctypes.c_void_p()
        status = compiler.bsc_compile(json.dumps(options).encode(), model, len(model), ctypes.byref(result))
        print(status, json.dumps(compiler.bsc_result_error(result).decode(errors="replace")), flush=True)
        compiler.bsc_result_free(result)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
