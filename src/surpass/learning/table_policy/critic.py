"""The critic's fit: hints are weighed by least squares within observations, so that it knows what an agent cannot."""

from __future__ import annotations

import numpy as np

from surpass.arrays import Ints, Reals
from surpass.bundles import Tensors, take
from surpass.learning.table_policy.arrays import Critic, RowSums
from surpass.learning.table_policy.policy import with_room
from surpass.learning.updates import SOURCE


class CriticFit:
    """Keeps what came after each observation of late, and fits the critic to it."""

    def __init__(self, hints: int, memory: float) -> None:
        self.hints, self.memory = hints, memory
        self.critic = Critic(np.zeros(0), np.zeros(0), np.zeros((0, hints)), np.zeros(hints), np.zeros(1))
        self._spread = np.zeros((hints, hints + 1))
        """How hints vary with each other, and with what came after, within observations."""
        self.explained = 0.0
        """Which share of the variance of what came after the critic foresaw in the last batch."""

    def with_room(self, count: int) -> Critic:
        """Return the critic with room for a number of rows."""
        self.critic = Critic(*[with_room(array, count) for array in self.critic[:3]] + list(self.critic[3:]))
        return self.critic

    def fit(self, sums: RowSums, rows: Ints) -> None:
        """Fit the critic to the sums of a batch, in which the observations of some rows [m] came up."""
        visits, returns, hints = sums.visits[rows], sums.returns[rows], sums.hints[rows]
        means = hints / visits[:, None]
        products = sums.products.copy()
        products[:, :-1] += np.tril(products[:, :-1], -1).T
        within = products - means.T @ np.column_stack([hints, returns])
        self._spread = self.memory * self._spread + within
        ridge = 1e-6 * np.trace(self._spread[:, :-1]) / self.hints + 1e-9
        weights = np.linalg.solve(self._spread[:, :-1] + ridge * np.eye(self.hints), self._spread[:, -1])
        critic = self.critic
        critic.visits[rows] = self.memory * critic.visits[rows] + visits
        critic.returns[rows] = self.memory * critic.returns[rows] + returns
        critic.hints[rows] = self.memory * critic.hints[rows] + hints
        critic.weights[:] = weights
        critic.usual[0] = (returns.sum() - hints.sum(axis=0) @ weights) / visits.sum()
        variance = sums.errors[1] - returns.sum() ** 2 / visits.sum()
        self.explained = 1 - float(sums.errors[0] / max(variance, 1e-9))

    def save(self, count: int) -> Tensors:
        """Return everything that `load` needs, with so many rows."""
        names = ("visits", "returns", "hints")
        rows = {f"critic.{name}": array[:count] for name, array in zip(names, self.critic[:3], strict=True)}
        return {
            **rows,
            "critic.weights": self.critic.weights,
            "critic.usual": self.critic.usual,
            "critic.spread": self._spread,
        }

    def load(self, tensors: Tensors, count: int) -> None:
        """Go back to a saved state in place."""
        like: dict[str, Reals] = {
            "visits": np.zeros(count),
            "returns": np.zeros(count),
            "hints": np.zeros((count, self.hints)),
            "weights": np.zeros(self.hints),
            "usual": np.zeros(1),
        }
        self.critic = Critic(*(take(tensors, f"critic.{name}", array, SOURCE) for name, array in like.items()))
        self._spread = take(tensors, "critic.spread", self._spread, SOURCE)
