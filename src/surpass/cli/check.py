"""`surpass check`."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from surpass.cli.display import ProgressDisplay
from surpass.cli.help import INSTANCES, RUNNING
from surpass.cli.options import AgentName, Json, Limit, On, OutputFile, Seed, TaskName, option, parse_sizes

if TYPE_CHECKING:
    from surpass.checks.certificate import CounterExample

LONGEST_COMMAND = 100_000
"""Instances of more characters do not fit on a command line."""


def check_command(
    agent: AgentName,
    task: TaskName = None,
    up_to: Annotated[
        int | None,
        option(
            "The size up to which every instance is checked.  [default: the task's; 8 for lists, 6 for the full"
            " view, 2000 for search, 4 for knapsack]",
            "N",
            INSTANCES,
        ),
    ] = None,
    sizes: Annotated[
        str | None,
        option(
            "Sizes at which every distribution is drawn.  [default: 9 to 16 and the task's own]", "N,N,...", INSTANCES
        ),
    ] = None,
    instances: Annotated[int, option("Instances per size and distribution; 0 for none.", "N", INSTANCES)] = 100,
    seed: Seed = 0,
    limit: Limit = None,
    must_end: Annotated[
        bool,
        option(
            "Where the limit is a budget (knapsack): a run that never ends by itself is a failure too.",
            group=RUNNING,
            name="--must-end",
        ),
    ] = False,
    effort: Annotated[
        int | None,
        option(
            "How many changed instances in a row must lead to nothing new before the search for such ends; 0 for"
            " no search.  [default: 200000]",
            "N",
            RUNNING,
        ),
    ] = None,
    minutes: Annotated[float | None, option("How long that search may take.  [default: 1]", "MINUTES", RUNNING)] = None,
    on: On = "local",
    json: Json = None,
) -> None:
    """Check an agent on every small instance and on large ones; print a certificate or the smallest failing instance.

    Lists are enumerated up to order (permutations and ties), ordered lists with every query and gap, knapsacks on a
    grid of small numbers. Large instances are drawn of every distribution, with a share of the time for sizes of
    hundreds with ties. Then a search changes instances, small and large, keeps those that lead to new observations, and
    changes them in turn. Loops are recognised as such. The certificate says what was checked, the worst case of each
    size, and how long ago the last new observation turned up; it does not prove other sizes. The exit code is 0 if all
    is solved, 1 if an instance fails, 2 for bad input.

    The JSON certificate has the keys format, agent, task, fingerprint, date, passed, limit, seed, small, drawn,
    explored, slowest, worst, observations, closed_after, narrow_choices, unending and failure; small and drawn list
    their sizes.

    Examples:
      surpass check zoo:sort-bubble --up-to 7 --json certificate.json
      surpass check my-sort.rules --minutes 10
    """
    output, wanted = OutputFile(json), parse_sizes(sizes)
    with ProgressDisplay() as progress:
        from surpass import api

        certificate = api.check(
            agent,
            task=task,
            up_to=up_to,
            sizes=wanted,
            instances=instances,
            seed=seed,
            limit=limit,
            must_end=must_end,
            effort=effort,
            minutes=minutes,
            on=on,
            progress=progress,
        )
    failing = certificate.counter_example
    more = f"{_how_to_see_again(agent, task, failing)}\n" if failing else ""
    output.show(f"{certificate}{more}", certificate.as_json())
    if not certificate.passed:
        raise typer.Exit(1)


def _how_to_see_again(agent: str, task: str | None, failing: CounterExample) -> str:
    """Return the command that shows the failing run again, if its instance fits on a command line."""
    if len(failing.instance) > LONGEST_COMMAND:
        return "the instance is too long for a command line; --json writes it out"
    words = ["surpass", "trace", agent, "--instance", failing.instance]
    words += ["--task", task] if task else []
    words += ["--limit", failing.limit] if failing.limit else []
    return f"to see it again: {shlex.join(words)}"
