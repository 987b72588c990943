"""The learner that keeps a population of programs."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surpass.agents import as_task, find_agent
from surpass.arrays import Ints
from surpass.checks import Effort
from surpass.engine.run import run
from surpass.errors import SettingError, SurpassError
from surpass.learning.discover import attempts, trials
from surpass.learning.discover.attempts import Attempt, Editor, Judged
from surpass.learning.discover.config import DiscoverConfig
from surpass.learning.discover.drafts import draft_of, program_of, with_functions_of
from surpass.learning.discover.edits import rewritten_programs, shorter_programs, size_of, tidy, without
from surpass.learning.discover.learner import CONDITION_PRICE, Discover
from surpass.learning.discover.objective import (
    FAR_ABOVE,
    USUAL_SHARE,
    Objective,
    Sample,
    doubling_sizes,
    mean_steps,
    mixture,
    weights_of,
)
from surpass.learning.discover.population import CHAIN, Found, Population
from surpass.learning.discover.rounds import Budget, Round, RulePrices
from surpass.learning.discover.trials import Screen, Trial
from surpass.programs.extract import write_program
from surpass.programs.program import START, Program
from surpass.programs.text import parse_program, write_text
from surpass.table import Table
from surpass.tasks.registry import find_task
from surpass.tasks.task import Instances, Limit, Request, Task, join_instances
from surpass.workers.runner import open_runner
from tests.cli.here import EXAMPLE

pytestmark = pytest.mark.usefixtures("small_effort")

INSERTION = """
task sort-bubble

v1 = v2: MoveVar(1, +1)
A[v2] > A[v2+1]: SwapWithNext(2)
A[v2] < A[v2-1] and A[v2] < A[v2+1]: MoveVar(2, -1)
else: AssignVar(2, 1)
"""


BROKEN = INSERTION.replace("v1 = v2:", "A[v3] = A[v4] and v1 > v2: AssignVar(1, 1)\nv1 = v2:")
"""With a rule that makes it fail on some lists with equal values."""
COSTLY = INSERTION.replace("v1 = v2:", "v1 = v2 and v3 < v4: MoveVar(3, +1)\nv1 = v2:")
"""With a rule that takes some steps more and is good for nothing."""
NEEDLESS = INSERTION.replace("v1 = v2:", "v3 = v4 and v1 = v2 and A[v1] = A[v2]: MoveVar(1, +1)\nv1 = v2:")
"""With a rule that makes no difference."""
PRICES = RulePrices(DiscoverConfig.rule_price, CONDITION_PRICE * DiscoverConfig.rule_price)
BUDGET = Budget(sets=8, candidates=32, instances=100)
SMALL = {"rounds": 8, "islands": 2, "gradients": 0, **BUDGET._asdict()}
INSERTION_SORT = find_task("sort-bubble")


def write(path: Path, program: str) -> str:
    """Write a program to a file, and return its name as text."""
    path.write_text(program)
    return str(path)


def learner(task: str, start: str = "", **settings: Any) -> Discover:
    """Return a small learner."""
    return Discover(find_task(task), DiscoverConfig(task=task, start=start, **{**SMALL, **settings}))


def search(one: Discover, rounds: int = 1 << 30) -> Discover:
    """Let it search to its end, or for some rounds."""
    for _ in range(rounds):
        if not one.is_searching:
            break
        one.advance()
    return one


def program_of_run(one: Discover) -> Program:
    """Return the best program at the end of a search."""
    found = search(one).program
    assert found is not None
    return found


def editor(program: str = INSERTION, *, sizes: tuple[int, ...] = (4, 6), data: str = "") -> Editor:
    """Return an editor that measures programs against one."""
    task = parse_program(program, "a program").task
    given = {"data": data, "queries": "", "seed": 0, "digest": "", "sizes": sizes}
    return Editor(task, given, PRICES, BUDGET, program)


def attempt(program: str, **more: Any) -> Attempt:
    """Return an attempt at a program."""
    usual = {
        "number": 0,
        "mate": "",
        "focus": "",
        "temperature": 0.005,
        "last_temperature": 0.0,
        "least": None,
        "known": (),
    }
    return Attempt(**{**usual, **more, "program": program})


def sample_of(task: Task, *parts: Instances) -> Sample:
    """Return instances that all count alike, each part a size of its own."""
    instances = join_instances(task, parts)
    sizes = np.repeat(np.arange(len(parts)), [part.count for part in parts])
    limits = Limit.parse(task.limit).steps(instances.sizes)
    return Sample(instances, limits, sizes, np.zeros_like(sizes), np.full(instances.count, 1 / instances.count))


def written(teacher: str, size: int = 8, count: int = 50) -> tuple[Program, Table]:
    """Return a teacher as a program, and the table of what it meets on some instances, from which it was written."""
    agent = find_agent(f"teacher:{teacher}")
    table = Table(agent.task, agent)
    run(table, agent.task.draw(Request(size=size, count=count, seed=1)))
    return write_program(agent.name, table), table


def edit_screen(program: Program, mate: Program | None = None) -> tuple[Screen, Trial]:
    """Return a screen that is ready to edit a program, on lists of 8 and fewer, and a trial on the same."""
    task = program.task
    sample = sample_of(task, *(task.draw(Request(size=n, count=8, seed=1)) for n in (8, 3, 5)))
    trial, screen = Trial(task, sample, program), Screen(task, sample)
    costs = trial.measure(program)
    screen.prepare(program, mate, costs, trial.limits, sample.shares, trial.seen, trial.seen)
    return screen, trial


# Edits


@pytest.mark.parametrize("teacher", ["insertion_sort", "quick_sort", "binary_search", "depth_first"])
def test_an_edited_program_is_a_program_that_can_be_written_and_read(teacher: str) -> None:
    program, table = written(teacher)
    screen, _ = edit_screen(program)
    states = np.random.default_rng(0).integers(1, 1 << 32, (300, 2), np.int64)
    edited = [screen.edited(state) for state in states]
    assert edited == [screen.edited(state) for state in states]
    assert sum(one != program for one in edited) > 150
    assert len({write_text(one) for one in edited}) > 100
    for one in edited:
        assert parse_program(write_text(one), "edited") == one
        answers = one.actions(table.observations)
        assert ((answers >= -1) & (answers < program.task.interface.action_count)).all()


def test_rules_are_copied_from_the_mate_too() -> None:
    """An action that the program does not know comes from there, more often than by chance."""
    program = parse_program(INSERTION, "insertion")
    mate = parse_program("task sort-bubble\n" + "A[v1] < A[v2]: AssignVar(3, 2)\n" * 1 + "else: MoveVar(4, -1)", "mate")
    states = np.random.default_rng(0).integers(1, 1 << 32, (2000, 2), np.int64)
    counts = []
    for other in (None, mate):
        screen, _ = edit_screen(program, other)
        texts = [write_text(screen.edited(state)) for state in states]
        counts.append(sum("A[v1] < A[v2]: AssignVar(3, 2)" in text for text in texts))
    assert counts[1] > counts[0]


def test_rules_of_a_mate_with_other_functions_are_those_of_the_same_function() -> None:
    program, table = written("quick_sort")
    mate = replace(program, functions=program.functions[1:][::-1])
    adapted = with_functions_of(program, mate)
    assert [function.ids for function in adapted.functions] == [function.ids for function in program.functions]
    assert adapted.functions[0].places == ()
    assert adapted.functions[1:] == program.functions[1:]
    screen, _ = edit_screen(program, mate)
    for state in np.random.default_rng(0).integers(1, 1 << 32, (300, 2), np.int64):
        actions = screen.edited(state).actions(table.observations)
        assert ((actions >= -1) & (actions < program.task.interface.action_count)).all()


def test_a_program_that_saw_nothing_is_edited_into_programs_too() -> None:
    """Where every instance is solved at the start."""
    program = parse_program(INSERTION, "insertion")
    task = program.task
    sample = sample_of(task, task.draw(Request(size=5, count=8, seed=1, data="sorted")))
    trial, screen = Trial(task, sample, program), Screen(task, sample)
    costs = trial.measure(program)
    assert not costs.any()
    screen.prepare(program, None, costs, trial.limits, sample.shares, trial.seen, trial.seen)
    for state in np.random.default_rng(0).integers(1, 1 << 32, (500, 2), np.int64):
        edited = screen.edited(state)
        assert parse_program(write_text(edited), "edited") == edited


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
    task = INSERTION_SORT
    good = parse_program(INSERTION, "insertion")
    stuck = parse_program("task sort-bubble\nalways: AssignVar(1, 1)", "stuck")
    sample = sample_of(task, *(task.draw(Request(size=size, count=20, seed=3)) for size in (1, 5, 9)))
    trial = Trial(task, sample, good)
    costs = trial.run([good, stuck, good])
    results = run(good, sample.instances)
    assert (costs[0] == results.steps).all()
    assert (costs[2] == costs[0]).all()
    solved = run(stuck, sample.instances).solved
    assert (np.isfinite(costs[1]) == solved).all()
    assert not solved.all()
    assert (trial.measure(good) == results.steps).all()
    assert trial.seen.visits.sum() == results.steps.sum()
    assert (np.diff(trial.seen.observations) > 0).all()


def test_an_instance_that_was_not_solved_gets_some_times_the_steps_of_the_longest_solved_one() -> None:
    """Not its whole limit, which may be thousands of times as many."""
    task = INSERTION_SORT
    broken = parse_program(BROKEN, "broken")
    trial = Trial(task, sample_of(task, task.draw(Request(size=30, count=50, seed=3, data="few-distinct"))), broken)
    costs = trial.measure(broken)
    solved = np.isfinite(costs)
    assert solved.any()
    assert not solved.all()
    trial.limit_steps(costs, times=1, more=10)
    assert (trial.limits[~solved] > costs[solved].max()).all()
    assert (trial.limits[~solved] < trial.sample.limits[~solved]).all()
    assert (trial.limits[solved] == np.minimum(costs[solved] + 10, trial.sample.limits[solved])).all()


@pytest.mark.parametrize("teacher", ["insertion_sort", "quick_sort", "binary_search", "depth_first"])
def test_a_shorter_program_costs_what_it_costs_when_all_is_played(teacher: str) -> None:
    """Only what it may do otherwise is played; and where one fails that must not, nothing more is promised."""
    program, _ = written(teacher, count=200)
    task = program.task
    trial = Trial(task, sample_of(task, *(task.draw(Request(size=n, count=40, seed=1)) for n in (8, 3, 5))), program)
    costs = trial.measure(program)
    shorter = [*shorter_programs(program), program]
    found, whole = trial.run_shorter(shorter, costs), trial.run(shorter)
    fails = (~np.isfinite(whole) & np.isfinite(costs)).any(axis=1)
    assert fails.any()
    assert not fails.all()
    assert ((~np.isfinite(found) & np.isfinite(costs)).any(axis=1) == fails).all()
    assert (found[~fails] == whole[~fails]).all()


@pytest.mark.parametrize("noted", [3, 100_000])
def test_edits_are_played_where_they_do_anything_else(monkeypatch: pytest.MonkeyPatch, noted: int) -> None:
    """Also if only the first observations of each episode are known."""
    monkeypatch.setattr(trials, "MOST_NOTED", noted)
    program, _ = written("insertion_sort", count=200)
    screen, trial = edit_screen(program)
    states = np.random.default_rng(2).integers(1, 1 << 32, (300, 2), np.int64)
    gains, base = screen.run(states, (0.0, 0.0), -np.inf), trial.run([program])[0]
    for state, gain in zip(states, gains, strict=True):
        costs = trial.run([screen.edited(state)])[0]
        fails = (~np.isfinite(costs) & np.isfinite(base)).any()
        expected = -np.inf if fails else float((trial.sample.shares * (base - costs)).sum())
        assert gain == pytest.approx(expected)


def test_a_sample_that_is_played_in_several_batches_is_noted_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    task, program = INSERTION_SORT, parse_program(INSERTION, "insertion")
    trial = Trial(task, sample_of(task, *(task.draw(Request(size=n, count=20, seed=3)) for n in (9, 5))), program)
    trial.measure(program)
    whole = trial.seen
    monkeypatch.setattr("surpass.engine.run.MEMORY_WORDS", 600)
    trial.measure(program)
    for name, array in whole._asdict().items():
        assert (getattr(trial.seen, name) == array).all()


def test_programs_that_take_much_longer_are_given_up() -> None:
    """What stays within the limits costs what it did; the rest has failed."""
    task = INSERTION_SORT
    quick, slow = (written(name, size=12)[0] for name in ("insertion_sort", "bubble_sort"))
    trial = Trial(task, sample_of(task, task.draw(Request(size=12, count=50, seed=3))), quick)
    costs, slower = (trial.run([program])[0] for program in (quick, slow))
    trial.limit_steps(costs, times=1, more=10)
    assert (trial.run([quick])[0] == costs).all()
    found = trial.run([slow])[0]
    is_late = slower > costs + 10
    assert is_late.any()
    assert (found == np.where(is_late, np.inf, slower)).all()


@pytest.mark.parametrize("teacher", ["insertion_sort", "quick_sort", "binary_search", "depth_first"])
def test_a_draft_is_its_program(teacher: str) -> None:
    """There and back again, and in what it does: edited in compiled code it gains what the edited program gains."""
    program, _ = written(teacher, count=200)
    assert program_of(draft_of(program), program) == program
    screen, trial = edit_screen(program)
    states = np.random.default_rng(1).integers(1, 1 << 32, (200, 2), np.int64)
    gains = screen.run(states, (0.0, 0.0), -np.inf)
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


# What a program costs


def by_hand(costs: list[float], *, sizes: list[int] | None = None, sources: list[int] | None = None) -> np.ndarray:
    """Return the weights of instances that the reference takes some steps for, each of which has the same share."""
    m = len(costs)
    task, zeros = INSERTION_SORT, np.zeros(m, np.int64)
    lists = task.draw(Request(size=3, count=m))
    given = [zeros if one is None else np.array(one) for one in (sizes, sources)]
    return weights_of(Sample(lists, zeros, given[0], given[1], np.full(m, 1 / m)), np.array(costs))


def test_the_reference_costs_one_whatever_its_steps() -> None:
    for sizes in ((4, 6), (5, 10, 20)):
        trial = editor(sizes=sizes).reference_trial()
        costs = trial.reference_costs
        assert trial.relative(costs) == 1
        assert (trial.by_size(costs) == 1).all()
        assert trial.relative(2 * costs[None]) == pytest.approx(2, rel=0.1)


def test_a_size_counts_the_same_whatever_its_steps() -> None:
    """To save half of the steps at one of two sizes saves a quarter of the cost."""
    weights = by_hand([10.0, 12.0, 1000.0, 1200.0], sizes=[0, 0, 1, 1])
    small, large = (float((weights * saved).sum()) for saved in ([5, 6, 0, 0], [0, 0, 500, 600]))
    assert small == pytest.approx(0.25)
    assert large == pytest.approx(0.25)


def test_distributions_of_one_size_count_by_their_shares_and_not_by_their_steps() -> None:
    weights = by_hand([10.0, 10.0, 30.0, 30.0], sources=[0, 0, 1, 1])
    assert weights.tolist() == pytest.approx([1 / 40, 1 / 40, 1 / 120, 1 / 120])


def test_an_instance_far_above_the_others_counts_for_its_own_cost() -> None:
    weights = by_hand([10.0, 10.0, 10.0, 1e20])
    assert weights.tolist() == pytest.approx([1 / 40, 1 / 40, 1 / 40, 1 / 4e20])


def test_large_rewards_of_other_distributions_do_not_outweigh_the_rest() -> None:
    """A packing that is worth 1e20, as wide ones are, counts for no more than some usual ones."""
    program = write_text(written("depth_first")[0])
    trial = editor(program, sizes=(8,)).reference_trial()
    assert np.abs(trial.reference_costs).max() > 1e10
    assert (np.abs(trial.reference_costs) * trial.weights).max() <= 2 * FAR_ABOVE / trial.count


def test_the_usual_distribution_has_half_the_share_and_a_focus_takes_it() -> None:
    task = INSERTION_SORT
    objective = Objective(task, "", "", 0, (5,))
    usual, *others = task.inputs.draw
    assert objective.names == [usual, *others]
    shares = objective.shares_of("")
    assert shares.tolist() == pytest.approx([USUAL_SHARE] + [(1 - USUAL_SHARE) / len(others)] * len(others))
    focused = objective.shares_of(others[0])
    assert focused[1] == USUAL_SHARE
    assert focused.sum() == pytest.approx(1)
    assert focused[0] / focused[2] == pytest.approx(shares[0] / shares[2]), "the rest stays as it was"
    assert objective.shares_of(usual)[0] == USUAL_SHARE
    assert Objective(task, usual, "", 0, (5,)).shares_of(usual).tolist() == [1.0]


def test_as_many_instances_are_drawn_as_the_shares_say() -> None:
    task = INSERTION_SORT
    objective = Objective(task, "", "", 0, (5, 10))
    for focus, first in (("", 0), (objective.names[2], 2)):
        sample = objective.draw([200, 200], (1,), focus, known=("3,1,2",))
        assert np.bincount(sample.sizes[:-1]).tolist() == [200, 200]
        counts = np.bincount(sample.sources[:-1], minlength=len(objective.names))
        assert counts[first] == pytest.approx(400 * USUAL_SHARE, abs=2)
        assert counts.min() > 0
        assert (sample.sizes[-1], sample.sources[-1], sample.shares[-1]) == (-1, -1, 0.0)
        assert sample.shares.sum() == pytest.approx(1)
        again = objective.draw([200, 200], (1,), focus, known=("3,1,2",))
        assert (again.instances.items == sample.instances.items).all()
        assert (objective.draw([200, 200], (2,), focus).instances.items != sample.instances.items[:-1]).any()


def test_the_mixture_of_all_distributions_is_named_with_weights() -> None:
    task = INSERTION_SORT
    usual, *others = task.inputs.draw
    words = mixture(task).split(",")
    assert words[0] == usual
    assert sum(float(word.partition("*")[2]) for word in words[1:]) == pytest.approx(1, abs=1e-4)
    assert len(words) == 1 + len(others)


def test_sizes_double_as_long_as_the_reference_is_quick() -> None:
    slow, quick = (written(name)[0] for name in ("linear_search", "binary_search"))
    task = slow.task
    found = [doubling_sizes(task, program) for program in (slow, quick)]
    for sizes in found:
        assert all(later == 2 * former for former, later in itertools.pairwise(sizes))
        assert sizes[-1] <= max(task.sizes)
    long = doubling_sizes(INSERTION_SORT, parse_program(INSERTION, "insertion"))
    assert len(long) < len(found[1])


# Attempts


def test_an_attempt_is_a_function_of_what_it_is_given() -> None:
    one, other = editor(), editor()
    other.judge(COSTLY, 5)
    asked = attempt(COSTLY, number=3, focus="sorted", mate=INSERTION)
    assert one.attempt(asked) == other.attempt(asked) == one.attempt(asked)
    assert one.attempt(asked._replace(number=4)) != one.attempt(asked)


def test_an_attempt_returns_a_sound_program_that_costs_less_or_the_one_it_was_given() -> None:
    found = editor().attempt(attempt(INSERTION))
    assert found.is_sound
    assert found.tried == attempts.ROUNDS * BUDGET.sets * BUDGET.candidates
    program = parse_program(found.program, "found")
    first = parse_program(INSERTION, "insertion")
    assert found.cost + PRICES.of(program) <= 1 + PRICES.of(first)


def test_what_costs_nothing_is_left_out() -> None:
    """A rule and its conditions that make no difference; what is needed stays, and what is left says what it saves."""
    one = editor()
    one.judge(INSERTION, 0)
    program = one._polish(parse_program(NEEDLESS, "longer"), "")
    assert program is not None
    assert len(program.rules) == 4
    assert one._simplify(program, "") == program
    assert one.savings(write_text(program)) == [None] * 4


def test_a_rule_that_only_costs_is_dropped() -> None:
    one = editor()
    assert min(saved for saved in one.savings(COSTLY) if saved is not None) < 0
    assert len(one._simplify(parse_program(COSTLY, "costly"), "").rules) == 4


def test_a_rule_that_costs_and_without_which_something_fails_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last search, which takes longest, finds a failure that the others miss."""
    one, costly, look = editor(), parse_program(COSTLY, "costly"), Editor._find_failure
    at_end = Effort(enumerated=0)
    monkeypatch.setattr(attempts, "AT_END", at_end)

    def find_failure(self: Editor, program: Program, effort: Effort) -> tuple[str | None, Ints]:
        fails = len(program.rules) < 5 and effort in efforts
        return ("1,0" if fails else None), look(self, program, effort)[1]

    monkeypatch.setattr(Editor, "_find_failure", find_failure)
    one.judge(COSTLY, 0)
    efforts = {at_end}
    assert len(one._simplify(costly, "").rules) == 4
    assert one._polish(costly, "") == costly
    efforts = {at_end, attempts.QUICK}
    assert one.savings(COSTLY) == [None] * 5


def test_an_edit_that_breaks_the_program_is_taken_back() -> None:
    """One that passed the trials by luck and fails on something else, which is tried from then on."""
    one, program = editor(), parse_program(INSERTION, "insertion")
    assert one.judge(INSERTION, 0).failing == ()
    broken = without(program, [0, 1, 2])
    assert one._last_sound([program, broken], True) == (program, True)
    failing = one._known[0]
    again = one.objective.draw([10] * len(one.objective.sizes), (0,), known=(failing,))
    assert not run(broken, again.instances).solved.all()
    assert run(program, again.instances).solved.all()


def test_counter_examples_must_be_solved_by_every_edit() -> None:
    """The program itself solves them, so an edit that does not is out."""
    program = parse_program(INSERTION, "insertion")
    task = program.task
    objective = Objective(task, "", "", 0, (4, 6))
    known = ("2,1", "5,4,3,2,1,0")
    one = Round(
        task,
        objective,
        program,
        program,
        PRICES,
        (0, 0),
        stages=BUDGET.stages(mean_steps(objective, program)),
        candidates=BUDGET.candidates,
        known=known,
    )
    stuck = parse_program("task sort-bubble\nA[v1] > A[v1+1]: SwapWithNext(1)\nelse: MoveVar(1, +1)", "stuck")
    for trial in one.trials:
        assert trial.sample.sizes.min() == -1
    own, other = one.trials[-1].run([program, stuck])
    assert one._gain(program, own) == (0, 0)
    assert one._gain(stuck, other)[0] == -np.inf


def test_a_judged_program_that_fails_says_so() -> None:
    found = editor().judge(BROKEN, 0)
    assert not found.is_sound
    assert len(found.failing) >= 1
    broken = parse_program(BROKEN, "broken")
    for text in found.failing:
        assert not run(broken, broken.task.parse_instance(text)[0]).solved.all()


# The population

COSTS = {0: (1.0, 4), 1: (0.8, 6), 2: (0.9, 7), 3: (0.7, 9), 4: (0.7, 8), 5: (0.5, 12)}
"""Relative costs and numbers of rules."""


def outcome(cost: float, *, current: str = COSTLY, is_sound: bool = True, failing: tuple[str, ...] = ()) -> Judged:
    """Return what came of an attempt or a judgement."""
    return Judged(
        program=INSERTION,
        current=current,
        least=cost,
        tried=10,
        failing=failing,
        is_sound=is_sound,
        cost=cost,
        means=(10.0 * cost,),
    )


def program_of_rules(rules: int) -> Program:
    """Return a program of so many rules."""
    lines = [f"v1 = v{2 + k % 2} and v2 > v{3 + k % 2}: MoveVar({1 + k % 4}, +1)" for k in range(rules - 1)]
    return parse_program("task sort-bubble\n" + "\n".join([*lines, "else: AssignVar(1, 1)"]), "some")


def population(islands: int = 2, **unsound: bool) -> Population:
    """Return a population of some programs, each edited from the one before."""
    one = Population([None] * islands)
    for number, (cost, rules) in COSTS.items():
        parents = (number - 1,) if number else ()
        one.add(outcome(cost), program_of_rules(rules), PRICES, "edited", parents, not number)
    return one


def test_fewer_rules_cost_more_along_the_front() -> None:
    one = population()
    assert [found.number for found in one.front] == [0, 1, 4, 5]
    one.found[5] = Found(**{**one.found[5].__dict__, "is_sound": False})
    assert [found.number for found in one.front] == [0, 1, 4], "a program that fails is not on it"
    assert one.best is not None
    assert one.best.number == 4, "nor is it the best"


def test_the_front_has_one_program_of_each_number_of_rules() -> None:
    """Also where one of them has more conditions and costs less, and where the best one is among them."""
    one = population()
    rules = one.found[4].rules
    one.found[6] = replace(one.found[4], number=6, cost=one.found[4].cost - 0.001, priced_cost=2.0)
    assert [found.number for found in one.front] == [0, 1, 6, 5]
    one.found[7] = replace(one.found[4], number=7, cost=one.found[4].cost + 0.0001, priced_cost=0.0)
    assert one.best is not None
    assert one.best.number == 7
    assert [found.number for found in one.front if found.rules == rules] == [7]


def test_what_nobody_needs_is_forgotten_and_lineages_stay() -> None:
    one = population()
    one.add(outcome(2.0), program_of_rules(20), PRICES, "edited", (5,), False)
    one.drop_unused()
    assert sorted(one.found) == [0, 1, 2, 3, 4, 5]
    assert [found.number for found in one.lineage(5)] == [0, 1, 2, 3, 4, 5]
    again = Population.load(json.loads(json.dumps(one.save())), 2)
    assert again == one


def test_counter_examples_are_shared_between_islands() -> None:
    one = population()
    first, _ = one.plan(0, 2, 0, ())
    assert first.known == ()
    one.learn_failures(["1,0", "2,1"])
    one.learn_failures(["2,1", "3,1"])
    second, _ = one.plan(1, 2, 0, ())
    assert second.known == ("1,0", "2,1", "3,1")
    one.learn_failures([str(k) for k in range(attempts.MOST_COUNTEREXAMPLES)])
    assert len(one.counterexamples) == attempts.MOST_COUNTEREXAMPLES


def test_a_chain_goes_on_from_where_it_stands_and_cools_until_it_ends() -> None:
    one = population()
    assert one.plan(1, 2, 0, ("sorted",))[0].focus == "sorted"
    temperatures = []
    for done in range(CHAIN):
        attempted, parents = one.plan(2 * done, 2, 0, ("sorted",))
        assert (attempted.focus, attempted.least) == ("", 0.4 if done else None)
        assert (parents[0] in one.starts) == (done == 0), "chains begin with the first programs"
        temperatures += [attempted.temperature, attempted.last_temperature]
        made = one.add(outcome(0.4), program_of_rules(5), PRICES, "edited", parents, False) if not done else None
        one.receive(0, attempted, outcome(0.4, current=f"{COSTLY}\n# {done}"), made)
        island = one.islands[0]
        assert (island is None) == (done == CHAIN - 1)
        if island is not None:
            assert island.program.endswith(f"# {done}"), "it stands where the attempt ended"
    assert sorted(temperatures, reverse=True) == temperatures
    assert temperatures[-1] == pytest.approx(0)
    assert temperatures[1::2][:-1] == temperatures[2::2]
    assert one.plan(2 * CHAIN, 2, 0, ())[0].least is None, "a new chain"


def test_a_chain_that_stands_still_ends() -> None:
    one = population()
    attempted, _ = one.plan(0, 2, 0, ())
    one.receive(0, attempted, outcome(1.0, current=attempted.program), None)
    assert one.islands[0] is None


def test_later_chains_begin_with_first_programs_the_front_or_the_best_one() -> None:
    one = population(1)
    begun = set()
    for number in range(60):
        attempted, parents = one.plan(number, 1, 0, ())
        begun.add(parents[0])
        one.receive(0, attempted, outcome(1.0, current=attempted.program), None)
    assert {0, one.best.number} <= begun <= {0} | {found.number for found in one.front}  # type: ignore[union-attr]


# Discover


@pytest.mark.parametrize(
    ("task", "teacher", "sizes", "rounds"),
    [
        ("sort-bubble", "bubble_sort", (4, 8), 8),
        ("search", "linear_search", (5, 20), 8),
        ("sort-quick", "quick_sort", (4, 8), 5),
    ],
)
def test_the_program_gets_shorter_and_solves_everything(
    task: str, teacher: str, sizes: tuple[int, ...], rounds: int
) -> None:
    """On fresh instances of every distribution, and on sizes that it was not searched on."""
    program = program_of_run(learner(task, f"teacher:{teacher}", sizes=sizes, rounds=rounds, candidates=64))
    found, base = find_task(task), find_agent(f"teacher:{teacher}")
    for size in (1, 2, 3, 5, 8, 20, 60):
        for data in found.inputs.draw:
            instances = found.draw(Request(size=size, count=20, seed=99, data=data))
            assert run(program, instances).solved.all(), (size, data)
    instances = found.draw(Request(size=sizes[-1], count=2000, seed=98))
    assert run(program, instances).steps.mean() < run(base, instances).steps.mean()


def test_the_reward_of_knapsack_grows() -> None:
    """Where the score counts, more of it is better."""
    program = program_of_run(learner("knapsack", "teacher:depth_first", sizes=(8, 12), rounds=6, sets=16))
    found, base = find_task("knapsack"), find_agent("teacher:depth_first")
    instances = found.draw(Request(size=12, count=2000, seed=98))
    assert run(program, instances).rewards.mean() > run(base, instances).rewards.mean()


def test_progress_shows_the_reward_as_evaluate_does() -> None:
    """The learner's and the teacher's have the same sign, and the cost of the start counts as 1."""
    one = learner("knapsack", "teacher:depth_first", sizes=(4, 6), rounds=2, sets=2)
    curve = one.advance()
    sample = editor(one.reference, sizes=(4, 6)).reference_trial().sample
    comparisons = one.status(curve).comparisons
    assert [comparison.size for comparison in comparisons] == [4, 6]
    for s, comparison in enumerate(comparisons):
        rows = np.flatnonzero((sample.sizes == s) & (sample.sources == 0))
        reward = run(find_agent("teacher:depth_first"), sample.instances.rows(rows)).rewards.mean()
        assert reward > 0
        assert comparison.ours == pytest.approx(comparison.reference, rel=0.3)
    assert 0.7 < curve["relative_cost"] <= 1


def test_all_teachers_are_starts_unless_others_are_named(tmp_path: Path) -> None:
    one = learner("search", sizes=(5, 10), rounds=1, sets=1)
    one.advance()
    assert {one.population.found[k].how for k in one.population.starts} == set(one.names)
    assert len(one.names) > 1
    mine = write(tmp_path / "mine.rules", INSERTION)
    named = learner("sort-bubble", f"{mine}, teacher:bubble_sort", sizes=(4,), rounds=1, sets=1)
    named.advance()
    assert named.names == (mine, "teacher:bubble_sort")
    first = named.population.found[0]
    assert (first.how, first.cost) == (mine, 1.0), "costs are relative to the first"


@pytest.mark.parametrize(
    ("start", "more"),
    [("nothing", {"gradients": 0}), ("no-such-agent", {}), ("teacher:linear_search", {}), ("teacher:quick_sort", {})],
)
def test_a_start_that_cannot_be_is_refused(start: str, more: dict[str, Any]) -> None:
    with pytest.raises(SurpassError):
        learner("sort-bubble", start, **more).advance()


def test_a_task_with_a_full_view_is_refused() -> None:
    with pytest.raises(SettingError):
        learner("sort-full")


def test_a_failing_start_is_repaired(tmp_path: Path) -> None:
    """Failures cost the whole limit, so an edit that repairs some is a saving."""
    one = learner("sort-bubble", write(tmp_path / "broken.rules", BROKEN), sizes=(4, 6), rounds=8)
    instances = one.task.draw(Request(size=6, count=200, seed=5, data="few-distinct"))
    before = run(parse_program(BROKEN, "broken"), instances).solved.mean()
    assert 0 < before < 1
    assert run(program_of_run(one), instances).solved.mean() > before


def test_a_network_learns_the_program(tmp_path: Path) -> None:
    """At the end it gives the program's action wherever it goes."""
    path = write(tmp_path / "insertion.rules", INSERTION)
    assert not search(learner("sort-bubble", path, sizes=(4, 6), rounds=2)).has_network
    one = learner("sort-bubble", path, sizes=(4, 6), rounds=2, network="yes")
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


def test_the_front_is_monotone_and_every_lineage_begins_at_a_start(tmp_path: Path) -> None:
    one = search(learner("sort-bubble", sizes=(4, 6), rounds=12, gradients=1))
    front = one.population.front
    for shorter, longer in itertools.pairwise(front):
        assert shorter.rules < longer.rules
        assert shorter.cost > longer.cost
    for found in front:
        line = one.population.lineage(found.number)
        assert line[0].number in one.population.starts
        assert line[-1] == found
        for former, later in itertools.pairwise(line):
            assert later.parents[0] == former.number
    one.write_files(tmp_path)
    records = json.loads((tmp_path / "front" / "front.json").read_text())
    assert [record["rules"] for record in records] == [found.rules for found in front]
    for record, found in zip(records, front, strict=True):
        text = (tmp_path / "front" / record["file"]).read_text()
        assert parse_program(text, "front") == parse_program(found.program, "found")
        assert [step["number"] for step in record["lineage"]] == [
            p.number for p in one.population.lineage(found.number)
        ]


def test_the_end_says_how_the_best_program_came_about_and_what_its_rules_save(tmp_path: Path) -> None:
    one = search(learner("sort-bubble", write(tmp_path / "costly.rules", COSTLY), sizes=(4, 6), rounds=3, sets=2))
    told = one.describe()
    assert str(tmp_path / "costly.rules") in told
    assert "needed" in told
    assert f"{one.tried:,}" in told
    assert learner("sort-bubble", "nothing", gradients=1).describe() == "", "before there is a program"


def test_a_search_tells_what_it_does_from_the_first_moment_on(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "surpass")
    one = learner("search")
    one.advance()
    told = [record.getMessage() for record in caplog.records if "compiling" not in record.getMessage()]
    assert {"teacher:binary_search", "teacher:linear_search", "teacher:bracket_search"} <= {*one.names}
    writing = [f"writing the program of {name}" for name in one.names]
    assert told[:-1] == [*writing, *(f"checking the program of {name}" for name in one.names)]
    assert told[-1].startswith("editing the programs on 2 islands; the best so far is teacher:bracket_search, ")
    assert told[-1].endswith("% of the cost of teacher:binary_search")


def test_what_is_shown_of_the_best_program_is_where_it_came_from(tmp_path: Path) -> None:
    path = write(tmp_path / "costly.rules", COSTLY)
    one = search(learner("sort-bubble", path, sizes=(4, 6), rounds=3, sets=2))
    assert one.best is not None
    facts = dict(one.status(one._line()).facts)
    assert facts["by"] == f"{one.best.rules} rules, {one.best.how}, from {path}"
    assert facts.get("tried since the last gain") == (f"{one.tried_in_vain:,} programs" if one.tried_in_vain else None)
    assert one.status(one._line()).measure.of.startswith("of the cost of ")


def state_of(one: Discover) -> str:
    """Return everything that a run has found, as text."""
    tensors, record = one.save_state()
    return repr({name: array.tobytes() for name, array in tensors.items()}) + json.dumps(record)


def test_a_run_goes_on_from_the_middle_with_work_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a gradient run too, which goes on from where its last part ended."""
    monkeypatch.setattr("surpass.learning.discover.gradients.PART_WORK", 1)
    few = {"sizes": (5, 10), "rounds": 9, "islands": 2, "gradients": 1, "sets": 2, "candidates": 8}
    made = [learner("search", **few) for _ in range(2)]
    whole, resumed = made
    search(whole, 3)
    assert len(whole._flight) == 1
    (running,) = whole._gradients
    assert running.part.state is not None
    tensors, record = whole.save_state()
    resumed.load_state({name: array.copy() for name, array in tensors.items()}, json.loads(json.dumps(record)))
    assert state_of(resumed) == state_of(whole)
    assert state_of(search(resumed)) == state_of(search(whole))
    assert resumed.population.front == whole.population.front


def test_equal_seeds_give_equal_programs_on_any_number_of_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a small task: processes of their own see no patches, so they extract and check with full effort."""
    monkeypatch.undo()
    few = {"sizes": (5,), "rounds": 6, "gradients": 1, "sets": 1, "candidates": 8, "instances": 8}
    states = []
    for processes, seed in ((1, 0), (2, 0), (1, 1)):
        one = Discover(as_task(EXAMPLE), DiscoverConfig(task="minimum", islands=2, seed=seed, **few))  # type: ignore[arg-type]
        with open_runner("local", processes) as one.runner:
            states.append(state_of(search(one)))
    assert states[0] == states[1]
    assert states[2] != states[0]


def test_gradients_from_nothing_give_a_first_program() -> None:
    """Which costs are relative to, and which islands edit from then on."""
    one = learner("search", "nothing", rounds=9, islands=1, gradients=1, sets=20, candidates=256, instances=20)
    assert one.status({}).comparisons == ()
    search(one)
    assert one.best is not None
    assert one.means
    first = one.population.found[one.population.starts[0]]
    assert (first.cost, first.parents) == (1.0, ())
    assert one.tried, "it was edited"


def test_counter_examples_are_made_smaller() -> None:
    """What fails on every list of two or more values fails on one of two."""
    stuck = "task sort-bubble\nalways: AssignVar(1, 1)"
    one = editor()
    long = one.task.write_instance(one.task.draw(Request(size=12, count=1, data="reversed")))
    small = one._shrink(Table(one.task, parse_program(stuck, "stuck")), long)
    assert len(small.split(",")) == 2


def test_costs_are_relative_to_a_program_that_is_sound() -> None:
    """One that fails is what they are relative to only if an earlier run of gradients found none that is sound."""
    one = learner("sort-bubble", "nothing", gradients=1, sizes=(4, 6))
    assert one._judge_learned(BROKEN, is_late=False) is None
    assert one.reference == ""
    sound = one._judge_learned(INSERTION, is_late=False)
    assert sound is not None
    assert sound.is_sound
    assert one.reference == INSERTION
    other = learner("sort-bubble", "nothing", gradients=1, sizes=(4, 6))
    assert other._judge_learned(BROKEN, is_late=True) is not None
    assert other.reference == BROKEN


def test_costs_become_relative_to_the_first_program_that_is_sound() -> None:
    """What the failing one cost at each size says little; every chain begins anew."""
    one = learner("sort-bubble", "nothing", gradients=1, sizes=(4, 6), rounds=4)
    for program in (BROKEN, COSTLY):
        judged = one._judge_learned(program, is_late=True)
        assert judged is not None
        one._add(judged, "gradients from nothing", ())
    assert one.best is not None
    assert (one.reference, one.best.number) == (BROKEN, 1)
    search(one)
    assert one.parse(one.reference) == parse_program(COSTLY, "costly")
    assert one.population.found[1].cost == 1.0
    assert one.means == list(one.population.found[1].means)
