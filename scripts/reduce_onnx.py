#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes an ONNX model small while a command finds it interesting.

    reduce_onnx.py model.onnx -o small.onnx -- sh -c '! bessemer compile "$0" -o /dev/null 2>&1 | grep -q "TopK"'

The command gets the file of a candidate as last argument and exits with 0 when
it is interesting. Outputs are dropped; ranges of nodes, from halves of the
graph down to single ones, become inputs; what is not used then goes.
bessemer-reduce does the same for modules of the compiler.
"""

import argparse
import copy
import os
import subprocess
import sys
import tempfile

import onnx
from onnx import shape_inference


def types_of(model):
    """Types of all values, where ONNX can tell."""
    graph = shape_inference.infer_shapes(model).graph
    types = {value.name: value for value in [*graph.value_info, *graph.output, *graph.input]}
    return {name: value for name, value in types.items() if value.type.tensor_type.HasField("shape")}


def drop_unused(graph):
    needed = {output.name for output in graph.output}
    for node in reversed(list(graph.node)):
        if needed.isdisjoint(node.output):
            graph.node.remove(node)
        else:
            needed.update(node.input)
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    needed.update(name for inner in attribute.g.node for name in inner.input)
    for values in (graph.input, graph.initializer):
        for value in [value for value in values if value.name not in needed]:
            values.remove(value)
    del graph.value_info[:]


def cut(model, types, begin, end):
    """Without nodes begin to end, whose values become inputs; None where a type
    is not known."""
    model = copy.deepcopy(model)
    graph = model.graph
    removed = list(graph.node)[begin:end]
    del graph.node[begin:end]
    made = [name for node in removed for name in node.output if name]
    used = {name for node in graph.node for name in node.input} | {output.name for output in graph.output}
    for name in made:
        if name in used:
            if name not in types:
                return None
            graph.input.append(types[name])
    drop_unused(graph)
    return model


def without_output(model, index):
    model = copy.deepcopy(model)
    del model.graph.output[index]
    drop_unused(model.graph)
    return model


def reduce_model(model, is_interesting):
    types = types_of(model)
    changed = True
    while changed:
        changed = False
        for index in reversed(range(len(model.graph.output))):
            if len(model.graph.output) > 1:
                candidate = without_output(model, index)
                if is_interesting(candidate):
                    model, changed = candidate, True
        size = max(1, len(model.graph.node) // 2)
        while size:
            begin = 0
            while begin < len(model.graph.node):
                candidate = cut(model, types, begin, begin + size)
                if candidate is not None and candidate.graph.node and is_interesting(candidate):
                    model, changed = candidate, True
                else:
                    begin += size
            size //= 2
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("command", nargs="+", help="gets a file, exits with 0 when it is interesting")
    arguments = parser.parse_args()
    model = onnx.load(arguments.model)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, os.path.basename(arguments.model))

        def is_interesting(candidate):
            onnx.save(candidate, path)
            return subprocess.run([*arguments.command, path], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL).returncode == 0
        if not is_interesting(model):
            sys.exit(f"reduce_onnx: {arguments.model}: is not interesting: the command does not exit with 0")
        reduced = reduce_model(model, is_interesting)
    onnx.save(reduced, arguments.output)
    print(f"{arguments.model}: {len(model.graph.node)} nodes -> {arguments.output}: {len(reduced.graph.node)} nodes")


if __name__ == "__main__":
    main()
