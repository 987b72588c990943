"""What is shared out among threads of this machine comes out the same by any number of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from surpass.errors import SettingError
from surpass.learning.methods import AnyLearner, new_learner
from surpass.tasks.registry import find_task
from tests.learning.quick import checkpoint_files, run_in

NETWORK = {"policy": "network", "baseline": "network", "episodes": 24, "unroll": 10, "updates": 6, "actors": 4}


def learner_of(settings: dict[str, Any], **changes: Any) -> AnyLearner:
    chosen = {"updates_per_round": 2, "checked": 5, **settings, **changes}
    texts = {name: str(value) for name, value in chosen.items()}
    return new_learner(find_task("search"), "rl+imitation", settings=texts)


@pytest.mark.parametrize("data", ["uniform", "FILE*2,uniform"])
def test_shares_give_the_same_by_any_number_of_threads_and_after_a_break(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lists.csv"
    path.write_text("1,2,3\n2,4,5,9\n1,8\n3,4,5,6\n")
    settings = {**NETWORK, "data": data.replace("FILE", str(path))}
    found = []
    for threads in ("1", "2", "8"):
        monkeypatch.setenv("SURPASS_THREADS", threads)
        run_in(tmp_path / threads, learner_of(settings))
        found.append(checkpoint_files(tmp_path / threads))
    broken = tmp_path / "broken"
    learner = learner_of(settings)
    run = run_in(broken, _Stopping(learner, rounds=2))  # type: ignore[arg-type]
    assert not run.curves[2:]
    run_in(broken, learner_of(settings), resume=True)
    assert found[0] == found[1] == found[2] == checkpoint_files(broken)


class _Stopping:
    """A learner that is done after some rounds."""

    def __init__(self, learner: AnyLearner, rounds: int) -> None:
        self._learner, self._left = learner, rounds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._learner, name)

    @property
    def done(self) -> bool:
        self._left -= 1
        return self._left < 0


def test_the_number_of_shares_is_part_of_a_recipe_unless_it_is_one() -> None:
    assert learner_of(NETWORK).recipe["actors"] == 4
    assert "actors" not in learner_of(NETWORK, actors=1).recipe


def test_more_shares_than_episodes_are_refused() -> None:
    with pytest.raises(SettingError, match="actors is 80; there are only 24 episodes to share out"):
        learner_of(NETWORK, actors=80)


@pytest.mark.parametrize("policy", ["table", "forks", "drawn"])
def test_only_the_episodes_of_a_network_are_shared_out(policy: str) -> None:
    with pytest.raises(SettingError, match=f"actors goes with policy=network; the policy is {policy}"):
        new_learner(find_task("search"), "rl", settings={"policy": policy, "actors": "2"})


def test_a_full_view_learns_in_one_share() -> None:
    with pytest.raises(SettingError, match="actors is 2; sort-full has a full view"):
        new_learner(find_task("sort-full"), "rl", settings={"actors": "2"})
