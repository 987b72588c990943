"""Print how well readings of the paper's table 3 fit: python -m tools.table3_reading.

A reading says which queries are asked, which linear search is meant, and whether the answer counts as a step. Each
agent is run on every query once, so that the means are exact; the paper's are over 100 instances.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from surpass.agents.teachers import find_teacher
from surpass.arrays import Ints
from surpass.engine.run import run
from surpass.evaluation.tables import PAPER_INSTANCES, paper_tables
from surpass.machine.instructions import Action
from surpass.tasks.search import PRESENT, SEARCH, linear_search
from surpass.tasks.teacher import Do, See, Teacher

SIZES: list[int] = paper_tables()["table3_search_steps"]["sizes"]
SHARES = (0.0, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What the numbers of table 3 may mean."""

    absent: float
    """The share of queries that are not in the list, evenly in its gaps; the others are evenly at its positions."""
    linear: str
    counts_answer: bool


class Cell(NamedTuple):
    """The steps of an agent at a size: mean and variance, and the printed mean."""

    size: int
    mean: float
    variance: float
    paper: float

    @property
    def errors(self) -> float:
        """By how many standard errors of the paper's mean the two means are apart."""
        return (self.mean - self.paper) / math.sqrt(self.variance / PAPER_INSTANCES)


EARLIER = Reading(absent=0.0, linear="watchful linear search", counts_answer=True)
"""Only queries that are in the list, and a linear search that answers as soon as any variable shows the query."""
BEFORE_THE_ANSWER = Reading(absent=1 - PRESENT["paper"], linear="linear_search", counts_answer=False)


def _watchful(see: See, do: Do) -> Action:
    for k in range(1, 5):
        if see(f"q = A[v{k}]"):
            return do.Found(k)
    return linear_search(see, do)


@cache
def count_steps(name: str, size: int) -> Ints:
    """Return the steps [2n + 1] of an agent for each gap and each position of a list without ties, in turn."""
    agent = find_teacher(name) if name != EARLIER.linear else Teacher(name, SEARCH, _watchful, "")
    instances = SEARCH.allocate(2 * size + 1, size)
    instances.items[:, :size] = 2 * np.arange(size) + 1
    instances.items[:, size] = np.arange(2 * size + 1)
    return run(agent, instances).steps


def measure(reading: Reading, name: str, row: str) -> list[Cell]:
    """Return the cells of an agent under a reading, beside a row of the paper's."""
    cells = []
    for size, paper in zip(SIZES, paper_tables()["table3_search_steps"]["rows"][row], strict=True):
        steps = count_steps(name, size) - (0 if reading.counts_answer else 1)
        is_present = np.arange(2 * size + 1) % 2 == 1
        weights = np.where(is_present, (1 - reading.absent) / size, reading.absent / (size + 1))
        mean = float((weights * steps).sum())
        cells.append(Cell(size, mean, float((weights * (steps - mean) ** 2).sum()), paper))
    return cells


def teacher_cells(reading: Reading) -> tuple[list[Cell], list[Cell]]:
    """Return the cells of linear and of binary search."""
    return (
        measure(reading, reading.linear, "linear search"),
        measure(reading, "binary_search", "binary search"),
    )


def chi_square(cells: list[Cell]) -> float:
    """Return the sum of the squared distances to the paper's means, in standard errors."""
    return sum(cell.errors**2 for cell in cells)


def main() -> None:
    """Print the chi-square of many readings, and the cells of two."""
    print("chi-square of the teachers' cells: linear search (9), binary search (9), both (18); the most errors of one")
    for linear in (EARLIER.linear, "linear_search"):
        for counts_answer in (True, False):
            for absent in SHARES:
                reading = Reading(absent=absent, linear=linear, counts_answer=counts_answer)
                one, two = teacher_cells(reading)
                sums = [chi_square(cells) for cells in (one, two, [*one, *two])]
                most = max(abs(cell.errors) for cell in [*one, *two])
                counted = "answer counted" if counts_answer else "answer not counted"
                shown = "".join(f"{number:8.1f}" for number in sums)
                print(f"  {linear:22} {counted:18} {absent:4.0%} absent {shown} {most:5.1f}")
    for reading in (EARLIER, BEFORE_THE_ANSWER):
        print(f"\n{reading}")
        rows = [*zip(("linear search", "binary search"), teacher_cells(reading), strict=True)]
        learned = measure(reading, "bracket_search", "rl from scratch")
        for name, cells in [*rows, ("bracket_search beside rl from scratch", learned)]:
            print(f"  {name}")
            print("    size  " + "".join(f"{cell.size:8}" for cell in cells))
            print("    paper " + "".join(f"{cell.paper:8.1f}" for cell in cells))
            print("    ours  " + "".join(f"{cell.mean:8.2f}" for cell in cells))
            if cells is not learned:
                print("    errors" + "".join(f"{cell.errors:+8.1f}" for cell in cells))


if __name__ == "__main__":
    main()
