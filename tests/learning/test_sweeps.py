"""A sweep does every run once, ranks them by their scores, notes failures, and goes on after a kill at any moment."""

from __future__ import annotations

import io
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path

import pytest
from filelock import FileLock
from rich.console import Console

from surpass.agents import find_agent
from surpass.agents.networks.files import save_agent
from surpass.agents.networks.structured import StructuredPolicy
from surpass.cli.live import SweepView
from surpass.errors import SettingError
from surpass.learning.jobs import score_sizes
from surpass.learning.recipes import Recipe, parse_recipe
from surpass.learning.sweeps import INSTANCES, Point, Ranked, Ranking, Sweep, SweepState
from surpass.tasks.registry import find_task
from surpass.workers.local import LocalRunner
from surpass.workers.runner import Ended, Job, Watch
from tests.cli.here import call_here
from tests.long import LONG

RECIPE: dict[str, object] = {
    "task": "search",
    "method": "imitation",
    "seeds": [0, 1],
    "settings": {"batch": 64},
    "grid": {"learning_rate": [1e-3, 1e-4]},
}
A0, A1, B0, B1 = (f"learning_rate={rate}-seed={seed}" for rate in ("0.001", "0.0001") for seed in (0, 1))

Fates = Mapping[str, tuple[float, float] | tuple[int, str]]
"""What becomes of each run: its share solved and score as floats, or its exit code and message."""


def scores(*each: float) -> Fates:
    """Return that every run solves everything, with these scores."""
    return {name: (1.0, score) for name, score in zip((A0, A1, B0, B1), each, strict=True)}


ALL_ALIKE = scores(5.0, 5.0, 5.0, 5.0)


class PretendRunner:
    """Ends jobs at once as it is told to, without learning anything."""

    def __init__(self, fates: Fates) -> None:
        self.fates = fates
        self.done: list[str] = []

    def run(self, jobs: Sequence[Job], watch: Watch | None = None) -> Generator[Ended]:
        for job in jobs:
            if watch:
                watch((job,))
            self.done.append(job.name)
            job.folder.mkdir(parents=True, exist_ok=True)
            first, second = self.fates[job.name]
            if isinstance(second, str):
                yield Ended(job, int(first), second)
            else:
                finish(job, first, second)
                yield Ended(job, 0, "")


def finish(job: Job, solved: float, score: float) -> None:
    """Leave what a finished run leaves, with a score that is the mean over its sizes."""
    task = find_task(job.words[1])
    seed = int(job.name.rpartition("=")[2])
    save_agent(job.folder / "agent", task, StructuredPolicy(task.interface, seed=seed), {"recipe": {}})
    sizes = [int(size) for size in job.words[job.words.index("--sizes") + 1].split(",")]
    rows = [
        {"size": size, "instances": INSTANCES, "solved": solved, "mean_steps": score + k, "mean_reward": score + k}
        for size, k in zip(sizes, (-1, 0, 1), strict=True)
    ]
    (job.folder / "scores.json").write_text(json.dumps({"rows": rows}))


def new_sweep(folder: Path, **changes: object) -> Sweep:
    content = {**RECIPE, **changes}
    recipe: Recipe = parse_recipe("mine", content)
    return Sweep(recipe, find_task(recipe.task), folder)


def ranked(folder: Path, fates: Fates, **changes: object) -> Ranking:
    return new_sweep(folder, **changes).run(PretendRunner(fates))


# Ranking


def test_runs_that_solve_more_come_first_then_those_with_fewer_steps(tmp_path: Path) -> None:
    fates = {A0: (1.0, 9.0), A1: (0.99, 2.0), B0: (1.0, 7.0), B1: (1.0, 8.0)}
    ranking = ranked(tmp_path, fates)
    assert [(run.run, run.solved, run.score) for run in ranking.runs] == [
        (B0, 1.0, 7.0),
        (B1, 1.0, 8.0),
        (A0, 1.0, 9.0),
        (A1, 0.99, 2.0),
    ]
    assert [(p.point["learning_rate"], p.seeds, p.mean, p.best) for p in ranking.points] == [
        (1e-4, 2, 7.5, 7.0),
        (1e-3, 2, 5.5, 9.0),
    ]
    assert json.loads((tmp_path / "ranking.json").read_text()) == json.loads(json.dumps(ranking.as_json()))
    assert ranking.as_json()["best"] == B0


def test_where_reward_counts_more_of_it_is_better(tmp_path: Path) -> None:
    fates = scores(1.5, 2.5, 2.0, -1.0)
    ranking = ranked(tmp_path, fates, task="knapsack")
    assert [run.run for run in ranking.runs] == [A1, B0, A0, B1]
    assert ranking.measure == "reward"


def test_means_over_seeds_are_shown_only_where_there_are_several() -> None:
    def ranking(seeds: int) -> Ranking:
        points = tuple(Point({"unroll": k}, seeds, 1.0, 2.0, 2.0) for k in (5, 10))
        return Ranking("steps", (4,), 10, 2, (Ranked("unroll=5-seed=0", {"unroll": 5}, 0, 1.0, 2.0),), (), points)

    assert "over the seeds" in str(ranking(2))
    assert "over the seeds" not in str(ranking(1))


def test_equal_runs_are_ranked_in_the_order_of_the_recipe(tmp_path: Path) -> None:
    fates = dict.fromkeys((B1, B0, A1, A0), (1.0, 5.0))
    assert [run.run for run in ranked(tmp_path, fates).runs] == [A0, A1, B0, B1]


def test_the_folder_of_a_sweep_is_the_agent_of_its_best_run(tmp_path: Path) -> None:
    ranked(tmp_path, scores(9.0, 2.0, 7.0, 8.0))
    best = tmp_path / "runs" / A1 / "agent.safetensors"
    assert (tmp_path / "agent.safetensors").read_bytes() == best.read_bytes()
    assert (tmp_path / "agent.safetensors").read_bytes() != (tmp_path / "runs" / A0 / "agent.safetensors").read_bytes()
    assert find_agent(str(tmp_path)).task.name == "search"


def test_runs_are_scored_on_the_training_sizes() -> None:
    search = find_task("search")
    assert score_sizes(parse_recipe("x", RECIPE), search) == (30, 40, 50)
    narrow = {**RECIPE, "method": "rl", "settings": {"sizes": "2-3 4-5"}}
    assert score_sizes(parse_recipe("x", narrow), search) == (4, 5)


# Failures and going on


def test_a_failed_run_is_noted_with_its_reason_and_stops_no_other(tmp_path: Path) -> None:
    fates: Fates = {A0: (2, "the loss is nan"), A1: (1.0, 2.0), B0: (-9, ""), B1: (1, "MemoryError")}
    ranking = ranked(tmp_path, fates)
    assert [run.run for run in ranking.runs] == [A1]
    assert [(failure.run, failure.reason, failure.final) for failure in ranking.failed] == [
        (A0, "the loss is nan", True),
        (B0, "ended by signal 9", False),
        (B1, "ended with code 1: MemoryError", False),
    ]
    assert ranking.total == 4


def test_a_sweep_in_which_every_run_fails_has_no_best(tmp_path: Path) -> None:
    ranking = ranked(tmp_path, dict.fromkeys((A0, A1, B0, B1), (2, "no")))
    assert ranking.as_json()["best"] is None
    assert not (tmp_path / "agent.json").exists()


def test_started_again_it_repeats_neither_finished_runs_nor_those_that_would_fail_again(tmp_path: Path) -> None:
    ranked(tmp_path, {A0: (2, "the loss is nan"), A1: (1.0, 2.0), B0: (-9, ""), B1: (1, "MemoryError")})
    again = PretendRunner({B0: (1.0, 1.0), B1: (1.0, 3.0)})
    ranking = new_sweep(tmp_path).run(again)
    assert again.done == [B0, B1]
    assert [run.run for run in ranking.runs] == [B0, A1, B1]
    assert [failure.run for failure in ranking.failed] == [A0]
    idle = PretendRunner({})
    assert new_sweep(tmp_path).run(idle) == ranking
    assert idle.done == []


def test_a_run_without_scores_or_with_scores_at_other_sizes_is_done_again(tmp_path: Path) -> None:
    ranked(tmp_path, ALL_ALIKE)
    (tmp_path / "runs" / A1 / "scores.json").unlink()
    record = {"rows": [{"size": 5, "instances": INSTANCES, "solved": 1.0, "mean_steps": 1.0}]}
    (tmp_path / "runs" / B1 / "scores.json").write_text(json.dumps(record))
    again = PretendRunner(ALL_ALIKE)
    new_sweep(tmp_path).run(again)
    assert again.done == [A1, B1]


def test_seeds_and_values_can_be_added_to_a_sweep(tmp_path: Path) -> None:
    ranked(tmp_path, ALL_ALIKE)
    more = "learning_rate=0.01-seed=0"
    again = PretendRunner({more: (1.0, 1.0)})
    ranking = new_sweep(tmp_path, seeds=[0], grid={"learning_rate": [1e-3, 1e-4, 1e-2]}).run(again)
    assert again.done == [more]
    assert [run.run for run in ranking.runs] == [more, A0, B0]


def test_a_folder_with_another_sweep_is_refused(tmp_path: Path) -> None:
    ranked(tmp_path, ALL_ALIKE)
    before = (tmp_path / "sweep.json").read_bytes()
    for name, value in {"settings": {"batch": 32}, "task": "knapsack", "teacher": "linear_search"}.items():
        idle = PretendRunner({})
        with pytest.raises(SettingError, match="batch" if name == "settings" else name):
            new_sweep(tmp_path, **{name: value}).run(idle)
        assert idle.done == []
    with pytest.raises(SettingError, match="batch"):
        new_sweep(tmp_path, settings={}).run(PretendRunner({}))
    assert (tmp_path / "sweep.json").read_bytes() == before


def test_a_folder_with_something_else_is_refused(tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear")
    for folder in (tmp_path, letter):
        with pytest.raises(SettingError):
            new_sweep(folder).run(PretendRunner({}))
    assert [*tmp_path.iterdir()] == [letter]


def test_two_sweeps_do_not_work_in_one_folder(tmp_path: Path) -> None:
    with FileLock(tmp_path / ".lock"), pytest.raises(SettingError, match="another sweep"):
        new_sweep(tmp_path).run(PretendRunner({}))
    ranked(tmp_path, ALL_ALIKE)


def test_those_who_watch_see_what_runs_and_what_is_done(tmp_path: Path) -> None:
    seen: list[SweepState] = []
    new_sweep(tmp_path).run(PretendRunner(ALL_ALIKE), seen.append)
    assert [(len(state.ranking.runs), state.running[0].name) for state in seen] == [(0, A0), (1, A1), (2, B0), (3, B1)]


def test_a_terminal_shows_the_runs_done_the_best_and_how_far_the_others_are(tmp_path: Path) -> None:
    seen: list[SweepState] = []
    new_sweep(tmp_path).run(PretendRunner(ALL_ALIKE), seen.append)
    said = "round 2 of 9: solved 25.0%, steps at n = 20 812.50 (teacher 210.10), 0:07"
    (seen[-1].running[0] / "log.txt").write_text(f"round 1 of 9: 0:03\n{said}\n")
    view = SweepView()
    for state in seen:
        view(state)
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(view.draw())
    shown = console.export_text()
    assert max(map(len, shown.splitlines())) <= 80
    words = " ".join(shown.split())
    assert f"3 of 4 runs done, 1 running; best so far: {A0}: 100.0% solved, 5.00" in words
    assert " left" in words
    assert f"{B1} {said}" in words


# Real runs

TINY = """
task = "knapsack"
method = "imitation"

[settings]
sizes = [2, 3]
items = 6
epochs = 2
calm_rounds = 1000000

[grid]
most_rounds = [3, LONGEST]
"""
"""One run that ends at once, and one of some seconds, or of minutes, with checkpoints."""
LONGEST = 20_000 if LONG else 400


def sweep_words(recipe: Path, out: Path) -> list[str]:
    words = ["sweep", str(recipe), "--out", str(out), "--processes", "2"]
    return [sys.executable, "-m", "surpass", *words]


def wait_for(what: object, seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not what():  # type: ignore[operator]
        assert time.monotonic() < end, "this did not happen in time"
        time.sleep(0.02)


def jobs_below(folder: Path) -> list[int]:
    """Return the processes whose command names something below a folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if f"{folder}/runs/" in words:
            found.append(int(entry.name))
    return found


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_a_sweep_killed_in_the_middle_ends_as_one_that_was_not(tmp_path: Path) -> None:
    recipe = tmp_path / "tiny.toml"
    recipe.write_text(TINY.replace("LONGEST", str(LONGEST)))
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    done = subprocess.run(sweep_words(recipe, whole), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    short, long = (killed / "runs" / f"most_rounds={rounds}-seed=0" for rounds in (3, LONGEST))
    with subprocess.Popen(sweep_words(recipe, killed), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_for(lambda: (short / "scores.json").exists() and list((long / "checkpoints").glob("*.json")))
        process.send_signal(signal.SIGKILL)
    assert not (long / "scores.json").exists(), "the longer run was to be killed before its end"
    for _ in range(20 if LONG else 0):
        with subprocess.Popen(sweep_words(recipe, killed), stdout=subprocess.DEVNULL) as process:
            time.sleep(random.uniform(1, 6))
            process.send_signal(signal.SIGKILL)
    wait_for(lambda: not jobs_below(killed), seconds=60)
    finished = (short / "scores.json").stat().st_mtime_ns
    done = subprocess.run(sweep_words(recipe, killed), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "continuing after round" in (long / "log.txt").read_text()
    assert (short / "scores.json").stat().st_mtime_ns == finished
    for name in ("ranking.json", "sweep.json", "agent.safetensors"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes()
    for run in (short, long):
        for name in ("agent.safetensors", "curves.csv", "recipe.json"):
            assert (run / name).read_bytes() == (whole / "runs" / run.name / name).read_bytes()


def test_the_command_ranks_what_worked_and_says_what_failed(tmp_path: Path) -> None:
    recipe = tmp_path / "mixed.toml"
    # Lists of one element leave nothing to learn, which only shows when the run has begun.
    recipe.write_text(
        'task = "sort-bubble"\nmethod = "imitation"\n[settings]\nitems = 4\nmost_rounds = 1\nepochs = 1\n'
        "[grid]\nsizes = [[1], [2, 3]]\n"
    )
    words = ("sweep", recipe, "--out", tmp_path / "out")
    done = call_here(*words, "--json", tmp_path / "ranking.json")
    assert done.returncode == 0
    assert "0 of 2 runs done" in done.stderr
    assert "failed: sizes=1-seed=0: sizes are (1,)" in done.stdout
    record = json.loads((tmp_path / "ranking.json").read_text())
    assert [run["run"] for run in record["runs"]] == ["sizes=2,3-seed=0"]
    assert [failure["run"] for failure in record["failed"]] == ["sizes=1-seed=0"]
    again = call_here(*words, "--json", "-")
    assert (again.returncode, again.stderr) == (0, "")
    assert json.loads(again.stdout) == record


def test_a_job_ends_when_its_starter_is_gone(tmp_path: Path) -> None:
    words = ["learn", "knapsack", "--out", str(tmp_path / "run"), "--set", "sizes=2", "--set", "calm_rounds=1000000"]
    job = [sys.executable, "-m", "surpass.cli.job", str(tmp_path), *words, "--set", "most_rounds=100000000"]
    with subprocess.Popen(job, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        wait_for(lambda: (tmp_path / "run" / "recipe.json").exists())
        assert process.poll() is None
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=60) == 1


def test_closing_the_runner_ends_its_jobs(tmp_path: Path) -> None:
    words = ("learn", "knapsack", "--out", str(tmp_path / "runs" / "long"), "--set", "calm_rounds=1000000")
    jobs = [
        Job("wrong", ("learn", "nope"), tmp_path / "runs" / "wrong"),
        Job("long", words, tmp_path / "runs" / "long"),
    ]
    endings = LocalRunner(2).run(jobs)
    first = next(endings)
    assert (first.job.name, first.code) == ("wrong", 2)
    assert first.message.startswith("unknown task 'nope'")
    assert jobs_below(tmp_path)
    endings.close()
    assert not jobs_below(tmp_path)


def test_a_runner_uses_one_core_for_each_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SURPASS_THREADS", "7")
    seen = []
    start = subprocess.Popen

    def remember(*words: object, **options: object) -> object:
        seen.append(options["env"]["SURPASS_THREADS"])  # type: ignore[index]
        return start(*words, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "Popen", remember)
    list(LocalRunner(1).run([Job("wrong", ("nope",), tmp_path)]))
    assert seen == ["1"]
    assert os.environ["SURPASS_THREADS"] == "7"


def test_the_recipes_can_be_listed() -> None:
    assert "paper-search" in call_here("sweep", "--list").stdout
    listed = json.loads(call_here("sweep", "--list", "--json", "-").stdout)
    assert "paper-search" in [recipe["name"] for recipe in listed]
