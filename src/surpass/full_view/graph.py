"""The paper's network for the full view: message passing over all pairs of positions, and two pointers."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from surpass.arrays import Ints
from surpass.full_view.agent import FullViewAgent
from surpass.full_view.messages import HIDDEN, hear
from surpass.tasks.lists import edge_features
from surpass.tasks.task import Task

WORK = 1 << 19
"""About how many pairs of positions an agent sends through its network at once."""
LAYERS = 5
STATE = 16
MESSAGE = 32
EDGE = 2


def _mlp(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))


def encode_lists(lists: Ints) -> Tensor:
    """Return the edge features [B, n, n, 2] of lists [B, n]."""
    return torch.from_numpy(edge_features(lists)).float()


class _Messages(nn.Module):
    """One round of messages: each node hears the mean over all others of a function of both and their edge."""

    def __init__(self) -> None:
        super().__init__()
        # The first layer acts on [own state, other's state, edge]; split in three, its parts are applied once per node.
        self.own = nn.Linear(STATE, HIDDEN)
        self.other = nn.Linear(STATE, HIDDEN, bias=False)
        self.edge = nn.Linear(EDGE, HIDDEN, bias=False)
        self.out = nn.Linear(HIDDEN, MESSAGE)
        self.node = _mlp(STATE + MESSAGE, HIDDEN, STATE)

    def forward(self, states: Tensor, edges: Tensor) -> Tensor:
        """Return the next states [B, n, 16] from states [B, n, 16] and edge features [B, n, n, 2]."""
        # The mean comes before the last, linear layer: that is the same, and n times cheaper.
        heard = self.out(hear(self.own(states), self.other(states), edges, self.edge.weight))
        following: Tensor = self.node(torch.cat([states, heard], dim=2))
        return following


class _Pointer(nn.Module):
    """A distribution over nodes, from node features."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.embed = _mlp(features, HIDDEN, STATE)
        self.layers = nn.ModuleList(_Messages() for _ in range(LAYERS))
        self.score = _mlp(STATE, HIDDEN, 1)

    def forward(self, features: Tensor, edges: Tensor) -> Tensor:
        """Return log-probabilities [B, n] from node features [B, n, f] and edge features [B, n, n, 2]."""
        states = self.embed(features)
        for layer in self.layers:
            states = layer(states, edges)
        return torch.log_softmax(self.score(states)[:, :, 0], dim=1)


class GraphPolicy(nn.Module):
    """A distribution over pairs of positions: the first pointer, then the second given the first.

    The nodes carry no information of their own; for the second pointer a bit marks the node chosen first.
    """

    def __init__(self, *, seed: int = 0) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.first = _Pointer(1)
            self.second = _Pointer(2)

    def first_log_probabilities(self, edges: Tensor) -> Tensor:
        """Return the log-probabilities [B, n] of the first position."""
        options: Tensor = self.first(edges.new_ones((*edges.shape[:2], 1)), edges)
        return options

    def second_log_probabilities(self, edges: Tensor, chosen: Tensor) -> Tensor:
        """Return the log-probabilities [B, n] of the second position, given the first [B]."""
        marks = nn.functional.one_hot(chosen, edges.shape[1]).float()
        options: Tensor = self.second(torch.stack([torch.ones_like(marks), marks], dim=2), edges)
        return options

    @torch.no_grad()
    def most_likely(self, edges: Tensor) -> Tensor:
        """Return the pair [B, 2] of the most likely first position and the most likely second one after it."""
        first = self.first_log_probabilities(edges).argmax(dim=1)
        second = self.second_log_probabilities(edges, first).argmax(dim=1)
        return torch.stack([first, second], dim=1)


class GraphValue(nn.Module):
    """A number for each list: the sum of what message passing finds at its nodes."""

    def __init__(self, *, seed: int = 0, layers: int = 2) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.start = nn.Parameter(torch.zeros(STATE))
            self.layers = nn.ModuleList(_Messages() for _ in range(layers))
            self.score = _mlp(STATE, HIDDEN, 1)

    def forward(self, edges: Tensor) -> Tensor:
        """Return the numbers [B] of lists, given by their edge features [B, n, n, 2]."""
        states = self.start.expand(*edges.shape[:2], STATE)
        for layer in self.layers:
            states = layer(states, edges)
        total: Tensor = self.score(states)[:, :, 0].sum(dim=1)
        return total


class GraphAgent(FullViewAgent):
    """An agent that takes the most likely pair of positions of a graph network."""

    def __init__(self, name: str, task: Task, network: GraphPolicy) -> None:
        self.name = name
        self.task = task
        self.network = network.eval()

    def pointers(self, lists: Ints) -> Ints:
        """Return the operands [m, 2] for lists [m, n] of one size."""
        batch = max(1, WORK // max(1, lists.shape[1]) ** 2)
        parts = [self.network.most_likely(encode_lists(lists[at : at + batch])) for at in range(0, len(lists), batch)]
        return torch.cat(parts).numpy()
