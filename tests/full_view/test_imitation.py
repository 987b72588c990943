"""Imitation in the full view: a graph network learns the answers of a teacher that sees whole lists."""

from __future__ import annotations

import numpy as np
import pytest

from surpass.full_view import imitation
from surpass.full_view.graph import encode_lists
from surpass.full_view.imitation import FullViewImitation
from surpass.learning.methods import new_learner
from surpass.learning.runs import train
from surpass.tasks.sort_full import SORT_FULL
from tests.learning.quick import quick_learner


def test_full_view_imitation_lowers_its_loss_and_ends_after_its_updates() -> None:
    learner = quick_learner("imitation in the full view", 40)
    curves = train(learner)
    assert isinstance(learner, FullViewImitation)
    assert learner.updates == 40
    assert [line["updates"] for line in curves] == list(range(2, 41, 2))
    losses = [line["loss"] for line in curves]
    assert np.mean(losses[-5:]) < np.mean(losses[:5])


def lists_learned_on(monkeypatch: pytest.MonkeyPatch, updates: int, **settings: str) -> list[np.ndarray]:
    """Return the lists of each update of a learner."""
    given = []
    monkeypatch.setattr(imitation, "encode_lists", lambda lists: given.append(lists) or encode_lists(lists))
    train(new_learner(SORT_FULL, "imitation", settings={"sizes": "3-5", "updates": str(updates), **settings}))
    return given


def test_full_view_imitation_learns_from_unsorted_lists_of_its_sizes_only(monkeypatch: pytest.MonkeyPatch) -> None:
    given = lists_learned_on(monkeypatch, 30)
    assert {lists.shape[1] for lists in given} == {3, 4, 5}
    for lists in given:
        assert (np.sort(lists, axis=1) == np.arange(lists.shape[1])).all()
        assert (np.diff(lists, axis=1) < 0).any(axis=1).all()


def test_full_view_imitation_draws_again_if_all_lists_are_sorted_already(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imitation, "LISTS", 1)
    given = lists_learned_on(monkeypatch, 20, sizes="2-2")
    assert [lists.tolist() for lists in given] == [[[1, 0]]] * 20
