"""The arrays that the sampling loop reads and writes."""

from __future__ import annotations

from typing import NamedTuple

from surpass.arrays import Floats, Ints, Reals


class Tree(NamedTuple):
    """The decisions that make up each action, and the network inputs that they set.

    A node is a slot (the instruction, or one of its operands) with the operands chosen before it; the last node is that
    of the instruction. N nodes, S slots with up to C choices, G groups of features with V values in all, E entries.
    """

    action_rows: Ints
    """[A, 1 + operands] as in the interface."""
    following: Ints
    """[N, C] the node after each choice, or -1 - a if the choice completes action a."""
    slots: Ints
    """[N]"""
    value_starts: Ints
    """[G + 1] the number of each group's first value, and V."""
    table_starts: Ints
    """[G] where the values of a group begin in a network's table of sums; -1 for groups that have none."""
    table_size: int
    """How many values such a table holds."""
    input_starts: Ints
    """[V + N + 1] where the entries of each value of a group, and then of each node, begin."""
    inputs: Ints
    """[E] the numbers of the inputs that are set"""
    strengths: Floats
    """[E] and what they are set to."""
    parameter_starts: Ints
    """[S + 1] the row in which the parameters of each slot's network begin, and how many rows there are."""
    input_counts: Ints
    """[S]"""
    output_counts: Ints
    """[S]"""
    choice_counts: Ints
    """[S]"""


class DecisionPlan(NamedTuple):
    """A policy as tables: a row for each decision that came up."""

    keys: Ints
    """[H] observations, hashed."""
    rows: Ints
    """[H] the row of each observation's choice of instruction."""
    used: Ints
    """[1] how many rows there are."""
    links: Ints
    """[R, C] the row of the decision after each choice; -1 if it has not come up."""
    cumulative: Reals
    """[R, C] cumulative probabilities of the choices; from the last possible choice on they are 2."""


class Pool(NamedTuple):
    """Instances for episodes to start on; those of episode b are b, b + B, b + 2B, ..."""

    sizes: Ints
    items: Ints
    reals: Reals
    limits: Ints


class Record(NamedTuple):
    """What B episodes did in T steps each."""

    rows: Ints
    """[B, T] the row of the observation in the plan."""
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
    """[B] how many episodes ended,"""
    episode_steps: Ints
    """[B] how many steps they took together,"""
    solved: Ints
    """[B] and how many were solved."""
