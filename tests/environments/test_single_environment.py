from __future__ import annotations

import copy
import itertools
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

from surpass.agents.teachers import AnyTeacher, known_teachers
from surpass.engine.run import run
from surpass.environments import environment_id
from surpass.environments.single import SurpassEnv
from surpass.errors import ObservationError
from surpass.machine.calls import stack_limit
from surpass.tasks.lists import edge_features
from surpass.tasks.task import Limit, Request, Task
from surpass.tasks.teacher import Teacher
from tests.environments.conftest import PAPER_TASK_NAMES


def number(env: SurpassEnv, action: str) -> int:
    return env.settings.task.interface.parse_action(action)


def play(env: SurpassEnv, actions: Any, **reset: Any) -> list[tuple[Any, ...]]:
    """Return everything that an episode shows under some actions, up to its end."""
    shown: list[tuple[Any, ...]] = [env.reset(**reset)]
    for action in actions:
        shown.append(env.step(action))
        if shown[-1][2] or shown[-1][3]:
            break
    return shown


def choose(agent: AnyTeacher, env: SurpassEnv, observation: Any) -> Any:
    if isinstance(agent, Teacher):
        return int(agent.actions(agent.task.interface.pack_digits(observation[None]))[0])
    # A list's order follows from its graph: count for each position how many values are smaller.
    ranks = (observation[:, :, 1] > 0).sum(axis=1)
    return agent.pointers(ranks[None])[0]


@pytest.mark.parametrize("observation", ["features", "one-hot"])
@pytest.mark.parametrize("name", PAPER_TASK_NAMES)
def test_gymnasiums_own_checker_is_content(name: str, observation: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(environment_id(name), observation=observation).unwrapped)


@pytest.mark.parametrize("name", PAPER_TASK_NAMES)
def test_one_seed_gives_the_same_episodes_and_another_one_others(name: str) -> None:
    def starts(env: SurpassEnv, seed: int) -> list[bytes]:
        """Return the instances of three episodes, the first with a seed and the others without."""
        found = []
        for given in (seed, None, None):
            env.reset(seed=given)
            found.append(b"".join(part.tobytes() for part in env._episodes.instances))
        return found

    env, other = SurpassEnv(name), SurpassEnv(name)
    first = starts(env, 5)
    assert starts(env, 5) == first
    assert starts(other, 5) == first
    assert len(set(first)) == 3, "the stream goes on without a seed"
    assert not set(starts(env, 6)) & set(first)


@pytest.mark.parametrize("agent", known_teachers(), ids=lambda agent: agent.name)
def test_a_teacher_takes_as_many_steps_as_in_the_engine(agent: AnyTeacher) -> None:
    task, size = agent.task, 8
    instances = task.draw(Request(size=size, count=4, seed=3))
    results = run(agent, instances)
    env = SurpassEnv(task, size=size)
    for k in range(instances.count):
        observation, info = env.reset(options={"instance": task.write_instance(instances.part(k, k + 1))})
        total, ended = 0.0, False
        while not ended:
            observation, reward, terminated, truncated, info = env.step(choose(agent, env, observation))
            total, ended = total + reward, terminated or truncated
        assert info["steps"] == results.steps[k]
        assert info["solved"] == results.solved[k]
        assert info["size"] == size
        assert total == pytest.approx(results.rewards[k])


@pytest.mark.parametrize(
    ("action", "reward", "outcome"),
    [("Found(1)", -10_001, "wrong answer"), ("NotFound()", -10_001, "wrong answer"), ("Found(3)", -1, "solved")],
)
def test_an_answer_ends_a_search_and_a_wrong_one_costs_dearly(action: str, reward: float, outcome: str) -> None:
    env = SurpassEnv("search")
    env.reset(options={"instance": "1,3,5,9:9"})
    _, paid, terminated, truncated, info = env.step(number(env, action))
    assert (paid, terminated, truncated) == (reward, True, False)
    assert info == {"action": action, "outcome": outcome, "steps": 1, "size": 4, "solved": outcome == "solved"}


def test_an_episode_beyond_its_limit_is_truncated() -> None:
    env = SurpassEnv("sort-bubble", limit="2n")
    shown = play(env, itertools.repeat(0, 100), options={"instance": "3,2,1"})
    assert len(shown) == 1 + 6
    assert [step[2:4] for step in shown[1:]] == [(False, False)] * 5 + [(False, True)]
    last = {"action": "SwapWithNext(1)", "outcome": "step limit", "steps": 6, "size": 3, "solved": False}
    assert shown[-1][4] == last


def test_a_spent_budget_truncates_a_knapsack_and_is_no_failure() -> None:
    env = SurpassEnv("knapsack", size=4, limit="3")
    *_, (_, _, terminated, truncated, info) = play(env, itertools.repeat(0, 100), seed=1)
    assert (terminated, truncated, info["outcome"], info["solved"]) == (False, True, "step limit", True)


class Caller:
    """An agent that calls and calls."""

    name = "caller"

    def __init__(self, task: Task) -> None:
        self.task = task
        self.action = task.interface.parse_action("FunctionCall(1,1,2,1,2,1)")

    def actions(self, observations: Any) -> Any:
        return np.full(len(observations), self.action)


def test_endless_calls_end_at_the_stack_limit_as_in_the_engine() -> None:
    env = SurpassEnv("sort-quick", size=3, limit="9999")
    agent = Caller(env.settings.task)
    shown = play(env, itertools.repeat(agent.action, 5000), options={"instance": "3,2,1"})
    _, reward, terminated, truncated, info = shown[-1]
    assert (terminated, truncated, info["outcome"]) == (False, True, "stack limit")
    assert info["steps"] > stack_limit(3)
    assert reward == 0, "the call was not executed"
    results = run(agent, env.settings.task.parse_instance("3,2,1")[0], limit=Limit.parse("9999"))
    assert info["steps"] == results.steps[0]


def test_calls_beyond_the_first_stack_return_where_they_came_from() -> None:
    env = SurpassEnv("sort-quick", size=3, limit="9999")
    call, back = number(env, "FunctionCall(2,1,2,2,1,4)"), number(env, "Return(1)")
    before = [observation for observation, *_ in play(env, [call] * 300, options={"instance": "3,2,1"})]
    # A return shows the caller's variables again, but with the call as the previous action and the result in v4.
    for observation in before[-2:0:-1]:
        after = env.step(back)[0]
        assert after[:4].tolist() == observation[:4].tolist()
        assert after[-2] == 2


def test_a_step_needs_a_running_episode() -> None:
    env = SurpassEnv("sort-bubble")
    with pytest.raises(ResetNeeded, match="has not started"):
        env.step(0)
    env.reset(options={"instance": "2,1"})
    assert env.step(number(env, "SwapWithNext(1)"))[2]
    with pytest.raises(ResetNeeded, match=r"has ended \(solved\)"):
        env.step(0)
    env.reset()
    env.step(0)


def test_the_two_observations_tell_the_same(rng: np.random.Generator) -> None:
    features, one_hot = (SurpassEnv("knapsack", observation=kind) for kind in ("features", "one-hot"))
    interface = features.settings.task.interface
    for seed, action in enumerate(rng.integers(4, size=20)):
        for env in (features, one_hot):
            env.reset(seed=seed)
        numbers, inputs = (env.step(action)[0] for env in (features, one_hot))
        assert inputs.dtype == np.float32
        assert np.array_equal(inputs, interface.encode(interface.pack_digits(numbers[None]))[0])


def test_a_full_view_shows_the_graph_of_its_list() -> None:
    env = SurpassEnv("sort-full", size=4)
    observation, _ = env.reset(options={"instance": "5,2,9,2"})
    assert np.array_equal(observation, edge_features(np.array([[1, 0, 2, 0]]))[0])
    observation, *_ = env.step(np.array([0, 3]))
    assert np.array_equal(observation, edge_features(np.array([[0, 0, 2, 1]]))[0])


def test_shaping_pays_for_neighbours_that_come_into_order() -> None:
    env = SurpassEnv("sort-bubble", shaping=0.25)
    env.reset(options={"instance": "2,3,1"})
    rewards = [env.step(number(env, action))[1] for action in ("MoveVar(1, +1)", "SwapWithNext(1)", "SwapWithNext(3)")]
    assert rewards == [-1, -1, -0.75]


def test_a_deep_copy_goes_its_own_way(rng: np.random.Generator) -> None:
    env = SurpassEnv("sort-bubble", size=8)
    env.reset(seed=4)
    env.step(0)
    twin = copy.deepcopy(env)
    assert twin.settings is env.settings, "a copied task would load its compiled loops again"
    actions = rng.integers(28, size=30)
    there = [twin.step(action)[0].tolist() for action in actions]
    assert env._describe()["steps"] == 1
    assert [env.step(action)[0].tolist() for action in actions] == there
    assert env.reset()[0].tolist() == twin.reset()[0].tolist()


def test_a_users_task_is_an_environment_too(pile: Task) -> None:
    env = SurpassEnv(pile, size=3, observation="one-hot")
    assert env.observation_space == gymnasium.spaces.Box(-1, 3, (1,), np.float32)
    observation, _ = env.reset(seed=0)
    assert observation.tolist() == [3]
    take, done = number(env, "Take(2)"), number(env, "Done()")
    assert [env.step(take)[1] for _ in range(3)] == [3 * 2 - 1, 3 - 1, -1]
    info = {"action": str(env.settings.task.interface.actions[done]), "outcome": "solved", "solved": True}
    assert env.step(done)[1:] == (-1, True, False, {**info, "steps": 4, "size": 3})


def test_a_claim_that_does_not_hold_is_a_wrong_answer(pile: Task) -> None:
    env = SurpassEnv(pile, size=3)
    env.reset(seed=0)
    _, reward, terminated, _, info = env.step(number(env, "Done()"))
    assert (reward, terminated, info["outcome"], info["solved"]) == (-51, True, "wrong answer", False)


@pytest.mark.parametrize("observation", ["features", "one-hot"])
def test_a_feature_out_of_range_is_named(pile: Task, observation: Any) -> None:
    with pytest.raises(ObservationError, match="feature 'left' returned 4; allowed: 0 to 3"):
        SurpassEnv(pile, size=4, observation=observation).reset(seed=0)
