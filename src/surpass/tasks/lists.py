"""Lists to work on: named distributions, and the ranks of a user's own values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from surpass.arrays import Flags, Ints, Reals
from surpass.errors import InstanceError
from surpass.tasks.task import Enumeration, Inputs, Instances, Number, Request

FEW = 5
"""How many distinct values `few-distinct` draws from."""


def _uniform(request: Request) -> Ints:
    lists = np.tile(np.arange(request.size), (request.count, 1))
    return request.stream("uniform").permuted(lists, axis=1, out=lists)


def _few_distinct(request: Request) -> Ints:
    return request.stream("few-distinct").integers(0, FEW, (request.count, request.size))


def _some_distinct(request: Request) -> Ints:
    """Any number of distinct values, from one to as many as positions."""
    distinct = np.floor(request.size ** request.stream("distinct").random((request.count, 1)))
    values = distinct * request.stream("some-distinct").random((request.count, request.size))
    return np.floor(values).astype(np.int64)


def _repeats(request: Request) -> Ints:
    """As many possible values as positions, each drawn on its own: about a third of them occur more than once."""
    return request.stream("repeats").integers(0, request.size, (request.count, request.size))


def _all_equal(request: Request) -> Ints:
    return np.zeros((request.count, request.size), np.int64)


def _sorted(request: Request) -> Ints:
    return np.tile(np.arange(request.size), (request.count, 1))


def _reversed(request: Request) -> Ints:
    return np.tile(np.arange(request.size)[::-1], (request.count, 1))


def _nearly_sorted(request: Request) -> Ints:
    """A sorted list after n / 10 swaps of two random positions, at least one."""
    lists, rows = _sorted(request), np.arange(request.count)
    swaps = max(1, request.size // 10)
    pairs = request.stream("nearly-sorted").integers(0, request.size, (request.count, swaps, 2))
    for k in range(swaps):
        i, j = pairs[:, k, 0], pairs[:, k, 1]
        lists[rows, i], lists[rows, j] = lists[rows, j], lists[rows, i]
    return lists


def _organ_pipe(request: Request) -> Ints:
    """0 1 2 ... 2 1 0."""
    up = np.arange(request.size)
    return np.tile(np.minimum(up, up[::-1]), (request.count, 1))


def _sawtooth(request: Request) -> Ints:
    """0 1 ... k-1 0 1 ..., with k the square root of n."""
    return np.tile(np.arange(request.size) % max(2, math.isqrt(request.size)), (request.count, 1))


LISTS: dict[str, Callable[[Request], Ints]] = {
    "uniform": _uniform,
    "repeats": _repeats,
    "few-distinct": _few_distinct,
    "some-distinct": _some_distinct,
    "all-equal": _all_equal,
    "sorted": _sorted,
    "reversed": _reversed,
    "nearly-sorted": _nearly_sorted,
    "organ-pipe": _organ_pipe,
    "sawtooth": _sawtooth,
}
"""Every named distribution of lists: a request gives lists [count, size] of small integers."""


def list_inputs(small: Enumeration | None = None) -> Inputs:
    """Return the inputs of a task whose instance is one list, drawn from every named distribution."""

    def wrap(draw: Callable[[Request], Ints]) -> Callable[[Request], Instances]:
        return lambda request: from_lists(draw(request))

    draw = {name: wrap(draw) for name, draw in LISTS.items()}
    return Inputs(draw=draw, small=small, read=read_list, write=write_list)


def from_lists(lists: Ints) -> Instances:
    """Return lists [B, n] as instances of a task whose instance is one list."""
    count, size = lists.shape
    return Instances(np.full(count, size, np.int64), np.ascontiguousarray(lists, np.int64), np.zeros((count, 1)))


def rank(values: Sequence[Number]) -> tuple[list[int], list[Number]]:
    """Return each value's rank among the distinct values, and the distinct values in order."""
    distinct = sorted(set(values))
    number = {value: k for k, value in enumerate(distinct)}
    return [number[value] for value in values], distinct


def read_list(parts: Sequence[Sequence[Number]]) -> tuple[Instances, tuple[str, ...]]:
    """Return one list as an instance, its values replaced by their ranks, and the text of each rank."""
    if len(parts) != 1:
        raise InstanceError(f"it takes one list such as 5,2,9,1, not {len(parts)} parts")
    ranks, distinct = rank(parts[0])
    return from_lists(np.array([ranks], np.int64).reshape(1, len(ranks))), tuple(map(str, distinct))


def write_list(instance: Instances) -> str:
    """Return one list as text."""
    return ",".join(map(str, instance.items[0, : instance.sizes[0]].tolist()))


def wrongly_sorted(before: Instances, registers: Ints, items: Ints, reals: Reals) -> Flags:
    """Tell which lists are not the starting ones in nondecreasing order."""
    right = before.items.copy()
    for size in np.unique(before.sizes):
        rows = before.sizes == size
        right[rows, :size] = np.sort(before.items[rows, :size], axis=1)
    differs: Flags = (items[:, : right.shape[1]] != right).any(axis=1)
    return differs


def edge_features(lists: Ints) -> npt.NDArray[np.int8]:
    """Return the graph of each list [B, n] as edge features [B, n, n, 2]: sign(i - j) and sign(A[i] - A[j])."""
    positions = np.arange(lists.shape[1])
    places = np.broadcast_to(np.sign(positions[:, None] - positions[None, :]), (*lists.shape, lists.shape[1]))
    values = np.sign(lists[:, :, None] - lists[:, None, :])
    return np.stack([places, values], axis=-1).astype(np.int8)
