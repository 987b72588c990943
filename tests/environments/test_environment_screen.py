"""Episodes as text and as pixels."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import numpy as np
import pytest

from surpass.environments import environment_id
from surpass.environments.screen import PICTURE
from surpass.environments.single import SurpassEnv
from surpass.tasks.task import Task
from tests.environments.conftest import PAPER_TASK_NAMES

SHAPE = (PICTURE[1], PICTURE[0], 3)


def draw(task: str | Task, instance: str, *actions: str, size: int = 4) -> str:
    env = SurpassEnv(task, size=size, render_mode="ansi")
    env.reset(options={"instance": instance})
    for action in actions:
        env.step(env.settings.task.interface.parse_action(action))
    text = env.render()
    assert text is not None
    return text


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def test_variables_stand_beneath_the_values_of_a_list() -> None:
    assert draw("sort-bubble", "5,2.5,9,10", "MoveVar(1, +1)").splitlines() == lines("""
sort-bubble, size 4, step 1: running
    0   1   2   3
A   5 2.5   9  10
   v3  v1      v2
               v4
in_order = 2
previous action MoveVar(1, +1)
""")


def test_calls_show_the_function_and_the_depth() -> None:
    assert draw("sort-quick", "3,2,1", "FunctionCall(2, 1, 2, 2, 1, 3)", "AssignVar(2, 1)").splitlines() == lines("""
sort-quick, size 3, step 2: running
   0  1  2
A  3  2  1
  v3    v1
        v2
        v4
in_order = 0
function 2, depth 1
previous action AssignVar(2, 1)
""")


def test_what_is_no_position_is_written_out() -> None:
    text = draw("search", "1,3,5,9:5", "Found(1)").splitlines()
    assert text == lines("""
search, size 4, step 1: wrong answer
       0      1      2      3
A      1      3      5      9
      v1                   v3
      v2                   v4
  answer
q = 5  score = 0
previous action Found(1)
""")
    before = draw("search", "1,3,5,9:5")
    assert "q = 5  answer = -1  score = 0" in before
    assert "present" not in before, "the task hides it"


def test_a_knapsack_shows_its_reals() -> None:
    assert draw("knapsack", "0.5,1:2,3:1", "Put()", "MoveVar(+1)", "MoveVar(+1)").splitlines() == lines("""
knapsack, size 2, step 3: running
      0 1
taken 1 0
i = 2  best = 2  W = 1  w = 0.5  v = 2
function None, depth 0
previous action MoveVar(+1)
""")


def test_a_full_view_shows_its_last_swap() -> None:
    env = SurpassEnv("sort-full", size=3, render_mode="ansi")
    env.reset(options={"instance": "3,1,2"})
    assert "previous action None" in str(env.render())
    env.step([0, 2])
    assert str(env.render()).splitlines() == lines("""
sort-full, size 3, step 1: running
  0 1 2
A 2 1 3
in_order = 1
previous action Swap(0, 2)
""")


def test_a_users_task_can_be_drawn(pile: Task) -> None:
    assert draw(pile, "3", "Take(2)").splitlines() == lines("""
pile, size 3, step 1: running
left = 1  taken = 2
previous action Take(2)
""")
    env = SurpassEnv(pile, size=3, render_mode="rgb_array")
    env.reset(seed=0)
    assert np.shape(env.render()) == SHAPE


def test_long_lists_go_on_below() -> None:
    env = SurpassEnv("sort-bubble", size=60, render_mode="ansi")
    env.reset(seed=0)
    text = str(env.render()).splitlines()
    assert sum(line.startswith("A") for line in text) == 3
    shown = [int(word) for line in text if line.startswith("A") for word in line.split()[1:]]
    assert shown == env._episodes.batch.items[0, :60].tolist()
    assert max(map(len, text)) <= 80


@pytest.mark.parametrize("mode", ["ansi", "rgb_array", None])
@pytest.mark.parametrize("name", PAPER_TASK_NAMES)
def test_every_task_is_drawn_at_every_step(name: str, mode: str | None) -> None:
    env = gymnasium.make(environment_id(name), size=6, render_mode=mode).unwrapped
    env.action_space.seed(0)
    env.reset(seed=0)
    for _ in range(5):
        *_, terminated, truncated, info = env.step(env.action_space.sample())
        shown = env.render()
        if mode == "ansi":
            assert str(shown).startswith(f"{name}, size 6, step {info['steps']}: {info['outcome']}\n")
        elif mode == "rgb_array":
            assert isinstance(shown, np.ndarray)
            assert (shown.shape, shown.dtype) == (SHAPE, np.uint8)
            assert len(np.unique(shown.reshape(-1, 3), axis=0)) > 10, "something is drawn"
        else:
            assert shown is None
        if terminated or truncated:
            break


@pytest.mark.parametrize("mode", ["ansi", "rgb_array"])
def test_vector_environments_draw_each_episode(mode: str) -> None:
    vector = gymnasium.make_vec(environment_id("sort-bubble"), num_envs=2, render_mode=mode)
    vector.reset(options={"instances": ["20,10", "3,2,1"]})
    first, second = vector.render()  # type: ignore[misc]
    for _ in range(2):
        vector.step(np.zeros(2, np.int64))
    later, _ = vector.render()  # type: ignore[misc]
    if mode == "ansi":
        assert ("20 10" in first, "3  2  1" in second) == (True, True)
        assert "20" not in later.splitlines()[2], "a drawn list is written in its own values"
    else:
        assert [np.shape(frame) for frame in (first, second)] == [SHAPE] * 2
        assert not np.array_equal(first, second)


def test_a_picture_shows_what_changed_and_only_that() -> None:
    env = SurpassEnv("sort-bubble", size=4, render_mode="rgb_array")
    env.reset(options={"instance": "5,2.5,9,10"})
    before = env.render()
    env.step(env.settings.task.interface.parse_action("SwapWithNext(1)"))
    after = env.render()
    assert isinstance(before, np.ndarray)
    assert isinstance(after, np.ndarray)
    changed = (before != after).any(axis=2)[60:250]
    assert changed[:, : SHAPE[1] // 2].any()
    assert not changed[:, SHAPE[1] // 2 + 2 :].any(), "the bars of the last two values stand still"


def test_record_video_makes_a_video_of_an_episode(tmp_path: Path) -> None:
    pytest.importorskip("moviepy", reason="Gymnasium writes videos with moviepy")
    env = gymnasium.make(environment_id("sort-quick"), size=4, limit="6", render_mode="rgb_array")
    env.action_space.seed(0)
    film = gymnasium.wrappers.RecordVideo(
        env, str(tmp_path / "videos"), episode_trigger=lambda _: True, disable_logger=True
    )
    film.reset(seed=0)
    ended = False
    while not ended:
        *_, terminated, truncated, _ = film.step(film.action_space.sample())
        ended = terminated or truncated
    film.close()
    (video,) = tmp_path.glob("videos/*.mp4")
    assert video.read_bytes()[4:8] == b"ftyp"
