"""Saved programs: the agent of a name is its program, its network stands beside it, and changed files are refused."""

from __future__ import annotations

import numpy as np
import pytest

from surpass.agents import find_agent
from surpass.agents.networks.agent import NetworkAgent
from surpass.agents.networks.files import network_tensors
from surpass.agents.networks.structured import StructuredPolicy
from surpass.agents.storage import load_saved, save_program
from surpass.agents.zoo import find_entry, load_entry
from surpass.bundles import interface_fingerprint, load_bundle, save_bundle
from surpass.errors import SavedFileError
from surpass.programs.program import Program
from surpass.programs.text import parse_program
from surpass.tasks.sort_bubble import SORT_BUBBLE

PROGRAM = parse_program("task sort-bubble\nv1 = v2: MoveVar(1, +1)\nelse: SwapWithNext(2)\n", "made")


def test_a_program_without_a_network_is_saved_and_found(tmp_path):
    save_program(tmp_path / "agent", PROGRAM, {"seconds": 3})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agent.json", "agent.rules"]
    for text in (str(tmp_path), str(tmp_path / "agent.json"), str(tmp_path / "agent.rules")):
        found = find_agent(text)
        assert found == PROGRAM
        assert found.name == text
    tensors, record = load_bundle(tmp_path / "agent")
    assert tensors == {}
    assert (record["seconds"], record["task"], record["rules"]) == (3, "sort-bubble", 2)


@pytest.mark.parametrize(("finished", "rounds", "is_newer"), [(False, 2, True), (False, 3, False), (True, 2, False)])
def test_a_search_that_goes_on_is_the_program_of_its_newest_checkpoint(tmp_path, finished, rounds, is_newer):
    save_program(tmp_path / "agent", PROGRAM, {"rounds": rounds, "finished": finished})
    (tmp_path / "checkpoints").mkdir()
    newer = parse_program("task sort-bubble\nelse: SwapWithNext(2)\n", "newer")
    record = {"task": "sort-bubble", "interface": interface_fingerprint(SORT_BUBBLE.interface), "program": newer.text}
    save_bundle(tmp_path / "checkpoints" / "00000003", None, record)
    found = find_agent(str(tmp_path))
    assert found == (newer if is_newer else PROGRAM)
    assert found.name == str(tmp_path)
    save_bundle(tmp_path / "checkpoints" / "00000003", None, {**record, "interface": "another"})
    with pytest.raises(SavedFileError, match="another version"):
        find_agent(str(tmp_path / "checkpoints" / "00000003.json"))


def test_the_network_beside_it_is_its_neural_form(tmp_path):
    network = StructuredPolicy(SORT_BUBBLE.interface)
    save_program(tmp_path / "agent", PROGRAM, {}, network_tensors(network))
    assert find_agent(str(tmp_path)) == PROGRAM
    neural = find_agent(str(tmp_path / "agent.safetensors"))
    assert isinstance(neural, NetworkAgent)
    seen = np.arange(50)
    assert (neural.actions(seen) == NetworkAgent("own", SORT_BUBBLE, network).actions(seen)).all()


def test_a_changed_missing_or_foreign_program_is_refused(tmp_path):
    stem = tmp_path / "agent"
    save_program(stem, PROGRAM, {})
    path = tmp_path / "agent.rules"
    path.write_text(path.read_text().replace("+1", "-1"))
    with pytest.raises(SavedFileError, match="checksum does not match"):
        load_saved(stem, "agent")
    assert isinstance(find_agent(str(path)), Program), "the file alone is an agent like any other"
    path.unlink()
    with pytest.raises(SavedFileError, match="cannot be read"):
        load_saved(stem, "agent")


def test_rules_beside_a_record_that_does_not_know_them_are_refused(tmp_path):
    resident = find_entry("sort-bubble/imitation-insertion_sort")
    for suffix in (".json", ".safetensors"):
        (tmp_path / f"agent{suffix}").write_bytes(resident.stem.with_name(resident.stem.name + suffix).read_bytes())
    assert isinstance(load_saved(tmp_path / "agent", "x"), NetworkAgent)
    PROGRAM.write(tmp_path / "agent.rules")
    with pytest.raises(SavedFileError, match="checksum does not match"):
        load_saved(tmp_path / "agent", "x")


def test_the_zoo_may_hold_programs(tmp_path, monkeypatch):
    (tmp_path / "sort-bubble").mkdir()
    score = {"instances": 100, "solved": 1.0, "mean_steps": 9.0, "mean_reward": -9.0}
    about = {"method": "discover", "teacher": None, "recipe": {}, "seconds": 1.0, "date": "2026-11-15"}
    about["scores"] = [{"size": size, **score} for size in (10, 20)]
    save_program(tmp_path / "sort-bubble" / "discover", PROGRAM, about)
    monkeypatch.setattr("surpass.agents.zoo.zoo_folder", lambda: tmp_path)
    agent = load_entry("sort-bubble")
    assert agent == PROGRAM
    assert agent.name == "zoo:sort-bubble/discover"
