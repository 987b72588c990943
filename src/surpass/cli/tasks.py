"""`surpass tasks`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from surpass.cli.options import Json, OutputFile, TaskArgument
from surpass.printing import text_table, wrap

if TYPE_CHECKING:
    from surpass.machine.instructions import Operand
    from surpass.tasks.task import Task

MOST_VALUES = 8
"""How many values of an operand are listed."""
EFFORT = 5
"""How many times longer --check plays than a task's first run does."""


def tasks_command(
    task: TaskArgument = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check", "--debug", help="Play the task at random as plain Python, and show the line that goes wrong."
        ),
    ] = False,
    json: Json = None,
) -> None:
    """List the tasks, or show what one sees and does, its sizes, teachers and search space.

    Examples:
      surpass tasks
      surpass tasks sort-bubble
      surpass tasks my-task.py --json task.json
      surpass tasks my-task.py --check
    """
    from surpass.agents import as_task
    from surpass.tasks.registry import known_tasks

    if check:
        _check(task)
        return
    output = OutputFile(json)
    chosen = known_tasks() if task is None else (as_task(task),)
    if not output.is_stdout:
        if task is None:
            _print_list(chosen)
        else:
            _print_task(chosen[0])
    records = [_as_json(one) for one in chosen]
    output.write_json(records if task is None else records[0])


def _check(task: str | None) -> None:
    """Check a task for longer than before its first run, and print the user's lines on the way to a mistake."""
    from surpass.engine.check_task import check_task
    from surpass.errors import SettingError, SurpassError
    from surpass.reading import as_path
    from surpass.tasks.registry import find_task
    from surpass.tasks.user_file import load_task_file

    if task is None:
        raise SettingError("--check needs a task: give its name, or a Python file that registers it")
    for one in load_task_file(as_path(task)) if task.endswith(".py") else (find_task(task),):
        try:
            passed = check_task(one, EFFORT)
        except SurpassError as error:
            print("".join(getattr(error, "__notes__", [])), end="")
            raise
        for doubt in passed["doubts"]:
            print(doubt)
        print(f"{one.name}: no mistake on {passed['instances']} instances, as plain Python with every index checked")


def _as_json(task: Task) -> dict[str, Any]:
    from surpass.agents.teachers import known_teachers

    interface = task.interface
    record: dict[str, Any] = {
        "name": task.name,
        "summary": task.summary,
        "features": [
            {"name": feature.name, "values": [str(v) for v in getattr(feature, "values", ["None", "any action"])]}
            for feature in interface.features
        ],
        "instructions": [
            {"name": i.name, "operands": [{"name": o.name, "values": [str(v) for v in o.values]} for o in i.operands]}
            for i in interface.instructions
        ],
        "sizes": list(task.sizes),
        "training_sizes": list(task.training_sizes),
        "data": list(task.inputs.draw),
        "queries": list(task.inputs.queries),
        "limit": task.limit,
        "limit_is_budget": task.limit_is_budget,
        "measure": task.measure,
        "teachers": [teacher.name for teacher in known_teachers(task)],
    }
    if not interface.is_full_view:
        record["inputs"] = interface.input_size
        record["actions"] = interface.action_count
        record["observations"] = interface.observation_count
        record["search_space"] = interface.search_space
    return record


def _print_list(tasks: tuple[Task, ...]) -> None:
    rows = []
    for task in tasks:
        record = _as_json(task)
        teachers = ", ".join(name.partition(":")[2] for name in record["teachers"])
        observations = f"{record['observations']:.3g}" if "observations" in record else "the list"
        rows.append(
            [task.name, str(record.get("inputs", "graph")), observations, str(record.get("actions", "n^2")), teachers]
        )
    print(text_table("Tasks", ["task", "inputs", "observations", "actions", "teachers"], rows))
    print("surpass tasks TASK shows one whole.")


def _print_task(task: Task) -> None:
    from surpass.agents.teachers import known_teachers

    interface = task.interface
    print(wrap(f"{task.name}: {task.summary}") + "\n")
    if interface.is_full_view:
        print(wrap("It sees the whole list: for each pair of positions, how they and their values compare."))
    else:
        print(f"It sees {len(interface.features)} features ({interface.input_size} network inputs):")
        for k, feature in enumerate(interface.features):
            values = interface.feature_values(k)
            conditions = [feature.condition(value) for value in values[:4]]
            more = f" | ... ({len(values)} in all)" if len(values) > 4 else ""
            print(wrap(f"{' | '.join(conditions)}{more}", "      ", first="  "))
    print("\nIt does:")
    for instruction in interface.instructions:
        signature = f"{instruction.name}({', '.join(o.name for o in instruction.operands)})"
        ranges = "; ".join(f"{operand.name}: {_show_values(operand)}" for operand in instruction.operands)
        print(wrap(f"{signature}   {ranges}".rstrip(), "      ", first="  "))
    smallest, largest = task.training_sizes
    facts = {
        "sizes": f"{', '.join(map(str, task.sizes))}; to learn on: {smallest} to {largest}",
        "data": ", ".join(task.inputs.draw),
        "queries": ", ".join(task.inputs.queries),
        "instance": task.inputs.written,
        "limit": f"{task.limit} steps",
        "compared": f"by {task.measure}" + (", and any time is an end" if task.limit_is_budget else ""),
    }
    if not interface.is_full_view:
        facts["programs"] = (
            f"{interface.search_space}: {interface.action_count:,} actions for each of"
            f" {interface.observation_count:.3g} observations"
        )
    print()
    for name, said in facts.items():
        if said:
            print(wrap(said, " " * 11, first=name.ljust(11)))
    print("teachers")
    for teacher in known_teachers(task):
        summary = f": {teacher.summary}" if teacher.summary else ""
        print(wrap(f"{teacher.name}{summary}", "      ", first="  "))


def _show_values(operand: Operand) -> str:
    """Return what an operand may be, as a list of its first values."""
    from surpass.machine.instructions import show_operand

    more = f", ... ({len(operand.values)} in all)" if len(operand.values) > MOST_VALUES else ""
    return ", ".join(map(show_operand, operand.values[:MOST_VALUES])) + more if operand.values else "any position"
