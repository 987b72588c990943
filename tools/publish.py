"""Put a finished run into the zoo: python -m tools.publish RUN [--name NAME] [--sizes ...].

The agent is scored at the sizes of the paper's tables and its rules are counted; both go into its record with the
method, the teacher, the recipe, the time and the date. It is named METHOD[-TEACHER] unless another name is given.
"""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from surpass.agents.storage import load_saved, save_program
from surpass.agents.zoo import zoo_folder
from surpass.bundles import load_bundle, save_bundle
from surpass.evaluation.scores import evaluate
from surpass.programs.extract import extract
from surpass.programs.program import Program
from surpass.table import Agent


def main() -> None:
    """Evaluate a run's agent and write it into the zoo."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--name", default="", help="the name within its task, if not METHOD[-TEACHER]")
    parser.add_argument("--teacher", default="", help="the name of its teacher, if that has another one by now")
    parser.add_argument("--about", default="", help="what else there is to say, such as why it has another name")
    parser.add_argument("--unfinished", action="store_true", help="also if the run was stopped before its end")
    parser.add_argument("--instances", type=int, default=1000)
    parser.add_argument("--sizes", default="", help="sizes to score at; the task's if not given")
    given = vars(parser.parse_args())
    given["sizes"] = [int(word) for word in given["sizes"].split(",") if word]
    publish(given.pop("run"), zoo_folder(), **given)


def publish(
    run: Path,
    zoo: Path,
    *,
    name: str = "",
    teacher: str = "",
    about: str = "",
    unfinished: bool = False,
    instances: int = 1000,
    sizes: Sequence[int] = (),
) -> Path:
    """Write the agent of a finished run into a zoo's folder, and return the stem of its files."""
    tensors, record = load_bundle(run / "agent")
    if not record["finished"] and not unfinished:
        raise SystemExit(f"{run} is not finished")
    agent = load_saved(run / "agent", str(run))
    recipe = {**record["recipe"], **({"teacher": teacher} if teacher else {})}
    # A program file is named for itself, as in improvement-three_at_once; of several starts none is named.
    origin = (recipe["teacher"] or str(recipe.get("start") or "")).removeprefix("teacher:")
    learned_from = "" if ":" in origin or "," in origin else Path(origin).stem.replace("-", "_")
    name = name or "-".join(filter(None, (recipe["method"], learned_from)))
    queries = "present" if agent.task.inputs.queries else None
    scores = evaluate(agent, sizes=sizes or agent.task.sizes, instances=instances, seed=0, queries=queries)
    made = {
        "method": recipe["method"],
        "teacher": recipe["teacher"],
        "recipe": recipe,
        "seconds": record["seconds"],
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "scores": scores.as_json()["rows"],
        "rules": len(extract(agent).program.rules) if isinstance(agent, Agent) else None,
        **({"about": about} if about else {}),
    }
    stem = zoo / agent.task.name / name
    stem.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(agent, Program):
        save_program(stem, replace(agent, name=f"zoo:{agent.task.name}/{name}"), made, tensors or None)
    else:
        save_bundle(stem, tensors, {**made, "task": record["task"], "interface": record["interface"]})
    print(f"zoo:{agent.task.name}/{name}: {made['rules']} rules, {[(row.size, row.solved) for row in scores.rows]}")
    return stem


if __name__ == "__main__":
    main()
