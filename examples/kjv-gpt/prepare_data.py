#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The King James Bible (Debian's bible-kjv) as tokens, one per character.

    prepare_data.py FOLDER

Writes train.npy (the first 95 % of the text), validation.npy (the rest) and
vocabulary.json (the characters in the order of their numbers).
"""

import json
import os
import subprocess
import sys

import numpy as np

VALIDATION_SHARE = 0.05


def read_text():
    """One verse per line, without the references that begin each."""
    lines = subprocess.run(["bible", "-f", "gen1:1-rev22:21"], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    return "".join(line.split(" ", 1)[1] + "\n" for line in lines)


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    text = read_text()
    vocabulary = sorted(set(text))
    number = {character: i for i, character in enumerate(vocabulary)}
    tokens = np.array([number[character] for character in text], np.uint8)
    split = int(len(tokens) * (1 - VALIDATION_SHARE))
    np.save(os.path.join(folder, "train.npy"), tokens[:split])
    np.save(os.path.join(folder, "validation.npy"), tokens[split:])
    with open(os.path.join(folder, "vocabulary.json"), "w") as file:
        json.dump(vocabulary, file)
    print(f"{len(tokens)} characters, {len(vocabulary)} different ones")


if __name__ == "__main__":
    main()
