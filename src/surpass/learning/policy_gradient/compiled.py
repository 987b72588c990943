"""The policy gradient's loops as a template of the engine, with the types of their arguments."""

from __future__ import annotations

from typing import Any

from numba import float32, float64, int64, types

from surpass.engine.specialise import BATCH, Template
from surpass.learning.policy_gradient import arrays, forward, kernels
from surpass.learning.policy_gradient.arrays import DecisionPlan, Pool, Record, Sums, Tree

_TYPES = {
    "i": int64,
    "i1": int64[::1],
    "i2": int64[:, ::1],
    "f1": float64[::1],
    "f2": float64[:, ::1],
    "s1": float32[::1],
    "s2": float32[:, ::1],
    "s3": float32[:, :, ::1],
    "batch": BATCH,
}
"""Integers, numbers of double (f) and of single precision (s), with the number of their dimensions."""


def _types(words: str) -> tuple[Any, ...]:
    return tuple(_TYPES[word] for word in words.split())


for _name, _fields, _words in (
    ("tree", Tree, "i2 i1 i1 i2 i1 i1 i1 i2 i i1 i i1 i i1 i1 s1 i1 i1 i1 i1 i"),
    ("plan", DecisionPlan, "i1 i1 i1 i1 i1 i1 i1 i2 f2 f2 s3"),
    ("pool", Pool, "i1 i2 f2 i1"),
    ("record", Record, "i2 i2 f2 i2 i2 i2 i1 i1 i1 i1 i1 i1"),
    ("sums", Sums, "f2 f1 f1 f1"),
):
    _TYPES[_name] = types.NamedTuple(_types(_words), _fields)  # type: ignore[no-untyped-call]

TEMPLATE = Template(
    kernels,
    {
        "sample": _types("batch tree s2 plan pool i2 i1 record i i"),
        "tabulate": _types("tree s2"),
        "absorb": _types("plan plan i1"),
        "adopt": _types("tree s2 plan i1 i1 i1"),
        "follow": _types("tree s2 plan i1 i1 i1"),
        "accumulate": _types("tree plan record f1 f2 f1 sums i i"),
        "lose": _types("tree plan sums i1 f1"),
        "slope": _types("tree plan sums i1 f1 i1 s2 s3"),
        "spread": _types("tree plan i1 s2 s2 s2"),
    },
    (arrays, forward),
    general=frozenset({"tabulate", "absorb", "accumulate", "lose", "slope"}),
)
