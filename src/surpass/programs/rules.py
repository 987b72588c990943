"""The smallest code that tells apart what has to be told apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from surpass.programs.program import Branch, Leaf, Node, Test

__all__ = ["write_code"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def write_code(digits: Ints, actions: Ints, features: Sequence[int]) -> Node:
    """Return code over some features that gives every row of `digits` [m, F] its action [m]."""
    if (actions == actions[0]).all():
        return Leaf(int(actions[0]))
    best: tuple[float, Test, Bools] | None = None
    for test in _tests(digits, features):
        holds = np.isin(digits[:, test.feature], list(test.values))
        if holds.all() or not holds.any():
            continue
        cost = _disorder(actions[holds]) + _disorder(actions[~holds])
        if best is None or cost < best[0]:
            best = cost, test, holds
    assert best is not None, "two rows are equal and have different actions"
    _, test, holds = best
    then, otherwise = (write_code(digits[rows], actions[rows], features) for rows in (holds, ~holds))
    return Branch((test,), then, otherwise)


def _tests(digits: Ints, features: Sequence[int]) -> Iterator[Test]:
    for k in features:
        values = np.unique(digits[:, k]).tolist()
        for count in range(1, len(values) // 2 + 1):
            for chosen in combinations(values, count):
                yield Test(k, frozenset(chosen))


def _disorder(actions: Ints) -> float:
    counts = np.unique(actions, return_counts=True)[1]
    return float(-(counts * np.log(counts / counts.sum())).sum())
