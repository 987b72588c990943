"""Learning on a user's own lists, by every method that takes files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surpass.engine.run import run
from surpass.errors import DataFileError, SettingError
from surpass.learning.methods import new_learner
from surpass.learning.sources import Sources
from surpass.tasks.registry import find_task
from surpass.tasks.task import Instances, Request, join_instances

pytestmark = pytest.mark.usefixtures("small_effort")

BUBBLE = find_task("sort-bubble")
EDITS = {"rounds": "8", "sets": "10", "candidates": "32", "instances": "150", "islands": "2", "gradients": "0"}
WAYS = {
    "network": {"policy": "network", "episodes": "24", "unroll": "8", "updates": "2", "updates_per_round": "1"},
    "table": {"policy": "table", "episodes": "64", "updates": "2", "starts": "1", "checks": "0"},
    "discover": {**EDITS, "start": "teacher:insertion_sort"},
}


def reversed_lists(path: Path, sizes: tuple[int, ...] = (4, 4, 6, 6, 6)) -> str:
    """Write a file of reversed lists."""
    path.write_text("\n".join(",".join(map(str, range(size, 0, -1))) for size in sizes))
    return str(path)


def displaced_lists(path: Path, count: int, size: int = 12) -> str:
    """Write lists that are sorted but for one displaced value."""
    random = np.random.default_rng(5)
    lines = []
    for _ in range(count):
        values = list(range(size))
        values.insert(int(random.integers(size)), values.pop(int(random.integers(size))))
        lines.append(",".join(map(str, values)))
    path.write_text("\n".join(lines))
    return str(path)


def learner(way: str, data: str, **settings: str) -> Any:
    """Return a small learner from insertion sort."""
    method, teacher = (way, None) if way == "discover" else ("rl+imitation", "insertion_sort")
    return new_learner(BUBBLE, method, teacher=teacher, settings={**WAYS[way], "data": data, **settings})


# What is drawn


def test_lists_of_a_file_are_drawn_but_for_those_that_are_held_out(tmp_path: Path) -> None:
    sources = Sources(BUBBLE, reversed_lists(tmp_path / "mine.csv"), "mixed", 0)
    assert join_instances(BUBBLE, sources.held_out).count == 1
    drawn = sources.draw_between(sources.lengths, 64, 3)
    assert set(drawn.sizes.tolist()) == {4, 6}
    for size, values in zip(drawn.sizes, drawn.items, strict=True):
        assert (np.diff(values[:size]) < 0).all()
    assert set(sources.draw_between((2, 3), 64, 3).sizes.tolist()) == {2, 3}, "where no list fits there are usual ones"


def test_files_and_distributions_count_by_their_weights(tmp_path: Path) -> None:
    sources = Sources(BUBBLE, f"{displaced_lists(tmp_path / 'mine.csv', 10)}*3,reversed", "mixed", 0)
    parts = sources.draw(12, 40, 1)
    assert [part.count for part in parts] == [30, 10]
    assert (parts[1].items == np.arange(12)[::-1]).all()
    assert (sources.group(np.array([1, 11, 12, 40])) == [0, 0, 12, 12]).all()
    drawn = sources.draw_between((12, 12), 400, 3)
    assert 0.15 < (np.diff(drawn.items, axis=1) < 0).all(axis=1).mean() < 0.35


def test_distributions_alone_say_nothing_of_held_out_lists() -> None:
    sources = Sources(BUBBLE, "uniform,sawtooth", "mixed", 0)
    assert sources.lengths == (0, 0)
    assert learner("network", "uniform").describe() == ""


# What is learned


@pytest.mark.parametrize("way", WAYS)
def test_what_is_learned_on_a_file_is_compared_on_held_out_lists(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, drawn, draw_between = reversed_lists(tmp_path / "mine.csv"), [], Sources.draw_between

    def watched(self: Sources, *given: Any, **more: Any) -> Instances:
        drawn.append(draw_between(self, *given, **more))
        return drawn[-1]

    monkeypatch.setattr(Sources, "draw_between", watched)
    one = learner(way, data)
    assert len(one.recipe["digest"]) == 64
    one.advance()
    if way != "discover":
        assert {4} <= {size for part in drawn for size in part.sizes.tolist()} <= {4, 6}
    assert "On 1 held-out lists" in one.describe(), "also if the time is up before the end"
    assert "uniform lists" in one.describe()
    reversed_lists(tmp_path / "mine.csv", (3, 3))
    with pytest.raises(SettingError, match="checksum"):
        learner(way, data, digest=one.recipe["digest"])


def test_a_program_is_made_shorter_on_a_users_lists(tmp_path: Path) -> None:
    """And solves everything else."""
    one = learner("discover", displaced_lists(tmp_path / "mine.csv", 200))
    assert one.sizes == (12,)
    while one.is_searching:
        one.advance()
    held_out = join_instances(BUBBLE, one.sources.held_out)
    assert held_out.count == 40
    assert run(one.program, held_out).steps.mean() < run(one.teacher, held_out).steps.mean()
    assert run(one.program, BUBBLE.draw(Request(size=30, count=50, seed=9))).solved.all()


def test_files_of_different_lengths_are_searched_together(tmp_path: Path) -> None:
    """Each size has a mean cost, though no file has lists of both lengths."""
    files = [reversed_lists(tmp_path / f"{size}.csv", (size,) * 8) for size in (4, 6)]
    one = learner("discover", ",".join(files))
    curve = one.advance()
    assert one.sizes == (4, 6)
    assert np.isfinite([curve["cost_4"], curve["cost_6"], curve["relative_cost"]]).all()


@pytest.mark.parametrize("way", WAYS)
def test_odd_files_are_refused_or_learned_on(way: str, tmp_path: Path) -> None:
    """One list is learned on and none held out; single values, equal ones and lists too long are refused."""
    path = tmp_path / "odd.csv"
    path.write_text("3,1,2\n")
    one = learner(way, str(path))
    if way == "discover":
        one.advance()
    assert "No list was held out" in one.describe()
    np.save(tmp_path / "long.npy", np.zeros((2, 5001), np.int64))
    path.write_text("3\n1\n")
    for refused in (path, tmp_path / "long.npy"):
        with pytest.raises(DataFileError):
            learner(way, str(refused))
    with pytest.raises(SettingError, match="sideways"):
        learner(way, "sideways")
    if way == "discover":  # every step counts relative to those of the first program, which may be none
        path.write_text("3,3,3\n1,1\n")
        one = learner(way, str(path))
        one.advance()
        assert np.isfinite(one.best.cost)
    else:
        with pytest.raises(SettingError, match="sizes"):
            learner(way, reversed_lists(path), sizes="8-9")
