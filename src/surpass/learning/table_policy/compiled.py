"""The loops of mirror descent as a template of the engine, with the types of their arguments."""

from __future__ import annotations

from typing import Any

from numba import float32, float64, int32, int64, types

from surpass.engine.specialise import BATCH, Template
from surpass.learning.table_policy import arrays, kernels
from surpass.learning.table_policy.arrays import Choices, Critic, Odds, Record, Sums, Trials

_TYPES: dict[str, Any] = {
    "i": int64,
    "f": float64,
    "i1": int64[::1],
    "i2": int64[:, ::1],
    "n1": int32[::1],
    "f1": float64[::1],
    "f2": float64[:, ::1],
    "s1": float32[::1],
    "s2": float32[:, ::1],
    "batch": BATCH,
}
"""Integers of 64 (i) and 32 bits (n), numbers of double (f) and of single precision (s), with their dimensions."""


def _types(words: str) -> tuple[Any, ...]:
    return tuple(_TYPES[word] for word in words.split())


for _name, _fields, _words in (
    ("choices", Choices, "i2 i1 i1 i2"),
    ("odds", Odds, "i1 i1 i2 f2"),
    ("record", Record, "i1 i1 n1 n1 s1 s2"),
    ("trials", Trials, "n1 n1 n1 n1 s1 s2"),
    ("critic", Critic, "f1 f1 f2 f1 f1"),
    ("sums", Sums, "f1 f2 f2 f2 f2 f1 f1 f2 f2 f1"),
):
    _TYPES[_name] = types.NamedTuple(_types(_words), _fields)  # type: ignore[no-untyped-call]

TEMPLATE = Template(
    kernels,
    {
        "sample": _types("batch choices odds i2 i1 record trials f batch i i i i1"),
        "sum_up": _types("batch choices odds record trials critic f1 i1 sums i i"),
    },
    (arrays,),
    general=frozenset({"sum_up"}),
)
