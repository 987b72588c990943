"""Imitation in the full view: a graph network learns the answers of a teacher that sees whole lists."""

from __future__ import annotations

import numpy as np
import pytest

from surpass.agents.networks.agent import NetworkAgent
from surpass.full_view import imitation
from surpass.full_view.graph import GraphAgent
from surpass.full_view.imitation import FullViewImitation, FullViewImitationConfig
from surpass.learning.runs import train
from surpass.tasks.sort_full import SORT_FULL
from tests.learning.quick import knapsack_learner, quick_learner


def test_full_view_imitation_lowers_its_loss_and_ends_after_its_updates() -> None:
    learner = quick_learner("imitation in the full view", 40)
    curves = train(learner)
    assert isinstance(learner, FullViewImitation)
    assert learner.updates == 40
    assert [line["updates"] for line in curves] == list(range(2, 41, 2))
    losses = [line["loss"] for line in curves]
    assert np.mean(losses[-5:]) < np.mean(losses[:5])


def test_full_view_imitation_learns_from_unsorted_lists_of_its_sizes_only() -> None:
    learner = quick_learner("imitation in the full view", 4)
    assert isinstance(learner, FullViewImitation)
    sizes = set()
    for _ in range(30):
        lists = learner._visit()
        sizes.add(lists.shape[1])
        assert (np.sort(lists, axis=1) == np.arange(lists.shape[1])).all()
        assert (np.diff(lists, axis=1) < 0).any(axis=1).all()
    assert sizes == {3, 4, 5}


def test_full_view_imitation_gives_a_full_view_agent_and_the_other_a_table_agent() -> None:
    assert isinstance(quick_learner("imitation in the full view", 2).agent(), GraphAgent)
    assert isinstance(knapsack_learner(2).agent(), NetworkAgent)


class Watched:
    """A generator that keeps every permutation that it draws."""

    def __init__(self, generator: np.random.Generator) -> None:
        self.generator, self.drawn = generator, list[list[list[int]]]()

    def permuted(self, lists: np.ndarray, axis: int) -> np.ndarray:
        found = self.generator.permuted(lists, axis=axis)
        self.drawn.append(found.tolist())
        return found

    def __getattr__(self, name: str) -> object:
        return getattr(self.generator, name)


def test_full_view_imitation_draws_again_if_all_lists_are_sorted_already(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imitation, "LISTS", 1)
    config = FullViewImitationConfig(task="sort-full", teacher="selection_sort", sizes="2-2")
    learner = FullViewImitation(SORT_FULL, config)
    watched = Watched(learner.random)
    learner.random = watched  # type: ignore[assignment]
    visited = [learner._visit() for _ in range(20)]
    assert watched.drawn.count([[0, 1]]) > 5, "hardly any list was sorted to begin with"
    assert watched.drawn.count([[1, 0]]) == 20
    assert all((lists == [1, 0]).all() and len(lists) for lists in visited)
