"""What can be done with surpass from Python; each command of the command line is a thin shell over these functions.

Wherever an agent is expected, an agent object is taken, a run that `learn` returned, or a text that names one:
`teacher:NAME`, `zoo:NAME`, the folder of a run, a checkpoint, or a program file `NAME.rules`. A name alone is a
teacher's if there is one, of the task first, and else that of a folder. A task is a `Task`, a name, or a Python file
that registers one.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surpass.agents import AgentLike, TaskLike, as_agent, as_task, task_of_run
from surpass.agents.run_task import resuming, write_task_record
from surpass.checks.certificate import Certificate
from surpass.checks.check import check as check_agent
from surpass.engine.check_task import check_once
from surpass.engine.record import TRACED, record
from surpass.engine.run import AnyAgent
from surpass.errors import DivergedError, RecipeError, SettingError, UnknownNameError
from surpass.evaluation.application import apply as apply
from surpass.evaluation.application import parts_of
from surpass.evaluation.scores import Evaluation, evaluate
from surpass.machine.trace import Trace
from surpass.printing import Printed, Progress, count, wrap
from surpass.programs.export import export_program
from surpass.programs.extract import extract
from surpass.programs.program import Program
from surpass.programs.usage import Usage, measure_use
from surpass.reading import COUNT, MINUTES, SIZE, as_path, check_range
from surpass.tasks.task import Limit, Request, Task
from surpass.workers.runner import Runner, open_runner

if TYPE_CHECKING:
    from surpass.learning.discover.front import Front
    from surpass.learning.methods import AnyLearner
    from surpass.learning.runs import RunFolder
    from surpass.learning.status import RunState
    from surpass.visualize.watched import Watched

log = logging.getLogger("surpass")

MOST_SCORED = 1000
"""The largest size that a run is scored at if no sizes are given."""
LEARNING_SHARE = 0.9
"""The share of a given time that is for learning; the rest is for the scores."""
LEAST_SPARE = 5.0
"""Seconds that the scores may take at least."""
SHOWN_INSTEAD = 1000
"""The size that is watched instead of one that is too large to see."""


# Watching and checking


def trace(
    agent: AgentLike,
    instance: str | Sequence[Any] | None = None,
    *,
    task: TaskLike | None = None,
    size: int = 5,
    seed: int = 0,
    limit: str | None = None,
    progress: Progress | None = None,
) -> Trace:
    """Return every step of an agent on one instance.

    It is a text such as `5,2,9,1`, a list of numbers, a tuple of several parts such as `([1, 3, 5], 3)`, or drawn.
    """
    found = as_agent(agent, task)
    if instance is None:
        check_range("the size of a trace", size, TRACED)
    report = progress or (lambda *_: None)
    return record(
        found,
        _written_instance(found.task, instance, size, seed),
        limit=Limit.parse(limit) if limit else None,
        progress=lambda done: report("running it, steps so far", done, None),
    )


def _written_instance(
    task: Task, instance: str | Sequence[Any] | None, size: int, seed: int, data: str = "", queries: str = ""
) -> str:
    """Return an instance as text: the one that is given, or one that is drawn."""
    if instance is None:
        check_once(task, size)
        data, queries = data or task.inputs.usual_data, queries or task.inputs.usual_queries
        return task.write_instance(task.draw(Request(size=size, count=1, seed=seed, data=data, queries=queries)))
    if isinstance(instance, str):
        return instance
    return ":".join(",".join(map(str, part)) for part in parts_of(task, "the instance", instance))


def watch(
    agent: AgentLike,
    instance: str | Sequence[Any] | None = None,
    *,
    against: AgentLike | None = None,
    task: TaskLike | None = None,
    size: int = 12,
    seed: int = 0,
    data: str | None = None,
    queries: str | None = None,
    limit: str | None = None,
    listing: bool = True,
    progress: Progress | None = None,
) -> Watched:
    """Return a recording of an agent on one instance, or of two in step; it shows itself in a notebook.

    `write` makes a page, a GIF or an SVG of it, `play` shows it in the terminal. An instance is a text such as
    `5,2,9,1`, lists as `apply` takes them, or drawn; with `listing` the agent's program stands beside its run.
    """
    from surpass.visualize.recording import MOST_SIZE, record_run
    from surpass.visualize.watched import Watched

    first = as_agent(agent, task)
    agents = [first] if against is None else [first, as_agent(against, first.task)]
    notices: tuple[str, ...] = ()
    if instance is None:
        check_range("size", size, SIZE)
        if size > MOST_SIZE:
            notices = (
                f"{size:,} values are more than a screen has columns, so this shows {SHOWN_INSTEAD:,} of the same kind;"
                " surpass evaluate measures larger sizes.",
            )
            size = SHOWN_INSTEAD
    written = _written_instance(first.task, instance, size, seed, data or "", queries or "")
    most = Limit.parse(limit) if limit else None
    recordings = [record_run(one, written, limit=most, listing=listing, progress=progress) for one in agents]
    return Watched(tuple(replace(recording, notices=(*notices, *recording.notices)) for recording in recordings))


def check(
    agent: AgentLike,
    *,
    task: TaskLike | None = None,
    up_to: int | None = None,
    sizes: Sequence[int] | None = None,
    instances: int = 100,
    seed: int = 0,
    limit: str | None = None,
    must_end: bool = False,
    effort: int | None = None,
    minutes: float | None = None,
    on: str | Runner = "local",
    progress: Progress | None = None,
) -> Certificate:
    """Return what came of checking an agent: whether it `passed`, and a `counter_example` if it did not.

    Every instance is run up to size `up_to`, and `instances` of each distribution at each of `sizes`. Then a search
    changes instances that led to something new, until `effort` in a row have led to nothing or `minutes` are over. `on`
    is where all but the search runs: `local`, or `ray` or `ray=ADDRESS` for a cluster.
    """
    found = as_agent(agent, task)
    with open_runner(on) as workers:
        return check_agent(
            found,
            up_to=up_to,
            sizes=sizes,
            instances=instances,
            seed=seed,
            limit=limit,
            must_end=must_end,
            effort=effort,
            minutes=minutes,
            workers=workers,
            progress=progress,
        )


# Programs


def program(
    agent: AgentLike, *, task: TaskLike | None = None, seed: int = 0, progress: Progress | None = None
) -> Program:
    """Return an agent as a program: few rules that do what it does; an agent that is a program is returned as it is."""
    return extract(as_agent(agent, task), seed=seed, progress=progress).program


def show(
    agent: AgentLike,
    *,
    task: TaskLike | None = None,
    size: int | None = None,
    instances: int = 100,
    data: str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Usage:
    """Return an agent's program with the use of each rule on drawn instances of one size."""
    found = as_agent(agent, task)
    of_task, report = found.task, progress or (lambda *_: None)
    check_once(of_task, size or 0)
    drawn = of_task.draw(
        Request(
            size=of_task.training_sizes[1] if size is None else size,
            count=instances,
            seed=seed,
            data=data or of_task.inputs.usual_data,
            queries=of_task.inputs.usual_queries,
        )
    )
    extraction = extract(found, seed=seed, progress=lambda what, *done: report(f"{found.name}: {what}", *done))
    return measure_use(
        extraction, drawn, lambda done: report(f"{found.name}: counting the use of its rules, runs", done, instances)
    )


@dataclass(frozen=True, repr=False)
class Exported(Printed):
    """A program as a source file."""

    program: Program
    language: str
    source: str
    """The text of the file."""

    def as_json(self) -> dict[str, Any]:
        """Return what was exported as plain data."""
        return {
            "agent": self.program.name,
            "task": self.program.task.name,
            "language": self.language,
            "rules": len(self.program.rules),
            "places": len(self.program.places),
            "lines": self.source.count("\n"),
            "sha256": hashlib.sha256(self.source.encode()).hexdigest(),
        }

    def __str__(self) -> str:
        size = f"{count(len(self.program.rules), 'rule')} at {count(len(self.program.places), 'place')}"
        lines = f"{count(self.source.count(chr(10)), 'line')} of {'C' if self.language == 'c' else 'Python'}"
        return f"{self.program.name} on {self.program.task.name}, {size}, {lines}"


def export(
    agent: AgentLike,
    language: str,
    *,
    task: TaskLike | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Exported:
    """Return an agent as one source file in `python` or `c` that needs nothing of surpass."""
    found = program(agent, task=task, seed=seed, progress=progress)
    return Exported(found, language, export_program(found, language))


# Learning


@dataclass(frozen=True, repr=False)
class Run(Printed):
    """A run of a learner, and what it left in its folder."""

    folder: Path
    recipe: dict[str, Any]
    """Everything that the run needs to be made again."""
    curves: list[dict[str, float]]
    """What each round showed."""
    seconds: float
    is_finished: bool
    """Whether it has learned all that it can; else it can be resumed."""
    agent: AnyAgent | None
    """What was learned; None if the time was up before there was anything."""
    scores: Evaluation | None
    notes: str = ""
    """What the learner has to say at the end: the front of `discover`, and what held-out lists do."""
    front: Front | None = None
    """The programs that `discover` began with and found, as they print at its end."""

    @property
    def program(self) -> Program | None:
        """The learned program, if the method makes one; `surpass.program` makes one of any agent."""
        return self.agent if isinstance(self.agent, Program) else None

    def as_json(self) -> dict[str, Any]:
        """Return the run as plain data."""
        about = {"folder": str(self.folder), "recipe": self.recipe, "seconds": round(self.seconds, 1)}
        scores = self.scores.as_json() if self.scores else None
        front = {"front": self.front.as_json()} if self.front else {}
        return {**about, "finished": self.is_finished, "curves": self.curves, "scores": scores, **front}

    @property
    def _resuming(self) -> str:
        return resuming(self.recipe, self.folder)

    def __str__(self) -> str:
        spent = f"{self.folder} after {count(len(self.curves), 'round')} and {self.seconds:.0f} seconds"
        if self.scores is None:
            return wrap(f"{spent}: the time is up before there is an agent; {self._resuming} continues") + "\n"
        going_on = ""
        if not self.is_finished:
            going_on = wrap(f"The run is not finished: {self._resuming} continues it.") + "\n"
        elif all(row.solved == 0 for row in self.scores.rows):
            from surpass.learning.runs import advise

            going_on = wrap(f"Nothing is solved. {advise(self.recipe)}") + "\n"
        return f"{spent}\n{self.scores}{going_on}{self.notes}"


def new_learner(
    task: TaskLike | None = None,
    method: str | None = None,
    *,
    teacher: AgentLike | None = None,
    seed: int | None = None,
    recipe: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
) -> AnyLearner:
    """Return a fresh learner; what is not given comes from the recipe, if there is one, or from the task."""
    from surpass.learning import methods
    from surpass.learning.recipes import only_run, setting_text

    given = {*(settings or {}), method}
    name = None if teacher is None else str(teacher) if isinstance(teacher, str | Path) else as_agent(teacher).name
    name = name and name.removeprefix("teacher:")
    chosen = {key: setting_text(value) for key, value in (settings or {}).items()}
    if recipe is not None:
        variant = only_run(str(recipe), seed)
        named, run = variant.recipe.task, _run_of(recipe)
        if task is None and run is not None:
            task = task_of_run(named, run, give="surpass learn")
        task = as_task(named if task is None else task)
        if task.name != variant.recipe.task:
            raise SettingError(f"recipe {recipe} is for {variant.recipe.task}, not for {task.name}")
        if method is None:
            method, name = variant.recipe.method, name or variant.recipe.teacher or None
        seed, chosen = variant.seed, {**variant.settings, **chosen}
    if task is None:
        raise SettingError("no task is given; name one, such as search, or a recipe")
    try:
        return methods.new_learner(as_task(task), method or "imitation", teacher=name, seed=seed or 0, settings=chosen)
    except UnknownNameError as error:
        is_run = recipe is not None and _run_of(recipe) is not None
        if not is_run or error.name in given or error.kind not in ("setting", "policy", "method"):
            raise
        raise RecipeError(
            f"recipe {recipe} was made by an earlier version of surpass: it has the {error.kind} {error.name!r}, which"
            " this version does not know, so it cannot be repeated; what it made still loads"
        ) from error


def _run_of(recipe: str | Path) -> Path | None:
    """Return the folder of the run that a recipe comes from, if it comes from one."""
    if str(recipe).startswith("zoo:"):
        return None
    path = as_path(recipe)
    folder = path.parent if path.name == "recipe.json" else path
    return folder if folder.is_dir() else None


def learn(
    task: TaskLike | None = None,
    method: str | None = None,
    *,
    out: str | Path | None = None,
    teacher: AgentLike | None = None,
    seed: int | None = None,
    recipe: str | Path | None = None,
    minutes: float | None = None,
    resume: bool = False,
    overwrite: bool = False,
    score_sizes: Sequence[int] | None = None,
    score_instances: int = 100,
    on: str | Runner = "local",
    report: Callable[[int, dict[str, float]], None] | None = None,
    watch: Callable[[RunState], None] | None = None,
    tensorboard: bool = False,
    settings: Mapping[str, Any] | None = None,
    **more_settings: Any,
) -> Run:
    """Learn a task, and return the run with what was learned; everything is also left in the folder `out`.

    `method` is `imitation` (if not given), `rl`, `rl+imitation` or `discover`; the method's settings are keywords,
    or stand in `settings`. `report(round, curve)` is called after each round, and once with no curve when a run is
    resumed. With `resume` the run in the folder continues, with `overwrite` it is replaced. `watch` is shown how far it
    has come: at first, after each round, and while what was learned is scored. With `tensorboard` the curves are
    written as event files too. `surpass.report(run)` makes a page of it. `on` is who does the work of `discover`:
    `local`, or `ray` or `ray=ADDRESS` for a cluster; what is learned does not depend on it.
    """
    from surpass.learning import runs
    from surpass.learning.status import RunState
    from surpass.learning.tensorboard import EventFile, writer_class

    if minutes is not None:
        check_range("minutes", minutes, MINUTES)
    if tensorboard:
        writer_class()  # before anything is written: it may be missing
    check_range("the number of instances", score_instances, COUNT)
    for size in score_sizes or ():
        check_range("size", size, SIZE)
    if resume and out is None and isinstance(task, str) and (Path(task) / "recipe.json").is_file():
        goes_on = resuming({"method": method}, Path(task))
        raise SettingError(f"{task} is the folder of a run, not a task; to resume: {goes_on}")
    if task is None and recipe is None and resume and out is not None:
        if not (as_path(out) / "recipe.json").exists():
            raise SettingError(f"{out} holds no run to resume; name a task to begin one there")
        recipe = out
    chosen = {**(settings or {}), **more_settings}
    learner = new_learner(task, method, teacher=teacher, seed=seed, recipe=recipe, settings=chosen)
    made = learner.recipe
    words = (made["task"], made["method"], made["teacher"], str(made["seed"]))
    folder = runs.RunFolder(Path(out or Path("runs") / re.sub("[:/]+", "-", "-".join(filter(None, words)))))
    sizes = score_sizes or [size for size in learner.task.sizes if size <= MOST_SCORED]
    spare = None if minutes is None else max(LEAST_SPARE, (1 - LEARNING_SHARE) * 60 * minutes)
    with closing(folder), open_runner(on) as runner:
        _share_out(learner, runner)
        if resume and not (folder.path / "recipe.json").exists():
            log.warning("a run begins in %s, which holds none to resume", folder.path)
        folder.begin(made, resume=resume, overwrite=overwrite)
        write_task_record(folder.path, learner.task)
        if resume:
            folder.restore(learner)
            for warning in folder.warnings:
                log.warning("passed over: %s", warning)
            if report:
                report(len(folder.curves), {})
        began_with = len(folder.curves)
        events = EventFile(folder.path, folder.curves) if tensorboard else None

        def show(afterwards: str = "", done: int = 0, total: int | None = None) -> None:
            if watch:
                watch(RunState(learner, folder.path, folder.curves, began_with, minutes, afterwards, done, total))

        def end_round(number: int, curve: dict[str, float]) -> None:
            if events:
                events.add(number, curve)
            if report:
                report(number, curve)
            show()

        show()
        try:
            runs.train(learner, folder, minutes=minutes and LEARNING_SHARE * minutes, report=end_round)
        except KeyboardInterrupt:
            log.warning("interrupted: %s continues from the last checkpoint", resuming(made, folder.path))
            raise
        except DivergedError as error:
            if _finish(learner, folder, sizes, score_instances, show, spare or LEAST_SPARE).agent is None:
                raise
            raise DivergedError(f"{error}; what it has learned so far is in {folder.path}") from error
        finally:
            if events:
                events.close()
            if hasattr(learner, "let_go"):
                learner.let_go()
        return _finish(learner, folder, sizes, score_instances, show, spare)


def discover(
    task: TaskLike | None = None,
    *,
    minutes: float | None = None,
    rounds: int | None = None,
    start: AgentLike | Sequence[AgentLike] = (),
    data: str = "",
    seed: int | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    score_sizes: Sequence[int] | None = None,
    score_instances: int = 100,
    on: str | Runner = "local",
    watch: Callable[[RunState], None] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Run:
    """Find the best program of a task, and return the run with it and its `front` of programs.

    It begins with every teacher of the task, with the agents of `start`, or with none if that is `nothing`. It ends
    after `minutes`, or after so many `rounds`; equal seeds and rounds give equal programs. All else is as in `learn`.
    """
    from surpass.learning.recipes import find_recipe

    starts = [start] if isinstance(start, str | Path) or not isinstance(start, Sequence) else start
    names = ",".join(str(one) if isinstance(one, str | Path) else as_agent(one).name for one in starts)
    given = {"start": names, "data": data, "rounds": rounds}
    given = {name: value for name, value in given.items() if value not in ("", None)}
    if task is None and out is not None and (as_path(out) / "recipe.json").exists():
        made_by = find_recipe(str(out)).method
        if made_by != "discover":
            raise SettingError(f"{out} holds a run of {made_by}; {resuming({}, as_path(out))} continues it")
        if not (resume or overwrite):
            goes_on = resuming({"method": made_by}, as_path(out))
            raise SettingError(f"{out} holds a run of discover; {goes_on} continues it; to begin anew, name a task")
    return learn(
        task,
        "discover" if task is not None else None,
        minutes=minutes,
        seed=seed,
        out=out,
        resume=resume,
        overwrite=overwrite,
        score_sizes=score_sizes,
        score_instances=score_instances,
        on=on,
        watch=watch,
        settings={**given, **(settings or {})},
    )


def _share_out(learner: AnyLearner, runner: Runner) -> None:
    """Let a runner do what a learner can share out; one of a cluster must have something to do."""
    if hasattr(learner, "runner"):
        learner.runner = runner
    if runner.is_local:
        return
    if not hasattr(learner, "runner"):
        raise SettingError(
            "a cluster can share out discover only; use --on local, or surpass sweep --on ray for many runs"
        )


def _finish(
    learner: AnyLearner,
    folder: RunFolder,
    sizes: Sequence[int],
    instances: int,
    progress: Progress,
    seconds: float | None = None,
) -> Run:
    """Save what was learned with its scores, beside the teacher's or those of the task's last teacher.

    With `seconds` no scores are begun that would take longer.
    """
    from surpass.agents.networks.files import network_tensors, save_agent
    from surpass.agents.storage import save_program
    from surpass.bundles import write_atomically
    from surpass.learning import runs
    from surpass.learning.status import reference_agent

    agent: AnyAgent | None = None
    scores: Evaluation | None = None
    found = getattr(learner, "program", None)
    preview = learner.preview(seconds or LEAST_SPARE) if hasattr(learner, "preview") else None
    taught = preview or learner
    if learner.has_network or found is not None or preview is not None:
        name, stem = str(folder.path), folder.path / "agent"
        about = {"recipe": learner.recipe, "rounds": len(folder.curves), "finished": learner.finished}
        about["seconds"] = round(folder.seconds, 1)
        agent = replace(found, name=name) if isinstance(found, Program) else taught.agent(name)
        against = reference_agent(learner.task, learner.teacher)
        progress("scoring it", 0, None)
        scores = evaluate(
            agent,
            sizes=sizes,
            instances=instances,
            against=against,
            seed=1,
            seconds=seconds,
            progress=lambda what, done, total: progress(f"scoring it, {what.rpartition(' ')[2]}", done, total),
        )
        if isinstance(agent, Program):
            told = replace(agent, name=runs.describe_recipe(learner.recipe))  # which is the same in any folder
            save_program(stem, told, about, network_tensors(learner.network) if learner.has_network else None)
        else:
            save_agent(stem, learner.task, taught.network, about)
        runs.write_json(folder.path / "scores.json", scores.as_json())
    notes, front = "", None
    if agent is not None and hasattr(learner, "front"):
        progress("comparing the programs of the front", 0, None)
        front = learner.front()
        notes = str(front)
    elif agent is not None and hasattr(learner, "describe"):
        progress("finding what was saved", 0, None)
        notes = learner.describe(agent)
    if notes:
        write_atomically(folder.path / "notes.txt", notes.encode())
    about_run = (folder.path, learner.recipe, folder.curves, folder.seconds, learner.finished)
    return Run(*about_run, agent, scores, notes, front)
