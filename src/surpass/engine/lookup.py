"""An agent's table in the form that the kernels read, filled on demand."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from surpass.engine.kernels import EMPTY
from surpass.engine.specialise import specialise
from surpass.errors import SettingError
from surpass.table import NO_ACTION, Agent

__all__ = ["Lookup"]

Ints = npt.NDArray[np.int64]


class Lookup:
    """Observations and actions of one agent in an open-addressing hash table; the agent is asked once for each."""

    def __init__(self, agent: Agent, capacity: int = 1024) -> None:
        self.agent = agent
        self.kernels = specialise(agent.task)
        self.keys: Ints = np.full(capacity, EMPTY, np.int64)
        self.values: Ints = np.zeros(capacity, np.int64)
        self.count = 0

    def extend(self, observations: Ints) -> None:
        """Ask the agent about new, distinct observations [m] and keep its answers."""
        answers = np.asarray(self.agent.actions(observations))
        self._check(observations, answers)
        if 2 * (self.count + len(observations)) > len(self.keys):
            known = self.keys != EMPTY
            old_keys, old_values = self.keys[known], self.values[known]
            capacity = 1 << (4 * (self.count + len(observations))).bit_length()
            self.keys, self.values = np.full(capacity, EMPTY, np.int64), np.zeros(capacity, np.int64)
            self.kernels.insert(self.keys, self.values, old_keys, old_values)
        self.kernels.insert(self.keys, self.values, observations, answers)
        self.count += len(observations)

    def _check(self, observations: Ints, answers: Ints) -> None:
        """Raise `SettingError` unless every answer is an action or `NO_ACTION`: the kernels would read astray."""
        most = self.agent.task.interface.action_count
        if answers.shape != observations.shape or not np.issubdtype(answers.dtype, np.integer):
            raise SettingError(
                f"{self.agent.name} gave {answers.size} answers to {len(observations)} observations; each needs one"
            )
        bad = answers[(answers < NO_ACTION) | (answers >= most)]
        if bad.size:
            raise SettingError(f"{self.agent.name} answered {bad[0]}; actions are 0 to {most - 1}, and -1 for none")

    def entries(self) -> tuple[Ints, Ints]:
        """Return the observations met so far in ascending order, and their actions."""
        known = self.keys != EMPTY
        order = np.argsort(self.keys[known])
        return self.keys[known][order], self.values[known][order]
