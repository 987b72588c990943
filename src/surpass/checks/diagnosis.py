"""Say how an agent fails on an instance, and show it."""

from __future__ import annotations

from collections.abc import Callable

from surpass.checks.certificate import CounterExample
from surpass.engine.record import Episode, execute, record
from surpass.engine.run import AnyAgent, Results
from surpass.machine.calls import stack_limit
from surpass.machine.state import Outcome
from surpass.machine.trace import Trace
from surpass.tasks.task import Instances, Limit, Task

Run = Callable[[Instances, Limit, bool], Results]
"""Runs the agent on instances with a limit, and finds loops if asked to."""

PATIENCE = 100
"""How many times the step limit a run is followed to see how it ends."""
LONGEST_TRACE = 3000
"""Longer traces are not recorded; `surpass trace` shows them. A stack limit takes over a thousand steps."""


def stretch(limit: Limit) -> Limit:
    """Return the limit up to which runs are followed that do not end within `limit`."""
    return Limit(PATIENCE * limit.factor, limit.power)


def write_out(task: Task, instance: Instances) -> str:
    """Return an instance as text, also of a task that cannot write it."""
    if task.inputs.write is not None:
        return task.write_instance(instance)
    return f"integers {instance.items[0].tolist()}, real numbers {instance.reals[0].tolist()}"


def diagnose(agent: AnyAgent, instance: Instances, limit: Limit, run: Run) -> CounterExample:
    """Return what goes wrong in the run on one instance that fails within `limit`, with its trace."""
    task, is_budget = agent.task, agent.task.limit_is_budget
    allowed = int(limit.steps(instance.sizes)[0])
    # A budget may be spent going round: there only the end counts.
    outcome, steps = _outcome(run(instance, limit, not is_budget))
    shown, why = limit, ""
    if outcome in (Outcome.STEP_LIMIT, Outcome.SOLVED):
        outcome, steps = _outcome(run(instance, stretch(limit), True))
        if outcome == Outcome.SOLVED and not is_budget:
            outcome, why = Outcome.STEP_LIMIT, f"it takes {steps:,} steps, but the limit is {allowed:,}"
        elif outcome in (Outcome.STEP_LIMIT, Outcome.SOLVED):
            outcome, why = Outcome.STEP_LIMIT, f"it has not ended after {PATIENCE} times the limit of {allowed:,} steps"
        elif not is_budget:
            shown = stretch(limit)
    usual = Limit.parse(task.limit)
    if is_budget and _outcome(run(instance, usual, False))[0] == outcome:
        shown = usual  # what fails at a small budget mostly fails at the usual one too
    trace = _trace(agent, instance, outcome, steps, shown, run)
    return CounterExample(
        size=int(instance.sizes[0]),
        instance=write_out(task, instance),
        outcome=outcome.reason,
        steps=len(trace.steps) if trace else steps,
        why=why or _explain(task, instance, outcome, trace),
        limit=None if shown == usual else str(shown),
        trace=trace,
    )


def _outcome(results: Results) -> tuple[Outcome, int]:
    return Outcome(int(results.outcomes[0])), int(results.steps[0])


def _trace(agent: AnyAgent, instance: Instances, outcome: Outcome, steps: int, limit: Limit, run: Run) -> Trace | None:
    """Return the recorded run, or None if it is too long or its instance cannot be written and read."""
    task = agent.task
    if outcome == Outcome.LOOP:
        # Runs count the limit for a loop; what counts here is when it is noticed.
        found, _ = _outcome(run(instance, Limit(LONGEST_TRACE, 0), True))
        steps = 0 if found == Outcome.LOOP else LONGEST_TRACE + 1
    if task.inputs.read is None or task.inputs.write is None or steps > LONGEST_TRACE:
        return None
    return record(agent, task.write_instance(instance), limit=limit)


def _explain(task: Task, instance: Instances, outcome: Outcome, trace: Trace | None) -> str:
    """Return a sentence on how a run ends."""
    if outcome == Outcome.LOOP:
        return "the whole state recurs, so the run never ends"
    if outcome == Outcome.STACK_LIMIT:
        most = stack_limit(int(instance.sizes[0]))
        return f"it opens more calls than the {most:,} that may be open at once"
    if outcome == Outcome.NO_ACTION:
        seen = f": {task.interface.describe(_replayed(task, trace).observe())}" if trace else ""
        return f"it has no action for an observation{seen}"
    if trace and _replayed(task, trace).outcome == Outcome.SOLVED:
        return "the task's kernel calls it solved, but the final state is wrong"
    return "the answer is wrong"


def _replayed(task: Task, trace: Trace) -> Episode:
    """Return the episode of a trace as it stands after the last step."""
    start, labels = task.parse_instance(trace.instance)
    episode = Episode(task, start, trace.limit, labels)
    for step in trace.steps:
        execute(episode, step.action)
    return episode
