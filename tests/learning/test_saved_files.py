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


def check_refused(read: Callable[[], object], name: str) -> None:
    """Raise AssertionError unless reading is refused in one line that names a file."""
    with pytest.raises(SavedFileError) as refusal:
        read()
    assert name in str(refusal.value)
    assert len(str(refusal.value).splitlines()) == 1


def check_passed_over(folder: Path, name: str) -> None:
    """Raise AssertionError unless a run goes on from the last checkpoint but one, and says why."""
    learner, run = knapsack_learner(ROUNDS), RunFolder(folder)
    run.restore(learner)
    assert learner.rounds == ROUNDS - 1
    (warning,) = run.warnings
    assert name in warning


# Damage


class Marker:
    """Makes a file when it is unpickled."""

    path = Path("marker")

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


def with_a_byte_flipped(data: bytes) -> bytes:
    place = len(data) * 2 // 3
    return data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut in half": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "a byte flipped": with_a_byte_flipped,
    "a byte more": lambda data: data + b"1",
    "a pickle": lambda data: pickle.dumps(Marker()),
    "no fields": lambda data: b"{}",
    "a list": lambda data: b"[]",
    "null": lambda data: b"null",
    "a text": lambda data: b'"surpass bundle 1"',
    "nothing but a format": lambda data: b'{"format": "surpass bundle 1"}',
    "another format": lambda data: b'{"format": "other"}',
}


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_refused_by_name_and_a_run_goes_on_without_it_to_the_same_end(
    damage: str, suffix: str, run_folder: Path, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run_folder)
    path = file_of(newest(run_folder), suffix)
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    check_refused(lambda: load_bundle(newest(run_folder)), path.name)
    check_refused(lambda: find_agent(str(file_of(newest(run_folder), ".safetensors"))), path.name)
    check_passed_over(run_folder, path.name)
    run_in(run_folder, knapsack_learner(ROUNDS), resume=True)
    assert checkpoint_files(run_folder) == checkpoint_files(finished)
    assert not Marker.path.exists()


def test_the_pickle_among_the_damages_would_do_something(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pickle.loads(pickle.dumps(Marker()))
    assert Marker.path.exists()


@pytest.mark.parametrize("replaced", [False, True], ids=["gone", "a folder"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_is_not_there_is_refused_by_name_and_a_run_goes_on_without_it(
    suffix: str, replaced: bool, run_folder: Path, finished: Path
) -> None:
    path = file_of(newest(run_folder), suffix)
    path.unlink()
    if replaced:
        path.mkdir()
    check_refused(lambda: find_agent(str(file_of(newest(run_folder), ".safetensors"))), path.name)
    learner = knapsack_learner(ROUNDS)
    RunFolder(run_folder).restore(learner)
    assert learner.rounds == ROUNDS - 1
    if replaced:
        path.rmdir()
    run_in(run_folder, knapsack_learner(ROUNDS), resume=True)
    assert checkpoint_files(run_folder) == checkpoint_files(finished)


def test_a_run_without_an_agent_is_that_of_its_newest_whole_checkpoint(run_folder: Path) -> None:
    expected = find_agent(str(newest(run_folder).with_name(f"{ROUNDS - 1:08d}.json")))
    path = file_of(newest(run_folder), ".safetensors")
    path.write_bytes(path.read_bytes()[:-1])
    observations = np.arange(200)
    found = find_agent(str(run_folder))
    assert found.actions(observations).tolist() == expected.actions(observations).tolist()  # type: ignore[union-attr]


def test_a_run_all_of_whose_checkpoints_are_damaged_starts_again_and_ends_the_same(
    run_folder: Path, finished: Path
) -> None:
    for path in (run_folder / "checkpoints").iterdir():
        path.write_bytes(with_a_byte_flipped(path.read_bytes()))
    folder = run_in(run_folder, knapsack_learner(ROUNDS), resume=True)
    assert len(folder.warnings) == 2
    assert checkpoint_files(run_folder) == checkpoint_files(finished)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_flipped_bit_or_a_cut_is_refused_or_means_the_same(suffix: str, run_folder: Path) -> None:
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
            assert path.name in str(refusal)  # noqa: PT017
            continue
        # The e of an exponent and its capital, or the last digit of a long number, mean the same.
        assert suffix == ".json"
        assert about == record
        assert all(np.array_equal(loaded[name], tensors[name]) for name in tensors)
    assert refused > 0.97 * len(places)
    for length in {*range(0, 64), *np.linspace(0, len(whole) - 2, 200).astype(int).tolist()}:
        path.write_bytes(whole[:length])
        check_refused(lambda: load_bundle(stem), path.name)


# Whole files of something else


@pytest.mark.parametrize("other", ["another task", "an agent", "another interface", "another recipe"])
def test_a_run_passes_over_a_checkpoint_of_something_else(other: str, run_folder: Path) -> None:
    stem = newest(run_folder)
    tensors, record = load_bundle(stem)
    if other == "another task":
        tensors, record = load_bundle(find_entry("search/imitation-binary_search").stem)
    elif other == "an agent":
        tensors, record = load_bundle(find_entry("knapsack/imitation-depth_first").stem)
    else:
        record = {**record, other.removeprefix("another "): "0123456789abcdef"}
    save_bundle(stem, tensors, record)
    check_passed_over(run_folder, stem.name)


WEIGHT = "network.slots.0.0.weight"
UNFIT: dict[str, Callable[[dict[str, Any], dict[str, Any]], tuple[dict[str, Any], dict[str, Any]]]] = {
    "another interface": lambda tensors, record: (tensors, {**record, "interface": "0123456789abcdef"}),
    "another task": lambda tensors, record: (tensors, {**record, "task": "search"}),
    "no agent": lambda tensors, record: (tensors, {"hello": "world"}),
    "a tensor less": lambda tensors, record: ({k: v for k, v in tensors.items() if k != WEIGHT}, record),
    "a tensor more": lambda tensors, record: ({**tensors, "network.slots.9.0.weight": tensors[WEIGHT]}, record),
    "turned": lambda tensors, record: ({**tensors, WEIGHT: tensors[WEIGHT].T}, record),
    "of doubles": lambda tensors, record: ({**tensors, WEIGHT: tensors[WEIGHT].astype(np.float64)}, record),
}


@pytest.mark.parametrize("what", UNFIT)
def test_an_agent_that_does_not_fit_is_refused(what: str, tmp_path: Path) -> None:
    stem = tmp_path / "agent"
    save_agent(stem, KNAPSACK, StructuredPolicy(KNAPSACK.interface), {})
    check_refused(lambda: load_agent(stem, "foreign", SEARCH), "agent")
    load_agent(stem, "fitting", KNAPSACK)
    save_bundle(stem, *UNFIT[what](*load_bundle(stem)))
    check_refused(lambda: load_agent(stem, "unfit"), "agent")


# What is saved comes back


def test_a_bundle_gives_back_what_was_saved(tmp_path: Path) -> None:
    tensors = {"a": np.arange(6).reshape(2, 3), "b": np.float32([0.1, -0.0]), "c": np.zeros((0, 4)), "d": np.float32(3)}
    record = {"text": "Grüße", "numbers": [1, 2.5, 1e-300], "nothing": None}
    save_bundle(tmp_path / "bundle.of.dots", tensors, record)
    loaded, about = load_bundle(tmp_path / "bundle.of.dots")
    assert about == record
    assert loaded.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert (loaded[name].dtype, loaded[name].shape) == (tensor.dtype, tensor.shape)
        assert loaded[name].tobytes() == tensor.tobytes()


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
