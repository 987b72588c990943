"""Policy gradient from forks."""

from __future__ import annotations

import numpy as np
import pytest

from surpass.agents import find_agent
from surpass.agents.networks.agent import NetworkAgent
from surpass.arrays import Ints, Reals
from surpass.engine.run import run
from surpass.errors import SavedFileError, SettingError, UnknownNameError
from surpass.learning.forks.judging import JudgedInstances
from surpass.learning.forks.learner import ForkConfig, ForkPolicyGradient
from surpass.learning.forks.play import go_on, observe, play, returns_of, start, take_step
from surpass.learning.forks.policy import SummedPolicy
from surpass.learning.methods import new_learner
from surpass.learning.views import read_views
from surpass.machine.interface import NO_ACTION
from surpass.table import Table
from surpass.tasks.registry import find_task
from surpass.tasks.task import Request

STANDS = "function,previous,v1 ? v2,v1 ? v3,v2 ? v3,v2 ? v4,v3 ? v4,A[v2] ? A[v4]"


def learner_of(task: str = "sort-quick", teacher: str = "quick_sort", **settings: object) -> ForkPolicyGradient:
    chosen: dict[str, object] = {"stages": "4-8", "episodes": 40, "updates": 4, "checked": 10, **settings}
    config = ForkConfig(task=task, teacher=teacher, **chosen)  # type: ignore[arg-type]
    return ForkPolicyGradient(find_task(task), config)


def policy_of(views: str = STANDS) -> SummedPolicy:
    """Return a policy of sort-quick with actions that were tried where quick sort comes, and random logits."""
    task = find_task("sort-quick")
    learner = learner_of()
    table = Table.of(learner.teacher)  # type: ignore[arg-type]
    run(table, task.draw(Request(size=6, count=30, seed=1)))
    policy = SummedPolicy(task, table, 2.0, read_views(views, task.interface))
    random = np.random.default_rng(3)
    seen = random.choice(table.observations, 400)
    policy.cells_of(seen, random.integers(0, 12, 400))
    policy.logits[: policy.count] = random.normal(size=policy.count)
    return policy


def sums_of(policy: SummedPolicy, observation: int) -> dict[int, float]:
    """Return the logits of an observation, found by going through all cells."""
    found: dict[int, float] = {}
    taught = int(policy.taught(np.array([observation]))[0])
    if taught != NO_ACTION:
        found[taught] = policy.softness
    for row in policy.rows_of(np.array([observation]))[0].tolist():
        cell = int(policy.heads[row]) if row >= 0 else -1
        while cell >= 0:
            action = int(policy.actions[cell])
            found[action] = found.get(action, 0.0) + float(policy.logits[cell])
            cell = int(policy.following[cell])
    return found


def test_the_best_action_has_the_largest_sum_over_the_views() -> None:
    policy = policy_of()
    seen = policy.teacher.observations[:100]  # type: ignore[union-attr]
    best = policy.best_actions(seen)
    for observation, action in zip(seen.tolist(), best.tolist(), strict=True):
        sums = sums_of(policy, observation)
        assert action == max(sums, key=lambda a: sums[a])
    assert (best != policy.taught(seen)).any()


def test_others_are_drawn_as_often_as_their_logits_say() -> None:
    policy = policy_of()
    seen = policy.teacher.observations  # type: ignore[union-attr]
    observation = max(seen.tolist(), key=lambda one: len(sums_of(policy, one)))
    sums = sums_of(policy, observation)
    best = int(policy.best_actions(np.array([observation]))[0])
    many = np.full(20_000, observation)
    drawn = policy.draw_others(many, np.full(20_000, best), np.random.default_rng(2).random(20_000))
    shares = {action: np.exp(logit) for action, logit in sums.items() if action != best}
    assert len(shares) > 3
    for action, share in shares.items():
        assert (drawn == action).mean() == pytest.approx(share / sum(shares.values()), abs=0.015)
    assert not (drawn == best).any()


def test_what_is_learned_in_a_view_is_known_wherever_it_shows_the_same() -> None:
    task = find_task("sort-quick")
    policy = SummedPolicy(task, None, 2.0, read_views("previous", task.interface))
    stride = task.interface.strides[task.interface.feature_index["previous"]]
    here, alike, other = 5 * stride + 1, 5 * stride + 2, 6 * stride + 1
    cells = policy.cells_of(np.array([here]), np.array([7]))
    policy.logits[cells[0, 0]] = 1.0
    np.testing.assert_array_equal(policy.best_actions(np.array([here, alike, other])), [7, 7, NO_ACTION])


def test_an_advantage_is_what_one_other_action_changes_on_the_same_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = learner_of(straying=0.0, limit="60n")
    task, found = learner.task, []

    def keep(observations: Ints, tried: Ints, advantages: Reals) -> None:
        found.append((observations, tried, advantages))

    monkeypatch.setattr(learner, "_learn", keep)
    learner.update()
    learner.updates = 0
    (observations, tried, advantages) = found[0]
    assert len(observations) > 100
    # Every fork is found again: some step of some instance shows the observation, and the action changes as much there.
    instances, table = learner._draw(), Table.of(learner.teacher)  # type: ignore[arg-type]
    limits = learner._limits_of(instances.sizes)
    whole = play(table, start(task, instances), limits, find_loops=True)
    worth = returns_of(task, whole, limits, 1.0, 1.0)
    for k in range(0, len(observations), 16):
        is_found = False
        for at in range(int(whole.steps.max())):
            batch = play(table, start(task, instances), np.minimum(at, limits), find_loops=False)
            here = np.flatnonzero((batch.steps == at) & (whole.steps > at))
            here = here[observe(task, batch)[here] == observations[k]]
            if not here.size:
                continue
            go_on(batch)
            batch = take_step(task, batch, np.full(len(limits), tried[k]), limits)
            batch = play(table, batch, limits, find_loops=True)
            came = returns_of(task, batch, limits, 1.0, 1.0)
            is_found |= bool(np.isclose((came - worth)[here], advantages[k]).any())
        assert is_found


@pytest.mark.parametrize("task", ["sort-bubble", "sort-quick", "search", "knapsack"])
def test_it_runs_on_every_task_with_a_table(task: str) -> None:
    learner = new_learner(
        find_task(task),
        "rl+imitation",
        settings={"policy": "forks", "episodes": "20", "stages": "3-5", "updates": "3", "updates_per_round": "3"},
    )
    assert isinstance(learner, ForkPolicyGradient)
    curve = learner.advance()
    assert curve["decisions"] > 50


def test_updates_that_make_instances_worse_are_taken_back() -> None:
    learner = learner_of(episodes=60, step_size=100.0, shrink=0.0, largest_change=50.0)
    for _ in range(4):
        learner.update()
        instances = learner.task.draw(Request(size=6, count=50, seed=2))
        results, teachers = run(learner.most_likely, instances), run(learner.teacher, instances)  # type: ignore[arg-type]
        assert results.rewards.mean() > 1.5 * teachers.rewards.mean()


def test_the_number_of_threads_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("SURPASS_THREADS", threads)
        learner = learner_of()
        learner.update()
        found.append(learner.policy.save())
    assert found[0].keys() == found[1].keys()
    for name, array in found[0].items():
        np.testing.assert_array_equal(array, found[1][name], err_msg=name)


def assert_same_state(first: ForkPolicyGradient, second: ForkPolicyGradient) -> None:
    states = [learner.save_state() for learner in (first, second)]
    assert states[0][1] == states[1][1]
    assert states[0][0].keys() == states[1][0].keys()
    for name, array in states[0][0].items():
        np.testing.assert_array_equal(array, states[1][0][name], err_msg=name)


@pytest.mark.parametrize(
    "settings",
    [
        {"views": STANDS},
        {"task": "search", "teacher": "binary_search", "straying": 0.9, "episodes": 400, "stages": "3-30"},
    ],
)
def test_a_restored_learner_goes_on_exactly_as_the_first(settings: dict[str, object]) -> None:
    first, second = (learner_of(updates_per_round=2, updates=6, **settings) for _ in range(2))  # type: ignore[arg-type]
    first.advance()
    assert len(first.save_state()[0]["kept"]), "what was seen decides when the next update asks the policy"
    second.load_state(*first.save_state())
    assert_same_state(first, second)
    assert not first.advance().keys() ^ second.advance().keys()
    assert_same_state(first, second)


def test_a_damaged_state_is_refused() -> None:
    learner = learner_of(updates_per_round=1, updates=1, stages="4-8 4-8", solved=0.0)
    learner.advance()
    tensors, record = learner.save_state()
    for change in (
        {"cells.following": np.arange(len(tensors["cells.following"]))},
        {"cells.heads": np.full_like(tensors["cells.heads"], 10**6)},
        {"cells.actions": np.full_like(tensors["cells.actions"], 10**6)},
        {"cells.view0.rows": tensors["cells.view0.rows"][1:]},
        {"cells.view0.shown": np.zeros_like(tensors["cells.view0.shown"])},
        {"cells.logits": tensors["cells.logits"][1:]},
    ):
        with pytest.raises(SavedFileError):
            learner_of(stages="4-8 4-8").load_state({**tensors, **change}, record)


def test_settings_that_are_none_are_refused() -> None:
    with pytest.raises(SettingError, match="views has 'v9', which no feature is named like"):
        learner_of(views="previous|v9")
    with pytest.raises(SettingError, match="stages has '5'"):
        learner_of(stages="5")
    with pytest.raises(UnknownNameError, match="unknown policy 'other'"):
        ForkConfig(task="sort-quick", policy="other")


def test_it_finds_actions_that_save_a_step_wherever_they_were_tried() -> None:
    learner = learner_of(views=STANDS, episodes=200, forks=6, stages="8-10", straying=0.0, memory=0.9, limit="60n")
    for _ in range(4):
        learner.update()
    policy = learner.policy
    tried = np.flatnonzero(policy.counts[: policy.count] > 5)
    means = policy.sums[tried] / policy.counts[tried]
    assert np.isclose(means, 1.0).any()
    assert means.mean() < -5


def trial_of(learner: ForkPolicyGradient) -> tuple[JudgedInstances, Ints]:
    """Return the instances of an update with what they bring, and what is seen on the way."""
    instances = learner._draw()
    limits = learner._limits_of(instances.sizes)
    _, worth, path = learner.judge.play(Table(learner.task, learner.most_likely), instances, limits)
    return JudgedInstances(instances, limits, worth), path


def prefer_everywhere(policy: SummedPolicy, observations: Ints, action: int) -> None:
    """Let an action be the best in some observations."""
    cells = policy.cells_of(observations, np.full(len(observations), action))
    policy.logits[cells[:, -1]] = 9.0


def test_changes_that_lose_are_undone_and_those_that_gain_stay() -> None:
    learner = learner_of("search", "linear_search", stages="8-8", episodes=400)
    policy, task = learner.policy, learner.task
    trial, path = trial_of(learner)
    before = policy.logits[: policy.count].copy()
    # Where the query is seen, to report it at once is right; elsewhere, to give up is mostly a wrong answer.
    feature, values = task.interface.conditions["q = A[v4]"]
    is_there = np.isin(task.interface.digits(path)[:, feature], list(values))
    assert 0 < is_there.sum() < len(path)
    found, gives_up = map(task.interface.parse_action, ("Found(4)", "NotFound()"))
    prefer_everywhere(policy, path[is_there], found)
    prefer_everywhere(policy, path[~is_there], gives_up)
    gained = learner.judge.undo_what_loses(before, trial, path)
    assert gained > 0
    assert (policy.best_actions(path[is_there]) == found).any(), "what gains stays"
    _, worth, _ = learner.judge.play(Table(task, learner.most_likely), trial.instances, trial.limits)
    assert worth.mean() - trial.worth.mean() == pytest.approx(gained)
    assert (policy.best_actions(path[~is_there]) != gives_up).any(), "what loses is undone"


def test_a_change_where_there_was_no_action_is_taken_back_with_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = learner_of("search", "linear_search", stages="8-8", wrong_cost=5.0)
    policy = learner.policy
    policy.teacher = None  # nothing has an action: every episode ends at once
    trial, _ = trial_of(learner)
    begin = np.unique(observe(learner.task, start(learner.task, trial.instances)))
    prefer_everywhere(policy, begin, learner.task.interface.parse_action("NotFound()"))
    asked: list[tuple[Ints, ...]] = []
    monkeypatch.setattr(policy, "prefer", lambda *given: asked.append(given))
    assert learner.judge.undo_what_loses(np.zeros(0), trial, begin) < 0
    assert not asked, "there is no action to go back to"
    assert policy.count == 0
    assert (policy.best_actions(begin) == NO_ACTION).all()


def test_changes_are_taken_back_as_if_they_had_never_been(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = learner_of(views=STANDS)
    learner.update()
    policy = learner.policy
    trial, path = trial_of(learner)
    before, count = policy.logits[: policy.count].copy(), policy.count
    heads, was = policy.heads[: policy.row_count].copy(), policy.best_actions(path)
    prefer_everywhere(policy, path, 0)  # another action everywhere: nothing is sorted
    assert (policy.best_actions(path) == 0).all()
    np.testing.assert_array_equal(policy.best_actions(path, before), was)
    monkeypatch.setattr("surpass.learning.forks.judging.PASSES", 0)
    assert learner.judge.undo_what_loses(before, trial, path) < 0
    assert policy.count == count
    np.testing.assert_array_equal(policy.logits[: count + 100], [*before, *np.zeros(100)])
    np.testing.assert_array_equal(policy.heads[: len(heads)], heads)
    assert (policy.heads[len(heads) : policy.row_count] == -1).all()
    np.testing.assert_array_equal(policy.best_actions(path), was)


def test_a_cell_that_was_taken_back_is_not_chosen_where_there_is_no_teacher() -> None:
    task = find_task("sort-quick")
    policy = SummedPolicy(task, None, 2.0, [])
    here = np.array([5])
    policy.logits[policy.cells_of(here, np.array([7]))] = -2.0
    before = policy.logits[: policy.count].copy()
    policy.logits[policy.cells_of(here, np.array([8]))] = -4.0
    policy.go_back(before)
    np.testing.assert_array_equal(policy.best_actions(here), [7])


def test_an_action_is_preferred_in_one_observation_alone() -> None:
    task = find_task("sort-quick")
    policy = SummedPolicy(task, None, 2.0, read_views("previous", task.interface))
    stride = task.interface.strides[task.interface.feature_index["previous"]]
    here, alike = np.array([5 * stride + 1]), np.array([5 * stride + 2])
    policy.logits[policy.cells_of(here, np.array([7]))[:, 0]] = 20.0
    policy.prefer(here, np.array([3]), np.array([7]))
    np.testing.assert_array_equal(policy.best_actions(here), [3])
    np.testing.assert_array_equal(policy.best_actions(alike), [7])


def test_a_policy_keeps_its_actions_in_some_observations_and_forgets_all_others() -> None:
    policy = policy_of()
    seen = policy.teacher.observations  # type: ignore[union-attr]
    kept, others = seen[::2], seen[1::2]
    was = policy.best_actions(kept)
    assert (was != policy.taught(kept)).any()
    assert (policy.best_actions(others) != policy.taught(others)).any()
    policy.keep(kept)
    np.testing.assert_array_equal(policy.best_actions(kept), was)
    np.testing.assert_array_equal(policy.best_actions(others), policy.taught(others))
    assert policy.count <= len(policy.views) * (was != policy.taught(kept)).sum(), "nothing else has a cell"


def test_settling_forgets_what_usual_lists_do_not_come_to_and_undoes_what_fails() -> None:
    learner = learner_of("search", "linear_search", stages="2-8", episodes=50)
    task, policy, interface = learner.task, learner.policy, learner.task.interface

    def seen_on(data: str) -> Ints:
        table = Table(task, learner.most_likely)
        for size in range(2, 9):
            run(table, task.draw(Request(size=size, count=200, seed=1, data=data)))
        return table.observations

    usual = seen_on("uniform")
    elsewhere = np.setdiff1d(seen_on("few-distinct"), usual)
    feature, values = interface.conditions["q = A[v4]"]
    is_there = np.isin(interface.digits(usual)[:, feature], list(values))
    found, gives_up = map(interface.parse_action, ("Found(4)", "NotFound()"))
    wrong = usual[~is_there & (policy.taught(usual) != gives_up)][:1]
    prefer_everywhere(policy, usual[is_there], found)
    prefer_everywhere(policy, elsewhere, found)
    prefer_everywhere(policy, wrong, gives_up)
    lists = task.draw(Request(size=7, count=200, seed=2, data="few-distinct"))
    assert not run(learner.most_likely, lists).solved.all()
    learner._settle()
    assert run(learner.most_likely, lists).solved.all()
    assert (policy.best_actions(usual[is_there]) == found).any(), "what is right stays where usual lists still come"
    np.testing.assert_array_equal(policy.best_actions(elsewhere), policy.taught(elsewhere))
    np.testing.assert_array_equal(policy.best_actions(wrong), policy.taught(wrong))


@pytest.mark.parametrize(("price", "stays"), [(0.0, True), (100.0, False)])
def test_only_changes_that_pay_their_price_are_kept(price: float, stays: bool) -> None:
    learner = learner_of("search", "linear_search", stages="8-8", episodes=300)
    policy, interface = learner.policy, learner.task.interface
    trial, path = trial_of(learner)
    feature, values = interface.conditions["q = A[v4]"]
    is_there = np.isin(interface.digits(path)[:, feature], list(values))
    found, waits = map(interface.parse_action, ("Found(4)", "AssignVar(4, 4)"))
    begin = np.unique(observe(learner.task, start(learner.task, trial.instances)))
    saves, idles = np.intersect1d(begin, path[is_there]), np.setdiff1d(begin, path[is_there])[:1]
    prefer_everywhere(policy, saves, found)
    prefer_everywhere(policy, idles, waits)
    prefer_everywhere(policy, np.array([7]), waits)  # nothing comes here
    both = (trial.instances, trial.limits)
    learner.judge.keep_what_pays(np.union1d(path, [7]), both, price, np.random.default_rng(1))
    assert (policy.best_actions(saves) == found).all() == stays
    for here in (idles, np.array([7])):
        np.testing.assert_array_equal(policy.best_actions(here), policy.taught(here))


def test_a_policy_is_settled_after_every_so_many_rounds_and_before_the_network_learns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learner = learner_of("search", "binary_search", updates=6, updates_per_round=1, episodes=10, settled_every=2)
    settled: list[int] = []
    monkeypatch.setattr(learner, "_settle", lambda: settled.append(learner.updates))
    while learner.is_descending or not learner.mended:
        learner.advance()
    assert settled == [2, 4, 6]


def test_a_policy_begins_with_an_agent_of_a_smaller_task() -> None:
    learner = learner_of("sort-quick", "", start="zoo:sort-bubble/rl-network")
    first = find_agent("zoo:sort-bubble/rl-network")
    carried = run(learner.most_likely, learner.task.draw(Request(size=12, count=50, seed=1)))
    own = run(first, first.task.draw(Request(size=12, count=50, seed=1)))
    np.testing.assert_array_equal(carried.steps, own.steps)
    with pytest.raises(SettingError, match="cannot be carried over to sort-quick"):
        learner_of("sort-quick", "", start="zoo:search/rl")


def test_what_was_undone_is_not_done_again_by_learning_that_it_is_bad() -> None:
    learner = learner_of(views="previous")
    policy, interface = learner.policy, learner.task.interface
    here = np.array([5 * interface.strides[interface.feature_index["previous"]] + 1])
    policy.logits[policy.cells_of(here, np.array([7]))[:, 0]] = 12.0
    policy.prefer(here, np.array([3]), np.array([7]))
    assert policy.best_actions(here)[0] != 7
    learner._learn(here, np.array([7]), np.array([-4.0]))
    assert policy.best_actions(here)[0] != 7


def test_an_update_is_judged_on_fresh_instances_as_well() -> None:
    learner = learner_of(episodes=30)
    table = Table(learner.task, learner.most_likely)
    trial, _ = trial_of(learner)
    both = learner._with_fresh(table, trial)
    assert len(both.worth) == both.instances.count == 60
    np.testing.assert_array_equal(both.worth[:30], trial.worth)
    own, fresh = both.instances.part(0, 30), both.instances.part(30, 60)
    assert not np.array_equal(own.items, fresh.items)


@pytest.mark.parametrize(("mended_on", "wanted"), [("everything", True), ("data", False)])
def test_what_failed_is_mended_on_every_distribution_or_on_the_data(mended_on: str, wanted: bool) -> None:
    learner = learner_of("sort-bubble", "insertion_sort", stages="30-30", mended_on=mended_on)
    learner.hard = ["3,1,2"]
    drawn = [learner._draw().items[:30] for learner.updates in range(20)]
    assert any((np.diff(items[:, :30]) >= 0).all(axis=1).any() for items in drawn) == wanted, "sorted lists come up"


def test_sizes_are_spread_evenly_or_by_doublings() -> None:
    def sizes(spread: str) -> Ints:
        learner = learner_of("search", "binary_search", stages="4-256", episodes=4000, spread=spread)
        return np.concatenate([draw_next(learner) for _ in range(10)])

    def draw_next(learner: ForkPolicyGradient) -> Ints:
        learner.updates += 1
        return learner._draw().sizes

    even, doubling = sizes("even"), sizes("doubling")
    for drawn in (even, doubling):
        assert 4 <= drawn.min() <= drawn.max() <= 256
    assert 0.08 < (even < 32).mean() < 0.14
    assert 0.35 < (doubling < 32).mean() < 0.65, "three of six doublings"


def test_a_network_goes_on_from_the_one_that_the_policy_began_with() -> None:
    learner = learner_of("search", "", start="zoo:search/imitation-linear_search", stages="3-4")
    first = find_agent("zoo:search/imitation-linear_search")
    assert isinstance(first, NetworkAgent)
    for name, array in first.network.state_dict().items():
        np.testing.assert_array_equal(learner.network.state_dict()[name], array, err_msg=name)
