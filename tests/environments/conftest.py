"""A user's own task, small enough to see through: take 1 or 2 from a pile until nothing is left, then say so."""

from __future__ import annotations

import numpy as np
import pytest

from surpass import RUNNING, SCORE, SIZE, SOLVED, Feature, Instruction, Interface, State, binary, kernel, registers
from surpass.tasks.registry import PAPER_TASKS
from surpass.tasks.task import Inputs, Instances, Memory, Reward, Task

PAPER_TASK_NAMES = tuple(task.name for task in PAPER_TASKS)
MOST = 3
"""The largest pile that the feature can show; a task with larger ones is declared wrongly."""
R = registers("left")


@kernel
def start(state: State) -> int:
    state.registers[R.left] = state.registers[SIZE]
    if state.registers[SIZE] == 0:
        return SOLVED
    return RUNNING


@kernel
def left(state: State) -> int:
    return state.registers[R.left]


@kernel
def take(state: State, amount: int) -> int:
    taken = min(amount, state.registers[R.left])
    state.registers[R.left] -= taken
    state.reals[SCORE] += taken
    return RUNNING


@kernel
def done(state: State) -> int:
    return SOLVED


def declare_pile(name: str = "pile") -> Task:
    def read(parts: object) -> tuple[Instances, tuple[str, ...]]:
        return task.allocate(1, int(parts[0][0])), ()  # type: ignore[index]

    task = Task(
        name=name,
        summary="take everything",
        interface=Interface(
            [Feature("left", tuple(range(MOST + 1)), left, encoding="number")],
            [Instruction("Take", binary("amount", (1, 2)), does=take), Instruction("Done", does=done)],
        ),
        start=start,
        memory=Memory(registers=R, reals=("taken",), item_name=lambda index, size: None),
        inputs=Inputs(draw={"plain": lambda request: task.allocate(request.count, request.size)}, read=read),
        find_wrong=lambda before, registers, items, reals: registers[:, R.left] != 0,
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
