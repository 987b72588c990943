"""The learner that edits the rules of a program."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from surpass.agents import find_agent
from surpass.arrays import Ints
from surpass.checks import Effort
from surpass.engine.run import run
from surpass.learning.improvement import learner as learner_module
from surpass.learning.improvement.config import ImprovementConfig
from surpass.learning.improvement.drafts import draft_of, program_of
from surpass.learning.improvement.edits import rewritten_programs, size_of, tidy, without
from surpass.learning.improvement.learner import Improvement
from surpass.learning.improvement.rounds import FAR_ABOVE, Round
from surpass.learning.improvement.trials import Screen, Trial
from surpass.programs.extract import write_program
from surpass.programs.program import START, Program
from surpass.programs.text import parse_program, write_text
from surpass.table import Table
from surpass.tasks.registry import find_task
from surpass.tasks.task import Request, join_instances

pytestmark = pytest.mark.usefixtures("small_effort")

INSERTION = """
task sort-bubble

v1 = v2: MoveVar(1, +1)
A[v2] > A[v2+1]: SwapWithNext(2)
A[v2] < A[v2-1] and A[v2] < A[v2+1]: MoveVar(2, -1)
else: AssignVar(2, 1)
"""


@pytest.fixture
def insertion(tmp_path: Path) -> str:
    """Return a file with insertion sort."""
    path = tmp_path / "insertion.rules"
    path.write_text(INSERTION)
    return str(path)


def learner(task: str, teacher: str, **settings: object) -> Improvement:
    """Return a small learner."""
    small = {"rounds": 3, "generations": 8, "candidates": 32, "instances": 150}
    config = ImprovementConfig(task=task, teacher=teacher, **{**small, **settings})  # type: ignore[arg-type]
    return Improvement(find_task(task), config)


def improve(one: Improvement) -> Program:
    """Let it finish its rounds, and return the best program."""
    while one.is_improving:
        one.advance()
    assert one.program is not None
    return one.program


def written(teacher: str, size: int = 8, count: int = 50) -> tuple[Program, Table]:
    """Return a teacher as a program, and the table of what it meets on some instances, from which it was written."""
    agent = find_agent(f"teacher:{teacher}")
    table = Table(agent.task, agent)
    run(table, agent.task.draw(Request(size=size, count=count, seed=1)))
    return write_program(agent.name, table), table


def edit_screen(program: Program) -> Screen:
    """Return a screen that is ready to edit a program, on lists of 8 and fewer."""
    task = program.task
    trial = Trial(task, join_instances(task, [task.draw(Request(size=n, count=8, seed=1)) for n in (8, 3, 5)]))
    screen, costs = Screen(program.task, trial.instances), trial.measure(program)
    screen.prepare(program, costs, trial.limits, np.full(24, 1 / 24), trial.observations, trial.visits)
    return screen


# Edits


@pytest.mark.parametrize("teacher", ["insertion_sort", "quick_sort", "binary_search", "depth_first"])
def test_an_edited_program_is_a_program_that_can_be_written_and_read(teacher: str) -> None:
    program, table = written(teacher)
    screen = edit_screen(program)
    states = np.random.default_rng(0).integers(1, 1 << 32, (300, 2), np.int64)
    edited = [screen.edited(state) for state in states]
    assert edited == [screen.edited(state) for state in states]
    assert sum(one != program for one in edited) > 150
    assert len({write_text(one) for one in edited}) > 100
    for one in edited:
        assert parse_program(write_text(one), "edited") == one
        answers = one.actions(table.observations)
        assert ((answers >= -1) & (answers < program.task.interface.action_count)).all()


def test_what_nothing_gets_to_is_tidied_away() -> None:
    program = parse_program(INSERTION, "insertion")
    (place,) = program.places
    (function,) = program.functions
    doubled = replace(place, rules=(*place.rules[:3], place.rules[1], place.rules[3], place.rules[0]))
    untidy = replace(program, functions=(replace(function, places=(doubled,)),))
    assert tidy(untidy) == program
    assert size_of(program) == (4, 4)
    assert len(without(program, [1]).rules) == 3
    assert without(program, [1]).rules[1] == program.rules[2]


TWICE = """
task search

at the start:
    q = A[v1]: Found(1)
    v1 >= v3: NotFound()
    else: MoveVar(1, +1)

after MoveVar(1, +1):
    q = A[v1]: Found(1)
    v1 >= v3: NotFound()
    q > A[v1]: MoveVar(1, +1)
    else: NotFound()
"""
BACK = """
task search

at the start:
    always: MoveVar(2, +1)

after MoveVar(2, +1):
    q < A[v1]: MoveVar(2, -1)
    else: MoveVar(2, -1)

after MoveVar(2, -1):
    q = A[v1]: Found(1)
    else: NotFound()
"""


def test_places_are_made_one_where_their_rules_written_anew_do_the_same() -> None:
    program = parse_program(TWICE, "twice")
    table = Table(program.task, program)
    present = program.task.draw(Request(size=6, count=80, seed=1, queries="present"))
    assert run(table, present).solved.all()
    rewritten = list(rewritten_programs(program, table.observations, 5, np.random.default_rng(0)))
    assert size_of(rewritten[0]) == (2, 1)
    assert len(rewritten[0].places) == 1
    for one in rewritten:
        assert (one.actions(table.observations) == program.actions(table.observations)).all()
        assert len(one.rules) < len(program.rules)


def test_places_stay_apart_where_one_observation_asks_for_two_actions() -> None:
    program = parse_program(BACK, "back")
    table = Table(program.task, program)
    run(table, program.task.draw(Request(size=6, count=80, seed=1)))
    for one in rewritten_programs(program, table.observations, 5, np.random.default_rng(0)):
        assert (one.actions(table.observations) == program.actions(table.observations)).all()
        assert not any({START, program.places[2].after[0]} <= set(place.after) for place in one.places)


# Trials


def test_programs_are_run_side_by_side_as_one_by_one() -> None:
    task = find_task("sort-bubble")
    good = parse_program(INSERTION, "insertion")
    stuck = parse_program("task sort-bubble\nalways: AssignVar(1, 1)", "stuck")
    instances = join_instances(task, [task.draw(Request(size=size, count=20, seed=3)) for size in (1, 5, 9)])
    costs = Trial(task, instances).run([good, stuck, good])
    results = run(good, instances)
    assert (costs[0] == results.steps).all()
    assert (costs[2] == costs[0]).all()
    solved = run(stuck, instances).solved
    assert (np.isfinite(costs[1]) == solved).all()
    assert not solved.all()
    trial = Trial(task, instances)
    assert (trial.measure(good) == results.steps).all()
    assert trial.visits.sum() == results.steps.sum()
    assert (np.diff(trial.observations) > 0).all()


def test_programs_that_take_much_longer_are_given_up() -> None:
    """What stays within the limits costs what it did; the rest has failed."""
    task = find_task("sort-bubble")
    lists = task.draw(Request(size=12, count=50, seed=3))
    trial = Trial(task, lists)
    quick, slow = (written(name, size=12)[0] for name in ("insertion_sort", "bubble_sort"))
    costs, slower = (trial.run([program])[0] for program in (quick, slow))
    trial.limit_steps(costs, times=1, more=10)
    assert (trial.run([quick])[0] == costs).all()
    found = trial.run([slow])[0]
    is_late = slower > costs + 10
    assert is_late.any()
    assert (found == np.where(is_late, np.inf, slower)).all()


def test_visits_count_every_step() -> None:
    task = find_task("sort-bubble")
    good = parse_program(INSERTION, "insertion")
    instances = task.draw(Request(size=7, count=30, seed=3))
    trial = Trial(task, instances)
    assert (trial.measure(good) == run(good, instances).steps).all()
    assert trial.visits.sum() == run(good, instances).steps.sum()
    assert (np.diff(trial.observations) > 0).all()


@pytest.mark.parametrize("teacher", ["insertion_sort", "quick_sort", "binary_search", "depth_first"])
def test_a_draft_is_its_program(teacher: str) -> None:
    """There and back again, and in what it does: edited in compiled code it gains what the edited program gains."""
    program, _ = written(teacher, count=200)
    assert program_of(draft_of(program), program) == program
    screen = edit_screen(program)
    states = np.random.default_rng(1).integers(1, 1 << 32, (200, 2), np.int64)
    gains = screen.run(states, (0.0, 0.0), -np.inf)
    trial = Trial(program.task, screen.instances)
    base = trial.run([program])[0]
    is_fine = 0
    for state, gain in zip(states, gains, strict=True):
        costs = trial.run([screen.edited(state)])[0]
        if np.isfinite(gain):
            assert (base - costs).mean() == pytest.approx(gain)
            is_fine += 1
        else:
            assert (np.isfinite(base) & ~np.isfinite(costs)).any()
    assert is_fine > 10


def test_what_costs_nothing_is_left_out_at_the_end(tmp_path: Path) -> None:
    """A rule and a condition that make no difference; what is needed stays, and what is left says what it saves."""
    path = tmp_path / "longer.rules"
    path.write_text(INSERTION.replace("v1 = v2:", "v3 = v4 and v1 = v2 and A[v1] = A[v2]: MoveVar(1, +1)\nv1 = v2:"))
    one = learner("sort-bubble", str(path), sizes=(4, 6), rounds=1, generations=1, candidates=1)
    program = improve(one)
    assert len(program.rules) == 4
    assert one.savings() == [None] * 4
    assert "needed" in one.describe()
    assert one._simplify(program) == program


COSTLY = INSERTION.replace("v1 = v2:", "v1 = v2 and v3 < v4: MoveVar(3, +1)\nv1 = v2:")
"""With a rule that takes some steps more and is good for nothing."""


def costly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Improvement:
    """Return a learner of the program with a costly rule, after a first round without a gain."""
    path = tmp_path / "costly.rules"
    path.write_text(COSTLY)
    one = learner("sort-bubble", str(path), sizes=(4, 6), rounds=1, generations=1, candidates=1)
    # As if the first few of the shorter programs had failed.
    monkeypatch.setattr("surpass.learning.improvement.learner.FINALISTS", 0)
    monkeypatch.setattr(Improvement, "_rewrite", lambda self, program: program)
    return one


def test_a_rule_that_only_costs_is_dropped_whatever_was_tried_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = costly(tmp_path, monkeypatch)
    one.begin()
    assert one.program is not None
    assert min(saved for saved in one.savings() if saved is not None) < 0
    assert len(improve(one).rules) == 4
    assert one.savings() == [None] * 4


def test_a_rule_that_costs_and_without_which_something_fails_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last search, which takes longest, finds a failure that the others miss."""
    one, search = costly(tmp_path, monkeypatch), Improvement._find_failure

    def find_failure(self: Improvement, program: Program, effort: Effort | None = None) -> tuple[str | None, Ints]:
        fails = len(program.rules) < 5 and (effort == learner_module.AT_END or "1,0" in self.counterexamples)
        return ("1,0" if fails else None), search(self, program, effort)[1]

    monkeypatch.setattr(Improvement, "_find_failure", find_failure)
    one.begin()
    assert one.program is not None
    assert one._drop_what_costs(one.program) == one.program
    assert one.savings() == [None] * 5


def test_a_program_that_saves_nothing_is_said_to_be_the_teachers() -> None:
    one = learner("sort-bubble", "insertion_sort", sizes=(4, 6), rounds=1)
    one.begin()
    one.rounds = 1
    assert one.describe().startswith("No edit")


def test_editing_that_ends_early_says_why(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surpass.learning.improvement.learner.STALE_ROUNDS", 2)
    monkeypatch.setattr(Improvement, "is_exhausted", property(lambda self: self.stale >= 2))
    one = learner("sort-bubble", "insertion_sort", sizes=(4, 6), rounds=50, generations=1, candidates=1)
    caplog.set_level("INFO", "surpass")
    improve(one)
    assert f"{one.rounds} of 50 rounds" in caplog.text
    assert f"{one.rounds} of 50 rounds" in one.describe()


# Improvement


@pytest.mark.parametrize(
    ("task", "teacher", "sizes", "rounds"),
    [
        ("sort-bubble", "bubble_sort", (4, 8), 3),
        ("search", "linear_search", (5, 20), 3),
        ("sort-quick", "quick_sort", (4, 8), 6),
    ],
)
def test_the_program_gets_shorter_and_solves_everything(
    task: str, teacher: str, sizes: tuple[int, ...], rounds: int
) -> None:
    """On fresh instances of every distribution, and on sizes that it was not improved on."""
    program = improve(learner(task, teacher, sizes=sizes, rounds=rounds, generations=12, candidates=64))
    found, base = find_task(task), find_agent(f"teacher:{teacher}")
    for size in (1, 2, 3, 5, 8, 20, 60):
        for data in found.inputs.draw:
            instances = found.draw(Request(size=size, count=20, seed=99, data=data))
            assert run(program, instances).solved.all(), (size, data)
    instances = found.draw(Request(size=sizes[-1], count=2000, seed=98))
    assert run(program, instances).steps.mean() < run(base, instances).steps.mean()


def test_the_reward_of_knapsack_grows() -> None:
    """Where the score counts, more of it is better."""
    program = improve(learner("knapsack", "depth_first", sizes=(8, 12), rounds=5))
    found, base = find_task("knapsack"), find_agent("teacher:depth_first")
    instances = found.draw(Request(size=12, count=2000, seed=98))
    assert run(program, instances).rewards.mean() > run(base, instances).rewards.mean()


def test_large_rewards_of_other_distributions_do_not_outweigh_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """A packing that is worth 1e20, as wide ones are, counts for no more than some usual ones."""
    monkeypatch.setattr("surpass.learning.improvement.learner.OTHERS", 0.5)
    one = learner("knapsack", "depth_first", sizes=(8,))
    one.begin()
    tried = Round(one)
    assert max(-costs.min() for costs in tried.costs) > 1e10
    for costs, weights in zip(tried.costs, tried.weights, strict=True):
        assert (np.abs(costs) * weights).max() <= FAR_ABOVE / len(costs)


def test_progress_shows_the_reward_as_evaluate_does() -> None:
    """The learner's and the teacher's have the same sign, and the teacher's cost counts as 1."""
    one = learner("knapsack", "depth_first", sizes=(4, 6), rounds=2, generations=1, rule_price=0.0)
    curve = one.advance()
    rewards = [run(one.teacher, part).rewards.mean() for part in one._reference_instances()]
    means = dict(zip(one.sizes, rewards, strict=True))
    for comparison in one.status(curve).comparisons:
        assert comparison.reference == pytest.approx(means[comparison.size])
        assert comparison.ours == pytest.approx(means[comparison.size], rel=0.2)
    assert 0.8 < curve["relative_cost"] <= 1


def test_a_network_learns_the_improved_program(insertion: str) -> None:
    """At the end it gives the program's action wherever it goes."""
    one = learner("sort-bubble", insertion, sizes=(4, 6), rounds=2)
    assert not one.has_network
    while not one.done:
        one.advance()
    assert one.finished
    assert one.has_network
    instances = one.task.draw(Request(size=30, count=200, seed=97))
    assert one.program is not None
    network, program = run(one.agent(), instances), run(one.program, instances)
    assert network.solved.all()
    assert (network.steps == program.steps).all()


def test_an_edit_that_breaks_the_program_is_taken_back(insertion: str) -> None:
    """One that passed the trials by luck and fails on something else, which is tried from then on."""
    one = learner("sort-bubble", insertion, sizes=(4, 6))
    one.advance()
    assert one.current is not None
    broken = without(one.current, range(len(one.current.rules) - 1))
    assert one._find_failure(broken)[0] is not None
    known = len(one.counterexamples)
    assert one._last_sound([one.current, broken]) == one.current
    assert len(one.counterexamples) == known + 1


def test_a_program_that_fails_is_repaired(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Failures cost the whole limit, so an edit that repairs some is a saving."""
    monkeypatch.setattr("surpass.learning.improvement.learner.OTHERS", 0.5)
    path = tmp_path / "broken.rules"
    path.write_text(INSERTION.replace("v1 = v2:", "A[v3] = A[v4] and v1 > v2: AssignVar(1, 1)\nv1 = v2:"))
    one = learner("sort-bubble", str(path), sizes=(4, 6), rounds=6)
    instances = one.task.draw(Request(size=6, count=200, seed=5, data="few-distinct"))
    before = run(find_agent(str(path)), instances).solved.mean()
    assert 0 < before < 1
    assert run(improve(one), instances).solved.mean() > before
