from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import gymnasium
import numba
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode

from surpass.environments import environment_id
from surpass.environments.single import SurpassEnv
from surpass.environments.vector import MODES, SurpassVectorEnv
from surpass.errors import SettingError, UnknownNameError
from surpass.tasks.registry import find_task
from surpass.tasks.task import Request, Task
from tests.environments.conftest import PAPER_TASK_NAMES


def write_instances(name: str, size: int, count: int) -> list[str]:
    """Return some instances as text, none of them solved."""
    task = find_task(name)
    drawn = task.draw(Request(size=size, count=count, seed=8))
    return [task.write_instance(drawn.part(k, k + 1)) for k in range(count)]


@pytest.mark.parametrize("observation", ["features", "one-hot"])
@pytest.mark.parametrize("name", PAPER_TASK_NAMES)
def test_each_episode_goes_as_it_would_alone(name: str, observation: Any) -> None:
    count, options = 6, {"size": 5, "limit": "40", "observation": observation, "shaping": 0.5}
    written = write_instances(name, 5, count)
    vector = SurpassVectorEnv(name, count, **options)
    singles = [SurpassEnv(name, **options) for _ in range(count)]
    vector.action_space.seed(3)
    observations, infos = vector.reset(options={"instances": written})
    alone = [env.reset(options={"instance": one}) for env, one in zip(singles, written, strict=True)]
    assert np.array_equal(observations, [seen for seen, _ in alone])
    running = np.ones(count, np.bool_)
    for _ in range(40):
        actions = vector.action_space.sample()
        observations, rewards, terminated, truncated, infos = vector.step(actions)
        for k in np.flatnonzero(running):
            seen, reward, over, cut, info = singles[k].step(actions[k])
            assert np.array_equal(observations[k], seen)
            assert (rewards[k], terminated[k], truncated[k]) == (reward, over, cut)
            assert {key: infos[key][k] for key in info} == info
            running[k] = not (over or cut)
    assert not running.any(), "every episode was followed to its end"


def test_an_ended_episode_starts_anew_in_the_next_step() -> None:
    vector = SurpassVectorEnv("sort-bubble", 2, size=4)
    vector.reset(seed=0, options={"instances": ["2,1", "3,2,1"]})
    assert vector.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    swap = np.zeros(2, np.int64)
    _, rewards, terminated, truncated, infos = vector.step(swap)
    assert (rewards.tolist(), terminated.tolist(), truncated.tolist()) == ([-1, -1], [True, False], [False, False])
    assert infos["outcome"].tolist() == ["solved", "running"]
    _, rewards, terminated, truncated, infos = vector.step(swap)
    assert (rewards.tolist(), terminated.tolist(), truncated.tolist()) == ([0, -1], [False, False], [False, False])
    assert infos["steps"].tolist() == [0, 2]
    assert infos["size"].tolist() == [4, 3]
    _, rewards, *_, infos = vector.step(swap)
    assert rewards.tolist() == [-1, -1]
    assert infos["steps"].tolist() == [1, 3]


def test_each_episode_has_the_limit_of_its_own_size() -> None:
    vector = SurpassVectorEnv("sort-bubble", 3, limit="2n")
    vector.reset(options={"instances": ["2,1", "3,2,1", "4,3,2,1"]})
    stay = np.full(3, vector.settings.task.interface.parse_action("AssignVar(1, 1)"))
    cut = np.array([vector.step(stay)[3] for _ in range(8)])
    assert cut.argmax(axis=0).tolist() == [3, 5, 7]


def test_a_seed_determines_every_episode() -> None:
    def play(vector: SurpassVectorEnv, seed: int | None) -> list[list[Any]]:
        vector.action_space.seed(0)
        shown = [vector.reset(seed=seed)[0].tolist()]
        for _ in range(60):
            observations, rewards, *_ = vector.step(vector.action_space.sample())
            shown.append([observations.tolist(), rewards.tolist()])
        return shown

    vector, other = (SurpassVectorEnv("search", 8, size=(3, 9)) for _ in range(2))
    first = play(vector, 7)
    after = play(vector, None)
    assert after != first, "the stream goes on without a seed"
    assert play(other, 7) == first
    assert play(other, None) == after
    assert play(other, 8) != first
    assert play(other, 7) == first, "a new seed forgets what was drawn before it"


def test_the_episodes_of_one_seed_differ_from_each_other() -> None:
    vector = SurpassVectorEnv("sort-bubble", 50, size=(10, 20))
    _, infos = vector.reset(seed=0)
    lists = vector._episodes.instances.items
    assert len({row.tobytes() for row in lists}) == 50
    assert set(infos["size"].tolist()) == set(range(10, 21))


def test_answers_stay_as_they_were_given() -> None:
    vector = SurpassVectorEnv("sort-bubble", 4, size=3)
    vector.reset(seed=0)
    answer = vector.step(np.full(4, 4))
    kept = [array.copy() for array in (*answer[:4], *answer[4].values())]
    for _ in range(50):
        vector.step(vector.action_space.sample())
    for before, after in zip(kept, (*answer[:4], *answer[4].values()), strict=True):
        assert np.array_equal(before, after)


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="the kernels themselves are Python then")
def test_the_work_in_python_does_not_grow_with_the_number_of_episodes() -> None:
    def count_calls(num_envs: int) -> int:
        vector = SurpassVectorEnv("sort-bubble", num_envs, size=20)
        vector.reset(seed=0)
        actions, calls = np.zeros(num_envs, np.int64), 0
        vector.step(actions)

        def count(frame: FrameType, event: str, argument: object) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        sys.setprofile(count)
        try:
            vector.step(actions)
        finally:
            sys.setprofile(None)
        return calls

    assert count_calls(4) == count_calls(400)


def test_an_ended_episode_costs_a_slice_and_not_a_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    vector = SurpassVectorEnv("search", 32)
    vector.reset(seed=0)
    draws: list[Request] = []
    monkeypatch.setattr(Task, "draw", lambda task, request: draws.append(request))
    found = np.full(32, vector.settings.task.interface.parse_action("NotFound()"))
    for _ in range(20):
        vector.step(found)
    assert not draws


def test_stacks_grow_while_other_episodes_go_on() -> None:
    vector = SurpassVectorEnv("sort-quick", 2, size=30, limit="9999")
    vector.reset(seed=0)
    interface = vector.settings.task.interface
    actions = np.array([interface.parse_action("FunctionCall(1,1,2,1,2,1)"), interface.parse_action("MoveVar(1,+1)")])
    for step in range(1, 200):
        *_, infos = vector.step(actions)
        assert infos["steps"].tolist() == [step, step]


def test_impossible_uses_are_refused() -> None:
    with pytest.raises(SettingError):
        SurpassVectorEnv("search", 0)
    with pytest.raises(UnknownNameError):
        SurpassVectorEnv("search", 2, autoreset_mode=AutoresetMode.DISABLED)
    vector = SurpassVectorEnv("sort-bubble", 2)
    with pytest.raises(ResetNeeded):
        vector.step(np.zeros(2, np.int64))
    with pytest.raises(SettingError):
        vector.reset(options={"instances": ["2,1"]})
    with pytest.raises(UnknownNameError):
        vector.reset(options={"instance": "2,1"})
    vector.reset(seed=0)
    for actions in ([0, 0, 0], [0, 28]):
        with pytest.raises(SettingError):
            vector.step(np.array(actions))


def test_an_ended_episode_can_start_anew_in_the_same_step() -> None:
    vector = SurpassVectorEnv("sort-bubble", 2, size=4, autoreset_mode=AutoresetMode.SAME_STEP)
    first, _ = vector.reset(seed=0, options={"instances": ["2,1", "3,2,1"]})
    assert vector.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert SurpassVectorEnv.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    swap = np.zeros(2, np.int64)
    seen, rewards, terminated, truncated, infos = vector.step(swap)
    assert (rewards.tolist(), terminated.tolist(), truncated.tolist()) == ([-1, -1], [True, False], [False, False])
    assert infos["outcome"].tolist() == ["running", "running"]
    assert infos["steps"].tolist() == [0, 1]
    assert infos["size"].tolist() == [4, 3]
    assert infos["_final_obs"].tolist() == infos["_final_info"].tolist() == [True, False]
    assert infos["final_obs"][1] is None
    assert infos["final_info"]["outcome"][0] == "solved"
    alone = SurpassEnv("sort-bubble")
    alone.reset(options={"instance": "2,1"})
    assert np.array_equal(infos["final_obs"][0], alone.step(0)[0])
    assert not np.array_equal(seen[0], infos["final_obs"][0])
    assert not np.array_equal(seen[0], first[0])
    *_, infos = vector.step(swap)
    assert infos["steps"].tolist() == [1, 2]


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP], ids=str)
def test_its_answers_have_the_form_of_gymnasiums_own_vector_environments(mode: AutoresetMode) -> None:
    def form(answer: Any) -> Any:
        """Return the types and shapes of an answer, and which episodes say something."""
        if isinstance(answer, dict):
            return {key: part.tolist() if key[0] == "_" else form(part) for key, part in answer.items()}
        return (answer.dtype, answer.shape)

    task = environment_id("search")
    ours = gymnasium.make_vec(task, num_envs=3, limit="4", autoreset_mode=mode)
    how: dict[str, Any] = {"vectorization_mode": "sync", "vector_kwargs": {"autoreset_mode": mode}}
    theirs = gymnasium.make_vec(task, num_envs=3, limit="4", **how)
    assert ours.metadata["autoreset_mode"] is theirs.metadata["autoreset_mode"]
    assert (ours.observation_space, ours.action_space) == (theirs.observation_space, theirs.action_space)
    ours.action_space.seed(0)
    answers = [vector.reset(seed=1) for vector in (ours, theirs)]
    stay = np.full(3, ours.settings.task.interface.parse_action("AssignVar(1, 1)"))  # type: ignore[attr-defined]
    for _ in range(12):
        assert [form(part) for part in answers[0]] == [form(part) for part in answers[1]]
        answers = [vector.step(stay) for vector in (ours, theirs)]


@pytest.mark.parametrize("name", ["search", "sort-full"])
def test_starting_anew_at_once_leads_through_the_same_episodes(name: str) -> None:
    later, at_once = (SurpassVectorEnv(name, 1, size=4, limit="5", autoreset_mode=mode) for mode in MODES)
    shown = [vector.reset(seed=2)[0] for vector in (later, at_once)]
    at_once.action_space.seed(1)
    ended = 0
    for _ in range(60):
        assert np.array_equal(*shown)
        action = at_once.action_space.sample()
        (seen, *after, infos), (seen_too, *after_too, infos_too) = (one.step(action) for one in (later, at_once))
        assert after == after_too
        if after[1] or after[2]:
            ended += 1
            assert np.array_equal(infos_too["final_obs"][0], seen[0])
            assert infos_too["final_info"]["steps"] == infos["steps"]
            seen, *_ = later.step(action)  # it is ignored, and the next episode starts
        shown = [seen, seen_too]
    assert ended > 5
