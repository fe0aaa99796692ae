# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transposed convolutions whose windows lie side by side, in PyTorch's bits.

`python test_transposed_convolution.py` prints the hashes with PyTorch (2.15, one and two threads)."""

import hashlib

import numpy as np
import pytest
from models import make_model
from onnx import helper

# Image, filters, sides of the window, SHA-256 of the result.
CASES = [
    ((2, 64, 40), 24, (4,), "6bdef5c2769e69dd8c5a68fb1db1ff680f23d78524300a72c52ac159161acbd2"),
    ((2, 128, 8, 7), 64, (2, 2), "e9d4fb88f624ddde501a507ba929b846fd12888dea5f5fa3a0891a9647a35dc7"),
    ((3, 40, 5, 6), 20, (3, 2), "d104fa27bb420c0366a4d4d9dba6a327417b3a664e8df2ed6fb0b1597d327fa5"),
    ((2, 32, 4, 5, 6), 16, (2, 2, 2), "529837fd1a87d1f8b7bf9dabb76c0af8d2efa6067133e3a248e76527d9c09af4"),
]


def tensors(shape, filters, window):
    """Numbers of 24 bits, so that sums round."""
    generator = np.random.RandomState(7)

    def uniform(*sizes):
        return (generator.randint(-2**23, 2**23, sizes) / 2.0**23).astype(np.float32)

    return uniform(*shape), uniform(shape[1], filters, *window), uniform(filters)


def digest(result):
    return hashlib.sha256(np.ascontiguousarray(result).tobytes()).hexdigest()


@pytest.mark.parametrize("shape, filters, window, expected", CASES, ids=["line", "plane", "oblong", "volume"])
def test_bits_are_pytorchs(shape, filters, window, expected):
    import bessemer
    x, weight, bias = tensors(shape, filters, window)
    sizes = [shape[0], filters, *(n * k for n, k in zip(shape[2:], window))]
    model = make_model([helper.make_node("ConvTranspose", ["x", "w", "b"], ["y"], strides=list(window))],
                       [("x", "f", shape)], [("y", "f", sizes)], {"w": weight, "b": bias})
    # PyTorch's were recorded on a machine with AVX2.
    session = bessemer.compile(model).session(device="cpu:x86-64-v3")
    result = np.asarray(session.predict({"x": x})["y"])
    # Each element is one sum over the channels.
    letters = "hwd"[:len(window)], "ijk"[:len(window)]
    exact = np.einsum(f"nc{letters[0]},co{letters[1]}->no{''.join(a + b for a, b in zip(*letters))}",
                      x.astype(np.float64), weight.astype(np.float64)).reshape(sizes)
    exact += bias.reshape(-1, *[1] * len(window))
    assert np.abs(result - exact).max() < 1e-5
    assert digest(result) == expected


if __name__ == "__main__":
    import torch
    for shape, filters, window, expected in CASES:
        convolve = getattr(torch.nn.functional, f"conv_transpose{len(window)}d")
        arrays = [torch.from_numpy(array) for array in tensors(shape, filters, window)]
        for threads in (1, 2):
            torch.set_num_threads(threads)
            result = convolve(*arrays, stride=window).numpy()
            print(shape, threads, digest(result), "as recorded" if digest(result) == expected else "another")
