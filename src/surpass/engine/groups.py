"""Neighbouring features that compiled networks take together, as a single one with more values."""

from __future__ import annotations

from surpass.machine.interface import Interface

MOST_VALUES = 32
"""How many values a group of features has at most, unless a single feature has more."""


def group_features(interface: Interface) -> list[range]:
    """Return groups of neighbouring features, in their order.

    A network's first layer adds up the weights of the inputs that the features set. Of groups with few values there are
    tables of these sums, and so fewer to add.
    """
    groups, first, values = [], 0, 1
    for k, radix in enumerate(interface.radices):
        if k > first and values * radix > MOST_VALUES:
            groups.append(range(first, k))
            first, values = k, 1
        values *= radix
    return [*groups, range(first, len(interface.radices))]
