"""What comes out of a run: the front of programs, how the best one came about, and how sure it is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from surpass.bundles import write_atomically
from surpass.engine.run import run
from surpass.learning.discover.attempts import Editor
from surpass.learning.discover.population import Found
from surpass.printing import Printed, count, show_number, text_table
from surpass.programs.program import Program
from surpass.programs.text import write_text
from surpass.tasks.task import Request, Task

if TYPE_CHECKING:
    from surpass.learning.discover.learner import Discover

FRONT = "front"
"""The folder of the programs of the front, below that of a run."""
MOST_SHOWN, MOST_ROWS = 1000, 8
"""The largest size at which programs are compared, and how many programs of the front are printed."""
COMPARED, MOST_STEPS = 100, 30_000_000
"""On how many instances of each size; sizes end where a program would take more steps than these together."""
MOST_LINES = 12
"""How many lines of a lineage are shown at most."""


class Measured(NamedTuple):
    """A program of a run, with how it does and where it came from."""

    found: Found
    means: tuple[float | None, ...]
    """Its mean steps or reward at each size of the front; None where it fails, or would take too long."""
    lineage: tuple[Found, ...]
    """The programs from a start to it."""

    @property
    def file(self) -> str:
        """Where it stands in the run's folder, if it is one of the front."""
        return f"{FRONT}/{self.found.rules}.rules"

    def as_json(self, sizes: Sequence[int]) -> dict[str, Any]:
        """Return it as plain data, without its name."""
        return {
            "rules": self.found.rules,
            "cost": self.found.cost,
            "sound": self.found.is_sound,
            "means": {str(size): mean for size, mean in zip(sizes, self.means, strict=True)},
            "lineage": _as_records(self.lineage),
        }


class RuleSaving(NamedTuple):
    """What a rule saves."""

    rule: str
    share: float | None
    """The share of the reference's cost; None if the program fails without the rule."""


@dataclass(frozen=True, repr=False)
class Front(Printed):
    """The programs that a run began with and those that no other one beats, and how sure it is of the best one."""

    task: Task
    reference: str
    """What costs are relative to."""
    cost_sizes: tuple[int, ...]
    """The sizes that costs are the mean over."""
    sizes: tuple[int, ...]
    """The sizes at which the programs are compared."""
    starts: tuple[Measured, ...]
    """The agents to begin with, each named by how it was made."""
    programs: tuple[Measured, ...]
    """The front, the shortest first; a start may be one of them."""
    best: Measured
    savings: tuple[RuleSaving, ...]
    """What each rule of the best program saves."""
    tried: int
    """How many programs were tried,"""
    tried_in_vain: int
    """and how many since the last gain."""
    held_out: tuple[str, ...] = ()
    """What the best program saves on lists that were held out, in lines."""

    @property
    def is_sound(self) -> bool:
        """Whether a search for failures of the best program found none."""
        return self.best.found.is_sound

    @property
    def _measure(self) -> str:
        return "reward" if self.task.measure == "reward" else "steps"

    def as_json(self) -> dict[str, Any]:
        """Return the front as plain data; programs are named by their files in the run's folder."""
        return {
            "cost_is_relative_to": self.reference,
            "cost_sizes": list(self.cost_sizes),
            "means_are_of": self._measure,
            "starts": [{"name": one.found.how, **one.as_json(self.sizes)} for one in self.starts],
            "programs": [{"file": one.file, **one.as_json(self.sizes)} for one in self.programs],
            "best": {
                "file": "agent.rules",
                **self.best.as_json(self.sizes),
                "savings": [one._asdict() for one in self.savings],
            },
            "tried": self.tried,
            "tried_since_the_last_gain": self.tried_in_vain,
            "best_is_sound": self.is_sound,
            "held_out": list(self.held_out),
        }

    def __str__(self) -> str:
        parts = [self._table(), *self._lineage(), *self._savings(), *self._certainty(), *self.held_out]
        return "\n".join(part.rstrip("\n") for part in parts) + "\n"

    def _table(self) -> str:
        """Return what the starts and the programs of the front take at which size, as a table."""
        starts = {one.found.number for one in self.starts}
        front = _spread([one for one in self.programs if one.found.number not in starts], self.best)
        rows = [(one.found.how, one) for one in self.starts] + [(one.file, one) for one in front]
        digits = 2 if self._measure == "reward" else 1
        lines = [
            [
                f"{label}{' (best)' if one.found is self.best.found else ''}",
                str(one.found.rules),
                f"{one.found.cost:.3f}",
                *(show_number(mean, digits) for mean in one.means),
            ]
            for label, one in rows
        ]
        sized = ", ".join(f"{size:,}" for size in self.cost_sizes)
        return text_table(
            f"Programs, and their mean {self._measure} at n:",
            ["program", "rules", "cost", *(f"{size:,}" for size in self.sizes)],
            lines,
            f"Cost is relative to {self.reference}, over all distributions, in the mean over the sizes {sized}."
            f" The {self._measure} are on {COMPARED} {self.task.inputs.usual_data} instances.",
        )

    def _lineage(self) -> list[str]:
        """Return how the best program came about, in lines."""
        line = self.best.lineage
        shown = line if len(line) <= MOST_LINES else [*line[: MOST_LINES // 2], *line[-(MOST_LINES // 2) :]]
        lines = ["How the best program came about:"]
        for k, one in enumerate(shown):
            if len(shown) < len(line) and k == MOST_LINES // 2:
                lines.append(f"  and {count(len(line) - len(shown), 'program')} between")
            lines.append(f"  {one.how}: {count(one.rules, 'rule')}, cost {one.cost:.4f}")
        return lines

    def _savings(self) -> list[str]:
        """Return what each rule of the best program saves, in lines."""
        lines = [f"What each of its {len(self.savings)} rules saves, in % of the cost of {self.reference}:"]
        for rule, share in self.savings:
            lines.append(f"  {'needed' if share is None else f'{share:.2%}':>8}  {rule}")
        return lines

    def _certainty(self) -> list[str]:
        """Return how sure it is that the best program is right, and that there is no better one, in lines."""
        in_vain, tried = self.tried_in_vain, self.tried
        lines = [f"No better program in the last {in_vain:,} of {tried:,} tried."]
        if not in_vain and tried:
            lines = [
                f"The last attempt found the best program, after {tried:,} tried; more rounds may find a better one."
            ]
        if self.is_sound:
            lines.append("A search for failures of the best program found none; surpass check searches longer.")
        else:
            lines.append("The best program fails on some instances: none without a known failure was found.")
        return lines


def find_front(learner: Discover) -> Front | None:
    """Return the front of a run, with its programs measured; None if there is no program yet."""
    population, best = learner.population, learner.best
    if best is None:
        return None
    first = [population.found[k] for k in population.starts if not population.found[k].parents]
    starts = [one for one in first if one.how in learner.names]
    sizes = tuple(size for size in learner.task.sizes if size <= MOST_SHOWN)
    measured = {
        one.number: Measured(
            one,
            tuple(_measure(learner, learner.parse(one.program), sizes)),
            tuple(population.lineage(one.number)),
        )
        for one in (*starts, *population.front, best)
    }
    return Front(
        task=learner.task,
        reference=learner.reference_name,
        cost_sizes=learner.sizes,
        sizes=sizes,
        starts=tuple(measured[one.number] for one in starts),
        programs=tuple(measured[one.number] for one in population.front),
        best=measured[best.number],
        savings=tuple(_savings(learner, best)),
        tried=learner.tried,
        tried_in_vain=learner.tried_in_vain,
        held_out=tuple(learner.sources.describe_held_out(learner.teacher, learner.parse(best.program))),
    )


def write_front(learner: Discover, folder: Path) -> None:
    """Write the programs of the front into a folder of a run, with a record of where each came from.

    At any moment each file is whole, so that the front can be read while the run goes on.
    """
    place = folder / FRONT
    place.mkdir(parents=True, exist_ok=True)
    records: list[dict[str, Any]] = []
    for one in learner.population.front:
        path = place / f"{one.rules}.rules"
        title = f"{learner.task.name} by discover, seed {learner.config.seed}, program {one.number}"
        write_atomically(path, write_text(replace(learner.parse(one.program), name=title)).encode())
        lineage = _as_records(learner.population.lineage(one.number))
        records.append({"file": path.name, "rules": one.rules, "cost": one.cost, "lineage": lineage})
    write_atomically(place / "front.json", (json.dumps(records, indent=1) + "\n").encode())
    for path in {*place.iterdir()} - {place / name for name in ("front.json", *(record["file"] for record in records))}:
        path.unlink(missing_ok=True)


def _as_records(lineage: Sequence[Found]) -> list[dict[str, Any]]:
    return [{"number": one.number, "how": one.how, "rules": one.rules, "cost": one.cost} for one in lineage]


def _spread(front: Sequence[Measured], best: Measured) -> list[Measured]:
    """Return some programs of a front, evenly spread, the best one among them."""
    if len(front) <= MOST_ROWS:
        return list(front)
    chosen = {front[round(k)].found.number for k in np.linspace(0, len(front) - 1, MOST_ROWS)}
    return [one for one in front if one.found.number in chosen | {best.found.number}]


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


def _savings(learner: Discover, best: Found) -> list[RuleSaving]:
    """Return what each rule of a program saves."""
    editor = Editor(
        learner.task, {**learner.given, "sizes": learner.sizes}, learner.prices, learner.budget, learner.reference
    )
    texts = [line.strip() for line in best.program.splitlines() if ": " in line and not line.startswith("#")]
    return [RuleSaving(text, share) for share, text in zip(editor.savings(best.program), texts, strict=True)]
