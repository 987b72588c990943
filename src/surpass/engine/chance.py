"""The random numbers of compiled loops."""

from __future__ import annotations

from surpass.arrays import Ints, Reals
from surpass.machine.kernel import kernel

RANGE = 4294967296.0
"""How many numbers `draw_bits` can return."""


@kernel
def draw_bits(random: Ints, b: int) -> int:
    """Return a whole number below 2**32 from generator `b` of `random` [B, 2], and move it on in place.

    A xorshift and a Weyl sequence of 32 bits each, in 64-bit integers: nothing overflows.
    """
    x = random[b, 0]
    x ^= (x << 13) & 0xFFFFFFFF
    x ^= x >> 17
    x ^= (x << 5) & 0xFFFFFFFF
    weyl = (random[b, 1] + 362437) & 0xFFFFFFFF
    random[b, 0], random[b, 1] = x, weyl
    bits: int = (x + weyl) & 0xFFFFFFFF
    return bits


@kernel
def draw_uniform(random: Ints, b: int) -> float:
    """Return a number in [0, 1) from generator `b` of `random` [B, 2], and move it on in place."""
    uniform: float = draw_bits(random, b) / RANGE
    return uniform


@kernel
def choose(cumulative: Reals, row: int, random: Ints, b: int) -> int:
    """Return a choice of a row, drawn by its cumulative probabilities with generator `b`."""
    uniform = draw_uniform(random, b)
    choice = 0
    while cumulative[row, choice] <= uniform:
        choice += 1
    return choice
