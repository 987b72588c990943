"""The zoo: trained agents that ship with the package, each with a record of how it was made and what it scores.

An agent is named `TASK/METHOD[-TEACHER]` for what made it. Its record holds `method`, `teacher` (whom it learned from,
or the agent that it was improved from), `recipe`, `seconds`, `date`, `scores`, `rules` (how many its program has; null
for a full view) and, where there is more to say, `about`. What a search over programs made (`discover`, or
`improvement` of earlier versions) is a program, `NAME.rules`; `NAME.safetensors` is its neural form, if there is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from surpass.agents.storage import load_saved
from surpass.bundles import load_bundle
from surpass.engine.run import AnyAgent
from surpass.errors import UnknownNameError
from surpass.reading import Count, Setting, Share, Weight, validate
from surpass.tasks.registry import find_task

SCORE = {"size": Count, "instances": Count, "solved": Share, "mean_steps": float, "mean_reward": float}
RECORD = {
    **{"method": str, "teacher": str | None, "recipe": dict[str, Setting], "seconds": Weight, "date": str},
    **{"scores": [SCORE], "rules": Count | None, "about?": str},
}
"""What the record of every agent says."""


@dataclass(frozen=True)
class ZooEntry:
    """An agent of the zoo."""

    name: str
    """`TASK/METHOD[-TEACHER]`"""
    stem: Path
    record: dict[str, Any]

    @property
    def task(self) -> str:
        """The name of its task."""
        return self.name.partition("/")[0]

    @property
    def merit(self) -> tuple[float, float]:
        """What agents of a task are ranked by: the share solved, then the mean on the sizes to learn on."""
        task = find_task(self.task)
        smallest, largest = task.training_sizes
        rows = [row for row in self.record["scores"] if smallest <= row["size"] <= largest]
        by_reward = task.measure == "reward"
        means = [row["mean_reward"] if by_reward else -row["mean_steps"] for row in rows]
        return min(row["solved"] for row in self.record["scores"]), sum(means) / len(means)

    def as_json(self) -> dict[str, Any]:
        """Return the name by which commands take it, and the record."""
        return {"name": f"zoo:{self.name}", **self.record}


def zoo_folder() -> Path:
    """Return the folder that holds the zoo."""
    return Path(str(files("surpass.zoo")))


def zoo_entries() -> tuple[ZooEntry, ...]:
    """Return every agent of the zoo."""
    found = []
    for path in sorted(zoo_folder().glob("*/*.json")):
        stem = path.with_suffix("")
        record = validate(RECORD, load_bundle(stem)[1], f"{stem}.json")
        found.append(ZooEntry(f"{path.parent.name}/{path.stem}", stem, record))
    return tuple(found)


def find_entry(name: str) -> ZooEntry:
    """Return the agent `TASK/NAME` of the zoo, or the best one of `TASK`."""
    known = {entry.name: entry for entry in zoo_entries()}
    if name in known:
        return known[name]
    of_task = [entry for entry in known.values() if entry.task == name]
    if not of_task:
        raise UnknownNameError("agent of the zoo", name, known)
    return max(of_task, key=lambda entry: entry.merit)


def load_entry(name: str) -> AnyAgent:
    """Return an agent of the zoo, ready to run."""
    entry = find_entry(name)
    return load_saved(entry.stem, f"zoo:{entry.name}")
