"""Compare tables as wholes: by how far they fall behind what was reached before, where they fall behind most.

A sum over instances prefers a table that gives up something on few items for more on many, or the other way round. Here
instances form groups of like sizes and limits. In each group the best of some earlier tables says what can be reached.
A table is worth as little as where it falls furthest behind.
"""

from __future__ import annotations

import numpy as np

from surpass.arrays import Ints, Reals

PER_DOUBLING = 2
"""How many groups the sizes of a doubling form."""
MOST = 50.0
"""The largest exponent: what lies further behind is equally bad."""


def groups_of(sizes: Ints, limits: int) -> Ints:
    """Return the group [B] of each instance, which has one of some sizes [B] and takes one of `limits` limits in turn.

    Groups are numbered from 0, and none is empty.
    """
    steps = np.floor(PER_DOUBLING * np.log2(np.maximum(1, sizes) / max(1, sizes.min()))).astype(np.int64)
    found: Ints = np.unique(steps * limits + np.arange(len(sizes)) % limits, return_inverse=True)[1]
    return found


def shortfalls_of(worth: Reals, earlier: Reals, groups: Ints) -> Reals:
    """Return how far each of K tables falls behind the best of E earlier ones in each group [K, G].

    `worth` [K, B] and `earlier` [E, B] are what the tables brought on each of B instances. They count as shares of the
    most that any of them brought there, so that groups are on a par.
    """
    most = _most_of(worth, earlier)
    members = (groups == np.arange(groups.max() + 1)[:, None]).astype(np.float64)
    means = members / members.sum(axis=1, keepdims=True) / most
    shortfalls: Reals = (earlier @ means.T).max(axis=0) - worth @ means.T
    return shortfalls


def _most_of(worth: Reals, earlier: Reals) -> Reals:
    """Return the most that any of some tables brought on each of B instances [B], or 1 where that is nothing."""
    most: Reals = np.abs(np.maximum(worth.max(axis=0), earlier.max(axis=0)))
    return np.where(most == 0, 1.0, most)


def merits_of(shortfalls: Reals, sharpness: float) -> Reals:
    """Return what each of K tables is worth as a whole [K], given how far it falls behind in each group [K, G].

    It is the logarithm of the mean of exp(sharpness x shortfall), divided by the sharpness, with a minus: the mean of
    what it is ahead where the sharpness is small, and the least of it where it is large.
    """
    powers = np.exp(np.minimum(sharpness * shortfalls, MOST))
    merits: Reals = -np.log(powers.mean(axis=1)) / sharpness
    return merits


def weights_of(worth: Reals, earlier: Reals, groups: Ints, sharpness: float) -> Reals:
    """Return what each of B instances counts for [B]: how much the merit of a table grows with what it brings there.

    `worth` [B] is what the table brings and `earlier` [E, B] what the others do.
    """
    shortfalls = shortfalls_of(worth[None], earlier, groups)[0]
    powers = np.exp(np.minimum(sharpness * shortfalls, MOST))
    found: Reals = (powers / powers.sum())[groups] / np.bincount(groups)[groups] / _most_of(worth[None], earlier)
    return found
