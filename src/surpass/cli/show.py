"""`surpass show`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surpass.cli.options import OutputFile, resolve_agent
from surpass.cli.progress import Progress, show_progress
from surpass.cli.tables import print_table, show_number
from surpass.errors import SettingError

if TYPE_CHECKING:
    from surpass.programs.program import Program
    from surpass.programs.usage import Usage
    from surpass.tasks.task import Instances, Task

__all__ = ["show_command"]

MOST_LINES = 20
"""How many lines of each part of a comparison are printed; all of them are in the JSON."""


def show_command(
    agent: Annotated[
        str,
        typer.Argument(
            help="The agent: teacher:NAME, zoo:NAME, a run's folder, a checkpoint or FILE.rules.", metavar="AGENT"
        ),
    ],
    task: Annotated[
        str | None, typer.Option(help="Its task: a name, or a Python file that registers one.", metavar="NAME|FILE")
    ] = None,
    table: Annotated[bool, typer.Option("--table", help="Print every observation and its action instead.")] = False,
    compare: Annotated[
        str | None,
        typer.Option(help="Another agent: show where the two part and where steps are saved.", metavar="AGENT"),
    ] = None,
    size: Annotated[
        int | None, typer.Option(help="The size on which steps are counted.  [default: the largest to learn on]")
    ] = None,
    instances: Annotated[int, typer.Option(help="How many instances they are counted on.")] = 100,
    data: Annotated[str | None, typer.Option(help="The distribution of these instances.", metavar="NAME")] = None,
    seed: Annotated[int, typer.Option(help="Draws other instances, here and to collect what the agent meets.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Also write the program to this file, to read and edit.", metavar="FILE.rules")
    ] = None,
    json: Annotated[Path | None, typer.Option(help="Also write what is shown to this file (- for the output).")] = None,
) -> None:
    """Print an agent as a program: few rules that do exactly what it does on every observation that occurred.

    Each line with an action has the numbers of its rules, their share of the steps of a typical run, and how many
    observations they answer.

    Example: surpass show zoo:sort-quick/imitation-quick_sort
    """
    from surpass.programs.record import table_as_json, usage_as_json

    if table and compare:
        raise SettingError("--table and --compare do not go together: give one of them")
    output, file = OutputFile(json), OutputFile(out)
    if output.is_stdout and file.is_stdout:
        raise SettingError("--out and --json cannot both go to the output: give one of them a file")
    first = resolve_agent(agent, task)
    second = resolve_agent(compare, None) if compare else None
    if second is not None and second.task is not first.task:
        raise SettingError(f"{second.name} works on {second.task.name}, not on {first.task.name}")
    drawn = _draw(first.task, size, instances, data, seed)
    with show_progress() as progress:
        usages = [_use(one, drawn, seed, progress) for one in (first, second) if one is not None]
    usage = usages[0]
    record, is_quiet = usage_as_json(usage), output.is_stdout or file.is_stdout
    if second is not None:
        record["against"] = usage_as_json(usages[1])
        record["comparison"] = _compare(usages[0], usages[1], quiet=is_quiet)
    elif table:
        record["table"] = table_as_json(usage)
        if not is_quiet:
            _print_rows(usage.program, record["table"])
    elif not is_quiet:
        _print_program(usage)
    if out is not None:
        file.write_text(str(usage.program))
    output.write_json(record)


def _draw(task: Task, size: int | None, count: int, data: str | None, seed: int) -> Instances:
    """Return the instances on which steps are counted."""
    from surpass.tasks.task import Request

    return task.draw(
        Request(
            size=task.training_sizes[1] if size is None else size,
            count=count,
            seed=seed,
            data=data or next(iter(task.data)),
            queries=task.queries[0] if task.queries else "",
        )
    )


def _use(agent: Any, instances: Instances, seed: int, progress: Progress) -> Usage:
    """Return the program of an agent and its use on some instances."""
    from surpass.programs.extract import extract
    from surpass.programs.usage import measure_use

    found = extract(agent, seed=seed, progress=lambda what, *done: progress(f"{agent.name}: {what}", *done))
    return measure_use(found, instances, lambda done: progress(f"{agent.name}: runs", done, instances.count))


def _print_program(usage: Usage) -> None:
    from surpass.programs.listing import list_program

    program, steps = usage.program, max(1, usage.steps)
    size = f"{_count(len(program.rules), 'rule')} at {_count(len(program.places), 'place')}"
    print(f"{program.name} on {program.task.name}: {size}\n")
    lines = list_program(program)
    width = max((len(line.text) for line in lines), default=0)
    rows = [("", "rules", "steps", "observations")]
    for line in lines:
        fired, covered = (sum(int(of_rule[rule]) for rule in line.rules) for of_rule in (usage.fired, usage.covered))
        numbers = "+".join(str(rule + 1) for rule in line.rules)
        rows.append((line.text, numbers, *((f"{fired / steps:.1%}", f"{covered:,}") if line.rules else ("", ""))))
    numbers_width = max(len(row[1]) for row in rows)
    for text, numbers, share, covers in rows:
        print(f"{text:<{width}}  {numbers:>{numbers_width}}  {share:>6}  {covers:>12}".rstrip())
    print()
    for sentence in _explain(usage):
        print(sentence)


def _explain(usage: Usage) -> list[str]:
    """Return what is known of a program, in sentences."""
    results, evidence = usage.results, usage.extraction.evidence
    size = int(results.sizes[0])
    run = f"{_count(len(results.sizes), 'instance')} of size {size}, {results.solved.mean():.1%} of them solved"
    found = [f"Steps: shares of {usage.steps:,} on {run}."]
    if evidence is None:
        return [*found, "The agent is this program. Where no rule fits, it has no action."]
    occurred = _count(len(usage.observations), "observation")
    found.append(
        f"The rules do what the agent does on each of {occurred} that occurred in {evidence.instances:,} instances."
    )
    new, wrong = (sum(getattr(one, name) for one in evidence.rounds) for name in ("new", "wrong"))
    held = f"all but {wrong:,} and were then written again" if wrong else "all"
    if new:
        late = _count(new, "of them first occurred", "of them first occurred")
        found.append(f"{late} when the rules stood already; they had the agent's action for {held}.")
    found.append("On any other observation the program follows the rules; where no rule fits, it has no action.")
    if usage.unseen:
        found.append(f"Such observations occurred at {_count(usage.unseen, 'step')} of this run.")
    return found


def _print_rows(program: Program, rows: list[dict[str, Any]]) -> None:
    print(f"{program.name} on {program.task.name}: {_count(len(rows), 'observation')}\n")
    print("observation  steps  rule  action  what it says")
    for row in rows:
        print(f"{row['observation']}  {row['steps']}  {row['rule']}  {row['action']}  {row['says']}")


def _compare(first: Usage, second: Usage, *, quiet: bool) -> dict[str, Any]:
    """Print where two programs part and where steps are saved, and return the same as plain data."""
    from surpass.evaluation.scores import score
    from surpass.programs.record import comparison_as_json

    task = first.program.task
    row = score(task, first.results, second.results)
    if not quiet:
        _print_totals(first, second, row.difference, row.difference_ci95)
        _print_instructions(first, second)
        _print_rules(first, second)
        _print_partings(first, second)
        _print_partings(second, first)
    return {
        "measure": task.measure,
        "difference": row.difference,
        "difference_ci95": row.difference_ci95 if row.instances > 1 else None,
        **comparison_as_json(first, second),
    }


def _print_totals(first: Usage, second: Usage, difference: float | None, interval: float | None) -> None:
    measure, digits = first.program.task.measure, 3 if first.program.task.measure == "reward" else 2
    rows = []
    for usage in (first, second):
        results = usage.results
        mean = (results.rewards if measure == "reward" else results.steps).mean()
        rows.append(
            [
                usage.program.name,
                f"{len(usage.program.rules)}",
                f"{results.solved.mean():.1%}",
                show_number(mean, digits),
            ]
        )
    size, count = int(first.results.sizes[0]), len(first.results.sizes)
    note = f"the first has {difference:+,.{digits}f} ± {show_number(interval, digits)} {measure} per instance"
    columns = ["program", "rules", "solved", f"mean {measure}"]
    print_table(f"On the same {_count(count, 'instance')} of size {size}", columns, rows, note)


def _print_instructions(first: Usage, second: Usage) -> None:
    from surpass.programs.usage import steps_by_instruction

    count = len(first.results.sizes)
    spent = [steps_by_instruction(usage) | {"all": usage.steps} for usage in (first, second)]
    rows = [
        [name, *(show_number(steps / count, 2) for steps in (of_first, spent[1][name], spent[1][name] - of_first))]
        for name, of_first in spent[0].items()
        if of_first or spent[1][name]
    ]
    columns = ["instruction", first.program.name, second.program.name, "saved"]
    print_table("Steps per instance, by instruction", columns, rows)


def _print_rules(first: Usage, second: Usage) -> None:
    from surpass.programs.usage import match_rules

    count = len(first.results.sizes)
    shared = match_rules(first, second)
    print("Steps per instance, by rule (of the first, of the second, saved; - where a program does not have the rule)")
    for one in shared[:MOST_LINES]:
        steps = [show_number(k / count, 2) if r is not None else "-" for k, r in zip(one.steps, one.rules, strict=True)]
        saved = (one.steps[1] - one.steps[0]) / count
        print(f"  {steps[0]:>9}  {steps[1]:>9}  {saved:>+10,.2f}  {_sentence(one.action, one.when, one.place)}")
    _print_rest(len(shared))


def _print_partings(usage: Usage, other: Usage) -> None:
    from surpass.programs.usage import find_partings
    from surpass.programs.words import show_action, show_rule

    program, count, name = usage.program, len(usage.results.sizes), other.program.name
    partings = find_partings(usage, other)
    steps = (partings.agreed, partings.unseen, sum(way.steps for way in partings.ways))
    agreed, unseen, parted = (show_number(number / count, 2) for number in steps)
    print(
        f"Of the steps of {program.name} per instance, {name} does the same at {agreed}, never sees the observation at"
        f" {unseen}, and does something else at {parted}{':' if partings.ways else '.'}"
    )
    for way in partings.ways[:MOST_LINES]:
        place, when, action = ("", "else", "no action") if way.rule < 0 else show_rule(program, way.rule)
        instead = show_action(program.task.interface, way.instead)
        print(f"  {way.steps / count:9,.2f}  {_sentence(f'{action} instead of {instead}', when, place)}")
    _print_rest(len(partings.ways))


def _sentence(action: str, when: str, place: str) -> str:
    """Return a rule on one line."""
    return action + (", else" if when == "else" else f" if {when}") + (f" ({place})" if place else "")


def _print_rest(lines: int) -> None:
    print(f"  and {lines - MOST_LINES:,} more, all of them in --json\n" if lines > MOST_LINES else "")


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
