from __future__ import annotations

from pathlib import Path

import gymnasium
import numpy as np
import pytest

from surpass.environments import environment_id
from surpass.environments.screen import PICTURE
from surpass.environments.single import SurpassEnv
from tests.environments.conftest import PAPER_TASK_NAMES

SHAPE = (PICTURE[1], PICTURE[0], 3)


@pytest.mark.parametrize("name", PAPER_TASK_NAMES)
def test_every_step_has_pixels_of_one_shape(name: str) -> None:
    env = gymnasium.make(environment_id(name), size=6, render_mode="rgb_array")
    env.action_space.seed(1)
    env.reset(seed=1)
    for _ in range(5):
        *_, terminated, truncated, _ = env.step(env.action_space.sample())
        frame = env.render()
        assert isinstance(frame, np.ndarray)
        assert (frame.shape, frame.dtype) == (SHAPE, np.uint8)
        assert len(np.unique(frame.reshape(-1, 3), axis=0)) > 10, "something is drawn"
        if terminated or truncated:
            break


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


def test_vector_environments_draw_each_episode() -> None:
    vector = gymnasium.make_vec(environment_id("search"), num_envs=3, render_mode="rgb_array")
    vector.reset(seed=0)
    frames = vector.render()
    assert frames is not None
    assert [np.shape(frame) for frame in frames] == [SHAPE] * 3
    assert not np.array_equal(frames[0], frames[1])


def test_a_users_own_task_is_drawn_from_its_declaration(pile: object) -> None:
    env = SurpassEnv(pile, size=3, render_mode="rgb_array")  # type: ignore[arg-type]
    env.reset(seed=0)
    assert np.shape(env.render()) == SHAPE


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
