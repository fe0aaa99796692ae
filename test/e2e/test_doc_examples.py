# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples in the descriptions of ops and passes are true."""

import os

import pytest

from doc_examples import complete, op_examples, parse, pass_examples

OPT = os.path.join(os.environ.get("BESSEMER_BUILD", "build"), "bin", "bessemer-opt")


@pytest.mark.parametrize("name,blocks", op_examples(), ids=lambda value: value if isinstance(value, str) else "")
def test_the_examples_of_an_op_parse_and_round_trip(name, blocks):
    if name[0] in "#!" and not blocks:
        return  # a small attribute or type is seen in the ops' examples
    assert blocks, "expected an example in the description"
    for block in blocks:
        assert name in block or name[0] in "#!", "expected the op in its example"
        result = parse(complete(name, block, OPT), OPT)
        assert result.returncode == 0, result.stderr
        assert name.lstrip("#!") in result.stdout
        again = parse(result.stdout, OPT)
        assert again.stdout == result.stdout, again.stderr


@pytest.mark.parametrize("name,blocks", pass_examples(), ids=lambda value: value if isinstance(value, str) else "")
def test_the_example_of_a_pass_becomes_what_it_says(name, blocks):
    """The first block is what the pass gets, the second, if there is one, what
    it makes of it."""
    assert 1 <= len(blocks) <= 2, "expected an example of what the pass gets, and perhaps of what it makes"
    result = parse(blocks[0], OPT, f"--{name}")
    assert result.returncode == 0, result.stderr
    if len(blocks) == 2:
        expected = parse(blocks[1], OPT)
        assert expected.returncode == 0, expected.stderr
        assert result.stdout == expected.stdout
