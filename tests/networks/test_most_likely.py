"""The most likely action is that of all actions, also where the likeliest choice at each decision leads elsewhere."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from surpass import Instruction, Interface, binary, flag, integer
from surpass.agents.networks.agent import PRUNE, SAFE_MARGIN, NetworkAgent
from surpass.agents.networks.structured import StructuredPolicy
from surpass.tasks.sort_bubble import SORT_BUBBLE
from tests.networks.plain import PAPER, SMALL, draw_observations, enumerate_log_probabilities, sharp_network

CLOSE = 2e-5


def agent_of(network: StructuredPolicy, kind: type[NetworkAgent] = NetworkAgent) -> NetworkAgent:
    """Return a network as an agent; nothing but the interface of its task counts."""
    return kind("any", SimpleNamespace(interface=network.interface), network)  # type: ignore[arg-type]


def check_is_the_mode(
    network: StructuredPolicy, observations: np.ndarray, kind: type[NetworkAgent] = NetworkAgent
) -> np.ndarray:
    """Raise AssertionError unless each answer is a most likely action and leads at least by its margin.

    Returns whether each observation is a trap: the likeliest instruction is not that of the most likely action.
    """
    actions, margins = agent_of(network, kind).most_likely(observations)
    traps = []
    for observation, action, margin in zip(observations.tolist(), actions.tolist(), margins.tolist(), strict=True):
        scores = enumerate_log_probabilities(network, observation)
        others = np.delete(scores, action)
        lead = scores[action] - others.max(initial=-np.inf)
        assert lead >= -CLOSE, f"observation {observation}: {action} is behind by {-lead}"
        assert margin <= lead + CLOSE, f"observation {observation}: {action} leads by {lead}, not by {margin}"
        assert margin >= 0, f"observation {observation}: a lead of {margin}"
        kinds = network.interface.action_rows[:, 0]
        likelihoods = np.bincount(kinds, np.exp(scores))
        traps.append(likelihoods.argmax() != kinds[scores.argmax()])
    return np.array(traps)


# Random networks


@pytest.mark.parametrize("name", [*SMALL, *PAPER])
def test_it_is_the_brute_force_argmax_for_many_networks(name: str) -> None:
    interface = {**SMALL, **PAPER}[name]
    seeds, count = (30, 10) if name in SMALL else (3, 4 if interface.action_count > 100 else 40)
    found = []
    for seed in range(seeds):
        network = sharp_network(interface, seed=seed, sharpness=(1, 4, 15)[seed % 3])
        found.extend(check_is_the_mode(network, draw_observations(interface, count, seed)))
    if name in ("mixed", "previous"):
        assert np.mean(found) > 1 / 20, "too few observations on which choosing decision by decision fails"


# Traps, written by hand

TREE = Interface(
    [flag("on")],
    [
        Instruction("Many", integer("which", (1, 2, 3, 4))),
        Instruction("Deep", binary("a", (0, 1)), integer("b", (1, 2, 3)), binary("c", (0, 1))),
        Instruction("Plain"),
    ],
)


def written_network(
    kinds: tuple[float, float, float], many: tuple[float, ...], deep: tuple[float, float, float] = (0.5, 0.5, 0.5)
) -> StructuredPolicy:
    """Return a network of `TREE` with these probabilities, the same for every observation.

    `deep` holds the probability of a = 1, and those of the likeliest b and c after a = 0; after a = 1 they are certain.
    """
    network = StructuredPolicy(TREE)
    first, after_b, after_c = deep
    biases = [
        np.log(kinds),
        np.log(many),
        [logit(first)],
        np.log([after_b, *[(1 - after_b) / 2] * 2]),
        [logit(after_c)],
    ]
    inputs = TREE.input_size
    with torch.no_grad():
        for number, (slot, bias) in enumerate(zip(network.slots, biases, strict=True)):
            linear = [layer for layer in slot if isinstance(layer, torch.nn.Linear)]  # type: ignore[union-attr]
            for layer in linear:
                layer.weight.zero_()
                layer.bias.zero_()
            linear[-1].bias += torch.tensor(bias, dtype=torch.float32)
            if number >= 3:
                # The bit of a passes through the first unit of each layer and makes the last decisions certain.
                linear[0].weight[0, inputs] = 1
                linear[1].weight[0, 0] = linear[2].weight[0, 0] = 1
                linear[3].weight[0, 0] = 40
    return network


def logit(probability: float) -> float:
    return math.log(probability / (1 - probability))


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        # The likeliest instruction spreads over its operand.
        (written_network((0.5, 0.2, 0.3), (0.25, 0.25, 0.25, 0.25)), "Plain()"),
        # The same, but its operand is certain enough.
        (written_network((0.5, 0.2, 0.3), (0.1, 0.7, 0.1, 0.1)), "Many(2)"),
        # The likelier a spreads over b and c, the other one is certain of both.
        (written_network((0.05, 0.9, 0.05), (0.25,) * 4, (0.4, 0.34, 0.5)), "Deep(1, 1, 1)"),
        # It spreads too little for that.
        (written_network((0.05, 0.9, 0.05), (0.25,) * 4, (0.4, 0.9, 0.1)), "Deep(0, 1, 0)"),
        # The most likely action needs the less likely choice twice: of instruction and of a.
        (written_network((0.55, 0.45, 0.0001), (0.25,) * 4, (0.4, 0.34, 0.5)), "Deep(1, 1, 1)"),
    ],
    ids=["spread", "certain", "deep spread", "deep certain", "twice"],
)
def test_a_likely_beginning_does_not_mislead(network: StructuredPolicy, expected: str) -> None:
    check_is_the_mode(network, np.arange(2))
    actions, _ = agent_of(network).most_likely(np.arange(2))
    assert [str(TREE.actions[action]) for action in actions.tolist()] == [expected] * 2


def test_actions_behind_by_less_than_the_pruned_lead_are_told_apart() -> None:
    for lead in (PRUNE / 2, PRUNE / 100):
        # Many(1) and Plain() are close, and Many is the likelier instruction.
        many, plain = 0.3, 0.3 * math.exp(lead)
        network = written_network((0.4, 0.6 - plain, plain), (many / 0.4, *[(1 - many / 0.4) / 3] * 3))
        actions, margins = agent_of(network).most_likely(np.arange(1))
        assert str(TREE.actions[int(actions[0])]) == "Plain()"
        assert margins[0].item() == pytest.approx(lead, abs=CLOSE)


def test_the_answer_is_the_same_in_a_batch_and_alone() -> None:
    for interface in (SMALL["mixed"], PAPER["search"], PAPER["sort-quick"]):
        agent, observations = agent_of(sharp_network(interface, sharpness=5)), draw_observations(interface, 60)
        together, margins = agent.most_likely(observations)
        alone = np.concatenate([agent.most_likely(observations[k : k + 1])[0] for k in range(len(observations))])
        np.testing.assert_array_equal(together[margins > SAFE_MARGIN], alone[margins > SAFE_MARGIN])
        assert (margins > SAFE_MARGIN).mean() > 0.9


class FirstOfTheBest(NetworkAgent):
    """An agent that is content with the likeliest choice at each decision."""

    def _descend(self, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rows, margins = super()._descend(inputs)
        return rows, np.maximum(margins, 0)


class BoastsOfItsLead(NetworkAgent):
    """An agent that takes the lead of its last decision for that of the action."""

    def most_likely(self, observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        actions, margins = super().most_likely(observations)
        return actions, margins + 1


@pytest.mark.parametrize("wrong", [FirstOfTheBest, BoastsOfItsLead], ids=lambda c: c.__name__)
def test_a_wrong_mode_or_margin_is_noticed(wrong: type[NetworkAgent]) -> None:
    network = written_network((0.5, 0.2, 0.3), (0.25, 0.25, 0.25, 0.25))
    with pytest.raises(AssertionError):
        check_is_the_mode(network, np.arange(2), wrong)


def test_an_agent_follows_the_training_of_its_network() -> None:
    network = written_network((0.5, 0.2, 0.3), (0.1, 0.7, 0.1, 0.1))
    agent = agent_of(network)
    network.load_state_dict(written_network((0.5, 0.2, 0.3), (0.25, 0.25, 0.25, 0.25)).state_dict())
    assert str(TREE.actions[int(agent.most_likely(np.arange(1))[0][0])]) == "Plain()"


# Ties


def test_a_tie_is_answered_with_one_of_the_best_and_recorded_as_narrow() -> None:
    network = StructuredPolicy(SORT_BUBBLE.interface)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
    agent = NetworkAgent("flat", SORT_BUBBLE, network)
    observations = np.array([3, 17, 99])
    answers = agent.actions(observations)
    # Each of the 4 swaps has a twelfth, each move a twenty-fourth, each assignment a forty-eighth.
    assert all(str(SORT_BUBBLE.interface.actions[a]).startswith("SwapWithNext") for a in answers.tolist())
    assert set(agent.narrow) == set(observations.tolist())
    assert all(0 <= margin < SAFE_MARGIN for margin in agent.narrow.values())


def test_a_clear_choice_is_not_recorded_as_narrow() -> None:
    agent = NetworkAgent("sharp", SORT_BUBBLE, sharp_network(SORT_BUBBLE.interface))
    observations = draw_observations(SORT_BUBBLE.interface, 300)
    margins = agent.most_likely(observations)[1]
    agent.actions(observations)
    assert set(agent.narrow) == set(observations[margins < SAFE_MARGIN].tolist())


def test_actions_come_in_the_order_of_the_observations_beyond_one_batch() -> None:
    agent = NetworkAgent("sharp", SORT_BUBBLE, sharp_network(SORT_BUBBLE.interface))
    observations = draw_observations(SORT_BUBBLE.interface, 300)
    once = agent.actions(observations)
    assert len(set(once.tolist())) > 1
    order = np.random.default_rng(0).integers(0, 300, 5000)
    assert agent.actions(observations[order]).tolist() == once[order].tolist()
    assert agent.actions(observations[:0]).tolist() == []
