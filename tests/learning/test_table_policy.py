"""Mirror descent on a table of logits."""

from __future__ import annotations

import numpy as np
import pytest

from surpass.engine.run import run
from surpass.errors import DivergedError, SavedFileError, SettingError, UnknownNameError
from surpass.learning.methods import new_learner
from surpass.learning.stages import StagedLearner
from surpass.learning.table_policy.learner import TablePolicyConfig, TablePolicyGradient
from surpass.machine.interface import NO_ACTION
from surpass.machine.state import Outcome
from surpass.table import EMPTY
from surpass.tasks.registry import find_task
from surpass.tasks.task import Request

TEACHERS = {
    "sort-bubble": "insertion_sort",
    "sort-quick": "quick_sort",
    "search": "binary_search",
    "knapsack": "depth_first",
}


def learner_of(task: str, teacher: str = "", **settings: object) -> TablePolicyGradient:
    chosen: dict[str, object] = {"stages": "2-5", "episodes": 64, "updates": 20, "checked": 10, **settings}
    config = TablePolicyConfig(task=task, teacher=teacher, **chosen)  # type: ignore[arg-type]
    return TablePolicyGradient(find_task(task), config)


def play(learner: TablePolicyGradient, count: int = 40, size: int = 5, tried: float = 0.0):  # type: ignore[no-untyped-def]
    learner.temperature = 0.0
    instances = learner.task.draw(Request(size=size, count=count, seed=3, queries=learner.queries))
    limits = learner._limits_of(instances.sizes)
    random = np.random.default_rng(5).integers(1, 2**32, (count, 2), dtype=np.int64)
    batch, record, trials = learner.sampler.play(instances, limits, np.zeros(count, np.int64), random, tried)
    return batch, record, trials, limits


@pytest.mark.parametrize("task", TEACHERS)
def test_the_sums_of_a_batch_are_those_of_its_steps_one_by_one(task: str) -> None:
    learner = learner_of(task, TEACHERS[task], softness=2.0)
    batch, record, trials, limits = play(learner)
    policy, interface = learner.policy, learner.task.interface
    critic = learner.critic.with_room(policy.count)
    critic.weights[:] = np.arange(len(critic.weights)) / 7
    critic.usual[0] = 2.5
    trace, wrong, progress = 0.7, 0.5, learner.task.reward.progress
    sums, rows = learner.sampler.sum_up(
        batch, record, trials, critic, np.array([1.0, wrong, progress, trace, 3.0]), limits
    )
    advantages, counts = np.zeros_like(sums.advantages), np.zeros_like(sums.counts)
    returns = np.zeros_like(sums.returns)
    for b in range(len(limits)):
        steps = range(record.starts[b], record.starts[b] + batch.steps[b])
        rewards = [progress * record.gains[at] - 1.0 for at in steps]
        if batch.outcomes[b] == Outcome.WRONG_ANSWER:
            rewards[-1] -= wrong * limits[b]
        values = [critic.usual[0] + record.hints[at].astype(float) @ critic.weights for at in steps] + [0.0]
        surprises = [rewards[t] + values[t + 1] - values[t] for t in range(len(rewards))]
        for t, at in enumerate(steps):
            advantage = sum(trace**k * surprise for k, surprise in enumerate(surprises[t:]))
            decision = int(record.rows[at])
            returns[decision] += sum(rewards[t:])
            assert policy.observations[decision] < interface.observation_count
            for choice in _choices(interface.action_rows[record.actions[at]], interface):
                advantages[decision, choice] += advantage
                counts[decision, choice] += 1
                decision = int(policy.links[decision, choice])
    assert counts.sum() > 100
    np.testing.assert_array_equal(sums.counts, counts)
    np.testing.assert_allclose(sums.advantages, advantages, atol=1e-3)
    np.testing.assert_allclose(sums.returns, returns, rtol=1e-5)
    np.testing.assert_array_equal(rows, np.flatnonzero(counts.sum(axis=1)))


def _choices(row, interface):  # type: ignore[no-untyped-def]
    """Return the instruction and the operands of an action, as indices."""
    return row[: 1 + len(interface.instructions[row[0]].operands)].tolist()


@pytest.mark.parametrize("task", TEACHERS)
def test_choices_are_made_as_often_as_their_probabilities_say(task: str) -> None:
    learner = learner_of(task, softness=0.0)
    learner.policy.explored = 0.1
    batch, record, _, _ = play(learner, count=600)
    policy = learner.policy
    policy.logits[: policy.count] = np.random.default_rng(1).normal(size=(policy.count, policy.width))
    policy.refresh()
    batch, record, trials, limits = play(learner, count=600)
    critic = learner.critic.with_room(policy.count)
    sums, _ = learner.sampler.sum_up(batch, record, trials, critic, np.ones(5), limits)
    row = int(np.argmax(sums.totals))
    logits = policy.whole_logits(np.array([row]))[0]
    shares = np.exp(logits) / np.exp(logits).sum()
    exists = np.isfinite(logits)
    shares = 0.9 * shares + 0.1 * exists / exists.sum()
    total = sums.totals[row]
    assert total > 300
    np.testing.assert_allclose(sums.counts[row] / total, shares, atol=4 / np.sqrt(total))


@pytest.mark.parametrize("task", TEACHERS)
def test_the_most_likely_actions_are_the_teachers_to_begin_with(task: str) -> None:
    learner = learner_of(task, TEACHERS[task])
    play(learner)
    observations = learner.policy.keys[learner.policy.keys != EMPTY]
    actions, best = learner.teacher.actions(observations), learner.policy.best_actions(observations)
    both = (actions != NO_ACTION) & (best != NO_ACTION)
    assert both.sum() > 20
    np.testing.assert_array_equal(best[both], actions[both])


def test_decisions_after_other_actions_share_what_is_learned() -> None:
    learner = learner_of("search")
    play(learner)
    policy, interface = learner.policy, learner.task.interface
    first = np.flatnonzero(policy.origins[: policy.count] < 0)
    previous = interface.strides[interface.feature_index["previous"]]
    _, groups = np.unique(policy.observations[first] % previous, return_inverse=True)
    assert policy.shared.shape[1] == 1
    _, shared = np.unique(policy.shared[first, 0], return_inverse=True)
    assert len(np.unique(groups)) == len(np.unique(shared)) == len(np.unique(groups * len(first) + shared))
    policy.shared_logits[policy.shared[first[0], 0], 3] = 50.0
    fresh = policy.observations[first[0]] % previous + previous * (interface.action_count - 1)
    policy.add_observations(np.array([fresh]))
    assert policy.whole_logits(np.array([policy.count - 1]))[0].argmax() == 3


def test_decisions_share_what_is_learned_in_each_view() -> None:
    learner = learner_of("search", views="v? ? v?,q* | previous")
    play(learner)
    policy, interface = learner.policy, learner.task.interface
    first = np.flatnonzero(policy.origins[: policy.count] < 0)
    digits = policy.observations[first][:, None] // interface.strides % interface.radices
    shown = [interface.feature_index[name] for name in ("v1 ? v2", "v3 ? v4", "q ? A[v1]")]
    for view, features in enumerate((shown, [interface.feature_index["previous"]])):
        for row in np.unique(policy.shared[first, view]):
            alike = digits[policy.shared[first, view] == row][:, features]
            assert (alike == alike[0]).all()
    assert len(np.unique(policy.shared[first, 1])) == len(np.unique(digits[:, interface.feature_index["previous"]]))
    with pytest.raises(SettingError, match=r"views has 'w\*', which no feature is named like: v1 \? v2, "):
        learner_of("search", views="w*")


@pytest.mark.parametrize("task", TEACHERS)
def test_what_is_tried_is_judged_by_the_critic_and_changes_nothing(task: str) -> None:
    learner = learner_of(task, TEACHERS[task], softness=2.0)
    batch, record, trials, limits = play(learner, tried=0.5)
    policy, interface = learner.policy, learner.task.interface
    critic = learner.critic.with_room(policy.count)
    critic.weights[:] = np.arange(len(critic.weights)) / 7
    critic.usual[0] = 2.5
    progress = learner.task.reward.progress
    sums, _ = learner.sampler.sum_up(batch, record, trials, critic, np.array([1.0, 0.5, progress, 0.7, 3.0]), limits)
    tried, tries = np.zeros_like(sums.tried), np.zeros_like(sums.tries)
    places = [(b, record.starts[b] + k) for b in range(len(limits)) for k in range(batch.steps[b])]
    for b, at in places:
        if trials.actions[at] < 0:
            continue
        worth = progress * trials.gains[at] - 1.0
        if trials.outcomes[at] == Outcome.WRONG_ANSWER:
            worth -= 0.5 * limits[b]
        if trials.outcomes[at] == Outcome.RUNNING:
            worth += critic.usual[0] + trials.hints[at].astype(float) @ critic.weights
        decision, row = int(record.rows[at]), interface.action_rows[trials.actions[at]]
        for k in range(trials.levels[at]):
            decision = int(policy.links[decision, row[k]])
        choice = row[trials.levels[at]]
        tried[decision, choice] += worth - critic.usual[0] - record.hints[at].astype(float) @ critic.weights
        tries[decision, choice] += 1
        # Where the same was done as tried, the next step begins where the trial ended.
        is_same = trials.actions[at] == record.actions[at] and trials.outcomes[at] == Outcome.RUNNING
        if is_same and at + 1 < record.starts[b] + batch.steps[b]:
            np.testing.assert_allclose(trials.hints[at], record.hints[at + 1], rtol=1e-5)
    assert 0.3 < tries.sum() / len(places) < 0.7
    np.testing.assert_array_equal(sums.tries, tries)
    np.testing.assert_allclose(sums.tried, tried, atol=1e-2)


@pytest.mark.parametrize("task", ["search", "sort-quick"])
def test_the_number_of_threads_makes_no_difference(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("SURPASS_THREADS", threads)
        learner = learner_of(task, straying=0.5, tried=0.5, stages="2-5 3-6", updates_per_round=3)
        learner.advance()
        found.append(learner.policy)
    assert found[0].count == found[1].count > 100
    np.testing.assert_array_equal(found[0].logits[: found[0].count], found[1].logits[: found[0].count])


@pytest.mark.parametrize("attempts", [1, 2])
def test_a_restored_learner_goes_on_exactly_as_the_first(attempts: int) -> None:
    settings = {"updates_per_round": 2, "updates": 4, "stages": "2-3 2-4", "solved": 0.0, "straying": 0.3, "tried": 0.3}
    first, second = (learner_of("search", mending=2, attempts=attempts, **settings) for _ in range(2))
    for _ in range(3):
        first.advance()
    second.load_state(*first.save_state())
    for _ in range(12):
        if not first.done:
            assert first.advance() == second.advance()
    states = [learner.save_state() for learner in (first, second)]
    assert states[0][1] == states[1][1]
    assert states[0][0].keys() == states[1][0].keys()
    assert "pupil.slots.0.0.weight" in states[0][0] or first.is_descending is False
    for name, array in states[0][0].items():
        np.testing.assert_array_equal(array, states[1][0][name], err_msg=name)


def test_the_best_attempt_is_taught() -> None:
    settings = {
        "stages": "2-3 2-4",
        "updates": 20,
        "updates_per_round": 20,
        "solved": 0.0,
        "checked": 100,
        "episodes": 256,
    }
    learner = learner_of("sort-bubble", attempts=3, **settings)
    assert learner.ranges == [(2, 3), (2, 4)] * 3
    instances, merits = learner.task.draw(learner.measured_on(4)), []
    while learner.is_descending:
        assert learner._is_last_stage == bool(learner.stage % 2)
        is_last, attempt = learner._is_last_stage, learner.most_likely
        words = f"attempt {learner.stage // 2 + 1} of 3, stage {learner.stage % 2 + 1} of 2, sizes 2 to"
        assert words in learner.outlook(learner.advance()).doing
        if is_last:
            merits.append(merit_of(attempt, instances))
    assert len(set(merits)) > 1, "the attempts do not differ"
    assert merits[-1] < max(merits), "the last attempt is the best: another seed shows more"
    assert merit_of(learner.most_likely, instances) == max(merits)


def merit_of(agent, instances):  # type: ignore[no-untyped-def]
    results = run(agent, instances, find_loops=True)
    return float(results.solved.mean()), float(results.rewards.mean())


def test_an_attempt_that_diverges_is_passed_over_unless_all_do(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"stages": "2-3 2-4", "updates": 1, "updates_per_round": 5, "solved": 1.0}
    plain = StagedLearner._end_stage
    monkeypatch.setattr(StagedLearner, "_end_stage", lambda self, solved: plain(self, 1.0 if self.stage > 1 else 0.0))
    learner = learner_of("search", attempts=2, **settings)
    learner.advance()
    assert learner.stage == 2, "the second attempt begins with its first stage"
    for _ in range(2):
        learner.advance()
    assert not learner.is_descending
    assert learner.policy.count
    monkeypatch.setattr(StagedLearner, "_end_stage", lambda self, solved: plain(self, 0.0))
    hopeless = learner_of("search", attempts=2, **settings)
    hopeless.advance()
    with pytest.raises(DivergedError, match=r"on sizes 2 to 3 only .* are solved"):
        hopeless.advance()


def test_hard_instances_take_no_more_steps_than_the_others_may() -> None:
    learner = learner_of("sort-bubble", episodes=64)
    learner.hard = ["2,1,2"]
    small = learner._draw()
    assert (small.count, (small.sizes[48:] == 3).all()) == (64, True)
    learner.hard = [",".join(map(str, range(40, 0, -1)))]
    large = learner._draw()
    usual, hard = large.sizes <= 5, large.sizes == 40
    assert (usual.sum(), usual.sum() + hard.sum()) == (48, large.count)
    limits = learner._limits_of(large.sizes)
    assert hard.sum() == max(1, limits[usual].sum() // limits[hard][0]) < 16


def test_a_damaged_state_is_refused() -> None:
    learner = learner_of("search", updates_per_round=2)
    learner.advance()
    tensors, record = learner.save_state()
    for change in (
        {"table.origins": np.full_like(tensors["table.origins"], 10**6)},
        {"table.nodes": tensors["table.nodes"][::-1].copy()},
        {"table.logits": tensors["table.logits"][1:]},
        {"critic.weights": np.full_like(tensors["critic.weights"], np.nan)},
    ):
        with pytest.raises(SavedFileError):
            learner_of("search", updates_per_round=2).load_state({**tensors, **change}, record)
    with pytest.raises(SavedFileError):
        learner_of("search", updates_per_round=2).load_state(tensors, {**record, "stage": 7})


def test_it_learns_to_search_short_lists_from_nothing() -> None:
    learner = learner_of("search", stages="2-3 2-4", updates=60, episodes=2048, straying=0.5)
    while learner.is_descending:
        curve = learner.advance()
    assert curve["sampled_solved"] > 0.98
    instances = learner.task.draw(Request(size=3, count=300, seed=9))
    results = run(learner.most_likely, instances)
    assert results.solved.all()
    assert results.steps.mean() < 2.2  # binary search takes 3.1


def test_it_beats_its_teacher_on_short_lists() -> None:
    learner = learner_of(
        "sort-bubble", "insertion_sort", stages="3-6", updates=100, episodes=1024, temperature=0.0, explored=0.01
    )
    while learner.is_descending:
        learner.advance()
    instances = learner.task.draw(Request(size=6, count=500, seed=9))
    results, teachers = run(learner.most_likely, instances), run(learner.teacher, instances)
    assert results.solved.all()
    assert results.steps.mean() < teachers.steps.mean() - 1.0


def test_a_stage_that_is_not_solved_ends_the_run_in_a_sentence() -> None:
    learner = learner_of("sort-bubble", updates=1, updates_per_round=5, stages="12-14", limit="3")
    with pytest.raises(DivergedError, match=r"on sizes 12 to 14 only .* are solved, 98% are wanted"):
        learner.advance()


@pytest.mark.parametrize("text", ["5", "6-3", "0-4", "a-b", "3-6,5-9", "1-99999999999999999999"])
def test_stages_that_are_no_ranges_are_refused(text: str) -> None:
    with pytest.raises(SettingError, match=r"stages has .*; it must be ranges of sizes, such as 3-6 5-10 10-20"):
        learner_of("search", stages=text)


def test_what_is_optimised_is_a_setting() -> None:
    task = find_task("search")
    assert isinstance(new_learner(task, "rl", settings={"policy": "table"}), TablePolicyGradient)
    assert new_learner(task, "rl", settings={"policy": "network"}).recipe["policy"] == "network"
    with pytest.raises(UnknownNameError, match="unknown policy 'both'"):
        new_learner(task, "rl", settings={"policy": "both"})
