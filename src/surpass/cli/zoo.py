"""`surpass zoo`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from surpass.cli.options import Json, OutputFile
from surpass.printing import show_number, text_table, wrap

if TYPE_CHECKING:
    from surpass.agents.zoo import ZooEntry


def zoo_command(
    name: Annotated[
        str | None, typer.Argument(help="TASK or TASK/METHOD, to show one whole.", metavar="[NAME]")
    ] = None,
    json: Json = None,
) -> None:
    """List the trained agents that ship with surpass, or show one with its recipe and scores.

    The JSON is a list with name, task, method, teacher, seconds, date, scores, rules and recipe of each agent.

    Examples:
      surpass zoo
      surpass zoo sort-quick/improvement-hoare_sort
    """
    from surpass.agents.zoo import find_entry, zoo_entries

    output = OutputFile(json)
    chosen = zoo_entries() if name is None else (find_entry(name.removeprefix("zoo:")),)
    if name is None:
        output.show(f"{_list(chosen)}\n", [one.as_json() for one in chosen])
    else:
        output.show(f"{_describe(chosen[0])}\n", chosen[0].as_json())


def _list(chosen: tuple[ZooEntry, ...]) -> str:
    from surpass.agents.zoo import find_entry
    from surpass.tasks.registry import find_task

    best = {find_entry(task).name for task in {one.task for one in chosen}}
    rows = [
        [
            f"zoo:{one.name}",
            "best" if one.name in best else "",
            one.record["method"],
            one.record["teacher"] or "-",
            "-" if one.record["rules"] is None else f"{one.record['rules']:,}",
            f"{one.merit[0]:.0%}",
            f"{show_number(abs(one.merit[1]), 2)} {find_task(one.task).measure}",
            f"{one.record['seconds']:,.0f} s",
        ]
        for one in chosen
    ]
    columns = ["agent", "", "method", "teacher", "rules", "solved", "mean", "learned in"]
    note = "best: what zoo:TASK stands for; teacher: whom it learned from, or what it was improved from; solved: the"
    note += " least share at any size; mean: on the sizes to learn on"
    return text_table("The zoo", columns, rows, note, spare=["method", "learned in", "teacher"])


def _describe(one: ZooEntry) -> str:
    record = one.record
    lines = [f"zoo:{one.name}", "", *([wrap(record["about"]), ""] if "about" in record else [])]
    lines += [wrap(f"{key}: {value}", "      ", first="  ") for key, value in record["recipe"].items()]
    lines.append(f"  learned in: {record['seconds']} s on 2 cores, on {record['date']}")
    if record["rules"] is not None:
        lines.append(f"  rules: {record['rules']:,}")
    rows = [
        [
            *(f"{row['size']:,}", f"{row['instances']:,}", f"{row['solved']:.1%}"),
            *(show_number(row["mean_steps"], 2), show_number(row["mean_reward"], 3)),
        ]
        for row in record["scores"]
    ]
    scores = text_table("scores", ["size", "instances", "solved", "mean steps", "mean reward"], rows)
    return "\n".join([*lines, "", scores])
