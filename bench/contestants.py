"""Ways to run a teacher: compiled by the engine, or step by step through Gymnasium."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from time import perf_counter

import gymnasium
import numba
import numpy as np

import surpass.environments  # noqa: F401  (makes the environments known)
from bench.timing import Timing, Work
from surpass.agents.teachers import find_teacher
from surpass.engine.run import Results, run
from surpass.errors import WrongAnswerError
from surpass.full_view.agent import FullViewTeacher
from surpass.table import Table
from surpass.tasks.task import Instances, Limit, Request
from surpass.tasks.teacher import Teacher

__all__ = ["compiled", "draw", "spinning", "stepped"]


def draw(teacher: str, size: int, count: int) -> Instances:
    """Return instances of a teacher's task, the same in every run."""
    return find_teacher(teacher).task.draw(Request(size=size, count=count))


def compiled(teacher: str, instances: Instances, *, limit: str | None = None, threads: int = 1) -> Work:
    """Return the work of the engine, with everything compiled and every observation of these instances in the table.

    What is timed is a whole call of `run`: memory is allocated, instances are copied into it, and the answers checked.
    """
    agent = find_teacher(teacher)
    player = Table.of(agent) if isinstance(agent, Teacher) else agent

    def finish() -> Results:
        steps = None if limit is None else Limit.parse(limit)
        return run(player, instances, limit=steps, threads=threads)

    def work() -> Timing:
        begin = perf_counter()
        results = finish()
        return Timing(int(results.steps.sum()), perf_counter() - begin)

    warm = finish()
    if not warm.solved.all():
        raise WrongAnswerError(f"{agent.name} ended so: {warm.reasons()}")
    return work


def stepped(teacher: str, size: int, episodes: int) -> Work:
    """Return the work of our Gymnasium environment, stepped in Python by the teacher's table.

    The table is a dictionary that holds every observation of these episodes, and Gymnasium's checker is off.
    """
    agent = find_teacher(teacher)
    if isinstance(agent, FullViewTeacher):
        raise TypeError(f"{agent.name} has no table")
    environment = gymnasium.make(f"surpass/{agent.task.name}-v0", size=size, data="uniform", disable_env_checker=True)
    table: dict[bytes, int] = {}

    def ask(observation: np.ndarray) -> int:
        packed = agent.task.interface.pack_digits(observation[None].astype(np.int64))
        return table.setdefault(observation.tobytes(), int(agent.actions(packed)[0]))

    def work() -> Timing:
        steps, begin = 0, perf_counter()
        for seed in range(episodes):
            observation, _ = environment.reset(seed=seed)
            terminated = truncated = False
            while not (terminated or truncated):
                action = table.get(observation.tobytes())
                if action is None:
                    action = ask(observation)
                observation, _, terminated, truncated, _ = environment.step(action)
                steps += 1
            if truncated:
                raise WrongAnswerError(f"{agent.name} did not solve the episode of seed {seed}")
        return Timing(steps, perf_counter() - begin)

    work()
    return work


def spinning(threads: int, turns: int = 100_000_000) -> Work:
    """Return the work of a loop that touches no memory, shared among threads: what they add without us."""

    def work() -> Timing:
        begin = perf_counter()
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(_spin, [turns // threads] * threads))
        return Timing(turns, perf_counter() - begin)

    work()
    return work


@numba.njit(nogil=True)
def _spin(turns: int) -> int:
    """Return the last of a chain of random numbers, of which each needs the one before."""
    number = 88172645463325252
    for _ in range(turns):
        number ^= number << 13
        number ^= number >> 7
        number ^= number << 17
    return number
