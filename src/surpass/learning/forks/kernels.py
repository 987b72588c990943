"""The compiled loops over cells: the logit of an action in a view.

The cells of a view are a list: `heads` [R] says where each view's begins, `following` [C] how it goes on, -1 ends it.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from surpass.arrays import Ints, Reals


@numba.njit(nogil=True, cache=True)
def _first_cell(row: int, heads: Ints, following: Ints, count: int) -> int:
    """Return the first cell of a row that is one of the first `count`, or -1; older cells come later in a list."""
    cell = heads[row] if row >= 0 else -1
    while cell >= count:
        cell = following[cell]
    return cell


@numba.njit(nogil=True, cache=True)
def choose_best(
    views: Ints,
    taught: Ints,
    softness: float,
    heads: Ints,
    following: Ints,
    actions: Ints,
    logits: Reals,
    action_count: int,
    found: Ints,
) -> None:
    """Write the action with the largest logit for each row of `views` [m, V] into `found` [m] in place.

    A logit is the sum over the views, and `softness` more for the taught action [m]. An action that has no cell has 0;
    without a taught action it is not chosen. Cells beyond the logits are left out.
    """
    sums = np.zeros(action_count)
    for i in range(len(views)):
        best = taught[i]
        if best >= 0:
            sums[best] = softness
        for v in range(views.shape[1]):
            cell = _first_cell(views[i, v], heads, following, len(logits))
            while cell >= 0:
                sums[actions[cell]] += logits[cell]
                cell = following[cell]
        for v in range(views.shape[1]):
            cell = _first_cell(views[i, v], heads, following, len(logits))
            while cell >= 0:
                action = actions[cell]
                if best < 0 or sums[action] > sums[best] or (sums[action] == sums[best] and action < best):
                    best = action
                cell = following[cell]
        found[i] = best
        for v in range(views.shape[1]):
            cell = _first_cell(views[i, v], heads, following, len(logits))
            while cell >= 0:
                sums[actions[cell]] = 0.0
                cell = following[cell]
        if taught[i] >= 0:
            sums[taught[i]] = 0.0


@numba.njit(nogil=True, cache=True)
def draw_others(
    views: Ints,
    taught: Ints,
    softness: float,
    best: Ints,
    heads: Ints,
    following: Ints,
    actions: Ints,
    logits: Reals,
    action_count: int,
    uniforms: Reals,
    found: Ints,
) -> None:
    """Draw an action other than the best [m] for each row of `views` [m, V] into `found` [m], in place.

    It is one that has a cell, or the taught one, with the probabilities of the logits; -1 if there is none.
    """
    sums = np.zeros(action_count)
    is_met = np.zeros(action_count, np.bool_)
    met = np.empty(action_count, np.int64)
    weights = np.empty(action_count)
    for i in range(len(views)):
        count = 0
        if taught[i] >= 0:
            met[count] = taught[i]
            is_met[taught[i]] = True
            sums[taught[i]] = softness
            count += 1
        for v in range(views.shape[1]):
            cell = heads[views[i, v]] if views[i, v] >= 0 else -1
            while cell >= 0:
                action = actions[cell]
                if not is_met[action]:
                    met[count] = action
                    is_met[action] = True
                    count += 1
                sums[action] += logits[cell]
                cell = following[cell]
        largest = -1e300
        for k in range(count):
            if met[k] != best[i]:
                largest = max(largest, sums[met[k]])
        total = 0.0
        for k in range(count):
            if met[k] != best[i]:
                weights[k] = math.exp(sums[met[k]] - largest)
                total += weights[k]
        wanted, chosen = uniforms[i] * total, -1
        for k in range(count):
            if met[k] != best[i]:
                if wanted >= 0:
                    chosen = met[k]
                wanted -= weights[k]
        found[i] = chosen
        for k in range(count):
            sums[met[k]] = 0.0
            is_met[met[k]] = False


@numba.njit(nogil=True, cache=True)
def find_cells(views: Ints, tried: Ints, heads: Ints, following: Ints, actions: Ints, count: int, found: Ints) -> int:
    """Write the cell of each action `tried` [m] in each of its views [m, V] into `found` [m, V] in place.

    Cells that there are not yet are added; the number of cells then is returned.
    """
    for i in range(len(views)):
        for v in range(views.shape[1]):
            row = views[i, v]
            cell = heads[row]
            while cell >= 0 and actions[cell] != tried[i]:
                cell = following[cell]
            if cell < 0:
                cell = count
                count += 1
                actions[cell] = tried[i]
                following[cell] = heads[row]
                heads[row] = cell
            found[i, v] = cell
    return count
