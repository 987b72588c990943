"""`surpass zoo`."""

from __future__ import annotations

from typing import Annotated

import typer

from surpass.cli.options import Json, OutputFile
from surpass.printing import show_number, text_table

__all__ = ["zoo_command"]


def zoo_command(
    name: Annotated[str | None, typer.Argument(help="TASK or TASK/NAME, to show one whole.", metavar="[NAME]")] = None,
    json: Json = None,
) -> None:
    """List the trained agents that ship with surpass, or show one with its recipe and scores."""
    from surpass.agents.zoo import Resident, find_resident, residents
    from surpass.tasks.registry import find_task

    output = OutputFile(json)
    chosen = residents() if name is None else (find_resident(name.removeprefix("zoo:")),)
    if not output.is_stdout:
        if name is None:
            best: dict[str, Resident] = {one.task: find_resident(one.task) for one in chosen}
            rows = []
            for one in chosen:
                merit = abs(one.merit[1])
                measure = find_task(one.task).measure
                rows.append(
                    [
                        f"zoo:{one.name}",
                        "best" if best[one.task].name == one.name else "",
                        f"{one.merit[0]:.0%}",
                        f"{show_number(merit, 2)} {measure}",
                        f"{one.record['seconds']:,.0f} s",
                        one.record["date"],
                    ]
                )
            columns = ["agent", "", "solved", "on the training sizes", "learned in", "on"]
            print(text_table("The zoo", columns, rows, "solved: the least share at any size that it is scored at"))
        else:
            _print_one(chosen[0].name, chosen[0].record)
    records = [{"name": one.name, **one.record} for one in chosen]
    output.write_json(records if name is None else records[0])


def _print_one(name: str, record: dict[str, object]) -> None:
    print(f"zoo:{name}\n")
    recipe = record["recipe"]
    assert isinstance(recipe, dict)
    for key, value in recipe.items():
        print(f"  {key}: {value}")
    print(f"  learned in: {record['seconds']} s on 2 cores, on {record['date']}\n")
    scores = record["scores"]
    assert isinstance(scores, list)
    rows = [
        [
            f"{row['size']:,}",
            f"{row['instances']:,}",
            f"{row['solved']:.1%}",
            show_number(row["mean_steps"], 2),
            show_number(row["mean_reward"], 3),
        ]
        for row in scores
    ]
    print(text_table("scores", ["size", "instances", "solved", "mean steps", "mean reward"], rows))
