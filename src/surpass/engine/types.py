"""The types of what compiled loops are given, in short words.

A letter says what the numbers are: `i` 64-bit integers, `n` those of 32 and `h` of 16 bits, `f` numbers of double and
`s` of single precision, `b` truths. A digit after it says that it is an array, and of how many dimensions.
"""

from __future__ import annotations

from typing import Any

import numba

from surpass.engine.batch import Batch

_LETTERS: dict[str, Any] = {
    "i": numba.int64,
    "n": numba.int32,
    "h": numba.int16,
    "f": numba.float64,
    "s": numba.float32,
    "b": numba.boolean,
}


def types_of(words: str, **named: Any) -> tuple[Any, ...]:
    """Return the types that words stand for; a word that is not a letter and a digit is one of `named`, or `batch`."""
    return tuple({"batch": BATCH, **named}[word] if len(word) > 2 else _type_of(word) for word in words.split())


def record_of(fields: type, words: str) -> Any:
    """Return the type of a named tuple whose fields have the types that words stand for."""
    return numba.types.NamedTuple([_type_of(word) for word in words.split()], fields)  # type: ignore[no-untyped-call]


def _type_of(word: str) -> Any:
    numbers, dimensions = _LETTERS[word[0]], word[1:]
    # Each array lies in memory row by row, without gaps.
    return numba.types.Array(numbers, int(dimensions), "C") if dimensions else numbers


BATCH = record_of(Batch, "i2 i2 f2 i2 i1 i1 i1 i2")
