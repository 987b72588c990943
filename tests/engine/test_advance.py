"""What episodes wait for is served, once for all of them, by one function."""

from __future__ import annotations

import numpy as np
import pytest

from surpass.agents.teachers import find_teacher
from surpass.engine.advance import Player, advance
from surpass.engine.batch import FIRST_DEPTH, Batch, allocate
from surpass.engine.record import record
from surpass.engine.specialise import specialise
from surpass.engine.tally import tally
from surpass.machine.state import DEPTH, Outcome
from surpass.table import Table
from surpass.tasks.sort_quick import SORT_QUICK
from surpass.tasks.task import Instances, Limit, Request
from tests.engine.test_kernels import RandomTable


def started(instances: Instances) -> Batch:
    """Return the episodes of sort-quick before their first step."""
    batch = allocate(SORT_QUICK, instances.count, int(instances.sizes.max()))
    specialise(SORT_QUICK).reset(batch, *map(np.ascontiguousarray, instances), np.arange(instances.count))
    return batch


def test_the_observations_that_all_episodes_lack_are_asked_about_together_and_once() -> None:
    teacher, asked = find_teacher("hoare_sort"), []

    class Noting:
        name, task = "noting", SORT_QUICK

        def actions(self, observations: np.ndarray) -> np.ndarray:
            asked.append(observations.tolist())
            return teacher.actions(observations)

    instances = SORT_QUICK.draw(Request(size=12, count=40))
    batch = Player(Table.of(Noting())).finish(started(instances), np.full(40, 10_000))
    assert (batch.outcomes == Outcome.SOLVED).all()
    everything = [observation for part in asked for observation in part]
    assert len(everything) == len(set(everything)) > len(asked)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_stack_that_is_full_grows_and_the_episode_goes_on_as_if_it_had_been_large(threads: int) -> None:
    endless = SORT_QUICK.interface.parse_action("FunctionCall(1,1,2,1,2,1)")

    class Endless:
        name, task = "endless", SORT_QUICK

        def actions(self, observations: np.ndarray) -> np.ndarray:
            return np.full(len(observations), endless)

    most = 10 * FIRST_DEPTH
    instances = SORT_QUICK.draw(Request(size=4, count=5, data="reversed"))
    batch = Player(Table.of(Endless()), threads=threads).finish(started(instances), np.full(5, most))
    assert batch.outcomes.tolist() == [Outcome.STEP_LIMIT] * 5
    assert batch.registers[:, DEPTH].tolist() == batch.steps.tolist() == [most] * 5
    assert batch.stack.shape[1] >= most * SORT_QUICK.frame_size


def test_counts_move_with_the_places_of_a_table_that_grows() -> None:
    table, instances = Table.of(RandomTable(SORT_QUICK, 0)), SORT_QUICK.draw(Request(size=20, count=1500))
    places = len(table.keys)
    growing, grown = (tally(table, instances, limit=Limit(30, 0)) for _ in range(2))
    assert len(table.keys) > places
    assert growing.counts.sum() == growing.results.steps.sum()
    for first, second in zip(growing[1:], grown[1:], strict=True):
        assert first.tolist() == second.tolist()


def test_other_things_are_served_with_the_episodes_that_wait_for_them() -> None:
    batch, rounds, served = allocate(SORT_QUICK, 4, 2), [], []
    waits = np.zeros(4, np.int64)

    def kernel(number: int) -> None:
        rounds.append(number)
        waits[[1, 3]] = Outcome.TABLE_FULL if number == 0 else Outcome.RUNNING

    others = {Outcome.TABLE_FULL: lambda episodes: served.append(episodes.tolist())}
    advance(SORT_QUICK, batch, lambda _: [(kernel, (len(rounds),))], waits=waits, others=others)
    assert (rounds, served) == ([0, 1], [[1, 3]])


def test_a_table_keeps_what_a_recorded_run_asked() -> None:
    table = Table.of(find_teacher("hoare_sort"))
    steps = record(table, "3 1 2").steps
    assert table.observations.tolist() == sorted({step.observation for step in steps})
