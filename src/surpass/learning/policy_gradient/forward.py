"""The networks of a policy in compiled code: the choices of one decision, from all parameters as one array.

The parameters [rows, WIDTH] hold one network after the other. A hidden layer is a row of weights for each input, then
a row of biases. The output layer is a row for each output, then its biases, padded with zeros. There is an output for
each choice, or a single one for a choice of two. Then come, for each network, tables of what the values of groups of
features add to its first layer.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from surpass.arrays import Floats, Ints, Reals
from surpass.learning.policy_gradient.arrays import Tree
from surpass.machine.kernel import inner, kernel

HIDDEN_LAYERS = 3
WIDTH = 64
"""How wide every hidden layer is; a constant, so that loops over it become a few vector instructions."""
ZERO, ONE = np.float32(0), np.float32(1)


class Workspace(NamedTuple):
    """Room to work in."""

    total: Floats
    """[WIDTH] a layer before its ReLU."""
    products: Floats
    """[WIDTH]"""
    rows: Ints
    """[most terms + 4] rows of the parameters to add up"""
    scales: Floats
    """[most terms + 4] and what they are multiplied by."""
    logits: Reals
    """[most choices]"""


@numba.njit(nogil=True)
def new_workspace(tree: Tree) -> Workspace:
    """Return room to evaluate the networks of a tree in."""
    most = max(WIDTH, tree.input_counts.max()) + 4
    total, products = np.empty(WIDTH, np.float32), np.empty(WIDTH, np.float32)
    logits = np.empty(tree.choice_counts.max(), np.float64)
    return Workspace(total, products, np.empty(most, np.int64), np.empty(most, np.float32), logits)


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

    Four at a time: reading and writing the total costs as much as adding one row. The biases come with the first four:
    a loop that only copies becomes a call, which takes longer than all of its additions.
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
    """List the units of a layer that its ReLU lets through, in place; return how many there are.

    No branch on the sign: writing too much is faster than guessing. A unit that is not a number stays, to be noticed.
    """
    count = 0
    for i in range(WIDTH):
        work.rows[count], work.scales[count] = first + i, work.total[i]
        count += not work.total[i] <= ZERO
    return count


@kernel
def multiply(work: Workspace, parameters: Floats, k: int) -> float:
    """Return the product of the last hidden layer, after its ReLU, with row `k` of the parameters."""
    products = work.products
    for j in range(WIDTH):
        products[j] = max(work.total[j], ZERO) * parameters[k, j]
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
    tree: Tree, parameters: Floats, groups: tuple[int, ...], node: int, work: Workspace, cumulative: Reals, row: int
) -> None:
    """Evaluate the network of a node, and write the cumulative probabilities of its choices into a row, in place.

    `groups` are the values of the groups of features that the observation shows.
    """
    slot = tree.slots[node]
    first = tree.parameter_starts[slot]
    bias = first + tree.input_counts[slot]
    count, table = 0, tree.parameter_starts[-1] + slot * tree.table_size
    for k in range(len(groups)):
        if tree.table_starts[k] >= 0:
            work.rows[count], work.scales[count] = table + tree.table_starts[k] + groups[k], ONE
            count += 1
        else:
            count = list_inputs(work, count, tree, first, tree.value_starts[k] + groups[k])
    count = list_inputs(work, count, tree, first, tree.value_starts[-1] + node)
    for depth in range(HIDDEN_LAYERS):
        add_listed(work, count, parameters, bias)
        if depth < HIDDEN_LAYERS - 1:
            first, bias = bias + 1, bias + 1 + WIDTH
            count = list_outputs(work, first)
    choices, outputs = tree.choice_counts[slot], tree.output_counts[slot]
    work.logits[0] = 0.0  # the first of two choices has no output: its logit is 0
    for c in range(outputs):
        logit = parameters[bias + 1 + outputs + c // WIDTH, c % WIDTH]
        work.logits[choices - outputs + c] = logit + multiply(work, parameters, bias + 1 + c)
    accumulate_softmax(work.logits, choices, cumulative, row)


@kernel
def accumulate_softmax(logits: Reals, choices: int, cumulative: Reals, row: int) -> None:
    """Write the cumulative probabilities of logits [choices] into a row, in place.

    From the last choice with any probability on those are 2, so that it takes what rounding leaves over.
    """
    most = logits[0]
    for c in range(1, choices):
        most = max(most, logits[c])
    total, last = 0.0, 0
    for c in range(choices):
        share = np.exp(logits[c] - most)
        if share > 0:
            last = c
        total += share
        cumulative[row, c] = total
    for c in range(last):
        cumulative[row, c] /= total
    for c in range(last, cumulative.shape[1]):
        cumulative[row, c] = 2.0
