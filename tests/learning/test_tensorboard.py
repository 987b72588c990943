"""Event files for TensorBoard hold each round once, however often a run was broken off."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import surpass
from surpass.errors import MissingExtraError
from surpass.learning.tensorboard import FOLDER, EventFile

pytest.importorskip("tensorboard", reason="an extra")


def points_of(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """Return the points of each line in the event files of a run."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder / FOLDER))
    events.Reload()
    return {name: [(event.step, event.value) for event in events.Scalars(name)] for name in events.Tags()["scalars"]}


def test_every_column_of_every_round_is_written_once_also_after_going_on(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    settings = {"sizes": "2", "items": "6", "epochs": "2", "calm_rounds": "100", "most_rounds": "4"}
    for resume, minutes in ((False, 1e-6), (True, None), (True, None)):
        run = surpass.learn(
            *("knapsack", "imitation"),
            out=folder,
            minutes=minutes,
            resume=resume,
            tensorboard=True,
            score_sizes=[2],
            score_instances=2,
            settings=settings,
        )
    assert len(run.curves) == 4
    found = points_of(folder)
    for name in ("solved", "agreement"):
        assert [step for step, _ in found[name]] == [1, 2, 3, 4]
        assert [value for _, value in found[name]] == pytest.approx([curve[name] for curve in run.curves])
    assert "round" not in found


def test_rounds_after_the_last_checkpoint_are_not_written_twice(tmp_path: Path) -> None:
    curves = [{"round": 1.0, "loss": 0.5}, {"round": 2.0, "loss": 0.25}]
    lost = EventFile(tmp_path, curves[:1])
    lost.add(2, {"loss": 9.0})  # of this round there is no checkpoint
    lost.close()
    again = EventFile(tmp_path, curves[:1])
    again.add(2, curves[1])
    again.add(3, {"loss": float("nan")})
    again.close()
    assert points_of(tmp_path) == {"loss": [(1, 0.5), (2, 0.25)]}


def test_without_tensorboard_a_run_is_refused_before_it_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(MissingExtraError, match="TensorBoard"):
        surpass.learn("knapsack", "imitation", out=tmp_path / "run", tensorboard=True)
    assert not (tmp_path / "run").exists()
