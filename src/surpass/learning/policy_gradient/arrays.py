"""What sampling reads and writes, as arrays."""

from __future__ import annotations

from typing import NamedTuple

from surpass.arrays import Array, Floats, Ints, Reals


class Tree(NamedTuple):
    """How the actions of an interface are chosen, decision by decision, and which inputs of the networks that sets.

    A node is a slot with the operands chosen before it; the last node is that of the instruction.
    """

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
    slots: Ints
    """[N]"""
    prefixes: Ints
    """[N, operands] the choices made before, padded with 0."""
    node_count: int
    """N"""
    value_starts: Ints
    """[G] the number of each group's first value, among the values of all groups of features."""
    value_count: int
    """V"""
    table_starts: Ints
    """[G] where the values of each group begin in a network's table of sums; -1 for those it does not hold."""
    table_size: int
    """How many values there are in such a table."""
    input_starts: Ints
    """[V + N + 1] where the inputs begin that a value of a group, or the choices before a node, set"""
    inputs: Ints
    """[E] the numbers of these inputs"""
    strengths: Floats
    """[E] and what they are set to."""
    parameter_starts: Ints
    """[S] the row in which the parameters of each slot's network begin."""
    input_counts: Ints
    """[S]"""
    output_counts: Ints
    """[S]"""
    choice_counts: Ints
    """[S]"""
    parameter_count: int
    """How many rows of parameters there are."""


class DecisionPlan(NamedTuple):
    """A policy as tables: a row for each decision that came up, found by its observation and node."""

    keys: Ints
    """[H] observations, hashed."""
    rows: Ints
    """[H] the row of each observation's choice of instruction."""
    used: Ints
    """[1] how many rows there are."""
    observations: Ints
    """[R]"""
    owners: Ints
    """[R] the row of the choice of instruction for the same observation."""
    nodes: Ints
    """[R]"""
    origins: Ints
    """[R] where `links`, flattened, lead to this row; -1 for a choice of instruction."""
    links: Ints
    """[R, C] the row of the decision after each choice; -1 if it has not come up."""
    cumulative: Reals
    """[R, C] cumulative probabilities of the choices; from the last possible choice on they are 2."""
    options: Reals
    """[R, C] log-probabilities of the choices, -inf for those that there are not."""
    layers: Floats
    """[R, hidden layers, width] the hidden layers of the network that gave them."""


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
    """[R] how often a row came up."""
    returns: Reals
    """[R] the sum of the returns of an observation's row"""
    squares: Reals
    """[R] and of their squares."""


class Share(NamedTuple):
    """What one actor's share of a batch showed, as it is sent: only what is not 0."""

    observations: Ints
    """[F]"""
    origins: Array
    """[R] int32: where each decision comes from, as in a plan of these decisions alone; -1 for the choices of an
    instruction, which are those for `observations`, in order."""
    places: Array
    """[m] int32: a decision times the number of choices, plus the choice"""
    weights: Reals
    """[m] and the sum of its advantages."""
    counts: Array
    """[R] int32: how often each decision came up."""
    returns: Reals
    """[F] the sum of the returns of each observation"""
    squares: Reals
    """[F] and of their squares."""
    ended: tuple[int, int, int]
    """How many episodes ended, the steps they took, and how many were solved."""

    def add_to(self, sums: Sums, rows: Ints) -> None:
        """Add the share to sums, in place; `rows` [R] are those of its decisions."""
        width = sums.weights.shape[1]
        sums.weights[rows[self.places // width], self.places % width] += self.weights
        sums.counts[rows] += self.counts
        first = rows[self.origins < 0]
        sums.returns[first] += self.returns
        sums.squares[first] += self.squares
