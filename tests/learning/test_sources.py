"""Learning on a user's own lists, by every method that takes files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from surpass.errors import DataFileError, SettingError
from surpass.learning.methods import new_learner
from surpass.learning.policy_gradient.learner import PolicyGradient
from surpass.learning.sources import Sources
from surpass.learning.table.learner import TableLearner
from surpass.tasks.registry import find_task
from surpass.tasks.task import join_instances

POLICIES = {
    "network": {"episodes": "24", "unroll": "8", "updates": "2", "updates_per_round": "1"},
    "table": {"episodes": "64", "updates": "2", "starts": "1", "checks": "0"},
}


def reversed_lists(path: Path, sizes: tuple[int, ...] = (4, 4, 6, 6, 6)) -> str:
    """Write a file of reversed lists."""
    path.write_text("\n".join(",".join(map(str, range(size, 0, -1))) for size in sizes))
    return str(path)


def gradient(policy: str, data: str, **settings: str) -> PolicyGradient | TableLearner:
    """Return a small learner by policy gradient from insertion sort."""
    chosen = {"policy": policy, "data": data, **POLICIES[policy], **settings}
    one = new_learner(find_task("sort-bubble"), "rl+imitation", teacher="insertion_sort", settings=chosen)
    assert isinstance(one, PolicyGradient | TableLearner)
    return one


def drawn_by(one: PolicyGradient | TableLearner) -> tuple[np.ndarray, np.ndarray]:
    """Return the sizes and the items of the instances of an update."""
    if isinstance(one, TableLearner):
        drawn, _ = one._draw(one._reachable_sizes(), one.config.episodes, 3)
    else:
        drawn = one.sampler._draw(one.curriculum.sizes)
    return drawn.sizes, drawn.items


@pytest.mark.parametrize("policy", POLICIES)
def test_policy_gradient_learns_on_the_lists_of_a_file(policy: str, tmp_path: Path) -> None:
    """It learns on four of five, keeps the checksum, and tells how the last one went."""
    one = gradient(policy, reversed_lists(tmp_path / "mine.csv"))
    sizes, items = drawn_by(one)
    assert set(sizes.tolist()) <= {4, 6}
    for size, values in zip(sizes, items, strict=True):
        assert (np.diff(values[:size]) < 0).all()
    assert len(one.recipe["digest"]) == 64
    assert join_instances(one.task, one.sources.held_out).count == 1
    one.advance()
    assert one.describe().startswith("On 1 held-out lists: ")
    assert "uniform lists" in one.describe()
    reversed_lists(tmp_path / "mine.csv", (3, 3))
    with pytest.raises(SettingError, match="its checksum differs"):
        gradient(policy, one.recipe["data"], digest=one.recipe["digest"])


@pytest.mark.parametrize("policy", POLICIES)
def test_files_and_distributions_count_by_their_weights(policy: str, tmp_path: Path) -> None:
    data = reversed_lists(tmp_path / "mine.csv")
    one = gradient(policy, f"{data}*3,all-equal", episodes="400")
    sizes, items = drawn_by(one)
    equal = np.mean([np.ptp(values[:size]) == 0 for size, values in zip(sizes, items, strict=True)])
    assert 0.15 < equal < 0.35


def test_a_stage_without_fitting_lists_uses_usual_ones(tmp_path: Path) -> None:
    data = reversed_lists(tmp_path / "mine.csv")
    one = gradient("table", data)
    assert isinstance(one, TableLearner)
    assert set(one._draw((2, 3), 64, 3)[0].sizes.tolist()) == {2, 3}
    assert set(drawn_by(one)[0].tolist()) == {4, 6}
    with pytest.raises(SettingError, match="sizes"):
        gradient("table", data, sizes="8-9")
    with pytest.raises(SettingError, match="sizes"):
        gradient("network", data, sizes="8-9")


@pytest.mark.parametrize("policy", POLICIES)
def test_policy_gradient_has_a_sentence_for_odd_files(policy: str, tmp_path: Path) -> None:
    """One list is learned on and none held out; single values and lists too long are refused."""
    path = tmp_path / "odd.csv"
    path.write_text("3,1,2\n")
    assert gradient(policy, str(path)).describe() == "No list was held out: the data hold one list only.\n"
    path.write_text("3\n1\n")
    with pytest.raises(DataFileError, match="of a single item"):
        gradient(policy, str(path))
    np.save(tmp_path / "long.npy", np.zeros((2, 5001), np.int64))
    with pytest.raises(DataFileError, match="longer than 5,000"):
        gradient(policy, str(tmp_path / "long.npy"))
    with pytest.raises(SettingError, match="data is 'sideways'; allowed: uniform"):
        gradient(policy, "sideways")


def test_distributions_alone_say_nothing_of_held_out_lists() -> None:
    sources = Sources(find_task("sort-bubble"), "uniform,sawtooth", "mixed", 0)
    assert sources.is_plain
    assert not Sources(find_task("sort-bubble"), "uniform*2,sawtooth", "mixed", 0).is_plain
    assert sources.lengths == (0, 0)
    assert gradient("network", "uniform").describe() == ""
