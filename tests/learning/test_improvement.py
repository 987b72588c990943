"""The learner that improves a program change by change."""

from __future__ import annotations

import numpy as np
import pytest

from surpass.agents import find_agent
from surpass.engine.run import run
from surpass.errors import SettingError, UnknownNameError
from surpass.learning.changes import AmendedAgent
from surpass.learning.improvement import Improvement, ImprovementConfig
from surpass.learning.methods import new_learner
from surpass.learning.proposals import Proposer
from surpass.learning.trials import Trial
from surpass.machine.interface import NO_ACTION
from surpass.table import Amendment, Table
from surpass.tasks.registry import find_task
from surpass.tasks.task import Request, Task


@pytest.fixture(autouse=True)
def small_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check the program on fewer instances at the end of a round."""
    monkeypatch.setattr("surpass.learning.improvement.CHECKED_STEPS", 20_000)
    monkeypatch.setattr("surpass.learning.improvement.MOST_CHECKED", 5000)


def learner(task: str, teacher: str, **settings: object) -> Improvement:
    """Return a small learner."""
    small = {"generations": 12, "generations_per_round": 4, "depth": 1, "tested": 100, "confirmed": 400}
    config = ImprovementConfig(task=task, teacher=teacher, large_sizes=(40,), **{**small, **settings})  # type: ignore[arg-type]
    return Improvement(find_task(task), config)


def improve(one: Improvement) -> Improvement:
    """Let it finish its generations."""
    while one.is_improving:
        one.advance()
    return one


def as_plain(changes: list[Amendment]) -> list[tuple[list[int], list[int], int, int]]:
    """Return changes in a form that can be compared."""
    return [(c.features.tolist(), c.digits.tolist(), c.old, c.new) for c in changes]


# Changes


def test_an_insertion_does_something_else_first_and_then_what_was_done_before() -> None:
    """Whatever is seen in between; and nothing else changes."""
    agent = find_agent("teacher:quick_sort")
    task, interface = agent.task, agent.task.interface
    met = Table.of(agent)
    run(met, task.draw(Request(size=8, count=50, seed=1)))
    observations, actions = met.entries()
    proposer = Proposer(task, np.random.default_rng(0))
    proposer.learn(observations, actions, np.ones(len(observations), np.int64), ())
    function, previous = len(interface.features) - 2, len(interface.features) - 1
    lengths = set()
    for k in range(300):
        at = k % len(observations)
        changes = proposer._insert(int(observations[at]), int(actions[at]))
        if not changes:
            continue
        lengths.add(len(changes))
        changed = AmendedAgent(agent, changes)
        digits = interface.digits(observations[[at]]).copy()
        action = int(changed.actions(observations[[at]])[0])
        for change in changes[1:]:
            assert action != actions[at]
            other = interface.digits(observations[[(7 * k) % len(observations)]]).copy()
            other[0, [function, previous]] = digits[0, function], action + 1
            assert changed.actions(interface.pack_digits(other))[0] == change.new
            action = change.new
        assert action == actions[at]
        places = {(int(digits[0, function]), int(change.digits[-1])) for change in changes}
        where = interface.digits(observations)[:, [function, previous]]
        elsewhere = np.array([tuple(row) not in places for row in where.tolist()])
        assert (changed.actions(observations)[elsewhere] == actions[elsewhere]).all()
    assert lengths == {2, 3}


class Helpless:
    """An agent that knows no action."""

    name = "helpless"

    def __init__(self, task: Task) -> None:
        self.task = task

    def actions(self, observations: np.ndarray) -> np.ndarray:
        """Return none."""
        return np.full(len(observations), NO_ACTION)


def test_where_a_program_has_no_action_counts_as_visited() -> None:
    """So that changes can be tried there."""
    task = find_task("search")
    instances, known = task.draw(Request(size=6, count=40, seed=2)), Table(task)
    trial = Trial(task, instances, np.ones(40, bool), 1)
    base = Table.of(Helpless(task))
    trial.measure_program(base, [], known, 1.25)
    counts, values = trial.visits(base, [], known, [])
    assert counts.sum() == 40
    assert (values[counts > 0] == NO_ACTION).all()


# Improvement


@pytest.mark.parametrize(
    ("task", "teacher", "sizes"),
    [
        ("sort-bubble", "bubble_sort", (4, 8)),
        ("search", "linear_search", (5, 20)),
        ("sort-quick", "quick_sort", (4, 8)),
    ],
)
def test_the_program_gets_shorter_and_solves_everything(task: str, teacher: str, sizes: tuple[int, ...]) -> None:
    """On fresh instances of every distribution, and on sizes that it was not improved on."""
    one = improve(learner(task, teacher, sizes=sizes, generations=24))
    assert one.changes
    found, base = find_task(task), find_agent(f"teacher:{teacher}")
    for size in (1, 2, 3, 5, 8, 20, 60):
        for data in found.data:
            instances = found.draw(Request(size=size, count=50, seed=99, data=data))
            assert run(one.program, instances).solved.all(), (size, data)
    instances = found.draw(Request(size=sizes[-1], count=2000, seed=98))
    assert run(one.program, instances).steps.mean() < run(base, instances).steps.mean()


def test_the_reward_of_knapsack_grows() -> None:
    """Where the score counts, more of it is better."""
    one = improve(learner("knapsack", "depth_first", sizes=(8, 12), generations=40))
    found, base = find_task("knapsack"), find_agent("teacher:depth_first")
    instances = found.draw(Request(size=12, count=2000, seed=98))
    assert run(one.program, instances).rewards.mean() > run(base, instances).rewards.mean()


def test_a_network_learns_the_improved_program() -> None:
    """At the end it gives the program's action wherever it goes."""
    one = learner("sort-bubble", "insertion_sort", sizes=(4, 6), generations=8)
    assert not one.has_network
    while not one.done:
        one.advance()
    assert one.finished
    assert one.has_network
    task = find_task("sort-bubble")
    instances = task.draw(Request(size=30, count=200, seed=97))
    network, program = run(one.agent(), instances), run(one.program, instances)
    assert network.solved.all()
    assert (network.steps == program.steps).all()


def test_a_change_that_breaks_the_program_is_taken_back() -> None:
    """One that passed the trials by luck and fails on something else."""
    one = learner("sort-bubble", "insertion_sort", sizes=(4, 6))
    one.advance()
    kept = as_plain(one.changes)
    interface = one.task.interface
    observations = one.proposer.observations
    digits = interface.digits(observations)
    swap = interface.parse_action("SwapWithNext(2)")
    at = int(np.flatnonzero(one.proposer.actions == swap)[0])
    stand_still = interface.parse_action("AssignVar(1, 1)")
    bad = Amendment(np.arange(digits.shape[1]), digits[at], swap, stand_still)
    one.changes = [*one.changes, bad]
    assert one._failures(one.changes) > 0
    one._go_back_to_sound()
    assert as_plain(one.changes) == kept
    assert one._failures(one.changes) == 0


def test_a_program_that_fails_is_mended() -> None:
    """Failures cost the whole limit, so that a change that mends some is a saving."""
    base = find_agent("teacher:insertion_sort")
    task, interface = base.task, base.task.interface
    swap, still = interface.parse_action("SwapWithNext(2)"), interface.parse_action("AssignVar(1, 1)")
    instances = task.draw(Request(size=6, count=200, seed=5))
    broken = AmendedAgent(base, [Amendment(np.array([17]), np.array([0]), swap, still)])  # type: ignore[arg-type]
    before = run(broken, instances).solved.mean()
    assert 0 < before < 1
    one = learner("sort-bubble", "insertion_sort", sizes=(6,), generations=60)
    one.base.agent = broken  # type: ignore[assignment]
    improve(one)
    assert run(one.program, instances).solved.mean() > before


# Exactness


def test_saved_and_loaded_it_goes_on_as_if_nothing_had_been() -> None:
    """Also in the middle, and while the network learns."""
    one, other = (learner("search", "binary_search", sizes=(5, 12), generations=12) for _ in range(2))
    one.advance()
    other.load_state(*one.save_state())
    while not one.done:
        first, second = one.advance(), other.advance()
        assert first == second or all(a == b or a != a for a, b in zip(first.values(), second.values(), strict=True))
        if not one.is_improving:
            third = learner("search", "binary_search", sizes=(5, 12), generations=12)
            third.load_state(*one.save_state())
            other = third
    assert as_plain(one.changes) == as_plain(other.changes)
    ours, theirs = one.network.state_dict(), other.network.state_dict()
    assert all((ours[name] == theirs[name]).all() for name in ours)


def test_the_number_of_threads_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same seed gives the same program."""
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("SURPASS_THREADS", threads)
        found.append(as_plain(improve(learner("sort-bubble", "bubble_sort", sizes=(4, 6))).changes))
    assert found[0] == found[1]


# Refusals


def test_what_cannot_be_improved_is_refused() -> None:
    """With a sentence that names what is wrong."""
    bubble = find_task("sort-bubble")
    with pytest.raises(SettingError, match="cannot be carried over to sort-bubble"):
        new_learner(bubble, "improvement", teacher="quick_sort")
    with pytest.raises(UnknownNameError, match="no_such_sort"):
        new_learner(bubble, "improvement", teacher="no_such_sort")
    with pytest.raises(SettingError, match="full view"):
        new_learner(find_task("sort-full"), "improvement")
    with pytest.raises(SettingError, match="generations is 0"):
        new_learner(bubble, "improvement", settings={"generations": "0"})
    with pytest.raises(SettingError, match="sizes are"):
        new_learner(bubble, "improvement", settings={"sizes": "0,5"})
    with pytest.raises(SettingError, match="queries is 'present'; allowed: none"):
        new_learner(bubble, "improvement", settings={"queries": "present"})
    with pytest.raises(SettingError, match="drift is"):
        new_learner(bubble, "improvement", settings={"drift": "2"})
