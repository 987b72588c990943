"""Many episodes side by side, as arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surpass.arrays import Ints, Reals
from surpass.tasks.task import Task

FIRST_DEPTH = 64
"""How many open calls a fresh stack has room for."""


class Batch(NamedTuple):
    """Episodes, one per row; kernels change them in place."""

    registers: Ints
    """[B, R]"""
    items: Ints
    """[B, W]"""
    reals: Reals
    """[B, X]"""
    stack: Ints
    """[B, S]"""
    steps: Ints
    """[B] executed instructions."""
    outcomes: Ints
    """[B] how each episode stands, as an `Outcome`."""
    pending: Ints
    """[B] the observation for which a waiting episode needs an action."""
    before: Ints
    """[B, W] the items with which each episode began, for a task that judges by them; else [B, 0]."""


def allocate(task: Task, count: int, size: int) -> Batch:
    """Return room for `count` episodes on instances of up to `size`."""
    return Batch(
        np.zeros((count, task.register_count), np.int64),
        np.zeros((count, task.memory.item_width(size)), np.int64),
        np.zeros((count, task.memory.real_width(size))),
        np.zeros((count, FIRST_DEPTH * task.frame_size), np.int64),
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
        np.zeros((count, 0 if task.is_right is None else task.memory.item_width(size)), np.int64),
    )


def grow_stack(batch: Batch, words: int) -> Batch:
    """Return the batch with room for `words` words on each stack."""
    stack = np.zeros((len(batch.stack), words), np.int64)
    stack[:, : batch.stack.shape[1]] = batch.stack
    return batch._replace(stack=stack)
