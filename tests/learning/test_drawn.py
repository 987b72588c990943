"""Policy gradient over whole tables."""

from __future__ import annotations

import numpy as np
import pytest

from surpass.engine.run import run
from surpass.errors import SavedFileError, SettingError, UnknownNameError
from surpass.learning.drawn.learner import DrawnConfig, DrawnPolicyGradient, advantages_of, find_same
from surpass.learning.drawn.play import play_and_see, worth_of
from surpass.learning.drawn.policy import Drawn, DrawnPolicy, draw_each
from surpass.learning.levelling import groups_of, merits_of, shortfalls_of, weights_of
from surpass.learning.methods import new_learner
from surpass.machine.interface import NO_ACTION
from surpass.machine.state import Outcome
from surpass.table import Table
from surpass.tasks.registry import find_task
from surpass.tasks.task import Request

KNAPSACK = find_task("knapsack")


def learner_of(task: str = "knapsack", teacher: str = "", **settings: object) -> DrawnPolicyGradient:
    chosen: dict[str, object] = {"stages": "3-6", "episodes": 20, "tables": 8, "updates": 4, "checked": 10}
    chosen |= {"step_cost": 0.0, **settings}
    return DrawnPolicyGradient(find_task(task), DrawnConfig(task=task, teacher=teacher, **chosen))  # type: ignore[arg-type]


def test_actions_are_drawn_as_often_as_their_logits_say() -> None:
    logits = np.tile([0.0, 1.0, -2.0, 0.5], (40_000, 1))
    drawn = draw_each(logits, np.random.default_rng(1))
    shares = np.exp(logits[0]) / np.exp(logits[0]).sum()
    assert np.bincount(drawn, minlength=4) / len(drawn) == pytest.approx(shares, abs=0.01)


def test_a_table_keeps_what_was_drawn_for_it() -> None:
    policy = DrawnPolicy(KNAPSACK, None, 0.0)
    table = Table(KNAPSACK, Drawn(policy, np.random.default_rng(2)))
    asked = np.arange(KNAPSACK.interface.observation_count)
    first = table.actions(asked)
    assert len(np.unique(first)) == KNAPSACK.interface.action_count
    np.testing.assert_array_equal(table.actions(asked), first)


def test_rows_stay_with_their_observations_as_others_are_added() -> None:
    policy = DrawnPolicy(KNAPSACK, None, 0.0)
    np.testing.assert_array_equal(policy.best_actions(np.array([5])), [NO_ACTION])
    policy.add(np.array([7, 300]))
    policy.logits[policy.rows_of(np.array([7, 300])), [2, 4]] = 1.0
    policy.add(np.array([2, 7, 100, 800]))
    np.testing.assert_array_equal(policy.observations, [2, 7, 100, 300, 800])
    np.testing.assert_array_equal(policy.best_actions(np.array([300, 7, 8])), [4, 2, NO_ACTION])


def test_a_policy_begins_with_the_actions_of_its_teacher() -> None:
    learner = learner_of(teacher="depth_first", softness=3.0)
    table = Table.of(learner.teacher)  # type: ignore[arg-type]
    run(table, KNAPSACK.draw(Request(size=5, count=20, seed=1)))
    seen = table.observations
    learner.policy.add(seen)
    np.testing.assert_array_equal(learner.most_likely.actions(seen), table.actions(seen))
    assert learner.policy.logits.max(axis=1) == pytest.approx(3.0)


def test_an_instance_is_seen_to_come_where_it_comes() -> None:
    teacher = learner_of(teacher="depth_first").teacher
    instances = KNAPSACK.draw(Request(size=6, count=5, seed=4))
    batch, observations, seen = play_and_see(Table(KNAPSACK, teacher), instances, np.full(5, 90))
    for b in range(5):
        table = Table(KNAPSACK, teacher)
        run(table, instances.part(b, b + 1))
        alone = play_and_see(Table(KNAPSACK, teacher), instances.part(b, b + 1), np.full(1, 90))
        np.testing.assert_array_equal(observations[seen[b]], alone[1])
        assert batch.steps[b] == alone[0].steps[0]
    assert seen.any(axis=0).all()
    assert not seen.all()


def test_places_that_move_while_a_table_grows_keep_who_came_there() -> None:
    task = find_task("sort-quick")
    teacher = new_learner(task, "rl+imitation", settings={"policy": "drawn"}).teacher  # type: ignore[union-attr]
    instances = task.draw(Request(size=60, count=6, seed=1))
    limits = np.full(6, 20_000)
    known = Table(task, teacher)
    _, observations, seen = play_and_see(known, instances, limits)
    again = Table(task, teacher)
    again.insert(*known.entries())
    _, same, seen_again = play_and_see(again, instances, limits)
    np.testing.assert_array_equal(observations, same)
    np.testing.assert_array_equal(seen, seen_again)


def test_an_advantage_is_the_share_of_tables_that_one_beats_less_the_share_that_beats_it() -> None:
    worth = np.array([[1.0, 100.0, -3.0], [1.0, 300.0, -3.1], [1.0 + 1e-12, 200.0, -3.0], [1.0, 50.0, -3.0]])
    found = advantages_of(worth)
    assert found[:, 0].tolist() == [0, 0, 0, 0]
    assert found[:, 1].tolist() == [-0.25, 0.75, 0.25, -0.75]
    assert found[:, 2].tolist() == [0.25, -0.75, 0.25, 0.25]


def test_where_the_score_counts_too_many_open_calls_bring_nothing() -> None:
    calling = KNAPSACK.interface.offsets[3]
    every = np.arange(KNAPSACK.interface.observation_count)
    put_then_call = np.where(every < KNAPSACK.interface.strides[-1], 0, calling)
    table = Table.holding(KNAPSACK, every, put_then_call)
    table.insert(every[: KNAPSACK.interface.strides[-1]], np.full(KNAPSACK.interface.strides[-1], calling))
    instances = KNAPSACK.draw(Request(size=4, count=3, seed=0))
    limits = np.full(3, 5000)
    batch, _, _ = play_and_see(table, instances, limits)
    assert (batch.outcomes == Outcome.STACK_LIMIT).all()
    batch.reals[:, 0] = 1.0
    assert worth_of(KNAPSACK, batch, limits, 0.0, 1.0).tolist() == [0, 0, 0]
    batch.outcomes[1] = Outcome.STEP_LIMIT
    assert worth_of(KNAPSACK, batch, limits, 0.0, 1.0).tolist() == [0, 1, 0]


def test_an_action_that_always_brings_more_becomes_the_most_likely_one() -> None:
    learner = learner_of()
    learner.policy.add(np.array([3, 9]))
    seen = np.array([[True, True], [True, False]])
    met = [(np.array([3, 9]), np.array([1, 2]), seen), (np.array([3, 9]), np.array([4, 5]), seen)]
    for _ in range(5):
        learner._learn(met, np.array([[1.0, 0.5], [-1.0, -0.5]]))
    np.testing.assert_array_equal(learner.most_likely.actions(np.array([3, 9])), [1, 2])
    logits = learner.policy.logits
    # An advantage of 0.75 in the mean of the first, and of 1 in that of the second, shrunk towards nothing.
    assert logits[0, 1] > 0 > logits[0, 4]
    assert logits[0, [0, 2, 3, 5]].tolist() == [0, 0, 0, 0]
    assert (logits.max(axis=1) - logits.min(axis=1) <= learner.config.furthest).all()


def test_it_learns_to_pack_from_nothing() -> None:
    learner = learner_of(episodes=40, tables=32, limit="20n,100n", updates=40, updates_per_round=40)
    instances = KNAPSACK.draw(Request(size=5, count=200, seed=9))
    learner.advance()
    learned = run(learner.most_likely, instances).scores.mean()
    # A quarter of the total value is what putting in items until one does not fit brings, and more.
    assert learned > 1.4


@pytest.mark.parametrize("task", ["sort-bubble", "sort-quick", "search", "knapsack"])
def test_it_runs_on_every_task_with_a_table(task: str) -> None:
    small = {
        "policy": "drawn",
        "episodes": "5",
        "tables": "3",
        "stages": "3-4",
        "levelled": "0",
        "updates": "2",
        "last_updates": "0",
        "updates_per_round": "2",
    }
    learner = new_learner(find_task(task), "rl+imitation", settings=small)
    assert isinstance(learner, DrawnPolicyGradient)
    assert learner.advance()["decisions"] > 10


def test_a_start_must_be_an_agent_of_the_task() -> None:
    learner = learner_of(start="zoo:knapsack/rl")
    learner.update()
    assert len(learner.policy.observations) > 10
    with pytest.raises(SettingError, match="cannot be carried over to knapsack"):
        learner_of(start="zoo:search/rl")
    with pytest.raises(UnknownNameError):
        learner_of(policy="forks")


def test_a_state_comes_back_as_it_was_and_damaged_ones_are_refused() -> None:
    learner, other = learner_of(), learner_of()
    learner.advance()
    tensors, record = learner.save_state()
    other.load_state(tensors, record)
    for name, array in learner.policy.save().items():
        np.testing.assert_array_equal(other.policy.save()[name], array)
    learner.update()
    other.update()
    np.testing.assert_array_equal(learner.policy.logits, other.policy.logits)
    for damaged in (
        {**tensors, "rows.observations": tensors["rows.observations"][::-1].copy()},
        {**tensors, "rows.logits": tensors["rows.logits"][1:]},
    ):
        with pytest.raises(SavedFileError):
            other.load_state(damaged, record)


def test_small_sizes_can_be_preferred() -> None:
    learner = learner_of(stages="2-511", spread="doubling", skew=2.0, episodes=20)
    sizes = []
    for learner.updates in range(200):
        sizes += learner._draw().sizes.tolist()
    # Sizes 2 to 511 are eight doublings, and the first quarter of them are those below 8.
    assert np.mean(np.array(sizes) < 8) == pytest.approx(0.5, abs=0.03)


def test_instances_take_several_limits_in_turn() -> None:
    learner = learner_of(limit="20n,100n")
    assert learner._limits_of(np.array([2, 2, 3])).tolist() == [40, 200, 60]
    with pytest.raises(SettingError, match="the limit 'many' is not"):
        learner_of(limit="20n,many")


def test_a_table_that_does_the_same_where_another_came_is_found() -> None:
    met = [
        (np.array([3, 9]), np.array([1, 2]), np.ones((1, 2), np.bool_)),
        (np.array([3]), np.array([4]), np.ones((1, 1), np.bool_)),
    ]
    every = np.arange(KNAPSACK.interface.observation_count)
    actions = np.zeros(len(every), np.int64)
    for at_3, at_9, found in ((1, 2, 0), (4, 2, 1), (1, 3, None)):
        actions[[3, 9]] = at_3, at_9
        assert find_same(Table.holding(KNAPSACK, every, actions), met) == found


# Levelling


def test_groups_are_of_like_sizes_and_one_limit() -> None:
    sizes = np.array([4, 4, 5, 5, 6, 7, 8, 16])
    groups = groups_of(sizes, 2)
    # Half a doubling from 4 on ends before 6; the last two groups lie two halves and four halves further.
    assert groups.tolist() == [0, 1, 0, 1, 2, 3, 4, 5]
    assert groups_of(sizes, 1).tolist() == [0, 0, 0, 0, 1, 1, 2, 3]


def test_a_shortfall_is_counted_from_the_best_earlier_table_of_each_group() -> None:
    groups = np.array([0, 0, 1])
    earlier = np.array([[1.0, 3.0, 50.0], [0.5, 2.0, 100.0]])
    worth = np.array([[1.0, 4.0, 80.0], [0.0, 0.0, 0.0]])
    found = shortfalls_of(worth, earlier, groups)
    # As shares of the most of each instance, 1, 4 and 100, the first earlier table has 1 and 3/4, the second 1 at last.
    assert found == pytest.approx(np.array([[-0.125, 0.2], [0.875, 1.0]]))
    assert shortfalls_of(np.zeros((1, 3)), np.zeros((1, 3)), groups).tolist() == [[0, 0]]


def test_the_group_that_is_furthest_behind_decides_where_the_sharpness_is_large() -> None:
    even, one_sided = np.array([0.02, 0.02]), np.array([-0.5, 0.03])
    blunt, sharp = (merits_of(np.array([even, one_sided]), sharpness) for sharpness in (0.01, 1000.0))
    assert blunt == pytest.approx([-0.02, 0.235], abs=0.001)
    assert sharp == pytest.approx([-0.02, -0.03], abs=0.001)
    assert np.isfinite(merits_of(np.array([[1e6, 0.0]]), 1000.0)).all()


def test_an_instance_counts_for_as_much_as_the_merit_changes_with_it() -> None:
    """The weights are the derivatives of the merit, as long as no instance brings more than it did to the others."""
    random = np.random.default_rng(0)
    sizes = np.repeat([3, 8, 20], 10)
    groups, earlier = groups_of(sizes, 2), random.uniform(2, 3, (2, 30))
    worth = random.uniform(1, 2, 30)
    weights = weights_of(worth, earlier, groups, 20.0)
    for k in range(30):
        more = worth + 1e-6 * (np.arange(30) == k)
        before, after = (merits_of(shortfalls_of(w[None], earlier, groups), 20.0)[0] for w in (worth, more))
        assert (after - before) / 1e-6 == pytest.approx(weights[k], rel=1e-3)


def levelling_learner(**settings: object) -> DrawnPolicyGradient:
    chosen: dict[str, object] = {"stages": "3-4 3-8 3-6", "levelled": 1, "levelled_episodes": 30, "limit": "20n,100n"}
    return learner_of(**{**chosen, "updates_per_round": 4, **settings})  # type: ignore[arg-type]


def test_stages_begin_anew_until_the_last_levels_what_they_left() -> None:
    learner = levelling_learner(updates=8)
    assert learner.advance()["mean_reward"] > 0
    learner._begin_round()
    assert len(learner.policy.observations)
    assert learner.advance()["mean_reward"] > 0
    assert len(learner._earlier) == learner.stage == 1
    learner._begin_round()
    assert not len(learner.policy.observations)
    learner.advance()
    learner.advance()
    assert len(learner._earlier) == learner.stage == 2
    observations, actions = learner._earlier[1]
    np.testing.assert_array_equal(learner.most_likely.actions(observations), actions)
    drawn = learner._draw()
    assert (drawn.count, drawn.sizes.max()) == (30, 6)
    learner.update()
    np.testing.assert_array_equal(learner._draw().reals, drawn.reals)
    learner.updates += 3
    assert not np.array_equal(learner._draw().reals, drawn.reals)


def test_a_table_is_compared_as_a_whole_while_it_levels() -> None:
    learner = levelling_learner()
    learner.advance()
    learner.advance()
    instances = learner._draw()
    limits = learner._limits_of(instances.sizes)
    played = [
        play_and_see(Table.holding(KNAPSACK, *earlier), instances, limits)[0].reals[:, 0]
        for earlier in learner._earlier
    ]
    best = np.maximum(*played)
    # The first is as good as the best on every instance, the second gains much on large ones alone, the third is worse.
    worth = np.array([best, np.where(instances.sizes == 6, 3 * best, 0.5 * best), 0.3 * best])
    advantages = learner._level(worth, instances, limits)
    assert (advantages == advantages[:, :1]).all()
    assert advantages[:, 0] == pytest.approx([2 / 3, 0, -2 / 3])


def test_a_levelling_state_comes_back_as_it_was_and_damaged_ones_are_refused() -> None:
    learner, other = levelling_learner(), levelling_learner()
    learner.advance()
    learner.advance()
    learner.update()
    tensors, record = learner.save_state()
    other.load_state(tensors, record)
    learner.update()
    other.update()
    np.testing.assert_array_equal(learner.policy.logits, other.policy.logits)
    missing = {name: array for name, array in tensors.items() if name != "earlier.1.actions"}
    for damaged in (missing, {**tensors, "earlier.0.actions": tensors["earlier.0.actions"][1:]}):
        with pytest.raises(SavedFileError):
            levelling_learner().load_state(damaged, record)


def test_not_all_stages_can_level() -> None:
    with pytest.raises(SettingError, match="of 1 stages at most 0 can level"):
        learner_of(levelled=1)
    with pytest.raises(SettingError, match="sharpness is 0"):
        levelling_learner(sharpness=0.0)
