"""The distinct decisions of a batch: sampled here, or adopted from the shares of many actors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surpass.arrays import Array, Floats, Ints, Reals
from surpass.engine.specialise import specialise
from surpass.learning.policy_gradient.arrays import DecisionPlan, Share, Sums
from surpass.learning.policy_gradient.compiled import TEMPLATE
from surpass.learning.policy_gradient.forward import HIDDEN_LAYERS, WIDTH
from surpass.learning.policy_gradient.tree import grow_tree
from surpass.table import EMPTY, put
from surpass.tasks.task import Task

ROWS = 1024
"""How many rows a plan has room for at least."""


class Decisions:
    """The distinct decisions of a batch by the policy that made them, each evaluated once."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.kernels = specialise(task, TEMPLATE)
        self.tree = grow_tree(task.interface)
        self.width = max(slot.choices for slot in task.interface.slots)
        self.plan = new_plan(ROWS, self.width)
        self.parameters = np.zeros((0, WIDTH), np.float32)
        self.spare: list[DecisionPlan] = []
        """Plans whose memory the next batch uses again."""

    @property
    def count(self) -> int:
        """How many distinct decisions came up in the last batch, or were followed since."""
        return int(self.plan.used[0])

    @property
    def first(self) -> Ints:
        """The rows of the plan that are choices of an instruction, one for each observation."""
        return np.flatnonzero(self.plan.origins[: self.count] < 0)

    def take_in(self, parameters: Floats) -> None:
        """Take in the parameters of a policy, laid out as `forward` says, and what is tabulated of them."""
        tree = self.tree
        self.parameters = np.empty((len(parameters) + len(tree.parameter_starts) * tree.table_size, WIDTH), np.float32)
        self.parameters[: len(parameters)] = parameters
        self.kernels.tabulate(tree, self.parameters)

    def with_room(self, plan: DecisionPlan, rows: int) -> DecisionPlan:
        """Return a plan with room for this many rows, a power of two."""
        if rows <= len(plan.nodes):
            return plan
        larger, count = new_plan(rows, self.width), int(plan.used[0])
        larger.used[0] = count
        arrays: list[tuple[Array, Array]] = list(zip(larger[3:], plan[3:], strict=True))
        for new, old in arrays:
            new[:count] = old[:count]
        first = np.flatnonzero(plan.origins[:count] < 0)
        put(larger.keys, larger.rows, plan.observations[first], first)
        return larger

    def follow(self, rows: Ints, actions: Ints) -> Ints:
        """Return the choice [R] that an action [m] for the observation of each of some rows [m] makes at every row.

        It is -1 at rows that no action passes through. Decisions that the batch did not come to become rows, in place.
        """
        more = len(rows) * self.tree.weights.shape[1]
        self.plan = self.with_room(self.plan, enough(self.count + more))
        self.spare[0] = self.plan
        taught = np.full(self.count + more, -1, np.int64)
        self.kernels.follow(self.tree, self.parameters, self.plan, rows, actions, taught)
        return taught[: self.count]

    def adopt(self, parameters: Floats, shares: Sequence[Share]) -> list[Ints]:
        """Make the decisions of some shares those of the batch, and return the row of each, share by share.

        The parameters are those that the shares were sampled by.
        """
        self.take_in(parameters)
        self.plan = emptied(self.spare[0] if self.spare else None, enough(self.count), self.width)
        rows = []
        for share in shares:
            self.plan = self.with_room(self.plan, enough(self.count + len(share.origins)))
            numbers = np.zeros(len(share.origins), np.int64)
            origins = share.origins.astype(np.int64)
            self.kernels.adopt(self.tree, self.parameters, self.plan, share.observations, origins, numbers)
            rows.append(numbers)
        self.spare = [self.plan]
        return rows

    def add_up(self, shares: Sequence[Share], rows: Sequence[Ints]) -> Sums:
        """Return the sums of all shares, added in their order; `rows` are those of their decisions."""
        count = self.count
        sums = Sums(np.zeros((count, self.width)), np.zeros(count), np.zeros(count), np.zeros(count))
        for share, numbers in zip(shares, rows, strict=True):
            share.add_to(sums, numbers)
        return sums

    # The losses

    def losses(self, sums: Sums, taught: Ints) -> Reals:
        """Return the losses [3] of policy, entropy and imitation, summed over all steps; see `kernels.lose`."""
        losses = np.zeros(3)
        self.kernels.lose(self.tree, self.plan, sums, taught, losses)
        return losses


def enough(rows: int) -> int:
    """Return a number of rows to make room for, a power of two."""
    return max(ROWS, 1 << rows.bit_length())


def new_plan(rows: int, width: int) -> DecisionPlan:
    """Return an empty plan with room for a number of rows, a power of two; at most half of its table is in use."""
    keys, places = (np.full(2 * rows, EMPTY, np.int64) for _ in range(2))
    observations, owners, nodes, origins = (np.empty(rows, np.int64) for _ in range(4))
    return DecisionPlan(
        keys,
        places,
        np.zeros(1, np.int64),
        observations,
        owners,
        nodes,
        origins,
        np.empty((rows, width), np.int64),
        np.empty((rows, width)),
        np.empty((rows, width)),
        np.empty((rows, HIDDEN_LAYERS, WIDTH), np.float32),
    )


def emptied(plan: DecisionPlan | None, rows: int, width: int) -> DecisionPlan:
    """Return an empty plan with room for a number of rows: this one, if it has just as much."""
    if plan is None or len(plan.nodes) != rows:
        return new_plan(rows, width)
    plan.keys[:] = EMPTY
    plan.used[0] = 0
    return plan
