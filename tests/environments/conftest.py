"""A user's own task, small enough to see through: take 1 or 2 from a pile until nothing is left, then say so."""

from __future__ import annotations

import numpy as np
import pytest

from surpass.machine import Feature, Instruction, Interface, Outcome, binary, kernel
from surpass.machine.state import FIRST, SCORE, SIZE, State
from surpass.tasks.task import Instances, Reward, Task

RUNNING, SOLVED = int(Outcome.RUNNING), int(Outcome.SOLVED)
MOST = 3
"""The largest pile that the feature can show; a task with larger ones is declared wrongly."""


@kernel
def start(state: State) -> int:
    state.registers[FIRST] = state.registers[SIZE]
    if state.registers[SIZE] == 0:
        return SOLVED
    return RUNNING


@kernel
def observe(state: State) -> tuple[int, ...]:
    return (state.registers[FIRST],)


@kernel
def act(state: State, instruction: int, operands: tuple[int, ...]) -> int:
    if instruction == 0:
        taken = min(1 + operands[0], state.registers[FIRST])
        state.registers[FIRST] -= taken
        state.reals[SCORE] += taken
        return RUNNING
    return SOLVED


def declare_pile(name: str = "pile") -> Task:
    def read(parts: object) -> tuple[Instances, tuple[str, ...]]:
        return task.allocate(1, int(parts[0][0])), ()  # type: ignore[index]

    task = Task(
        name=name,
        summary="take everything",
        interface=Interface(
            [Feature("left", tuple(range(MOST + 1)), encoding="number")],
            [Instruction("Take", binary("amount", (1, 2))), Instruction("Done")],
        ),
        start=start,
        observe=observe,
        act=act,
        registers=("left",),
        real_names=("taken",),
        item_name=lambda index, size: None,
        data={"plain": lambda request: task.allocate(request.count, request.size)},
        read=read,
        find_wrong=lambda before, registers, items, reals: registers[:, FIRST] != 0,
        limit="20",
        reward=Reward(step_cost=1, progress=3, wrong_cost=50),
        training_sizes=(1, MOST),
    )
    return task


@pytest.fixture(scope="session")
def pile() -> Task:
    return declare_pile()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
