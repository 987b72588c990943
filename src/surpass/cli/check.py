"""`surpass check`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surpass.cli.options import OutputFile, parse_sizes, resolve_agent
from surpass.cli.progress import show_progress
from surpass.cli.tables import print_table, show_number

if TYPE_CHECKING:
    from surpass.checks.certificate import Certificate, Failure, Row

__all__ = ["check_command"]

WIDEST = 36
"""Longer instances are cut in tables."""
HEAD, TAIL = 24, 6
"""The first and last lines of a trace that are printed if it is longer than both."""
LONGEST_COMMAND = 100_000
"""Instances of more characters do not fit on a command line."""


def check_command(
    agent: Annotated[
        str,
        typer.Argument(
            help="The agent: teacher:NAME, zoo:NAME, a run's folder, a checkpoint or FILE.rules.", metavar="AGENT"
        ),
    ],
    task: Annotated[
        str | None, typer.Option(help="Its task: a name, or a Python file that registers one.", metavar="NAME|FILE")
    ] = None,
    up_to: Annotated[
        int | None,
        typer.Option(
            help="The size up to which every instance is checked.  [default: the task's; 8 for lists, 6 for the full"
            " view, 2000 for search, 4 for knapsack]"
        ),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(help="Sizes at which every distribution is drawn.  [default: 9 to 16 and the task's own]"),
    ] = None,
    instances: Annotated[int, typer.Option(help="Instances per size and distribution; 0 for none.")] = 100,
    seed: Annotated[int, typer.Option(help="Draws other instances.")] = 0,
    limit: Annotated[
        str | None, typer.Option(help="The step limit: a number, Kn or Kn^2.  [default: the task's]")
    ] = None,
    must_end: Annotated[
        bool,
        typer.Option(
            "--must-end", help="Where steps are a budget (knapsack): a run that never ends by itself is a failure too."
        ),
    ] = False,
    json: Annotated[
        Path | None, typer.Option(help="Also write the certificate to this file (- for the output).")
    ] = None,
) -> None:
    """Check an agent on every small instance and on large ones; print a certificate or the smallest failing instance.

    Lists are enumerated up to order (permutations and ties), ordered lists with every query and gap, knapsacks on a
    grid of small numbers. Loops are recognised as such. The certificate says what was checked, the worst case of each
    size and whether new observations kept turning up; it is no proof for other sizes. The exit code is 0 if all is
    solved, 1 if an instance fails, 2 for bad input.

    The JSON certificate has the keys format, agent, task, fingerprint, date, passed, limit, seed, small, drawn, worst,
    observations, closed_after, narrow_choices, unending and failure; small and drawn list their sizes.

    Example: surpass check zoo:sort-bubble --up-to 7 --json certificate.json
    """
    from surpass.checks.check import check

    output = OutputFile(json)
    wanted = parse_sizes(sizes)
    found = resolve_agent(agent, task)
    with show_progress() as progress:
        certificate = check(
            found,
            up_to=up_to,
            sizes=wanted,
            instances=instances,
            seed=seed,
            limit=limit,
            must_end=must_end,
            progress=progress,
        )
    if not output.is_stdout:
        if certificate.failure is None:
            _print_certificate(certificate)
        else:
            _print_failure(certificate, certificate.failure, _command(agent, task, certificate.failure))
    output.write_json(certificate.as_json())
    if not certificate.passed:
        raise typer.Exit(1)


def _command(agent: str, task: str | None, failure: Failure) -> str | None:
    """Return the command that shows the failing run again, if its instance fits on a command line."""
    if len(failure.instance) > LONGEST_COMMAND:
        return None
    words = ["surpass", "trace", agent, "--instance", failure.instance]
    words += ["--task", task] if task else []
    words += ["--limit", failure.limit] if failure.limit else []
    return shlex.join(words)


def _print_certificate(certificate: Certificate) -> None:
    print(f"{certificate.agent} on {certificate.task}: passed\n")
    _print_rows(f"{certificate.what}, n = 0 to {certificate.up_to:,}", certificate.small)
    if certificate.drawn:
        _print_rows(f"drawn from {', '.join(certificate.data)}; seed {certificate.seed}", certificate.drawn)
    print(f"{certificate.instances:,} instances, each solved within {certificate.limit} steps")
    if certificate.unending:
        unending = certificate.unending
        print(
            f"on {unending.instances:,} of them the run does not end by itself but spends its budget; the smallest is"
            f" {unending.first} ({unending.outcome})"
        )
    print(_observations(certificate))
    if certificate.narrow_choices:
        print(f"{certificate.narrow_choices} choices of the network lead by less than 1e-4")
    mark = f"fingerprint {certificate.fingerprint}, " if certificate.fingerprint else ""
    print(f"{mark}{certificate.date}; this holds for the instances above and is no proof for other sizes")


def _observations(certificate: Certificate) -> str:
    if certificate.observations is None:
        return "no observations to count: the agent sees whole lists"
    met = f"{certificate.observations:,} observations met"
    if certificate.closed_after is not None:
        return f"{met}, none new after n = {certificate.closed_after:,}"
    return f"{met}; new ones still turned up at the largest size"


def _print_rows(title: str, rows: Sequence[Row]) -> None:
    """Print a table of rows; of many sizes the small and the round ones and the last."""
    is_shown = len(rows) <= 20
    shown = [row for row in rows if is_shown or row.size <= 12 or _is_round(row.size) or row is rows[-1]]
    columns = ["size", "instances", "mean steps", "most steps", "new observations", "worst case"]
    cells = [
        [
            f"{row.size:,}",
            f"{row.instances:,}",
            show_number(row.mean_steps, 2),
            f"{row.most_steps:,}",
            f"{row.new_observations:,}",
            _cut(row.worst) + (f" ({row.data})" if row.data else ""),
        ]
        for row in shown
    ]
    print_table(title, columns, cells)


def _is_round(size: int) -> bool:
    return str(size).rstrip("0") in ("1", "2", "5")


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST else text[: WIDEST - 3] + "..."


def _print_failure(certificate: Certificate, failure: Failure, command: str | None) -> None:
    from surpass.machine.trace import write_trace

    print(f"{certificate.agent} on {certificate.task}: FAILED at n = {failure.size:,}, {failure.outcome}\n")
    if failure.shrunk_from is None:
        print(f"  the smallest failing instance: {_shorten(failure.instance)}")
    else:
        print(f"  a failing instance: {_shorten(failure.instance)}")
        print(
            f"  (what is left of one of size {failure.shrunk_from:,} drawn from {failure.data}; all up to n ="
            f" {certificate.up_to:,} are solved)"
        )
    print(f"  {failure.why}\n")
    if failure.trace is not None:
        lines = write_trace(failure.trace).splitlines()
        left_out = len(lines) - HEAD - TAIL
        if left_out > 1:
            lines[HEAD:-TAIL] = [f"... {left_out:,} lines left out ..."]
        print("\n".join(lines) + "\n")
    if command is None:
        print("the instance is too long for a command line; --json writes it out")
    else:
        print(f"to see it again: {command}")
    print(f"{certificate.instances:,} other instances were solved before it was met")


def _shorten(instance: str, most: int = 400) -> str:
    return instance or "the empty one" if len(instance) <= most else instance[:most] + "..."
