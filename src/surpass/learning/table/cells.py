"""The compiled loops over cells. A cell is the logit of one action in one row; the cells of a row form a linked list.

`heads` [R] holds each row's first cell and `following` [C] the next one; -1 ends a list. Newer cells come first.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from surpass.arrays import Ints, Reals


@numba.njit(nogil=True, cache=True)
def sum_logits(rows: Ints, heads: Ints, following: Ints, actions: Ints, logits: Reals, sums: Reals) -> None:
    """Add the logits of the cells in each of some rows [m] to `sums` [m, A], in place."""
    for i in range(len(rows)):
        cell = heads[rows[i]] if rows[i] >= 0 else -1
        while cell >= 0:
            sums[i, actions[cell]] += logits[cell]
            cell = following[cell]


@numba.njit(nogil=True, cache=True)
def choose_best(
    rows: Ints, base: Ints, base_logit: float, heads: Ints, following: Ints, actions: Ints, logits: Reals, found: Ints
) -> None:
    """Write the action with the largest logit in some rows [m] into `found` [m], in place.

    The base agent's action [m] has `base_logit` more. Only this action and those that have a cell are chosen. Cells
    beyond the end of `logits` are left out.
    """
    for i in range(len(rows)):
        best, largest, is_base_met = -1, 0.0, base[i] < 0
        cell = heads[rows[i]] if rows[i] >= 0 else -1
        while cell >= 0 or not is_base_met:
            if cell < 0:
                action, logit, is_base_met = base[i], base_logit, True
            elif cell >= len(logits):
                cell = following[cell]
                continue
            else:
                action, logit = actions[cell], logits[cell]
                if action == base[i]:
                    logit, is_base_met = logit + base_logit, True
                cell = following[cell]
            if best < 0 or logit > largest or (logit == largest and action < best):
                best, largest = action, logit
        found[i] = best


@numba.njit(nogil=True, cache=True)
def find_cells(rows: Ints, tried: Ints, heads: Ints, following: Ints, actions: Ints, count: int, found: Ints) -> int:
    """Write the cell of each action [m] in its row [m] into `found` [m], in place.

    Missing cells are added. Return the number of cells.
    """
    for i in range(len(rows)):
        row = rows[i]
        cell = heads[row]
        while cell >= 0 and actions[cell] != tried[i]:
            cell = following[cell]
        if cell < 0:
            cell = count
            count += 1
            actions[cell] = tried[i]
            following[cell] = heads[row]
            heads[row] = cell
        found[i] = cell
    return count


@numba.njit(nogil=True, cache=True)
def draw_others(
    rows: Ints,
    base: Ints,
    base_logit: float,
    best: Ints,
    heads: Ints,
    following: Ints,
    actions: Ints,
    logits: Reals,
    action_count: int,
    uniforms: Reals,
    found: Ints,
) -> None:
    """Draw an action other than the best [m] in some rows [m] into `found` [m], in place.

    It is one that has a cell, or the base agent's, drawn by the softmax of their logits; -1 if there is none.
    """
    others, weights = np.empty(action_count, np.int64), np.empty(action_count)
    for i in range(len(rows)):
        count, is_base_met = 0, base[i] < 0
        cell = heads[rows[i]] if rows[i] >= 0 else -1
        while cell >= 0:
            others[count], weights[count] = actions[cell], logits[cell]
            if actions[cell] == base[i]:
                weights[count] += base_logit
                is_base_met = True
            count += actions[cell] != best[i]
            cell = following[cell]
        if not is_base_met and base[i] != best[i]:
            others[count], weights[count] = base[i], base_logit
            count += 1
        found[i] = -1
        if count == 0:
            continue
        largest, total = weights[:count].max(), 0.0
        for k in range(count):
            weights[k] = math.exp(weights[k] - largest)
            total += weights[k]
        wanted = uniforms[i] * total
        for k in range(count):
            if wanted >= 0:
                found[i] = others[k]
            wanted -= weights[k]
