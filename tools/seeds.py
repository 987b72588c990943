"""Print how far other runs of a recipe get beside the paper: python -m tools.seeds TABLE ZOO RUN [RUN ...].

TABLE is one of the paper's, such as table3, and ZOO the agent of the zoo in whose row the runs are set, such as
zoo:search/rl. Each run gets a line: how long it took, what it needs at each size, and the cells in which it is better
or worse than the paper's agent beyond chance.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from surpass.agents import find_agent
from surpass.bundles import load_bundle
from surpass.errors import SurpassError
from surpass.evaluation.comparison import ComparisonRow
from surpass.evaluation.reproduce import Reproduction, plans_of
from surpass.evaluation.tables import TablePlan
from surpass.printing import show_number


def main() -> None:
    """Read what is asked for, and measure it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table")
    parser.add_argument("zoo")
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--instances", type=int, default=1000)
    given = parser.parse_args()
    try:
        measure(given.table, given.zoo, given.runs, given.instances)
    except SurpassError as error:
        raise SystemExit(f"seeds: {error}") from None


def measure(table: str, zoo: str, runs: list[str], instances: int) -> None:
    """Print a line for each run, and below it what it needs at each size."""
    records = {run: load_bundle(Path(run) / "agent")[1] for run in runs}
    agents = {run: find_agent(run) for run in runs}
    reproduction = Reproduction(instances=instances, agents=agents)
    made = reproduction.table(_plan_of(plans_of(table), zoo, runs))
    for run in runs:
        rows = [row for row in made.rows if row.agent == run]
        verdicts = Counter(cell.verdict for row in rows for cell in row.cells)
        print(
            f"{run}, {records[run]['seconds']:.0f} s: "
            + ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
        )
        for row in rows:
            print(f"  {_told(row)}")


def _plan_of(plans: Sequence[TablePlan], zoo: str, runs: list[str]) -> TablePlan:
    """Return the table that has an agent of the zoo: the teachers' rows, and those of the agent once for each run."""
    for plan in plans:
        own = [row for row in plan.rows if row.agent == zoo]
        if own:
            copies = [replace(row, agent=run, paper_row=row.paper_row or row.label) for run in runs for row in own]
            return replace(plan, rows=(*(row for row in plan.rows if row.is_teacher), *copies))
    raise SystemExit(f"there is no row of {zoo} in that table")


def _told(row: ComparisonRow) -> str:
    """Return what a row says at each size, against its teacher if it has one; cells that are worse are marked."""
    found = []
    for cell in row.cells:
        mark = "!" if cell.verdict == "worse" else ""
        ours, paper = (cell.saving.ours, cell.saving.paper) if cell.saving else (cell.ours, cell.paper)
        found.append(f"{cell.size:,}: {show_number(ours, 2)}{mark} ({show_number(paper, 2)})")
    return ", ".join(found)


if __name__ == "__main__":
    main()
