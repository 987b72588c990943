"""Saved agents: a network, or a program with, perhaps, the network that learned it beside it.

`NAME.json` is the record. With `NAME.rules` beside it the agent is that program, and `NAME.safetensors`, if there is
one, is its neural form; else the agent is the network in `NAME.safetensors`. The checkpoint of a search holds its
program itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from surpass.bundles import Tensors, check_interface, digest, interface_fingerprint, load_bundle, save_bundle
from surpass.engine.run import AnyAgent
from surpass.errors import SavedFileError
from surpass.programs.program import Program
from surpass.programs.text import SUFFIX, parse_program, read_program
from surpass.reading import Count, read_bytes, validate
from surpass.tasks.registry import find_task

ABOUT = {"task": str, "interface": str, "rules_sha256?": str, "program?": str, "rounds?": Count, "finished?": bool}
"""The fields that the record of every saved agent has."""


def save_program(stem: Path, program: Program, about: dict[str, Any], network: Tensors | None = None) -> None:
    """Write a program and its record, with the tensors of its neural form if it has one."""
    path = _rules_of(stem)
    program.write(path)
    record = {
        **about,
        "task": program.task.name,
        "interface": interface_fingerprint(program.task.interface),
        "rules": len(program.rules),
        "rules_sha256": digest(path.read_bytes()),
    }
    save_bundle(stem, network, record)


def load_saved(stem: Path, name: str) -> AnyAgent:
    """Return a saved agent: its program if it has one, once its file is known to be the one that was saved.

    Else it is its network.
    """
    path, record = _rules_of(stem), read_about(stem)
    if "program" in record:
        if not record["program"]:
            raise SavedFileError(f"{name} has no program yet: the run was stopped before it found one; resume it first")
        task = find_task(record["task"])
        check_interface(stem, record["interface"], task.interface, task.name)
        return parse_program(record["program"], f"{stem}.json", task, name)
    if not path.exists() and "rules_sha256" not in record:
        from surpass.agents.networks.files import load_agent

        return load_agent(stem, name)[0]
    if record.get("rules_sha256") != digest(read_bytes(path)):
        raise SavedFileError(
            f"{path} is not the program that {stem.name}.json is about: its checksum does not match; to use a changed"
            " program, copy the file to another folder"
        )
    task = find_task(record["task"])
    check_interface(stem, record["interface"], task.interface, task.name)
    return read_program(path, name, task)


def read_about(stem: Path) -> Any:
    """Return what the record of a saved agent says."""
    return validate(ABOUT, load_bundle(stem)[1], f"{stem}.json")


def _rules_of(stem: Path) -> Path:
    return stem.with_name(stem.name + SUFFIX)
