"""The networks of a policy in compiled code: the probabilities of one decision from the parameters as one array.

The parameters [rows, WIDTH] are those of one network after the other. Of each hidden layer come the weights, a row for
each input, and then the row of its biases. Last come a row for each output, and the biases of the outputs, filled up
with zeros. There is an output for each choice, or a single one for a choice of two.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from surpass.engine.experience import Tree

__all__ = ["HIDDEN_LAYERS", "WIDTH", "find_cumulative"]

Ints = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float32]
Floats2 = npt.NDArray[np.float32]

HIDDEN_LAYERS = 3
WIDTH = 64
"""How wide every hidden layer is; a constant, so that loops over it become a few vector instructions."""
ZERO, ONE = np.float32(0), np.float32(1)


@numba.njit(forceinline=True)
def add_row(total: Floats, scale: np.float32, parameters: Floats2, row: int) -> None:
    """Add `scale` times a row of the parameters to `total` [WIDTH], in place."""
    for j in range(WIDTH):
        total[j] += scale * parameters[row, j]


@numba.njit(forceinline=True)
def add_inputs(total: Floats, tree: Tree, parameters: Floats2, first: int, value: int) -> None:
    """Add what the inputs that `value` sets contribute to the layer whose weights begin in row `first`, in place."""
    for k in range(tree.input_starts[value], tree.input_starts[value + 1]):
        add_row(total, tree.strengths[k], parameters, first + tree.inputs[k])


@numba.njit(nogil=True)
def find_cumulative(
    tree: Tree,
    parameters: Floats2,
    seen: tuple[int, ...],
    node: int,
    layer: Floats,
    following: Floats,
    cumulative: Reals,
    row: int,
) -> None:
    """Write the cumulative probabilities of the choices at a node into a row of `cumulative`, in place.

    `seen` are the value numbers of the observation. `layer` [WIDTH] and `following` [WIDTH] are room to work in.
    """
    slot = tree.slots[node]
    first = tree.parameter_starts[slot]
    bias = first + tree.input_counts[slot]
    layer[:] = 0
    add_row(layer, ONE, parameters, bias)
    for k in range(len(seen)):
        add_inputs(layer, tree, parameters, first, tree.value_starts[k] + seen[k])
    add_inputs(layer, tree, parameters, first, tree.node_values + node)
    for _ in range(HIDDEN_LAYERS - 1):
        first, bias = bias + 1, bias + 1 + WIDTH
        following[:] = 0
        add_row(following, ONE, parameters, bias)
        for i in range(WIDTH):
            # No branch on the sign: to add zeros is faster than to guess.
            add_row(following, max(layer[i], ZERO), parameters, first + i)
        layer, following = following, layer
    choices, outputs = tree.choice_counts[slot], tree.output_counts[slot]
    cumulative[row, 0] = 0.0  # the first of two choices has no output: its logit is 0
    for c in range(outputs):
        logit = parameters[bias + 1 + outputs + c // WIDTH, c % WIDTH]
        for i in range(WIDTH):
            logit += max(layer[i], ZERO) * parameters[bias + 1 + c, i]
        cumulative[row, choices - outputs + c] = logit
    accumulate_softmax(cumulative, row, choices)


@numba.njit(forceinline=True)
def accumulate_softmax(logits: Reals, row: int, choices: int) -> None:
    """Turn the logits of a row into cumulative probabilities in place.

    From the last choice with any probability on they are 2, so that it takes what rounding leaves over.
    """
    most = logits[row, 0]
    for c in range(1, choices):
        most = max(most, logits[row, c])
    total, last = 0.0, 0
    for c in range(choices):
        share = np.exp(logits[row, c] - most)
        if share > 0:
            last = c
        total += share
        logits[row, c] = total
    for c in range(last):
        logits[row, c] /= total
    for c in range(last, logits.shape[1]):
        logits[row, c] = 2.0
