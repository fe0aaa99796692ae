# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ```mlir blocks of the descriptions of ops and passes, made complete.

An example of an op names values that are not there. Each gets a definition
whose type the parser's error tells.
"""

import json
import os
import re
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TBLGEN = "/usr/lib/llvm-22/bin/llvm-tblgen"
MLIR_INCLUDE = "/usr/lib/llvm-22/include"
OP_FILES = [f"Dialect/{level}/IR/{level}Ops.td" for level in ("Graph", "Kern", "Exec")]
PASS_FILES = ["Training/Passes.td", "Fusion/Passes.td", "Memory/Passes.td"]

# What an example needs around it.
AROUND = {
    "graph.read": "graph.state @fc.weight parameter : tensor<10x84xf32> = dense<0.0> : tensor<10x84xf32>\n{}",
    "graph.write": "graph.state @fc.weight parameter : tensor<10x84xf32> = dense<0.0> : tensor<10x84xf32>\n{}",
    **{f"exec.{op}": "exec.program @p inputs = [] outputs = [] {{\n{}\n}}"
       for op in ("arena", "launch", "library", "copy", "fill", "repeat")},
}


def records(file):
    output = subprocess.run([TBLGEN, "--dump-json", f"-I{MLIR_INCLUDE}", f"-I{ROOT}/include",
                             f"{ROOT}/include/bessemer/{file}"], capture_output=True, text=True, check=True).stdout
    return json.loads(output)


def blocks(description):
    return [re.sub(r"(?m)^    ", "", block) for block in
            re.findall(r"```mlir\n(.*?)```", description or "", re.DOTALL)]


def op_examples():
    """[(op, blocks)] of all ops; attributes and types are "#kern.layout", ..."""
    found = {}
    for file in OP_FILES:
        table = records(file)
        for kind, prefix, key in (("Op", "", "opName"), ("AttrDef", "#", "mnemonic"), ("TypeDef", "!", "mnemonic")):
            for name in table["!instanceof"].get(kind, []):
                record = table[name]
                dialect = record["opDialect" if kind == "Op" else "dialect"]["def"]
                namespace = table[dialect]["name"]
                if namespace not in ("graph", "kern", "exec") or not record[key]:
                    continue
                if kind == "AttrDef" and any(parent in table["!instanceof"].get("EnumAttr", []) for parent in [name]):
                    continue
                found[f"{prefix}{namespace}.{record[key]}"] = blocks(record["description"])
    return sorted(found.items())


def pass_examples():
    """[(pass, blocks)] of all passes."""
    found = {}
    for file in PASS_FILES:
        table = records(file)
        for name in table["!instanceof"].get("Pass", []):
            found[table[name]["argument"]] = blocks(table[name]["description"])
    return sorted(found.items())


def complete(name, example, opt):
    """`example` as a module: what it needs around it, and definitions of the
    values that it uses."""
    if name[0] in "#!":
        return f'"doc.holder"() {{value = {example.strip()}\n}} : () -> ()'
    text = AROUND.get(name, "{}").format(example)
    code = re.sub(r"//.*", "", text)
    defined = set(re.findall(r"(?m)^\s*((?:%[\w.]+(?::\d+)?(?:,\s*)?)+)\s*=", code))
    defined = {value for group in defined for value in re.findall(r"%[\w.]+", group)}
    defined |= {value for group in re.findall(r"\^\w+\((.*?)\)\s*:", code) for value in re.findall(r"%[\w.]+", group)}
    types = {value: "none" for value in dict.fromkeys(re.findall(r"%[\w.]+", code)) if value not in defined}
    while True:
        whole = "".join(f'{value} = "doc.value"() : () -> {type}\n' for value, type in types.items()) + text
        result = parse(whole, opt)
        wrong = re.search(r"use of value '(%[\w.]+)' expects different type than prior uses: '(.*?)' vs 'none'",
                          result.stderr)
        if not wrong:
            return whole
        types[wrong[1]] = wrong[2]


def parse(text, opt, *flags):
    return subprocess.run([opt, "--allow-unregistered-dialect", *flags], input=text, capture_output=True, text=True)
