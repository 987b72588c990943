"""`surpass evaluate`."""

from __future__ import annotations

from typing import Annotated

from surpass.cli.display import ProgressDisplay
from surpass.cli.help import INSTANCES, RUNNING
from surpass.cli.options import AgentName, Json, Limit, On, OutputFile, Seed, TaskName, option, parse_sizes


def evaluate_command(
    agent: AgentName,
    task: TaskName = None,
    sizes: Annotated[str | None, option("Sizes, such as 5,10,20.  [default: the task's]", "N,N,...", INSTANCES)] = None,
    instances: Annotated[
        int | None, option("Instances per size.  [default: 100, or all of a file]", "N", INSTANCES)
    ] = None,
    seed: Seed = 0,
    data: Annotated[
        str | None,
        option("A distribution's name, or a file with one list per line or a 2-D .npy.", "NAME|FILE", INSTANCES),
    ] = None,
    queries: Annotated[
        str | None,
        option(
            "For search: mixed, present, absent or paper (one in four absent).  [default: mixed]", "NAME", INSTANCES
        ),
    ] = None,
    limit: Limit = None,
    against: Annotated[str | None, option("Another agent, compared on the same instances.", "AGENT", RUNNING)] = None,
    on: On = "local",
    json: Json = None,
) -> None:
    """Run an agent and print its scores for each size.

    Examples:
      surpass evaluate zoo:sort-quick --against teacher:quick_sort
      surpass evaluate teacher:hoare_sort --sizes 10,100,1000 --json scores.json
      surpass evaluate teacher:insertion_sort --data my-lists.csv
    """
    output, wanted = OutputFile(json), parse_sizes(sizes)
    with ProgressDisplay() as progress:
        from surpass.evaluation.scores import evaluate

        evaluation = evaluate(
            agent,
            task=task,
            sizes=wanted,
            instances=instances,
            seed=seed,
            data=data,
            queries=queries,
            limit=limit,
            against=against,
            on=on,
            progress=progress,
        )
    output.show(evaluation, evaluation.as_json())
