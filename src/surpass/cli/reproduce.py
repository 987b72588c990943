"""`surpass reproduce`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from surpass.cli.display import ProgressDisplay
from surpass.cli.help import FILES, INSTANCES
from surpass.cli.live import SweepView
from surpass.cli.options import Json, On, OutputFile, Seed, check_outputs, option
from surpass.errors import UnknownNameError
from surpass.printing import wrap
from surpass.reading import ANY_SEED, Range, as_path, check_range


def reproduce_command(
    table: Annotated[
        str, typer.Argument(help="teachers, best, table1 to table6, curves, or all of them.", metavar="TABLE")
    ],
    quick: Annotated[bool, option("Fewer instances: all in about a minute.", group=INSTANCES, name="--quick")] = False,
    instances: Annotated[
        int | None, option("The most instances per cell.  [default: 1000; 100 with --quick]", "N", INSTANCES)
    ] = None,
    seed: Seed = 0,
    retrain: Annotated[
        bool, option("First do the training again, each agent and curve from its recipe.", name="--retrain")
    ] = False,
    stand_in: Annotated[
        list[str] | None, option("Run another agent in place of one of the zoo: zoo:TASK/NAME=AGENT.", "ZOO=AGENT")
    ] = None,
    out: Annotated[Path, option("The folder for figures and retrained agents.", "FOLDER", FILES)] = Path(
        "runs/reproduce"
    ),
    on: On = "local",
    json: Json = None,
    markdown: Annotated[
        Path | None, option("Also write the tables to this file as Markdown (- for the output).", "FILE", FILES)
    ] = None,
) -> None:
    """Print tables of the paper beside ours, made by the agents of the zoo, and draw its training curves.

    The paper's means are over 100 instances; ours are over up to 1000, and over fewer where one takes millions of
    steps. "teachers" are the rows of hand-written agents, with the difference to the paper's in standard
    errors; up to 3 can be chance. For learned agents the saving against the teacher on the same instances is
    compared. "best" sets the programs that were found beside the best that we wrote by hand. "curves" draws figures
    from data that ships with surpass. Training again takes hours; a second call resumes it.

    Examples:
      surpass reproduce all --quick
      surpass reproduce table3 --json table3.json --markdown table3.md
      surpass reproduce table3 --stand-in zoo:search/rl=runs/mine
    """
    with ProgressDisplay():
        from surpass.evaluation.comparison import NOTE
        from surpass.evaluation.curves import EXPERIMENTS, shipped_curves, train_curves
        from surpass.evaluation.reproduce import NAMES, Reproduction, count_verdicts, parse_stand_ins
        from surpass.visualize.paper_curves import make_figure
        from surpass.workers.runner import open_runner

    if table not in (*NAMES, "curves", "all"):
        raise UnknownNameError("table", table, (*NAMES, "curves", "all"))
    if instances is not None:
        check_range("instances", instances, Range(2, 10**6))  # a mean with an interval needs 2
    check_range("seed", seed, ANY_SEED)
    as_path(out)
    output, page = OutputFile(json), OutputFile(markdown)
    is_free = check_outputs(json=output, markdown=page)
    record: dict[str, Any] = {"name": table, "quick": quick, "seed": seed}
    lines: list[str] = []

    def add(text: object, in_markdown: str) -> None:
        lines.append(in_markdown)
        if is_free:
            print(text, flush=True)

    if table != "curves":
        stand_ins = parse_stand_ins(table, stand_in or [])
        failures: dict[str, str] = {}
        if retrain:
            trained, failures = _train_again(table, out, on)
            stand_ins = {**trained, **stand_ins}
        made = []
        with open_runner(on) as workers, ProgressDisplay() as progress:
            reproduction = Reproduction(
                quick=quick,
                instances=instances,
                seed=seed,
                stand_ins=stand_ins,
                failures=failures,
                workers=workers,
                progress=progress,
            )
            for one in reproduction.tables(table):
                made.append(one)
                with progress.paused():
                    add(one, one.as_markdown())
        record["tables"], record["verdicts"] = [one.as_json() for one in made], count_verdicts(made)
        counts = ", ".join(f"{number} {verdict}" for verdict, number in record["verdicts"].items())
        for text in (NOTE, f"Cells: {counts}."):
            add(wrap(text), text + "\n")
    if table in ("curves", "all"):
        record["curves"] = []
        for name in EXPERIMENTS:
            with open_runner(on if retrain else "local") as runner, SweepView() as watch:
                curves = train_curves(name, out, runner, watch) if retrain else shipped_curves(name)
            figure = make_figure(curves, out)
            record["curves"].append(figure.as_json())
            add(figure, figure.as_markdown((markdown or Path()).parent))
    output.write_json(record)
    page.write_text("\n".join(lines) + "\n")


def _train_again(table: str, out: Path, on: str) -> tuple[dict[str, str], dict[str, str]]:
    """Train the agents of a table again; return the folder of each, and why each of the others failed."""
    from surpass.evaluation.reproduce import learned_agents
    from surpass.learning.jobs import retrain
    from surpass.workers.runner import open_runner

    with open_runner(on) as runner, ProgressDisplay() as progress:
        return retrain(
            learned_agents(table),
            out / "agents",
            runner,
            lambda ended, count: progress("training agents, done", ended, count),
        )
