"""The policy gradient in the full view: over distinct decisions it is the gradient over all steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
import torch

from surpass.engine.run import Results, run
from surpass.errors import SavedFileError
from surpass.full_view import policy_gradient
from surpass.full_view.graph import encode_lists
from surpass.full_view.policy_gradient import FullViewGradientConfig, FullViewPolicyGradient, Steps
from surpass.learning.methods import new_learner
from surpass.learning.runs import train
from surpass.machine.state import Outcome
from surpass.tasks.lists import from_lists
from surpass.tasks.sort_full import SORT_FULL
from tests.networks.plain import pair_log_probabilities

SMALL = {"sizes": "3-5", "episodes": 5, "unroll": 7, "limit": "4", "updates_per_round": 2}
FULL = {
    **SMALL,
    "teacher": "selection_sort",
    "imitation_weight": 0.3,
    "entropy_weight": 0.2,
    "baseline_weight": 0.7,
    "shaping": 0.5,
    "discount": 0.9,
    "evenness_weight": 0.4,
    "imitation_updates": 0,
    "final_learning_rate": 0.0,
    "baseline": "scalar",
    "step_cost": 0.01,
    "progress": "score",
}


PROGRESS: dict[str, Callable[[np.ndarray], int]] = {
    "score": lambda values: int((np.diff(values) >= 0).sum()),
    "in_place": lambda values: int((values == np.sort(values)).sum()),
}
"""What shaping can reward, each counted by hand."""


def learner_of(**settings: object) -> FullViewPolicyGradient:
    chosen = {**FULL, **settings}
    return FullViewPolicyGradient(SORT_FULL, FullViewGradientConfig(task="sort-full", **chosen))  # type: ignore[arg-type]


def lively(learner: FullViewPolicyGradient) -> FullViewPolicyGradient:
    """Return the learner with networks that tell lists clearly apart: fresh ones hardly do."""
    with torch.no_grad():
        for parameter in [*learner.network.parameters(), *learner.value.parameters()]:
            parameter *= 1.8
    learner.scalar = 0.3
    return learner


def entropy_of(options: torch.Tensor) -> torch.Tensor:
    return -(options.exp() * options).sum()


def step_by_step_loss(learner: FullViewPolicyGradient, steps: Steps) -> torch.Tensor:
    """Return the loss of the paper, one step after the other."""
    config, network, teacher = learner.config, learner.network, learner.teacher
    assert teacher is not None

    def value(values: np.ndarray) -> torch.Tensor:
        if config.baseline == "scalar":
            return torch.tensor(learner.scalar)
        return learner.value(encode_lists(values[None]))[0]

    total = torch.zeros(())
    length, count, _ = steps.lists.shape
    for b in range(count):
        target = torch.zeros(())
        for t in reversed(range(length)):
            values, pair = steps.lists[t, b], steps.pairs[t, b]
            after = values.copy()
            after[pair] = values[pair[::-1]]
            gain = PROGRESS[config.progress](after) - PROGRESS[config.progress](values)
            reward = config.shaping * gain - config.step_cost
            if (np.diff(after) >= 0).all():
                target = torch.tensor(reward)
            elif steps.cut[t, b] or t == length - 1:
                target = reward + config.discount * value(after).detach()
            else:
                target = reward + config.discount * target
            edges = encode_lists(values[None])
            score = pair_log_probabilities(network, edges, torch.from_numpy(pair[None]))[0]
            total = total - (target - value(values).detach()) * score
            total = total - config.entropy_weight * (
                entropy_of(network.first_log_probabilities(edges))
                + entropy_of(network.second_log_probabilities(edges, torch.tensor([pair[0]])))
            )
            total = total - config.evenness_weight * (
                network.first_log_probabilities(edges).mean()
                + network.second_log_probabilities(edges, torch.tensor([pair[0]])).mean()
            )
            told = torch.from_numpy(teacher.pointers(values[None]))
            total = total - config.imitation_weight * pair_log_probabilities(network, edges, told)[0]
            if config.baseline == "network":
                total = total + config.baseline_weight * (target - value(values)) ** 2
    return total / (length * count)


def gradient_of(learner: FullViewPolicyGradient) -> torch.Tensor:
    parameters = [*learner.network.parameters(), *learner.value.parameters()]
    return torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in parameters])


@pytest.mark.parametrize("data", ["uniform", "few-distinct"])
@pytest.mark.parametrize(("baseline", "progress"), [("scalar", "score"), ("network", "score"), ("network", "in_place")])
def test_the_gradient_over_distinct_decisions_is_the_one_over_all_steps(
    baseline: str, progress: str, data: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = lively(learner_of(baseline=baseline, progress=progress, data=data))
    learner.sample(4)  # so that the steps start in the middle of episodes
    steps = learner.sample(4)
    assert steps.cut.any()
    assert not steps.cut[-1].all()
    expected = step_by_step_loss(learner, steps)
    learner.optimizer.clear_gradients()
    expected.backward()  # type: ignore[no-untyped-call]
    wanted = gradient_of(learner)
    assert wanted.abs().max() > 1e-2
    for work in (1 << 16, 50):  # all lists together, and a few at a time
        monkeypatch.setattr(policy_gradient, "GRAPH_WORK", work)
        terms, _ = learner.backward(steps)
        assert sum(terms.values()) == pytest.approx(expected.item(), rel=1e-4)
        torch.testing.assert_close(gradient_of(learner), wanted, rtol=1e-3, atol=1e-5)


def test_without_a_teacher_there_is_no_imitation() -> None:
    learner = lively(learner_of(teacher="", imitation_weight=0.0, evenness_weight=0.0))
    terms, _ = learner.backward(learner.sample(3))
    assert set(terms) == {"policy", "entropy"}


def check_steps(steps: Steps, limit: int) -> None:
    """Raise AssertionError unless the steps are swaps of episodes that end when they should."""
    length, count, _ = steps.lists.shape
    for b in range(count):
        for t in range(length):
            after = steps.lists[t, b].copy()
            i, j = steps.pairs[t, b]
            after[i], after[j] = after[j], after[i]
            np.testing.assert_array_equal(after, steps.following[t, b])
            assert (np.diff(steps.lists[t, b]) < 0).any(), "a sorted list is gone on with"
            is_sorted = bool((np.diff(after) >= 0).all())
            assert steps.ended[t, b] == is_sorted
            assert steps.cut[t, b] == (not is_sorted and steps.ages[t, b] >= limit)
            if t + 1 < length:
                over = steps.ended[t, b] or steps.cut[t, b]
                assert steps.ages[t + 1, b] == (1 if over else steps.ages[t, b] + 1)
                assert over or (steps.lists[t + 1, b] == after).all()


def test_steps_are_swaps_and_episodes_end_when_they_should() -> None:
    learner = learner_of(episodes=20, limit="6")
    first, second = learner.sample(3), learner.sample(3)
    for steps in (first, second):
        assert steps.ended.any()
        assert steps.cut.any()
        check_steps(steps, 6)
    going_on = ~(first.ended | first.cut)[-1]
    np.testing.assert_array_equal(second.lists[0][going_on], first.following[-1][going_on])
    wrong = second._replace(following=second.lists)
    with pytest.raises(AssertionError):
        check_steps(wrong, 6)
    with pytest.raises(AssertionError):
        check_steps(second, 7)


def test_pairs_are_drawn_with_the_probabilities_of_the_network() -> None:
    learner = lively(learner_of())
    values, draws = np.array([2, 0, 2, 1]), 4000
    pairs = learner._choose(np.tile(values, (draws, 1)))
    edges = encode_lists(values[None])
    with torch.no_grad():
        for i in range(4):
            for j in range(4):
                share = pair_log_probabilities(learner.network, edges, torch.tensor([[i, j]])).exp().item()
                met = int(((pairs[:, 0] == i) & (pairs[:, 1] == j)).sum())
                assert abs(met - draws * share) < 5 * np.sqrt(draws * share * (1 - share)) + 1


class Rehearsed(FullViewPolicyGradient):
    """A learner whose networks do as well beyond what they learn on as is said beforehand, round by round."""

    shares = ((0.8, 0.2), (1.0, 0.6), (0.6, 1.0), (1.0, 0.8), (1.0, 0.6), (1.0, 0.4))
    """What is solved half way and at `kept_at`,"""
    lucky = 4
    """the round whose network solves less half way when it is tried again,"""
    reaches = (0.8, 1.6, 0.6, 0.75, 1.6, 1.4)
    """how far each of them comes,"""
    best = 5
    """and the round whose network is kept: of those that are equally good, the last."""

    def measure(self, size: int, count: int | None = None) -> Results:
        results = super().measure(size, count)
        half_way, far = self.shares[self.updates // 2 - 1]
        if count == 200 and self.updates // 2 == self.lucky:
            half_way = 0.75
        lists = np.arange(len(results.steps))
        ends = np.where(lists < len(lists) * {6: half_way, 7: far}.get(size, 1.0), Outcome.SOLVED, Outcome.LOOP)
        return replace(results, outcomes=ends)


def test_the_network_that_did_best_beyond_what_it_learned_on_is_kept() -> None:
    config = FullViewGradientConfig(task="sort-full", **{**FULL, "updates": 12, "kept_at": 7})  # type: ignore[arg-type]
    learner, plain = Rehearsed(SORT_FULL, config), learner_of(updates=12)
    networks = []
    curves = []
    while not learner.done:
        if learner.updates in (6, 10):  # what was kept is kept when a run goes on from a checkpoint
            state = learner.save_state()
            learner = Rehearsed(SORT_FULL, config)
            learner.load_state(*state)
        curves.append(learner.advance())
        plain.advance()
        networks.append([parameter.clone() for parameter in plain.network.parameters()])
    assert [curve["reach"] for curve in curves] == list(Rehearsed.reaches)
    for k, network in enumerate(networks, 1):
        pairs = zip(learner.network.parameters(), network, strict=True)
        assert all(torch.equal(a, b) for a, b in pairs) == (k == Rehearsed.best)


def test_it_is_not_tried_beyond_its_sizes_before_it_has_grown_up_to_them() -> None:
    learner = learner_of(updates=2, kept_at=7, sizes="2-3 3-5")
    assert learner.advance()["reach"] == 0
    assert not learner.kept


def test_a_kept_network_of_another_shape_is_refused() -> None:
    learner = learner_of(updates=2, kept_at=7)
    tensors, record = learner.save_state()
    with pytest.raises(SavedFileError, match="network"):
        learner_of(updates=2, kept_at=7).load_state({**tensors, "kept.network.odd": np.zeros(3)}, record)


@pytest.mark.parametrize("method", ["rl", "rl+imitation"])
def test_by_default_it_sorts_short_lists_in_the_fewest_swaps(method: str) -> None:
    settings = {"sizes": "2-4"}
    few = {"updates": "150", "updates_per_round": "150"}
    learner = new_learner(SORT_FULL, method, settings={**settings, **few})
    train(learner)
    results = run(learner.agent(), from_lists(np.array(list(permutations(range(4))))))
    assert results.solved.all()
    assert results.steps.sum() <= 50, "the 24 lists of four take 46 swaps"
