"""What learners have in common that make a set number of updates to a network."""

from __future__ import annotations

from typing import Protocol

__all__ = ["UpdateConfig", "UpdateLearner"]


class UpdateConfig(Protocol):
    """Settings that say how many updates to make."""

    @property
    def updates(self) -> int:
        """How many."""


class UpdateLearner:
    """A learner that is done after a number of updates, and whose network is worth keeping at any time."""

    config: UpdateConfig
    updates: int

    @property
    def has_network(self) -> bool:
        """Whether there is a network worth keeping."""
        return True

    @property
    def done(self) -> bool:
        """Whether all updates have been made."""
        return self.updates >= self.config.updates

    @property
    def finished(self) -> bool:
        """Whether it has learned all that it was asked to."""
        return self.done
