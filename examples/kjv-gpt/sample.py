#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes text with a trained model, one character after the other.

    sample.py MODEL.bsm VOCABULARY.json [--prompt TEXT] [--length N] [--temperature X] [--seed N]

The program needs nothing but `predict` with a batch of one.
"""

import argparse
import json

import bessemer
import numpy as np


def next_token(logits, temperature, random):
    """A draw from softmax(logits / temperature); the likeliest one at 0."""
    if temperature == 0:
        return int(logits.argmax())
    scaled = logits.astype(np.float64) / temperature
    weights = np.exp(scaled - scaled.max())
    return int(random.choice(len(logits), p=weights / weights.sum()))


def sample(session, tokens, count, temperature, random):
    """`tokens` and `count` more."""
    tokens = list(tokens)
    (_, (_, window)), = session.program.functions["predict"]["inputs"].values()
    for _ in range(count):
        # What follows a position does not change it, so the row is filled up with anything.
        known = tokens[-window:]
        row = np.zeros((1, window), np.int64)
        row[0, :len(known)] = known
        logits = session.predict({"x": row})["logits"][0, len(known) - 1]
        tokens.append(next_token(logits, temperature, random))
    return tokens


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("vocabulary")
    parser.add_argument("--prompt", default="And God said, ")
    parser.add_argument("--length", type=int, default=400)
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with open(options.vocabulary) as file:
        vocabulary = json.load(file)
    unknown = sorted(set(options.prompt) - set(vocabulary))
    if unknown or not options.prompt:
        parser.error(f"--prompt: expected characters of the text, got {unknown or 'none'}")
    if not options.temperature >= 0:
        parser.error(f"--temperature: expected 0 or more, got {options.temperature}")
    tokens = sample(bessemer.load(options.program).session(), map(vocabulary.index, options.prompt), options.length,
                    options.temperature, np.random.default_rng(options.seed))
    print("".join(vocabulary[token] for token in tokens))


if __name__ == "__main__":
    main()
