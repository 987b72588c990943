"""Means and how far they can be trusted."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

from surpass.arrays import Ints, Reals


class Mean(NamedTuple):
    """A mean with the half-width of its 95 % interval, which is NaN for a single value."""

    mean: float
    ci95: float
    deviation: float
    """The standard deviation of the values."""


def mean_of(values: Reals | Ints) -> Mean:
    """Return the mean of values [m] with its 95 % interval."""
    count = len(values)
    if count < 2:
        return Mean(float(values.mean()), math.nan, math.nan)
    deviation = float(values.std(ddof=1))
    return Mean(float(values.mean()), student_quantile(0.975, count - 1) * deviation / math.sqrt(count), deviation)


def student_quantile(probability: float, degrees: int) -> float:
    """Return the quantile of Student's t distribution.

    Exact for 1 and 2 degrees of freedom; from 3 on, the expansion around the normal quantile, off by less than 0.5 %.
    """
    if degrees == 1:
        return math.tan(math.pi * (probability - 0.5))
    if degrees == 2:
        a = 4 * probability * (1 - probability)
        return 2 * (probability - 0.5) * math.sqrt(2 / a)
    z = NormalDist().inv_cdf(probability)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return math.fsum(term / degrees**k for k, term in enumerate(terms))
