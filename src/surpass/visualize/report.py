"""The report of a run or an agent: what was learned, how, how good it is, its program, its check, and a recording."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from html import escape
from itertools import accumulate
from pathlib import Path
from typing import Any

from surpass.agents import AgentLike, TaskLike
from surpass.agents.teachers import known_teachers
from surpass.bundles import write_atomically
from surpass.checks.certificate import Certificate
from surpass.checks.check import check
from surpass.engine.run import AnyAgent, run
from surpass.errors import SurpassError
from surpass.evaluation.comparison import ComparisonTable
from surpass.evaluation.growth import Contender, compare_by_size, growth_of
from surpass.extras import load
from surpass.printing import Printed, Progress
from surpass.programs.extract import Evidence, Extraction, extract, write_program
from surpass.programs.program import Program
from surpass.programs.usage import Usage, measure_use
from surpass.table import Agent, Table
from surpass.tasks.enumeration import enumeration_of
from surpass.tasks.task import Request, Task
from surpass.visualize.headline import Headline, write_headline
from surpass.visualize.recording import Recording, record_run
from surpass.visualize.subjects import Subject, find_subject

PROGRAM_SECONDS = 20.0
"""How long a brief report may take to write the rules of a program."""
MOST_SMALL = 10_000
"""About how many small instances a brief report checks."""
BRIEF = {"instances": 5, "effort": 2000, "minutes": 0.05}
"""How a brief report checks beyond them."""
BRIEF_SIZES = (12, 30)
MOST_TEACHERS = 4
"""How many teachers an agent is compared with."""
WATCHED, DRAWN = 12, 21
"""About how large the instance is that is watched, and of how many it is the typical one."""
USED_ON = 100
"""On how many instances the use of the rules is measured."""


@dataclass(frozen=True, eq=False, repr=False)
class Report(Printed):
    """What was learned, how, and how good it is; `write` makes it a page."""

    subject: Subject
    headline: Headline
    is_whole_check: bool
    teacher: str = ""
    """The label of the row that it is compared with first; empty if there is none."""
    comparison: ComparisonTable | None = None
    usage: Usage | None = None
    """The program with the use of its rules, if there is one."""
    program_note: str = ""
    """A sentence: why there is no program, or what it was taken from."""
    certificate: Certificate | None = None
    recordings: tuple[Recording, ...] = ()
    """The agent and its teacher on one instance."""
    watch_note: str = ""
    """A sentence: why there is no recording, or what it shows."""
    html: str = ""
    """The page."""

    def write(self, path: str | Path) -> Path:
        """Write the page to a file, and return its path."""
        write_atomically(Path(path), self.html.encode())
        return Path(path)

    def as_json(self) -> dict[str, Any]:
        """Return the numbers of the report as plain data."""
        table, usage = self.comparison, self.usage
        fits = {row.label: growth_of(row) for row in table.rows} if table else {}
        return {
            "agent": self.subject.name,
            "task": self.subject.task.name,
            "headline": self.headline.text,
            "recipe": dict(self.subject.recipe or {}),
            "command": self.subject.command,
            "finished": self.subject.is_finished,
            "comparison": table.as_json() if table else None,
            "growth": {label: fit.as_json() if fit else None for label, fit in fits.items()},
            "program": usage.as_json() if usage else None,
            "certificate": self.certificate.as_json() if self.certificate else None,
        }

    def __str__(self) -> str:
        return f"{self.headline.text}\n"

    def _repr_html_(self) -> str:
        style = "width:100%;height:80vh;border:1px solid #8888"
        return f'<iframe title="report" style="{style}" srcdoc="{escape(self.html, quote=True)}"></iframe>'


def report(
    what: AgentLike | Any, *, task: TaskLike | None = None, check: bool = False, progress: Progress | None = None
) -> Report:
    """Return the report of a run, an agent of the zoo, or any other agent; `write` makes it one page of HTML.

    It is brief: agents are run on few instances, the check is short, and rules that take long to write are left out.
    With `check` the check is the whole one of `surpass check`, and the rules those of `surpass show`.
    """
    from surpass.visualize.report_page import write_page

    load("matplotlib")  # for its charts; who does not have it is told before all that takes long
    gathered = gather_report(find_subject(what, task), check, progress)
    return replace(gathered, html=write_page(gathered, progress))


def gather_report(subject: Subject, is_whole: bool = False, progress: Progress | None = None) -> Report:
    """Return the report of something, still without its page."""
    agent = subject.agent
    if agent is None:
        return Report(subject, write_headline(subject, None, ""), is_whole)
    player = Table.of(agent) if isinstance(agent, Agent) else agent
    contenders, teacher = _contenders(subject, player)
    comparison = compare_by_size(subject.task, contenders, progress=progress)
    certificate = _check(subject.task, player, agent, is_whole, progress)
    ran = sum(cell.instances for cell in comparison.rows[-1].cells) + certificate.instances
    usage, program_note = _write_program(agent, player, ran, is_whole, progress)
    recordings, watch_note = _record_runs(subject, agent, player, usage, progress)
    return Report(
        subject=subject,
        headline=write_headline(subject, comparison, teacher),
        is_whole_check=is_whole,
        teacher=teacher,
        comparison=comparison,
        usage=usage,
        program_note=program_note,
        certificate=certificate,
        recordings=recordings,
        watch_note=watch_note,
    )


def _contenders(subject: Subject, player: AnyAgent) -> tuple[list[Contender], str]:
    """Return the teachers and the agent, and the label of the teacher that counts; a teacher is one among them."""
    counts = subject.teacher
    known = [*known_teachers(subject.task)[:MOST_TEACHERS], *([counts] if counts is not None else [])]
    teachers = {one.name.removeprefix("teacher:"): one for one in known if one.name != subject.name}
    own = Contender(player, subject.label, subject.method, tuple(teachers) if subject.method else ())
    label = counts.name.removeprefix("teacher:") if counts is not None and subject.method else ""
    return [*(Contender(one, name) for name, one in teachers.items()), own], label


def _check(task: Task, player: AnyAgent, agent: AnyAgent, is_whole: bool, progress: Progress | None) -> Certificate:
    if is_whole:
        return check(agent, progress=progress)
    small = enumeration_of(task)
    counts = list(accumulate(small.count(size) for size in range(small.largest + 1)))
    up_to = max(0, sum(together <= MOST_SMALL for together in counts) - 1)
    return check(player, up_to=up_to, sizes=BRIEF_SIZES, progress=progress, **BRIEF)  # type: ignore[arg-type]


class _TooLongError(Exception):
    """The time for something is up."""


def _write_program(
    agent: AnyAgent, player: AnyAgent, ran: int, is_whole: bool, progress: Progress | None
) -> tuple[Usage | None, str]:
    """Return the program of an agent with the use of its rules, or None; and a sentence about where it is from.

    Unless the report is whole, its rules are those of the `ran` instances that the player has answered for it.
    """
    if not isinstance(agent, Agent):
        return None, "This agent sees the whole list at once, so it has no table and no program to read."
    deadline = time.monotonic() + PROGRAM_SECONDS

    def report(what: str, done: int, total: int | None) -> None:
        if time.monotonic() > deadline:
            raise _TooLongError
        if progress:
            progress(f"writing rules: {what}", done, total)

    try:
        if isinstance(agent, Program):
            extraction, note = Extraction(agent), "The agent is this program."
        elif is_whole:
            extraction = extract(agent, progress=progress)
            ran = extraction.evidence.instances if extraction.evidence else 0
            note = f"The rules do what the agent does on everything that it saw in {ran:,} instances."
        else:
            assert isinstance(player, Table)
            extraction = Extraction(write_program(agent.name, player, report), player, Evidence(ran, ()))
            note = f"The rules do what the agent does on everything that it saw in the {ran:,} instances of this page."
    except _TooLongError:
        return (
            None,
            f"Its rules could not be written within {PROGRAM_SECONDS:.0f} seconds; surpass show {agent.name} does it.",
        )
    except SurpassError as error:
        return None, f"No program can be shown: {error}."
    return measure_use(extraction, agent.task.draw(_usual(agent.task, agent.task.training_sizes[1], USED_ON))), note


def _usual(task: Task, size: int, count: int) -> Request:
    """Return a request for instances of a task as they usually are."""
    return Request(size=size, count=count, data=task.inputs.usual_data, queries=task.inputs.usual_queries)


def _record_runs(
    subject: Subject, agent: AnyAgent, player: AnyAgent, usage: Usage | None, progress: Progress | None
) -> tuple[tuple[Recording, ...], str]:
    """Return an agent and its teacher on a typical instance, and in a sentence what they show."""
    task, teacher = subject.task, subject.teacher
    low, high = task.training_sizes
    size = min(max(WATCHED, low), high)
    drawn = task.draw(_usual(task, size, DRAWN))
    steps = run(player, drawn).steps
    typical = int(steps.argsort(kind="stable")[DRAWN // 2])
    try:
        instance = task.write_instance(drawn.part(typical, typical + 1))
        recordings = [record_run(usage.program if usage else agent, instance, progress=progress)]
        if recordings[0].steps != steps[typical]:  # the rules are not the agent where it saw something new
            recordings = [record_run(agent, instance, progress=progress)]
        if teacher is not None and teacher.name != agent.name:
            recordings.append(record_run(teacher, instance, progress=progress))
    except SurpassError as error:
        return (), f"There is nothing to watch: {error}."
    beside = f", beside {recordings[1].agent} on the same one" if len(recordings) > 1 else ""
    note = (
        f"The run on a typical instance: of {DRAWN} drawn at n = {size:,}, the one with the middle number of steps"
        f"{beside}. Play it, or step through it; after a click on one of its buttons the arrow keys do that too."
    )
    return tuple(recordings), note
