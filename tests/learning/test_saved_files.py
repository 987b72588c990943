"""Saved agents and checkpoints that are not as they were written are refused by name, and nothing in them is run."""

from __future__ import annotations

import hashlib
import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surpass import Instruction, Interface, binary, flag, integer
from surpass.agents import find_agent
from surpass.agents.networks.agent import NetworkAgent
from surpass.agents.networks.files import load_agent, save_agent
from surpass.agents.networks.structured import StructuredPolicy
from surpass.agents.zoo import find_entry
from surpass.bundles import interface_fingerprint, load_bundle, save_bundle
from surpass.errors import SavedFileError
from surpass.learning.runs import RunFolder
from surpass.tasks.knapsack import KNAPSACK
from surpass.tasks.search import SEARCH
from tests.learning.quick import checkpoint_files, knapsack_learner, run_in

ROUNDS = 3
SUFFIXES = (".json", ".safetensors")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run, not to be changed."""
    folder: Path = tmp_path_factory.mktemp("runs") / "finished"
    run_in(folder, knapsack_learner(ROUNDS))
    return folder


@pytest.fixture
def run_folder(finished: Path, tmp_path: Path) -> Path:
    """A copy of that folder."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


def newest(folder: Path) -> Path:
    """Return the stem of the newest checkpoint."""
    return folder / "checkpoints" / f"{ROUNDS:08d}"


def file_of(stem: Path, suffix: str) -> Path:
    return stem.with_name(stem.name + suffix)


def check_one_sentence(error: BaseException, name: str) -> None:
    """Raise AssertionError unless an error is one line that names a file."""
    text = str(error)
    assert name in text, text
    assert len(text.splitlines()) == 1, text


# Damage, as functions that change a bundle's file in place


def cut_in_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flip_a_byte(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) * 2 // 3] ^= 0x10
    path.write_bytes(bytes(data))


def add_a_byte(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"1")


def remove(path: Path) -> None:
    path.unlink()


def replace_by_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES = (cut_in_half, empty, flip_a_byte, add_a_byte, remove, replace_by_a_folder)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda d: d.__name__)
def test_a_damaged_file_is_refused_by_name(damage: Callable[[Path], None], suffix: str, run_folder: Path) -> None:
    path = file_of(newest(run_folder), suffix)
    damage(path)
    with pytest.raises(SavedFileError) as refusal:
        load_bundle(newest(run_folder))
    check_one_sentence(refusal.value, path.name)
    with pytest.raises(SavedFileError) as refusal:
        find_agent(str(file_of(newest(run_folder), ".safetensors")))
    check_one_sentence(refusal.value, path.name)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("damage", [d for d in DAMAGES if d is not remove], ids=lambda d: d.__name__)
def test_a_run_passes_over_a_damaged_checkpoint_with_a_word_and_ends_the_same(
    damage: Callable[[Path], None], suffix: str, run_folder: Path, finished: Path
) -> None:
    path = file_of(newest(run_folder), suffix)
    damage(path)
    learner = knapsack_learner(ROUNDS)
    folder = RunFolder(run_folder)
    folder.restore(learner)
    assert learner.rounds == ROUNDS - 1
    assert len(folder.warnings) == 1
    assert path.name in folder.warnings[0]
    if damage is replace_by_a_folder:
        path.rmdir()
    run_in(run_folder, knapsack_learner(ROUNDS), resume=True)
    assert checkpoint_files(run_folder) == checkpoint_files(finished)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_run_goes_on_from_the_one_before_if_a_file_of_the_newest_is_gone(
    suffix: str, run_folder: Path, finished: Path
) -> None:
    file_of(newest(run_folder), suffix).unlink()
    learner = knapsack_learner(ROUNDS)
    RunFolder(run_folder).restore(learner)
    assert learner.rounds == ROUNDS - 1
    run_in(run_folder, knapsack_learner(ROUNDS), resume=True)
    assert checkpoint_files(run_folder) == checkpoint_files(finished)


def test_a_run_all_of_whose_checkpoints_are_damaged_starts_again_and_ends_the_same(
    run_folder: Path, finished: Path
) -> None:
    for path in (run_folder / "checkpoints").iterdir():
        flip_a_byte(path)
    folder = run_in(run_folder, knapsack_learner(ROUNDS), resume=True)
    assert len(folder.warnings) == 2
    assert checkpoint_files(run_folder) == checkpoint_files(finished)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_whatever_bit_is_flipped_it_is_refused_or_means_the_same(suffix: str, run_folder: Path) -> None:
    stem = newest(run_folder)
    tensors, record = load_bundle(stem)
    path = file_of(stem, suffix)
    whole = path.read_bytes()
    random = np.random.default_rng(0)
    # All of the beginning, where lengths, names and shapes stand, and some of the rest.
    places = {*range(min(600, len(whole))), *random.integers(0, len(whole), 300).tolist(), len(whole) - 1}
    refused = 0
    for place in sorted(places):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(random.integers(8))
        path.write_bytes(damaged)
        try:
            loaded, about = load_bundle(stem)
        except SavedFileError as refusal:
            refused += 1
            check_one_sentence(refusal, path.name)
            continue
        # The e of an exponent and its capital, or the last digit of a long number, mean the same.
        assert suffix == ".json"
        assert about == record
        assert all(np.array_equal(loaded[name], tensors[name]) for name in tensors)
    assert refused > 0.97 * len(places)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_wherever_a_file_is_cut_off_it_is_refused(suffix: str, run_folder: Path) -> None:
    path = file_of(newest(run_folder), suffix)
    whole = path.read_bytes()
    for length in {*range(0, 64), *np.linspace(0, len(whole) - 2, 200).astype(int).tolist()}:
        path.write_bytes(whole[:length])
        with pytest.raises(SavedFileError, match=path.name):
            load_bundle(newest(run_folder))


# Foreign files


class Marker:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_pickle_is_refused_and_not_run(suffix: str, run_folder: Path, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    pickled = pickle.dumps(Marker(marker))
    pickle.loads(pickled)
    assert marker.exists(), "this pickle would do something"
    marker.unlink()
    path = file_of(newest(run_folder), suffix)
    path.write_bytes(pickled)
    with pytest.raises(SavedFileError) as refusal:
        find_agent(str(file_of(newest(run_folder), ".safetensors")))
    check_one_sentence(refusal.value, path.name)
    RunFolder(run_folder).restore(knapsack_learner(ROUNDS))
    assert not marker.exists()


def test_a_checkpoint_of_another_task_is_refused(run_folder: Path) -> None:
    stem = newest(run_folder)
    with pytest.raises(SavedFileError, match="knapsack, not of search") as refusal:
        load_agent(stem, "foreign", SEARCH)
    check_one_sentence(refusal.value, stem.name)


def test_a_run_does_not_go_on_from_a_checkpoint_of_another_task(run_folder: Path) -> None:
    foreign = find_entry("search/imitation-binary_search").stem
    for suffix in SUFFIXES:
        shutil.copy(file_of(foreign, suffix), file_of(newest(run_folder), suffix))
    learner, folder = knapsack_learner(ROUNDS), RunFolder(run_folder)
    try:
        folder.restore(learner)
    except SavedFileError as refusal:
        check_one_sentence(refusal, newest(run_folder).name)
    else:
        assert any(newest(run_folder).name in warning for warning in folder.warnings)
        assert learner.rounds == ROUNDS - 1


def test_a_run_passes_over_a_checkpoint_of_another_task(run_folder: Path) -> None:
    foreign = find_entry("search/imitation-binary_search").stem
    for suffix in SUFFIXES:
        shutil.copy(file_of(foreign, suffix), file_of(newest(run_folder), suffix))
    learner = knapsack_learner(ROUNDS)
    RunFolder(run_folder).restore(learner)
    assert learner.rounds == ROUNDS - 1


def test_a_run_passes_over_a_saved_agent_in_the_place_of_a_checkpoint(run_folder: Path) -> None:
    agent = find_entry("knapsack/imitation-depth_first").stem
    for suffix in SUFFIXES:
        shutil.copy(file_of(agent, suffix), file_of(newest(run_folder), suffix))
    learner = knapsack_learner(ROUNDS)
    RunFolder(run_folder).restore(learner)
    assert learner.rounds == ROUNDS - 1


def test_a_run_does_not_go_on_from_a_checkpoint_of_another_version_of_the_interface(run_folder: Path) -> None:
    stem = newest(run_folder)
    tensors, record = load_bundle(stem)
    save_bundle(stem, tensors, {**record, "interface": "0123456789abcdef"})
    learner, folder = knapsack_learner(ROUNDS), RunFolder(run_folder)
    try:
        folder.restore(learner)
    except SavedFileError as refusal:
        check_one_sentence(refusal, stem.name)
    else:
        assert any(stem.name in warning for warning in folder.warnings)
        assert learner.rounds == ROUNDS - 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"interface": "0123456789abcdef"}, "another version of the interface"),
        ({"task": "search"}, "another version of the interface"),
    ],
    ids=["interface", "task"],
)
def test_an_agent_of_another_interface_is_refused(change: dict[str, str], message: str, tmp_path: Path) -> None:
    save_agent(tmp_path / "agent", KNAPSACK, StructuredPolicy(KNAPSACK.interface), {})
    tensors, record = load_bundle(tmp_path / "agent")
    save_bundle(tmp_path / "agent", tensors, {**record, **change})
    with pytest.raises(SavedFileError, match=message) as refusal:
        load_agent(tmp_path / "agent", "changed")
    check_one_sentence(refusal.value, "agent")


def test_an_agent_with_a_missing_an_additional_or_a_misshapen_tensor_is_refused(tmp_path: Path) -> None:
    save_agent(tmp_path / "agent", KNAPSACK, StructuredPolicy(KNAPSACK.interface), {})
    tensors, record = load_bundle(tmp_path / "agent")
    name = "network.slots.0.0.weight"
    broken = [
        {key: value for key, value in tensors.items() if key != name},
        {**tensors, "network.slots.9.0.weight": tensors[name]},
        {**tensors, name: tensors[name].T},
        {**tensors, name: tensors[name].astype(np.float64)},
    ]
    for content in broken:
        save_bundle(tmp_path / "agent", content, record)
        with pytest.raises(SavedFileError) as refusal:
            load_agent(tmp_path / "agent", "broken")
        check_one_sentence(refusal.value, "agent")


@pytest.mark.parametrize(
    "content",
    ["{}", "[]", "null", '{"format": "surpass bundle 1"}', '{"format": "other"}', '"surpass bundle 1"'],
)
def test_json_that_is_no_record_is_refused(content: str, run_folder: Path) -> None:
    path = file_of(newest(run_folder), ".json")
    path.write_text(content)
    with pytest.raises(SavedFileError) as refusal:
        load_bundle(newest(run_folder))
    check_one_sentence(refusal.value, path.name)


def test_a_bundle_that_is_no_agent_is_refused(tmp_path: Path) -> None:
    save_bundle(tmp_path / "other", {"x": np.zeros(3)}, {"hello": "world"})
    with pytest.raises(SavedFileError, match=r"other\.json"):
        load_agent(tmp_path / "other", "other")


@pytest.mark.parametrize("name", ["missing.safetensors", "missing.json"])
def test_a_missing_file_is_refused_by_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(SavedFileError) as refusal:
        find_agent(str(tmp_path / name))
    check_one_sentence(refusal.value, str(tmp_path / "missing"))


def test_a_folder_that_is_no_run_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(SavedFileError) as refusal:
        find_agent(str(tmp_path))
    check_one_sentence(refusal.value, str(tmp_path))


# Whole files


def test_a_bundle_gives_back_what_was_saved(tmp_path: Path) -> None:
    tensors = {"a": np.arange(6).reshape(2, 3), "b": np.float32([0.1, -0.0]), "c": np.zeros((0, 4))}
    record = {"text": "Grüße", "numbers": [1, 2.5, 1e-300], "nothing": None}
    save_bundle(tmp_path / "bundle.of.dots", tensors, record)
    loaded, about = load_bundle(tmp_path / "bundle.of.dots")
    assert about == record
    assert loaded.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert (loaded[name].dtype, loaded[name].shape) == (tensor.dtype, tensor.shape)
        assert loaded[name].tobytes() == tensor.tobytes()


def test_a_single_number_comes_back_without_a_dimension(tmp_path: Path) -> None:
    save_bundle(tmp_path / "bundle", {"step": np.array(3.0, np.float32)}, {})
    assert load_bundle(tmp_path / "bundle")[0]["step"].shape == ()


def test_equal_content_makes_equal_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save_bundle(tmp_path / name, {"x": np.arange(4), "y": np.zeros(2)}, {"k": [1, 2]})
    for suffix in SUFFIXES:
        assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_a_saved_agent_answers_as_before(tmp_path: Path) -> None:
    network = StructuredPolicy(KNAPSACK.interface, seed=3)
    save_agent(tmp_path / "agent", KNAPSACK, network, {"note": "fresh"})
    loaded, record = load_agent(tmp_path / "agent", "again")
    observations = np.random.default_rng(0).integers(0, KNAPSACK.interface.observation_count, 200)
    assert isinstance(loaded, NetworkAgent)
    assert loaded.actions(observations).tolist() == NetworkAgent("x", KNAPSACK, network).actions(observations).tolist()  # type: ignore[arg-type]
    assert record["note"] == "fresh"


def test_a_fingerprint_changes_with_all_that_an_agent_sees_or_does() -> None:
    a = Instruction("A", binary("x", (0, 1)))
    variants = [
        Interface([flag("on")], [a]),
        Interface([flag("off")], [a]),
        Interface([flag("on"), flag("off")], [a]),
        Interface([flag("on")], [Instruction("B", binary("x", (0, 1)))]),
        Interface([flag("on")], [Instruction("A", binary("y", (0, 1)))]),
        Interface([flag("on")], [Instruction("A", binary("x", (0, 2)))]),
        Interface([flag("on")], [Instruction("A", integer("x", (0, 1)))]),
        Interface([flag("on")], [a, Instruction("B")]),
        Interface([flag("on")], [Instruction("B"), a]),
    ]
    assert len({interface_fingerprint(variant) for variant in variants}) == len(variants)
    assert interface_fingerprint(variants[0]) == interface_fingerprint(Interface([flag("on")], [a]))


def test_a_record_names_the_checksum_of_its_tensors(run_folder: Path) -> None:
    content = json.loads(file_of(newest(run_folder), ".json").read_text())
    data = file_of(newest(run_folder), ".safetensors").read_bytes()
    assert content["tensors_sha256"] == hashlib.sha256(data).hexdigest()
