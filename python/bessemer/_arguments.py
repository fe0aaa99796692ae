# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of arguments: what was expected, and what was found."""

import json
import math
import operator
import os

import numpy as np


_MOST_FLOAT = float(np.finfo(np.float32).max)
#: Lists and mappings in each other, in an option.
_DEEPEST = 32


class Error(Exception):
    """The message of the compiler or the runtime, one line per problem."""

    __module__ = "bessemer"


def _found(value):
    if isinstance(value, int) and value.bit_length() > 128:
        return f"an integer of {value.bit_length()} bits"
    return repr(value) if isinstance(value, (str, bytes, bool, int, float)) else type(value).__name__


def _is_unicode(text):
    """Bytes of a path that are no UTF-8 become lone surrogates."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def path(name, value):
    """A path as text."""
    try:
        text = os.fsdecode(value)
    except TypeError:
        text = ""
    if not text or "\0" in text or not _is_unicode(text):
        raise Error(f"{name}: expected a path in UTF-8, got {_found(value)}")
    return text


def output(name, value, inputs):
    """The path of a file to write, which must be none of the files that are read."""
    text = path(name, value)
    for file in inputs:
        if os.path.isfile(text) and os.path.exists(file) and os.path.samefile(text, file):
            raise Error(f"{name}: expected another file than the input {file}, got {text}")
    return text


def count(name, value, most):
    """A whole number in [0, most]."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or not 0 <= number <= most:
        raise Error(f"{name}: expected a whole number from 0 to {most}, got {_found(value)}")
    return number


def flag(name, value):
    if not isinstance(value, (bool, np.bool_)):
        raise Error(f"{name}: expected True or False, got {_found(value)}")
    return bool(value)


def rate(name, value):
    """A number of at least 0 that float32 holds, also as an array of one."""
    try:
        number = math.nan if isinstance(value, (bool, str, bytes)) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0 <= number <= _MOST_FLOAT:
        raise Error(f"{name}: expected a number from 0 to {_MOST_FLOAT:g}, got {_found(value)}")
    return number


def _is_masked(value):
    """Whether elements are masked, also in lists, which NumPy reads as NaN or unmasked."""
    if isinstance(value, (list, tuple)):
        return any(_is_masked(entry) for entry in value)
    # np.ma.is_masked believes in any attribute `_mask`.
    return isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value)


def array(name, value):
    """A NumPy array of what NumPy or DLPack can read on the CPU."""
    try:
        if _is_masked(value):
            raise Error(f"{name}: expected an array without a mask, got masked elements")
        if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
            return np.from_dlpack(value)
        return np.asarray(value)
    except Error:
        raise
    except Exception as problem:  # whatever the library that owns the value raises
        raise Error(f"{name}: expected an array, got {type(value).__name__}: {' '.join(str(problem).split())}") from problem


def _converts(given, dtype):
    """As the command line converts data: numbers to floats, integers and
    booleans to each other, and no floats to integers."""
    exact = "biu"
    return (np.can_cast(given, dtype, "same_kind") or given.kind in exact and dtype.kind in exact + "f")


def convert(name, value, dtype):
    """`array(name, value)` with elements of `dtype`. Numbers become the nearest
    float, and stay finite; between integer types they keep their value, or are
    refused; floats never become integers."""
    given, dtype = array(name, value), np.dtype(dtype)
    if given.dtype == dtype:
        return given
    if not _converts(given.dtype, dtype):
        raise Error(f"{name}: expected {dtype}, got {given.dtype}")
    with np.errstate(over="ignore"):
        converted = given.astype(dtype, order="C")
    if dtype.kind == "f":
        fits = np.isfinite(converted) | ~np.isfinite(given)
    else:
        # An integer that wrapped around comes back as itself only with the other sign.
        fits = (converted.astype(given.dtype) == given) & ((converted < 0) == (given < 0))
    if not np.all(fits):
        place = tuple(int(i) for i in np.argwhere(~fits)[0])
        raise Error(f"{name}{list(place) if place else ''}: expected a number that {dtype} holds, got {given[place]}")
    return converted


def plain(name, value, depth=0):
    """What a recipe may hold: text, numbers, lists and mappings; paths become text."""
    if isinstance(value, str) and not _is_unicode(value):
        raise Error(f"option '{name}': expected text in UTF-8, got {value!r}")
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, os.PathLike):
        return path(name, value)
    if depth > _DEEPEST:
        raise Error(f"option '{name}': expected lists and mappings that are nested at most {_DEEPEST} deep, got more")
    if hasattr(value, "items"):
        for key in value:
            if not isinstance(key, str) or not _is_unicode(key):
                raise Error(f"option '{name}': expected names in UTF-8, got {_found(key)}")
        return {str(key): plain(f"{name}.{key}", entry, depth + 1) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(name, entry, depth + 1) for entry in value]
    if isinstance(value, (set, frozenset)):
        # In an order that does not depend on the process.
        return sorted((plain(name, entry, depth + 1) for entry in value), key=json.dumps)
    for convert_number in (operator.index, float):
        try:
            number = convert_number(value)
            finite = math.isfinite(number)
        except (TypeError, ValueError):
            continue
        except OverflowError:
            finite = False
        if finite:
            return number
        raise Error(f"option '{name}': expected a finite number, got {_found(number)}")
    raise Error(f"option '{name}': expected text, a number, a list or a mapping, got {type(value).__name__}")
