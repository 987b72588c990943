"""What comes out of a run: the front of programs, how the best one came about, and how sure it is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from surpass.bundles import write_atomically
from surpass.engine.run import run
from surpass.learning.discover.attempts import Editor
from surpass.learning.discover.population import Found
from surpass.printing import count, show_number, text_table
from surpass.programs.program import Program
from surpass.programs.text import write_text
from surpass.tasks.task import Request

if TYPE_CHECKING:
    from surpass.learning.discover.learner import Discover

FRONT = "front"
"""The folder of the programs of the front, below that of a run."""
MOST_SHOWN, MOST_ROWS = 1000, 8
"""The largest size at which programs are compared, and how many programs of the front are."""
COMPARED, MOST_STEPS = 100, 30_000_000
"""On how many instances of each size; sizes end where a program would take more steps than these together."""
MOST_LINES = 12
"""How many lines of a lineage are shown at most."""


def write_front(learner: Discover, folder: Path) -> None:
    """Write the programs of the front into a folder of a run, with a record of where each came from."""
    place = folder / FRONT
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True, exist_ok=True)
    records: list[dict[str, Any]] = []
    for one in learner.population.front:
        path = place / f"{one.rules}.rules"
        title = f"{learner.task.name} by discover, seed {learner.config.seed}, program {one.number}"
        write_atomically(path, write_text(replace(learner.parse(one.program), name=title)).encode())
        lineage = [
            {"number": p.number, "how": p.how, "rules": p.rules, "cost": p.cost}
            for p in learner.population.lineage(one.number)
        ]
        records.append({"file": path.name, "rules": one.rules, "cost": one.cost, "lineage": lineage})
    write_atomically(place / "front.json", (json.dumps(records, indent=1) + "\n").encode())


def describe_front(learner: Discover) -> str:
    """Return the front, how the best program came about, and how sure it is, as text."""
    best = learner.best
    assert best is not None
    parts = [
        _table(learner, best),
        *_lineage(learner, best),
        *_savings(learner, best),
        *_certainty(learner, best),
        *learner.sources.describe_held_out(learner.teacher, learner.parse(best.program)),
    ]
    return "\n".join(part.rstrip("\n") for part in parts) + "\n"


def _table(learner: Discover, best: Found) -> str:
    """Return what the starts and the programs of the front take at which size, as a table."""
    population = learner.population
    first = [population.found[k] for k in population.starts if not population.found[k].parents]
    starts = [one for one in first if one.how in learner.names]
    front = _spread([one for one in population.front if one not in starts], best)
    rows = [(one.how, one) for one in starts] + [(f"{FRONT}/{one.rules}.rules", one) for one in front]
    sizes = [size for size in learner.task.sizes if size <= MOST_SHOWN]
    means = {one.number: _measure(learner, learner.parse(one.program), sizes) for _, one in rows}
    digits = 2 if learner.task.measure == "reward" else 1
    lines = [
        [
            f"{label}{' (best)' if one is best else ''}",
            str(one.rules),
            f"{one.cost:.3f}",
            *(show_number(mean, digits) if mean is not None else "-" for mean in means[one.number]),
        ]
        for label, one in rows
    ]
    unit = "reward" if learner.task.measure == "reward" else "steps"
    sized = ", ".join(f"{size:,}" for size in learner.sizes)
    return text_table(
        f"Programs, and their mean {unit} at n:",
        ["program", "rules", "cost", *(f"{size:,}" for size in sizes)],
        lines,
        f"Cost is relative to {learner.reference_name}, over all distributions, in the mean over the sizes {sized}."
        f" The {unit} are on {COMPARED} {learner.task.inputs.usual_data} instances.",
    )


def _spread(front: Sequence[Found], best: Found) -> list[Found]:
    """Return some programs of a front, evenly spread, the best one among them."""
    if len(front) <= MOST_ROWS:
        return list(front)
    chosen = {front[round(k)].number for k in np.linspace(0, len(front) - 1, MOST_ROWS)} | {best.number}
    return [one for one in front if one.number in chosen]


def _measure(learner: Discover, program: Program, sizes: Sequence[int]) -> list[float | None]:
    """Return the mean steps or reward of a program at each size; None where it fails, or would take too long."""
    task, means = learner.task, list[float | None]()
    steps, before = 0.0, 1
    for size in sizes:
        if steps * COMPARED * (size / before) ** 2 > MOST_STEPS:
            means.append(None)
            continue
        kind = learner.config.queries or task.inputs.usual_queries
        request = Request(size=size, count=COMPARED, seed=1, data=task.inputs.usual_data, queries=kind)
        results = run(program, task.draw(request), find_loops=not task.limit_is_budget)
        is_fine = task.limit_is_budget or results.solved.all()
        means.append(
            float((results.rewards if task.measure == "reward" else results.steps).mean()) if is_fine else None
        )
        steps, before = float(results.steps.mean()), size
    return means


def _lineage(learner: Discover, best: Found) -> list[str]:
    """Return how a program came about, in lines."""
    line = learner.population.lineage(best.number)
    shown = line if len(line) <= MOST_LINES else [*line[: MOST_LINES // 2], *line[-(MOST_LINES // 2) :]]
    lines = ["How the best program came about:"]
    for k, one in enumerate(shown):
        if len(shown) < len(line) and k == MOST_LINES // 2:
            lines.append(f"  and {count(len(line) - len(shown), 'program')} between")
        lines.append(f"  {one.how}: {count(one.rules, 'rule')}, cost {one.cost:.4f}")
    return lines


def _savings(learner: Discover, best: Found) -> list[str]:
    """Return what each rule of a program saves, in lines."""
    editor = Editor(
        learner.task, {**learner.given, "sizes": learner.sizes}, learner.prices, learner.budget, learner.reference
    )
    texts = [line.strip() for line in best.program.splitlines() if ": " in line and not line.startswith("#")]
    lines = [f"What each of its {len(texts)} rules saves, in % of the cost of {learner.reference_name}:"]
    for saved, text in zip(editor.savings(best.program), texts, strict=True):
        lines.append(f"  {'needed' if saved is None else f'{saved:.2%}':>8}  {text}")
    return lines


def _certainty(learner: Discover, best: Found) -> list[str]:
    """Return how sure it is that the program is right, and that there is no better one, in lines."""
    in_vain, tried = learner.tried_in_vain, learner.tried
    lines = [f"No better program in the last {in_vain:,} of {tried:,} tried."]
    if not in_vain and tried:
        lines = [f"The last attempt found the best program, after {tried:,} tried; more rounds may find a better one."]
    if best.is_sound:
        lines.append("A search for failures of the best program found none; surpass check searches longer.")
    else:
        lines.append("The best program fails on some instances: none without a known failure was found.")
    return lines
