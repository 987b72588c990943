"""`surpass sweep`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surpass.cli.display import ProgressDisplay
from surpass.cli.help import FILES, RUNNING
from surpass.cli.live import SweepView
from surpass.cli.options import Json, On, OutputFile, option, parse_numbers
from surpass.errors import SettingError
from surpass.printing import text_table, wrap
from surpass.reading import SEED


def sweep_command(
    recipe: Annotated[
        str | None,
        typer.Argument(help="A TOML file, a recipe of --list, zoo:NAME or a run's folder.", metavar="[RECIPE]"),
    ] = None,
    out: Annotated[Path | None, option("The sweep's folder.  [default: runs/sweep-RECIPE]", "FOLDER", FILES)] = None,
    processes: Annotated[
        int | None, option("Runs side by side, each on one core.  [default: the number of cores]", "N", RUNNING)
    ] = None,
    seeds: Annotated[str | None, option("Other seeds than the recipe's, such as 0,1,2.", "N,N,...", RUNNING)] = None,
    task: Annotated[
        str | None, option("The Python file that registers the recipe's task, if it is your own.", "FILE")
    ] = None,
    list_recipes: Annotated[bool, option("List the recipes that ship with surpass.", name="--list")] = False,
    on: On = "local",
    json: Json = None,
) -> None:
    """Do every run of a recipe's grid, and rank them by their scores on the training sizes.

    A sweep that was killed resumes when it is started again. A run that fails is noted with its reason and
    stops none of the others. The sweep's folder is an agent: that of its best run.

    Examples:
      surpass sweep --list
      surpass sweep quick-search
      surpass sweep my-sweep.toml --processes 8 --json ranking.json
    """
    output = OutputFile(json)
    if list_recipes:
        _list(output)
        return
    if recipe is None:
        raise SettingError("no recipe is given; name one of surpass sweep --list, or a TOML file")
    with ProgressDisplay():
        from surpass.agents import as_task
        from surpass.learning.recipes import find_recipe
        from surpass.learning.sweeps import Sweep
        from surpass.workers.runner import open_runner

    found = find_recipe(recipe)
    if seeds is not None:
        found = found.with_seeds(parse_numbers("seed", seeds, SEED, "0,1,2"))
    subject = as_task(task or found.task)
    if subject.name != found.task:
        raise SettingError(f"recipe {recipe} is for {found.task}, not for {subject.name}")
    folder = out or Path("runs") / f"sweep-{found.name.replace('/', '-').replace(':', '-')}"
    sweep = Sweep(found, subject, folder, task_text=task or "")
    sweep.check()
    with open_runner(on, processes) as runner, SweepView() as watch:
        ranking = sweep.run(runner, watch)
    text = f"{folder.name}\n{ranking}"
    if ranking.runs:
        best = folder / "runs" / ranking.runs[0].run
        text += wrap(f"The best is {best}; {folder} is its agent (surpass evaluate {folder}).") + "\n"
    output.show(text, {"folder": str(folder), "recipe": found.as_json(), **ranking.as_json()})


def _list(output: OutputFile) -> None:
    from surpass.learning.recipes import known_recipes

    recipes = known_recipes()
    rows = [[name, one.task, one.method, f"{len(one.variants):,}"] for name, one in recipes.items()]
    lines = [text_table("Recipes", ["recipe", "task", "method", "runs"], rows)]
    lines += [wrap(f"{name}: {one.about}", "    ", first="") for name, one in recipes.items()]
    output.show("\n".join(lines) + "\n", [one.as_json() for one in recipes.values()])
