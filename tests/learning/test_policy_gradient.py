"""The policy gradient: summed per decision it is the gradient over all steps."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from surpass.errors import DivergedError
from surpass.learning import methods
from surpass.learning.policy_gradient.learner import PolicyGradient, PolicyGradientConfig
from surpass.learning.policy_gradient.losses import parameter_rows
from surpass.learning.policy_gradient.sampler import Sampled
from surpass.learning.updates import UpdateLearner
from surpass.machine.state import Outcome
from surpass.tasks.registry import find_task
from tests.networks.plain import decisions_of, enumerate_log_probabilities

SETTINGS = {
    "sort-bubble": {"teacher": "insertion_sort", "limit": "30", "sizes": "2-6", "shaping": 0.5},
    "sort-quick": {"teacher": "quick_sort", "limit": "30", "sizes": "2-5", "shaping": 0.5},
    "search": {"teacher": "binary_search", "limit": "20", "sizes": "3-9"},
    "knapsack": {"teacher": "depth_first", "limit": "30", "sizes": "2-5"},
}


def new_learner(task: str, **settings: object) -> PolicyGradient:
    chosen = {
        "episodes": 12,
        "unroll": 25,
        "imitation_weight": 0.3,
        "entropy_weight": 0.2,
        **SETTINGS[task],
        **settings,
    }
    return PolicyGradient(find_task(task), PolicyGradientConfig(task=task, **chosen))  # type: ignore[arg-type]


def sample(learner: PolicyGradient) -> Sampled:
    return learner.sampler.sample(parameter_rows(learner.network), learner.curriculum.sizes)


def step_by_step_loss(learner: PolicyGradient, batch: Sampled) -> torch.Tensor:
    """Return the loss of the paper, one step after the other, from the recorded observations, actions and rewards."""
    config, interface, network = learner.config, learner.task.interface, learner.network
    record, progress = batch.record, learner.task.reward.progress + learner.config.shaping

    def value(observation: int) -> torch.Tensor:
        if config.baseline == "scalar":
            return torch.tensor(learner.scalar)
        return learner.value(network.encode(np.array([observation])))[0, 0]

    total = torch.zeros(())
    for b in range(record.rows.shape[0]):
        following = value(int(batch.last[b])).detach()
        for t in reversed(range(record.rows.shape[1])):
            seen, action = int(batch.observations[batch.which[b, t]]), int(record.actions[b, t])
            reward = progress * record.gains[b, t] - config.step_cost
            if record.ends[b, t] == Outcome.WRONG_ANSWER:
                reward -= config.wrong_cost
            if record.ends[b, t] != Outcome.RUNNING:
                target = torch.tensor(reward)
            elif record.cut[b, t]:
                target = reward + config.discount * value(int(record.after[b, t])).detach()
            else:
                target = reward + config.discount * following
            following = target
            inputs = network.encode(np.array([seen]))
            score = network.action_log_probabilities(inputs, torch.tensor([action]))[0]
            total = total - (target - value(seen).detach()) * score
            if config.baseline == "network":
                total = total + config.baseline_weight * (target - value(seen)) ** 2
            for decision in decisions_of(interface, action):
                options = network.log_probabilities(
                    decision.slot, inputs, torch.tensor([decision.prefix], dtype=torch.int64)
                )
                total = total + config.entropy_weight * (options.exp() * options).sum()
            assert learner.teacher is not None
            told = learner.teacher.actions(np.array([seen]))
            if told[0] >= 0:
                total = (
                    total
                    - config.imitation_weight * network.action_log_probabilities(inputs, torch.from_numpy(told))[0]
                )
    return total / record.rows.size


def gradient_of(learner: PolicyGradient, loss: torch.Tensor) -> torch.Tensor:
    parameters = [*learner.network.parameters(), *learner.value.parameters()]
    parts = torch.autograd.grad(loss, parameters, allow_unused=True)
    return torch.cat(
        [torch.zeros_like(p).flatten() if g is None else g.flatten() for p, g in zip(parameters, parts, strict=True)]
    )


@pytest.mark.parametrize("baseline", ["scalar", "network"])
@pytest.mark.parametrize("task", SETTINGS)
def test_the_gradient_over_distinct_decisions_is_the_one_over_all_steps(task: str, baseline: str) -> None:
    learner = new_learner(task, baseline=baseline)
    learner.scalar = 0.3
    sample(learner)  # so that the record starts in the middle of episodes
    batch = sample(learner)
    assert (batch.record.cut == 1).any() or (batch.record.ends != 0).any()
    summed = torch.stack(list(learner.loss_terms(batch, learner.returns(batch)).values())).sum()
    stepwise = step_by_step_loss(learner, batch)
    torch.testing.assert_close(gradient_of(learner, summed), gradient_of(learner, stepwise), rtol=1e-3, atol=2e-6)


@pytest.mark.parametrize("task", SETTINGS)
def test_actions_are_drawn_with_the_probabilities_of_the_network(task: str) -> None:
    learner = new_learner(task, episodes=400, unroll=20)
    batch = sample(learner)
    first = batch.record.actions[:, 0]
    seen = batch.observations[batch.which[:, 0]]
    known = {one: np.exp(enumerate_log_probabilities(learner.network, one)) for one in np.unique(seen).tolist()}
    options = np.array([known[one] for one in seen.tolist()])
    kinds = learner.task.interface.action_rows[:, 0]
    for kind in range(len(learner.task.interface.instructions)):
        expected = options[:, kinds == kind].sum()
        spread = np.sqrt((options[:, kinds == kind].sum(axis=1) * (1 - options[:, kinds == kind].sum(axis=1))).sum())
        assert abs((kinds[first] == kind).sum() - expected) < 5 * spread + 1


def test_a_loss_that_is_not_a_number_stops_the_run() -> None:
    learner = new_learner("search")
    with torch.no_grad():
        learner.network.slots[0][-1].bias += torch.inf  # type: ignore[index, union-attr]
    with pytest.raises(DivergedError, match="learning_rate"):
        learner.advance()


def rates_of(learner: UpdateLearner) -> list[float]:
    """Return the learning rate of each update, and after the last one."""
    rates = []
    for updates in range(learner.config.updates + 1):
        learner.updates = updates
        rates.append(learner.learning_rate)
    return rates


def test_the_learning_rate_falls_to_the_final_one_or_stays() -> None:
    falling = {"learning_rate": 1e-2, "final_learning_rate": 1e-4, "updates": 100}
    settings = {name: str(value) for name, value in falling.items()}
    full_view = methods.new_learner(find_task("sort-full"), "imitation", settings=settings)
    assert isinstance(full_view, UpdateLearner)
    for rates in (rates_of(new_learner("search", **falling)), rates_of(full_view)):
        assert rates == sorted(rates, reverse=True)
        np.testing.assert_allclose([rates[0], rates[50], rates[100]], [1e-2, (1e-2 + 1e-4) / 2, 1e-4])
    assert set(rates_of(new_learner("search", learning_rate=1e-2, updates=100))) == {1e-2}
