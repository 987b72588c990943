"""`surpass sweep`."""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surpass.cli.options import Json, On, OutputFile, parse_seeds
from surpass.errors import SettingError
from surpass.printing import text_table

if TYPE_CHECKING:
    from surpass.learning.sweeps import SweepState

PLAIN_EVERY = 30.0
"""Seconds between plain lines while no run ends."""


def sweep_command(
    recipe: Annotated[
        str | None,
        typer.Argument(help="A TOML file, a recipe of --list, zoo:NAME or a run's folder.", metavar="[RECIPE]"),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The sweep's folder.  [default: runs/sweep-RECIPE]")] = None,
    processes: Annotated[
        int | None, typer.Option(help="Runs side by side, each on one core.  [default: the number of cores]")
    ] = None,
    seeds: Annotated[str | None, typer.Option(help="Other seeds than the recipe's, such as 0,1,2.")] = None,
    task: Annotated[
        str | None, typer.Option(help="The Python file that registers the recipe's task, if it is your own.")
    ] = None,
    list_recipes: Annotated[bool, typer.Option("--list", help="List the recipes that ship with surpass.")] = False,
    on: On = "local",
    json: Json = None,
) -> None:
    """Do every run of a recipe's grid, and rank them by their scores on the training sizes.

    A sweep that was killed goes on when it is started again. A run that fails is noted with its reason and
    stops none of the others. The sweep's folder is an agent: that of its best run.

    Example: surpass sweep quick-search
    """
    from surpass.agents import as_task
    from surpass.learning.recipes import find_recipe
    from surpass.learning.sweeps import Sweep
    from surpass.workers.runner import open_runner

    output = OutputFile(json)
    if list_recipes:
        _list(output)
        return
    if recipe is None:
        raise SettingError("no recipe is given; name one of surpass sweep --list, or a TOML file")
    found = find_recipe(recipe)
    if seeds is not None:
        found = found.with_seeds(parse_seeds(seeds))
    subject = as_task(task or found.task)
    if subject.name != found.task:
        raise SettingError(f"recipe {recipe} is for {found.task}, not for {subject.name}")
    folder = out or Path("runs") / f"sweep-{found.name.replace('/', '-').replace(':', '-')}"
    sweep = Sweep(found, subject, folder, task_text=task or "")
    sweep.check()
    with open_runner(on, processes) as runner, show_sweep() as watch:
        ranking = sweep.run(runner, watch)
    if not output.is_stdout:
        print(f"{folder.name}\n{ranking}", end="")
        if ranking.runs:
            best = folder / "runs" / ranking.runs[0].run
            print(f"The best is {best}; {folder} is its agent (surpass evaluate {folder}).")
    output.write_json({"folder": str(folder), "recipe": found.as_json(), **ranking.as_json()})


def _list(output: OutputFile) -> None:
    from surpass.learning.recipes import known_recipes

    recipes = known_recipes()
    if not output.is_stdout:
        rows = [[name, one.task, one.method, f"{len(one.variants):,}"] for name, one in recipes.items()]
        print(text_table("Recipes", ["recipe", "task", "method", "runs"], rows))
        for name, one in recipes.items():
            print(f"{name}: {one.about}")
    output.write_json([one.as_json() for one in recipes.values()])


# While it runs


@contextmanager
def show_sweep() -> Iterator[Callable[[SweepState], None]]:
    """Give a display of a sweep for the length of a block: a live table on a terminal, plain lines elsewhere."""
    if not sys.stderr.isatty():
        yield _PlainLines()
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), transient=True, refresh_per_second=2) as live:
        yield lambda state: live.update(live_table(state))


class _PlainLines:
    """Prints a line when a run ends, and now and then while none does."""

    def __init__(self) -> None:
        self._last: tuple[float, int] | None = None

    def __call__(self, state: SweepState) -> None:
        ranking, now = state.ranking, time.monotonic()
        ended = len(ranking.runs) + len(ranking.failed)
        if self._last is not None and ended == self._last[1] and now - self._last[0] < PLAIN_EVERY:
            return
        if self._last is None and not state.running:
            return
        self._last = (now, ended)
        print(state, file=sys.stderr, flush=True)


def live_table(state: SweepState) -> Any:
    """Return a table for a terminal: what is done, the best so far, and how far each running run has come."""
    from rich.table import Table

    table = Table(title=str(state), title_justify="left")
    for column in ("running", "round", "solved", "mean steps"):
        table.add_column(column, justify="left" if column == "running" else "right")
    for folder in state.running:
        line = _last_curve(folder)
        table.add_row(
            folder.name,
            line.get("round", "-"),
            _reformat(line.get("solved"), "{:.1%}"),
            _reformat(line.get("mean_steps"), "{:,.1f}"),
        )
    return table


def _last_curve(folder: Path) -> dict[str, str]:
    """Return the last saved line of a run's curves by column; empty if there is none yet."""
    try:
        with (folder / "curves.csv").open(newline="") as file:
            return list(csv.DictReader(file))[-1]
    except (OSError, ValueError, IndexError, csv.Error):
        return {}


def _reformat(text: str | None, style: str) -> str:
    try:
        return style.format(float(text or "-"))
    except ValueError:
        return "-"
