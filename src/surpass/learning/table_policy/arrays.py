"""What sampling by a table of logits reads and writes, as arrays."""

from __future__ import annotations

from typing import NamedTuple

from surpass.arrays import Array, Floats, Ints, Reals


class Choices(NamedTuple):
    """How the actions of an interface are made up of choices."""

    action_rows: Ints
    """[A, 1 + operands] as in the interface."""
    offsets: Ints
    """[I] each instruction's first action."""
    operand_counts: Ints
    """[I]"""
    weights: Ints
    """[I, operands] what one step of an operand adds to an action's number."""


class Odds(NamedTuple):
    """A policy as the kernels read it: a row for each decision that came up."""

    keys: Ints
    """[H] observations, hashed."""
    rows: Ints
    """[H] the row of each observation's choice of instruction."""
    links: Ints
    """[R, C] the row of the decision after each choice; -1 if it has not come up."""
    cumulative: Reals
    """[R, C] cumulative probabilities of the choices; from the last choice on they are 2."""


class StepRecord(NamedTuple):
    """What each step of some episodes was, one episode after the other."""

    starts: Ints
    """[B] where the steps of each episode begin."""
    strays: Ints
    """[B] how many actions at random each episode begins with; they are not recorded."""
    rows: Array
    """[T] int32: the row of the observation."""
    actions: Array
    """[T] int32"""
    gains: Floats
    """[T] the gain of the score."""
    hints: Floats
    """[T, K] what the critic sees before the step."""


class Trials(NamedTuple):
    """What another action would have led to at some steps, tried on a copy; all empty if none are tried."""

    actions: Array
    """[T] int32: what was tried; -1 for nothing."""
    levels: Array
    """[T] int32: up to which of its decisions it was chosen at random; those after follow the policy."""
    outcomes: Array
    """[T] int32: how it left the episode"""
    rows: Array
    """[T] int32: and the row of the observation that it led to; -1 for one without."""
    gains: Floats
    """[T] the gain of the score."""
    hints: Floats
    """[T, K] what the critic sees after it."""


class Critic(NamedTuple):
    """An estimate of what is still to come, fitted to what came.

    It is a weighted sum of the hints, plus for each observation the mean of what that leaves over.
    """

    visits: Reals
    """[R] how often an observation came up of late,"""
    returns: Reals
    """[R] the sum of what came after it,"""
    hints: Reals
    """[R, K] and of the hints."""
    weights: Reals
    """[K]"""
    usual: Reals
    """[1] what the hints leave over on the whole; observations that came up rarely are drawn towards it."""


class RowSums(NamedTuple):
    """What a batch showed, per row."""

    totals: Reals
    """[R] how often a decision was made or tried."""
    advantages: Reals
    """[R, C] the sum of the advantages of each choice"""
    counts: Reals
    """[R, C] and how often it was made."""
    tried: Reals
    """[R, C] the sum of the advantages of each choice that was tried"""
    tries: Reals
    """[R, C] and how often it was."""
    visits: Reals
    """[R] how often an observation came up,"""
    returns: Reals
    """[R] the sum of what came after it,"""
    hints: Reals
    """[R, K] and of the hints."""
    products: Reals
    """[K, K + 1] the sums of the products of hints with each other, below the diagonal, and with what came after."""
    errors: Reals
    """[2] the sum of the squares of the critic's errors, and of what came after."""
