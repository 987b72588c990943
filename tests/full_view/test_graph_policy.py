"""The graph policy is the message passing of appendix D, and its pointers are distributions over positions."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from surpass.full_view.graph import GraphAgent, GraphPolicy, encode_lists
from surpass.full_view.messages import HIDDEN, hear
from surpass.tasks.sort_full import SORT_FULL
from tests.networks.plain import pointer_log_probabilities

CLOSE = 2e-5
LISTS = ([1, 0], [2, 0, 1], [0, 0, 1, 0], [3, 1, 4, 1, 5], [5, 4, 3, 2, 1, 0], [0, 1, 2, 3], [7, 7, 7])


def lively_policy(seed: int = 0) -> GraphPolicy:
    """Return a random policy whose positions differ clearly in likelihood: in fresh ones they hardly do."""
    policy = GraphPolicy(seed=seed)
    with torch.no_grad():
        for parameter in policy.parameters():
            if parameter.dim() == 2:
                parameter *= 2.2
    return policy


def check_passes_messages_edge_by_edge(policy: GraphPolicy, values: list[int], *, hears_itself: bool = False) -> None:
    """Raise AssertionError unless both pointers give what going through the graph edge by edge gives."""
    edges = encode_lists(np.array([values]))
    with torch.no_grad():
        first = policy.first_log_probabilities(edges)[0].numpy()
        expected = pointer_log_probabilities(policy, "first", values, hears_itself=hears_itself)
        np.testing.assert_allclose(first, expected, atol=CLOSE, rtol=CLOSE)
        for chosen in range(len(values)):
            second = policy.second_log_probabilities(edges, torch.tensor([chosen]))[0].numpy()
            expected = pointer_log_probabilities(policy, "second", values, chosen, hears_itself=hears_itself)
            np.testing.assert_allclose(second, expected, atol=CLOSE, rtol=CLOSE)


@pytest.mark.parametrize("values", LISTS, ids=str)
def test_each_position_hears_the_mean_of_all_others_messages(values: list[int]) -> None:
    for seed in range(3):
        check_passes_messages_edge_by_edge(lively_policy(seed), values)


def heard_plainly(own: torch.Tensor, other: torch.Tensor, edges: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Return what `hear` returns, with the hidden layer of every pair written out."""
    size = own.shape[1]
    hidden = torch.relu(own[:, :, None] + other[:, None] + edges @ weight.T)
    others = 1 - torch.eye(size)[None, :, :, None]
    return (hidden * others).sum(dim=2) / max(1, size - 1)


@pytest.mark.parametrize("size", [1, 2, 3, 9, 40])
def test_what_nodes_hear_and_its_gradient_are_those_of_the_plain_sum(size: int) -> None:
    random = torch.Generator().manual_seed(size)
    own, other = (torch.randn((5, size, HIDDEN), generator=random, requires_grad=True) for _ in range(2))
    weight = torch.randn((HIDDEN, 2), generator=random, requires_grad=True)
    edges = torch.randint(-1, 2, (5, size, size, 2), generator=random).float()
    towards = torch.randn((5, size, HIDDEN), generator=random)
    heard, plain = hear(own, other, edges, weight), heard_plainly(own, other, edges, weight)
    torch.testing.assert_close(heard, plain, rtol=1e-4, atol=1e-5)
    gradients = torch.autograd.grad((heard * towards).sum(), [own, other, weight])
    for found, expected in zip(
        gradients, torch.autograd.grad((plain * towards).sum(), [own, other, weight]), strict=True
    ):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=2e-4)


def test_a_transposed_state_is_heard_as_it_is() -> None:
    own, other = (torch.randn((HIDDEN, 4, 3)).permute(2, 1, 0) for _ in range(2))
    edges, weight = torch.ones((3, 4, 4, 2)), torch.randn((2, HIDDEN)).T
    torch.testing.assert_close(hear(own, other, edges, weight), heard_plainly(own, other, edges, weight))


def test_long_lists_give_the_same_with_and_without_gradients() -> None:
    policy = lively_policy()
    edges = encode_lists(np.random.default_rng(0).permuted(np.tile(np.arange(70), (6, 1)), axis=1))
    chosen = torch.arange(6)
    first, second = policy.first_log_probabilities(edges), policy.second_log_probabilities(edges, chosen)
    with torch.no_grad():
        assert torch.allclose(policy.first_log_probabilities(edges), first, atol=CLOSE)
        assert torch.allclose(policy.second_log_probabilities(edges, chosen), second, atol=CLOSE)


@pytest.mark.parametrize("values", [LISTS[1], LISTS[3]], ids=str)
def test_a_position_that_hears_itself_is_noticed(values: list[int]) -> None:
    with pytest.raises(AssertionError):
        check_passes_messages_edge_by_edge(lively_policy(), values, hears_itself=True)


def test_edges_turned_round_are_noticed() -> None:
    class Turned(GraphPolicy):
        def first_log_probabilities(self, edges: torch.Tensor) -> torch.Tensor:
            return super().first_log_probabilities(-edges)

    policy = Turned()
    policy.load_state_dict(lively_policy().state_dict())
    with pytest.raises(AssertionError):
        check_passes_messages_edge_by_edge(policy, LISTS[3])


def test_edges_hold_the_order_of_positions_and_of_values() -> None:
    edges = encode_lists(np.array([[5, 9, 5]]))
    assert edges.shape == (1, 3, 3, 2)
    assert edges[0, :, :, 0].tolist() == [[0, -1, -1], [1, 0, -1], [1, 1, 0]]
    assert edges[0, :, :, 1].tolist() == [[0, -1, 0], [1, 0, 1], [0, -1, 0]]


def test_layers_have_the_sizes_of_appendix_d() -> None:
    def shapes(module: torch.nn.Module) -> list[tuple[int, int]]:
        return [(m.in_features, m.out_features) for m in module.modules() if isinstance(m, torch.nn.Linear)]

    policy = GraphPolicy()
    # A node has no information of its own; the second pointer also sees which node was chosen first.
    for pointer, features in ((policy.first, 1), (policy.second, 2)):
        assert shapes(pointer.embed) == [(features, 32), (32, 16)]
        assert len(pointer.layers) == 5
        for layer in pointer.layers:
            # The edge network sees both states and the edge, 16 + 16 + 2 inputs, and has one hidden layer of 32.
            assert shapes(layer.own) + shapes(layer.other) + shapes(layer.edge) == [(16, 32), (16, 32), (2, 32)]
            assert shapes(layer.out) == [(32, 32)]
            assert shapes(layer.node) == [(16 + 32, 32), (32, 16)]
        assert shapes(pointer.score)[-1][1] == 1
        assert shapes(pointer.score)[0][0] == 16


def test_distributions_of_both_pointers_sum_to_one() -> None:
    policy = lively_policy()
    for size in (1, 2, 7, 20):
        lists = np.random.default_rng(size).integers(0, size, (5, size))
        edges = encode_lists(lists)
        first = policy.first_log_probabilities(edges)
        assert first.shape == (5, size)
        assert torch.allclose(first.exp().sum(dim=1), torch.ones(5), atol=1e-5)
        for chosen in range(size):
            second = policy.second_log_probabilities(edges, torch.full((5,), chosen))
            assert torch.allclose(second.exp().sum(dim=1), torch.ones(5), atol=1e-5)


def test_the_most_likely_pair_is_the_likeliest_first_and_the_likeliest_second_after_it() -> None:
    policy = lively_policy()
    for values in LISTS:
        first = int(pointer_log_probabilities(policy, "first", values).argmax())
        second = int(pointer_log_probabilities(policy, "second", values, first).argmax())
        assert policy.most_likely(encode_lists(np.array([values])))[0].tolist() == [first, second]


def test_an_agent_answers_lists_in_their_order_beyond_one_batch() -> None:
    agent = GraphAgent("lively", SORT_FULL, lively_policy())
    lists = np.random.default_rng(0).permuted(np.tile(np.arange(30), (700, 1)), axis=1)
    assert len(lists) * 30 * 30 > 1 << 19, "all lists go through at once"
    pointers = agent.pointers(lists)
    assert pointers.shape == (700, 2)
    for k in range(0, 700, 70):
        assert agent.pointers(lists[k : k + 1])[0].tolist() == pointers[k].tolist()


def test_equal_seeds_give_equal_networks() -> None:
    first, second, other = (GraphPolicy(seed=seed) for seed in (1, 1, 2))
    assert isinstance(first, GraphPolicy)
    for a, b in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(a, b)
    assert any(not torch.equal(a, b) for a, b in zip(first.parameters(), other.parameters(), strict=True))
