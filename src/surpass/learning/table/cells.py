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
    """Add the logits of the cells in each of some rows [m, V] to `sums` [m, A], in place.

    Cells beyond the end of `logits` are left out.
    """
    for i in range(len(rows)):
        for v in range(rows.shape[1]):
            cell = heads[rows[i, v]] if rows[i, v] >= 0 else -1
            while cell >= 0:
                if cell < len(logits):
                    sums[i, actions[cell]] += logits[cell]
                cell = following[cell]


@numba.njit(nogil=True, cache=True)
def choose_best(
    rows: Ints,
    base: Ints,
    base_logit: float,
    heads: Ints,
    following: Ints,
    actions: Ints,
    logits: Reals,
    action_count: int,
    found: Ints,
) -> None:
    """Write the action with the largest logit in some rows [m, V] into `found` [m], in place.

    The base agent's action [m] has `base_logit` more. Only this action and those that have a cell are chosen.
    """
    sums = np.zeros(action_count)
    for i in range(len(rows)):
        best = base[i]
        if best >= 0:
            sums[best] = base_logit
        for turn in range(3):  # sum up, find the largest, clear
            for v in range(rows.shape[1]):
                cell = heads[rows[i, v]] if rows[i, v] >= 0 else -1
                while cell >= len(logits):
                    cell = following[cell]
                while cell >= 0:
                    action = actions[cell]
                    if turn == 0:
                        sums[action] += logits[cell]
                    elif turn == 2:
                        sums[action] = 0.0
                    elif best < 0 or sums[action] > sums[best] or (sums[action] == sums[best] and action < best):
                        best = action
                    cell = following[cell]
        found[i] = best
        if base[i] >= 0:
            sums[base[i]] = 0.0


@numba.njit(nogil=True, cache=True)
def find_cells(rows: Ints, tried: Ints, heads: Ints, following: Ints, actions: Ints, count: int, found: Ints) -> int:
    """Write the cell of each action [m] in each of its rows [m, V] into `found` [m, V], in place.

    Missing cells are added. Return the number of cells.
    """
    for i in range(len(rows)):
        for v in range(rows.shape[1]):
            row = rows[i, v]
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
    """Draw an action other than the best [m] in some rows [m, V] into `found` [m], in place.

    It is one that has a cell, or the base agent's, drawn by the softmax of their logits; -1 if there is none.
    """
    sums = np.zeros(action_count)
    is_met = np.zeros(action_count, np.bool_)
    met = np.empty(action_count, np.int64)
    weights = np.empty(action_count)
    for i in range(len(rows)):
        count = 0
        if base[i] >= 0:
            met[count], is_met[base[i]], sums[base[i]] = base[i], True, base_logit
            count += 1
        for v in range(rows.shape[1]):
            cell = heads[rows[i, v]] if rows[i, v] >= 0 else -1
            while cell >= 0:
                action = actions[cell]
                if not is_met[action]:
                    met[count], is_met[action] = action, True
                    count += 1
                sums[action] += logits[cell]
                cell = following[cell]
        largest, total = -1e300, 0.0
        for k in range(count):
            if met[k] != best[i]:
                largest = max(largest, sums[met[k]])
        for k in range(count):
            weights[k] = 0.0 if met[k] == best[i] else math.exp(sums[met[k]] - largest)
            total += weights[k]
        wanted, chosen = uniforms[i] * total, -1
        for k in range(count):
            if met[k] != best[i] and wanted >= 0:
                chosen = met[k]
            wanted -= weights[k]
        found[i] = chosen
        for k in range(count):
            sums[met[k]], is_met[met[k]] = 0.0, False
