"""`surpass reproduce`."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surpass.cli.options import OutputFile
from surpass.cli.progress import show_progress
from surpass.cli.sweep import show_sweep
from surpass.cli.tables import print_table, show_number
from surpass.errors import SettingError, UnknownNameError

if TYPE_CHECKING:
    from surpass.evaluation.curves import Curves
    from surpass.evaluation.reproduce import Table

__all__ = ["reproduce_command"]

COLUMNS = 100
"""The width that everything is printed in."""


def reproduce_command(
    table: Annotated[str, typer.Argument(help="teachers, table1 to table6, curves, or all of them.", metavar="TABLE")],
    quick: Annotated[bool, typer.Option("--quick", help="Fewer instances: all in about a minute.")] = False,
    instances: Annotated[
        int | None, typer.Option(help="The most instances per cell.  [default: 1000; 100 with --quick]")
    ] = None,
    seed: Annotated[int, typer.Option(help="Draws other instances.")] = 0,
    retrain: Annotated[
        bool, typer.Option("--retrain", help="First do the training again, each agent and curve from its recipe.")
    ] = False,
    stand_in: Annotated[
        list[str] | None,
        typer.Option(help="Run another agent in place of one of the zoo.", metavar="zoo:TASK/NAME=AGENT"),
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder for figures and what is trained again.")] = Path(
        "runs/reproduce"
    ),
    json: Annotated[Path | None, typer.Option(help="Also write the tables to this file (- for the output).")] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Also write the tables to this file as Markdown (- for the output).")
    ] = None,
) -> None:
    """Print tables of the paper beside ours, made by the agents of the zoo, and draw its training curves.

    The paper's means are over 100 instances; ours are over up to 1000, and over fewer where one takes millions of
    steps. "teachers" are the rows of hand-written agents, with the difference to the paper's in standard
    errors; up to 3 can be chance. For learned agents the saving against the teacher on the same instances is
    compared. "curves" draws figures from data that ships with surpass. Training again takes hours;
    it goes on where it was broken off.

    Example: surpass reproduce table3 --json table3.json --markdown table3.md

    Example: surpass reproduce table3 --stand-in zoo:search/rl+imitation=runs/mine
    """
    from surpass.evaluation.reproduce import NAMES

    if table not in (*NAMES, "curves", "all"):
        raise UnknownNameError("table", table, (*NAMES, "curves", "all"))
    if instances is not None and instances < 2:
        raise SettingError(f"instances is {instances}; a mean with an interval needs 2 or more")
    if seed < 0:
        raise SettingError(f"seed is {seed}; it must be 0 or more")
    output, page = OutputFile(json), OutputFile(markdown)
    if output.is_stdout and page.is_stdout:
        raise SettingError("--json and --markdown cannot both go to the output")
    report = _Report(speaks=not output.is_stdout and not page.is_stdout, page_folder=(markdown or Path()).parent)
    if table != "curves":
        named = _parse_stand_ins(table, stand_in or [])
        _reproduce_tables(
            report, table, quick=quick, instances=instances, seed=seed, retrain=retrain, named=named, out=out
        )
    if table in ("curves", "all"):
        _reproduce_curves(report, retrain=retrain, out=out)
    output.write_json({"name": table, "quick": quick, "seed": seed, **report.record})
    page.write_text("\n".join(report.markdown) + "\n")


class _Report:
    """Gathers what was made, for the files, and prints it unless a file goes to the output."""

    def __init__(self, *, speaks: bool, page_folder: Path) -> None:
        self.speaks, self.page_folder = speaks, page_folder
        self.record: dict[str, Any] = {}
        self.markdown: list[str] = []

    def add_table(self, table: Table) -> None:
        from surpass.evaluation.layout import as_markdown, as_text

        self.record.setdefault("tables", []).append(table.as_json())
        self.markdown.append(as_markdown(table))
        if self.speaks:
            print(as_text(table), flush=True)

    def add_text(self, text: str) -> None:
        self.markdown.append(text + "\n")
        if self.speaks:
            print(textwrap.fill(text, COLUMNS))


def _parse_stand_ins(table: str, words: list[str]) -> dict[str, str]:
    """Return which agents run in place of which, once they are known to be of the same task."""
    from surpass.agents import find_agent
    from surpass.evaluation.reproduce import learned_agents

    found: dict[str, str] = {}
    for word in words:
        name, equals, agent = word.partition("=")
        if not equals:
            raise SettingError(f"stand-in {word!r} is not of the form zoo:TASK/NAME=AGENT")
        known = learned_agents(table)
        if name not in known:
            raise UnknownNameError(f"agent of {table}", name, known)
        task = find_agent(agent).task.name
        if not name.startswith(f"zoo:{task}/"):
            raise SettingError(f"{agent} is an agent of {task} and cannot stand in for {name}")
        found[name] = agent
    return found


def _reproduce_tables(
    report: _Report,
    name: str,
    *,
    quick: bool,
    instances: int | None,
    seed: int,
    retrain: bool,
    named: dict[str, str],
    out: Path,
) -> None:
    from surpass.evaluation.layout import NOTE
    from surpass.evaluation.reproduce import Reproduction, count_verdicts, learned_agents

    stand_ins: dict[str, str] = {}
    failures: dict[str, str] = {}
    with show_progress() as progress:
        if retrain:
            from surpass.engine.run import core_count
            from surpass.learning.jobs import LocalRunner
            from surpass.learning.jobs import retrain as train_again

            retrained = train_again(
                learned_agents(name),
                out / "agents",
                LocalRunner(core_count()),
                lambda ended, count: progress("agents trained", ended, count),
            )
            stand_ins, failures = dict(retrained.folders), retrained.failures
        stand_ins.update(named)
        reproduction = Reproduction(
            quick=quick,
            instances=instances,
            seed=seed,
            stand_ins=stand_ins,
            failures=failures,
            progress=lambda row, size, done, total: progress(f"{row} n={size:,}", done, total),
        )
        made = []
        for table in reproduction.tables(name):
            made.append(table)
            report.add_table(table)
    verdicts = count_verdicts(made)
    report.record["verdicts"] = verdicts
    report.add_text(NOTE)
    report.add_text("Cells: " + ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()) + ".")


def _reproduce_curves(report: _Report, *, retrain: bool, out: Path) -> None:
    from surpass.evaluation.curves import EXPERIMENTS, draw_curves, shipped_curves, teacher_level

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingError(f"{out} cannot be written: {error.strerror}") from None
    for name, title in EXPERIMENTS.items():
        curves = _train_curves(name, out) if retrain else shipped_curves(name)
        teacher = teacher_level(name)
        paths = draw_curves(curves, out / name, teacher=teacher)
        report.record.setdefault("curves", []).append(
            {
                "name": name,
                "title": title,
                "teacher": {"agent": teacher[0], "mean_steps": teacher[1]},
                "settings": curves.summary(),
                "files": [str(path) for path in paths],
            }
        )
        if report.speaks:
            _print_curves(title, curves, teacher, paths)
        _add_curves_markdown(report, title, curves, teacher, paths)


def _train_curves(name: str, out: Path) -> Curves:
    """Do the runs of an experiment by a sweep, and return their curves, which are also written as CSV."""
    from surpass.engine.run import core_count
    from surpass.evaluation.curves import gather_curves, read_curves, write_curves
    from surpass.learning.jobs import LocalRunner
    from surpass.learning.recipes import find_recipe
    from surpass.learning.sweeps import Sweep
    from surpass.tasks.registry import find_task

    recipe = find_recipe(f"curves-{name}")
    sweep = Sweep(recipe, find_task(recipe.task), out / "curves" / name)
    with show_sweep() as watch:
        sweep.run(LocalRunner(core_count()), watch)
    path = out / f"{name}.csv"
    write_curves(path, gather_curves(sweep))
    return read_curves(path)


def _summary_rows(curves: Curves) -> list[list[str]]:
    return [
        [
            str(entry["setting"]),
            str(entry["seeds"]),
            show_number(entry["mean"]),
            f"{show_number(entry['mean_low'])} to {show_number(entry['mean_high'])}",
            show_number(entry["best"]),
        ]
        for entry in curves.summary()
    ]


SUMMARY = ["setting", "seeds", "mean at the end", "95 %", "best at any time"]


def _print_curves(title: str, curves: Curves, teacher: tuple[str, float], paths: tuple[Path, ...]) -> None:
    note = f"{teacher[0]}: {teacher[1]:.1f}; drawn in {' and '.join(str(path) for path in paths)}"
    print_table(f"{title}: mean episode length", SUMMARY, _summary_rows(curves), note)


def _add_curves_markdown(
    report: _Report, title: str, curves: Curves, teacher: tuple[str, float], paths: tuple[Path, ...]
) -> None:
    figure = os.path.relpath(paths[0], report.page_folder)
    lines = [f"## {title}: mean episode length", "", f"![{title}]({figure})", ""]
    lines += ["| " + " | ".join(SUMMARY) + " |", "|---|" + "---:|" * (len(SUMMARY) - 1)]
    lines += ["| " + " | ".join(row) + " |" for row in _summary_rows(curves)]
    lines += [f"| {teacher[0]} | | {teacher[1]:.1f} | | |", ""]
    report.markdown.append("\n".join(lines))
