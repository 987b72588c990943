"""The networks of a policy in compiled code: one decision from the parameters as one array.

The parameters [rows, WIDTH] are those of one network after the other. Of each hidden layer come the weights, a row for
each input, and then the row of its biases. Last come a row for each output, and the biases of the outputs, filled up
with zeros. There is an output for each choice, or a single one for a choice of two. After all of them come, for each
network, tables of what the values of groups of features add to its first layer.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from surpass.arrays import Floats, Ints, Reals
from surpass.learning.policy_gradient.arrays import DecisionPlan, Tree
from surpass.machine.kernel import inner, kernel

HIDDEN_LAYERS = 3
WIDTH = 64
"""How wide every hidden layer is; a constant, so that loops over it become a few vector instructions."""
ZERO, ONE = np.float32(0), np.float32(1)


class Workspace(NamedTuple):
    """Room to work in."""

    total: Floats
    """[WIDTH] a layer before it is cut off at 0."""
    products: Floats
    """[WIDTH]"""
    rows: Ints
    """[most terms + 4] rows of the parameters to add up"""
    scales: Floats
    """[most terms + 4] and what they are multiplied by."""


@numba.njit(nogil=True)
def new_workspace(tree: Tree) -> Workspace:
    """Return room to evaluate the networks of a tree in."""
    most = max(WIDTH, tree.input_counts.max()) + 4
    return Workspace(
        np.empty(WIDTH, np.float32), np.empty(WIDTH, np.float32), np.empty(most, np.int64), np.empty(most, np.float32)
    )


@kernel
def add_row(totals: Floats, row: int, scale: np.float32, terms: Floats, k: int) -> None:
    """Add `scale` times row `k` of `terms` [_, WIDTH] to a row of `totals` [_, WIDTH], in place."""
    for j in range(WIDTH):
        totals[row, j] += scale * terms[k, j]


@numba.njit(nogil=True)
def write_tables(tree: Tree, parameters: Floats) -> None:
    """Write the tables of sums that come after the parameters, in place."""
    row = tree.parameter_count
    for slot in range(len(tree.parameter_starts)):
        for g in range(len(tree.value_starts)):
            if tree.table_starts[g] < 0:
                continue
            last = tree.value_starts[g + 1] if g + 1 < len(tree.value_starts) else tree.value_count
            for value in range(tree.value_starts[g], last):
                parameters[row] = 0
                for k in range(tree.input_starts[value], tree.input_starts[value + 1]):
                    add_row(
                        parameters, row, tree.strengths[k], parameters, tree.parameter_starts[slot] + tree.inputs[k]
                    )
                row += 1


@kernel
def list_inputs(work: Workspace, count: int, tree: Tree, first: int, value: int) -> int:
    """List the rows of the inputs that `value` sets, after `count` others, in place; return how many there are then."""
    for k in range(tree.input_starts[value], tree.input_starts[value + 1]):
        work.rows[count], work.scales[count] = first + tree.inputs[k], tree.strengths[k]
        count += 1
    return count


@kernel
def add_listed(work: Workspace, count: int, parameters: Floats, bias: int) -> None:
    """Set the total to a row of biases plus the rows of parameters that are listed, in place.

    Four at a time: to read and write the total costs as much as to add one. The biases come with the first four: a loop
    that only copies becomes a call, which takes longer than all of its additions.
    """
    total, rows, scales = work.total, work.rows, work.scales
    for k in range(count, count + 4):
        rows[k], scales[k] = bias, ZERO
    row, second, third, fourth = rows[0], rows[1], rows[2], rows[3]
    a, b, c, d = scales[0], scales[1], scales[2], scales[3]
    for j in range(WIDTH):
        total[j] = (
            parameters[bias, j]
            + a * parameters[row, j]
            + b * parameters[second, j]
            + c * parameters[third, j]
            + d * parameters[fourth, j]
        )
    for k in range(4, count, 4):
        row, second, third, fourth = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
        a, b, c, d = scales[k], scales[k + 1], scales[k + 2], scales[k + 3]
        for j in range(WIDTH):
            total[j] = (
                total[j]
                + a * parameters[row, j]
                + b * parameters[second, j]
                + c * parameters[third, j]
                + d * parameters[fourth, j]
            )


@kernel
def list_outputs(work: Workspace, first: int) -> int:
    """List the units of a layer that are not cut off, in place; return how many there are.

    No branch on the sign: to write too much is faster than to guess. What is no number stays, so that it is noticed.
    """
    count = 0
    for i in range(WIDTH):
        work.rows[count], work.scales[count] = first + i, work.total[i]
        count += not work.total[i] <= ZERO
    return count


@kernel
def multiply(work: Workspace, layers: Floats, row: int, parameters: Floats, k: int) -> float:
    """Return the product of a row's last hidden layer with row `k` of the parameters."""
    products = work.products
    for j in range(WIDTH):
        products[j] = layers[row, HIDDEN_LAYERS - 1, j] * parameters[k, j]
    for j in range(WIDTH // 2):
        products[j] += products[j + WIDTH // 2]
    for j in range(WIDTH // 4):
        products[j] += products[j + WIDTH // 4]
    for j in range(WIDTH // 8):
        products[j] += products[j + WIDTH // 8]
    total = products[0]
    for j in range(1, WIDTH // 8):
        total += products[j]
    product: float = total
    return product


@inner
def fill_row(
    tree: Tree, parameters: Floats, groups: tuple[int, ...], node: int, work: Workspace, plan: DecisionPlan, row: int
) -> None:
    """Evaluate the network of a node, and write what it gives into a row of a plan, in place.

    `groups` are the values of the groups of features that the observation shows.
    """
    slot = tree.slots[node]
    first = tree.parameter_starts[slot]
    bias = first + tree.input_counts[slot]
    count, table = 0, tree.parameter_count + slot * tree.table_size
    for k in range(len(groups)):
        if tree.table_starts[k] >= 0:
            work.rows[count], work.scales[count] = table + tree.table_starts[k] + groups[k], ONE
            count += 1
        else:
            count = list_inputs(work, count, tree, first, tree.value_starts[k] + groups[k])
    count = list_inputs(work, count, tree, first, tree.value_count + node)
    for depth in range(HIDDEN_LAYERS):
        add_listed(work, count, parameters, bias)
        for j in range(WIDTH):
            plan.layers[row, depth, j] = max(work.total[j], ZERO)
        if depth < HIDDEN_LAYERS - 1:
            first, bias = bias + 1, bias + 1 + WIDTH
            count = list_outputs(work, first)
    choices, outputs = tree.choice_counts[slot], tree.output_counts[slot]
    plan.options[row, 0] = 0.0  # the first of two choices has no output: its logit is 0
    for c in range(outputs):
        logit = parameters[bias + 1 + outputs + c // WIDTH, c % WIDTH]
        logit += multiply(work, plan.layers, row, parameters, bias + 1 + c)
        plan.options[row, choices - outputs + c] = logit
    accumulate_softmax(plan.options, plan.cumulative, row, choices)


@kernel
def accumulate_softmax(options: Reals, cumulative: Reals, row: int, choices: int) -> None:
    """Turn the logits in a row of `options` into log-probabilities, and write cumulative probabilities, in place.

    From the last choice with any probability on those are 2, so that it takes what rounding leaves over.
    """
    most = options[row, 0]
    for c in range(1, choices):
        most = max(most, options[row, c])
    total, last = 0.0, 0
    for c in range(choices):
        share = np.exp(options[row, c] - most)
        if share > 0:
            last = c
        total += share
        cumulative[row, c] = total
    for c in range(last):
        cumulative[row, c] /= total
    for c in range(last, cumulative.shape[1]):
        cumulative[row, c] = 2.0
    shift = most + np.log(total)
    for c in range(choices):
        options[row, c] -= shift
    for c in range(choices, options.shape[1]):
        options[row, c] = -np.inf
