"""What sampling reads and writes, as arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Plan", "Pool", "Record", "Sums"]

Ints = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]


class Plan(NamedTuple):
    """The policy as tables: rows of cumulative probabilities, found by observation and by decision."""

    keys: Ints
    """[H] observations, hashed; a row's number is also its observation's."""
    rows: Ints
    """[H] the row of each observation's choice of instruction."""
    decision_keys: Ints
    """[K] row of the observation times the number of nodes, plus the node; hashed."""
    decision_rows: Ints
    """[K] the row of each operand's choice."""
    cumulative: Reals
    """[R, C] cumulative probabilities of the choices, the last one above 1."""
    action_rows: Ints
    """[A, 1 + operands] as in the interface."""
    offsets: Ints
    """[I] each instruction's first action."""
    operand_counts: Ints
    """[I]"""
    weights: Ints
    """[I, operands] what one step of an operand adds to an action's number."""
    first_nodes: Ints
    """[I] the node of each instruction's first operand."""
    children: Ints
    """[N] the node after each node's first choice; the others' follow."""
    node_count: Ints
    """[1] N."""


class Pool(NamedTuple):
    """Instances for episodes to start on; those of episode b are b, b + B, b + 2B, ..."""

    sizes: Ints
    items: Ints
    reals: Reals
    limits: Ints


class Record(NamedTuple):
    """What B episodes did in T steps each."""

    rows: Ints
    """[B, T] the row of the observation."""
    actions: Ints
    """[B, T]"""
    gains: Reals
    """[B, T] the gain of the score."""
    ends: Ints
    """[B, T] the outcome that the task gave, as an `Outcome`."""
    cut: Ints
    """[B, T] 1 where a limit cut the episode off after the step."""
    after: Ints
    """[B, T] the observation after a step that was cut off."""
    filled: Ints
    """[B] how many steps have been recorded."""
    used: Ints
    """[B] how many instances of the pool have been used."""
    waits: Ints
    """[B] what an episode waits for, as an `Outcome`."""
    episodes: Ints
    """[B] how many episodes ended, and in all of them together"""
    episode_steps: Ints
    """[B] the steps they took"""
    solved: Ints
    """[B] and how many were solved."""


class Sums(NamedTuple):
    """What a batch showed, per row."""

    weights: Reals
    """[R, C] the sum of the advantages of each choice."""
    counts: Reals
    """[R] how often a row was met."""
    returns: Reals
    """[R] the sum of the returns of an observation's row"""
    squares: Reals
    """[R] and of their squares."""
