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


class Record(NamedTuple):
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


class Sums(NamedTuple):
    """What a batch showed, per row."""

    totals: Reals
    """[R] how often a decision was made."""
    advantages: Reals
    """[R, C] the sum of the advantages of each choice"""
    counts: Reals
    """[R, C] and how often it was made."""
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


class Share(NamedTuple):
    """What one actor's share of a batch showed, as it is sent: only what is not 0.

    Decisions have the numbers of the learner's rows, and those that it does not know yet the numbers after these.
    """

    observations: Ints
    """[F] those that the learner does not know."""
    origins: Ints
    """[N] where each decision comes from that it does not know, as in the policy; `FIRST` for those of the
    observations, in order."""
    rows: Array
    """[m] int32: the decisions that were made,"""
    totals: Array
    """[m] int32: and how often."""
    places: Array
    """[p] int32: a position among `rows` times the number of choices, plus the choice,"""
    advantages: Reals
    """[p] the sum of its advantages"""
    counts: Array
    """[p] int32: and how often it was made."""
    seen: Array
    """[k] int32: the positions among `rows` of choices of an instruction,"""
    visits: Array
    """[k] int32: how often their observations came up,"""
    returns: Reals
    """[k] the sum of what came after them,"""
    hints: Reals
    """[k, K] and of the hints."""
    products: Reals
    errors: Reals
    """As in `Sums`."""
    outcomes: Array
    """[b] int8: how the episodes ended that had no action at random,"""
    steps: float
    """and their steps together."""

    def add_to(self, sums: Sums, rows: Ints) -> None:
        """Add the share to sums, in place; `rows` [m] are those of its decisions."""
        width = sums.counts.shape[1]
        sums.totals[rows] += self.totals
        made, choices = rows[self.places // width], self.places % width
        sums.advantages[made, choices] += self.advantages
        sums.counts[made, choices] += self.counts
        seen = rows[self.seen]
        sums.visits[seen] += self.visits
        sums.returns[seen] += self.returns
        sums.hints[seen] += self.hints
        sums.products[:] += self.products
        sums.errors[:] += self.errors
