"""The structured policy is the distribution over actions that appendix D of the paper writes down."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from surpass import Interface
from surpass.agents.networks.structured import StructuredPolicy
from tests.networks.plain import (
    PAPER,
    SMALL,
    draw_observations,
    enumerate_log_probabilities,
    sharp_network,
)

ALL = {**SMALL, **PAPER}
CLOSE = 2e-5
"""How far log-probabilities in 32 and in 64 bits may lie apart."""


def each_interface(names: dict[str, Interface] = ALL) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("interface", names.values(), ids=names.keys())


def check_is_the_product_of_its_decisions(network: StructuredPolicy, observations: np.ndarray) -> None:
    """Raise AssertionError unless every action has the log-probability that adding up its decisions gives."""
    expected = np.array([enumerate_log_probabilities(network, observation) for observation in observations.tolist()])
    with torch.no_grad():
        inputs = network.encode(observations)
        actions = np.arange(network.interface.action_count)
        rows = inputs.repeat_interleave(len(actions), 0)
        each = network.action_log_probabilities(rows, torch.from_numpy(np.tile(actions, len(observations))))
    np.testing.assert_allclose(each.numpy().reshape(expected.shape), expected, atol=CLOSE, rtol=CLOSE)


@each_interface()
@pytest.mark.parametrize("sharpness", [1, 20])
def test_log_probabilities_are_those_of_adding_up_the_decisions(interface: Interface, sharpness: float) -> None:
    observations = draw_observations(interface, 4 if interface.action_count > 100 else 20)
    check_is_the_product_of_its_decisions(sharp_network(interface, sharpness=sharpness), observations)


class ForgetsThePrefix(StructuredPolicy):
    """A network whose later decisions do not see the earlier ones."""

    def log_probabilities(self, slot: int, inputs: torch.Tensor, prefix: torch.Tensor) -> torch.Tensor:
        return super().log_probabilities(slot, inputs, torch.zeros_like(prefix))


class TurnsBinariesRound(StructuredPolicy):
    """A network that gives the likelihood of the second value to the first."""

    def log_probabilities(self, slot: int, inputs: torch.Tensor, prefix: torch.Tensor) -> torch.Tensor:
        options = super().log_probabilities(slot, inputs, prefix)
        return options.flip(1) if self.interface.slots[slot].kind == "binary" else options


class LeavesOutTheLastOperand(StructuredPolicy):
    """A network that scores an action without its last operand."""

    def action_log_probabilities(self, inputs: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        scores = super().action_log_probabilities(inputs, actions)
        rows = torch.from_numpy(self.interface.action_rows)[actions]
        last = self.log_probabilities(len(self.interface.slots) - 1, inputs, rows[:, 1:3])
        return torch.where(rows[:, 0] == 3, scores - last.gather(1, rows[:, 3:4])[:, 0], scores)


@pytest.mark.parametrize(
    "wrong",
    [ForgetsThePrefix, TurnsBinariesRound, LeavesOutTheLastOperand],
    ids=lambda c: c.__name__,
)
def test_a_network_that_computes_something_else_is_noticed(wrong: type[StructuredPolicy]) -> None:
    network = wrong(SMALL["mixed"])
    with pytest.raises(AssertionError):
        check_is_the_product_of_its_decisions(network, np.arange(6))


# Shapes


@each_interface()
def test_every_slot_has_three_hidden_layers_of_64_and_sees_the_operands_before_it(interface: Interface) -> None:
    network = StructuredPolicy(interface)
    assert len(network.slots) == len(interface.slots) == 1 + sum(len(i.operands) for i in interface.instructions)
    for slot, layers in zip(interface.slots, network.slots, strict=True):
        before = interface.instructions[slot.instruction].operands[: slot.operand] if slot.operand > 0 else ()
        inputs = interface.input_size + sum(1 if o.kind == "binary" else len(o.values) for o in before)
        outputs = 1 if slot.kind == "binary" else slot.choices
        linear = [(m.in_features, m.out_features) for m in layers if isinstance(m, torch.nn.Linear)]  # type: ignore[union-attr]
        assert linear == [(inputs, 64), (64, 64), (64, 64), (64, outputs)]
        kinds = [type(m).__name__ for m in layers]  # type: ignore[union-attr]
        assert kinds == ["Linear", "ReLU", "Linear", "ReLU", "Linear", "ReLU", "Linear"]


def test_equal_seeds_give_equal_networks_and_leave_torchs_own_generator_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first, second, other = (StructuredPolicy(SMALL["mixed"], seed=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.rand(3), expected)
    for a, b, c in zip(first.parameters(), second.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b)
        assert not torch.equal(a, c)
