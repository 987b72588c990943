"""The slopes of the losses of decisions in compiled code.

A row of a plan has three losses: of the policy, minus the sum of each choice's weight times its log-probability; minus
the entropy, times how often the row came up; and of imitation, minus the log-probability of the teacher's choice, times
how often its observation came up.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from surpass.learning.policy_gradient.arrays import DecisionPlan, Sums, Tree
from surpass.learning.policy_gradient.forward import add_row

__all__ = ["add_inputs", "add_losses", "write_slopes"]

Ints = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float32]


@numba.njit(forceinline=True)
def add_inputs(gradient: Floats, tree: Tree, value: int, slopes: Floats, k: int) -> None:
    """Add what the inputs that `value` sets contribute to the gradient [inputs, WIDTH] of a first layer, in place."""
    for entry in range(tree.input_starts[value], tree.input_starts[value + 1]):
        add_row(gradient, tree.inputs[entry], tree.strengths[entry], slopes, k)


@numba.njit(nogil=True)
def add_losses(tree: Tree, plan: DecisionPlan, sums: Sums, taught: Ints, losses: Reals) -> None:
    """Add the losses of all rows to `losses` [3], in place.

    `taught` [R] is the choice that a teacher makes at each row, or -1.
    """
    for row in range(plan.used[0]):
        policy, entropy = 0.0, 0.0
        for c in range(tree.choice_counts[tree.slots[plan.nodes[row]]]):
            option = plan.options[row, c]
            policy += sums.weights[row, c] * option
            entropy += np.exp(option) * option
        losses[0] -= policy
        losses[1] += sums.counts[row] * entropy
        if taught[row] >= 0:
            losses[2] -= sums.counts[plan.owners[row]] * plan.options[row, taught[row]]


@numba.njit(nogil=True)
def write_slopes(
    tree: Tree, plan: DecisionPlan, sums: Sums, taught: Ints, scales: Reals, rows: Ints, slopes: Floats
) -> None:
    """Write the slopes [m, C] of the losses of `rows` [m] by the outputs of their networks, in place.

    The losses are multiplied by `scales` [3] and added. With p the probabilities and H the entropy, a loss
    -sum(w log p) has the slopes sum(w) p - w, and sum(p log p) has p (log p + H).
    """
    for k in range(len(rows)):
        row = rows[k]
        slot = tree.slots[plan.nodes[row]]
        choices = tree.choice_counts[slot]
        weight, entropy = 0.0, 0.0
        for c in range(choices):
            weight += sums.weights[row, c]
            entropy -= np.exp(plan.options[row, c]) * plan.options[row, c]
        pull = scales[2] * sums.counts[plan.owners[row]] if taught[row] >= 0 else 0.0
        even = scales[1] * sums.counts[row]
        without = choices - tree.output_counts[slot]
        for c in range(without, choices):
            option = plan.options[row, c]
            slope = np.exp(option) * (scales[0] * weight + pull + even * (option + entropy))
            slope -= scales[0] * sums.weights[row, c]
            if c == taught[row]:
                slope -= pull
            slopes[k, c - without] = slope
