"""Networks in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from surpass.agents.networks.agent import NetworkAgent, new_agent
from surpass.agents.saved import ABOUT
from surpass.bundles import Tensors, check_interface, interface_fingerprint, load_bundle, save_bundle, take
from surpass.errors import SavedFileError
from surpass.full_view.graph import GraphAgent
from surpass.reading import conform
from surpass.tasks.registry import find_task
from surpass.tasks.task import Task

PREFIX = "network."


def network_tensors(network: torch.nn.Module) -> Tensors:
    """Return the parameters of a network by name."""
    return {PREFIX + name: tensor.detach().numpy().copy() for name, tensor in network.state_dict().items()}


def fill_network(network: torch.nn.Module, tensors: Tensors, source: object, prefix: str = PREFIX) -> None:
    """Set the parameters of a network in place from tensors by name; `source` is named in a refusal."""
    given = {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
    wanted = network.state_dict()
    if not given:
        raise SavedFileError(
            f"{source} holds no network; if it is of a run that was stopped, resume the run to its end"
        )
    if set(given) != set(wanted):
        odd = sorted(set(given) ^ set(wanted))[0]
        raise SavedFileError(f"{source} does not hold the parameters of this network: {odd!r} is on one side only")
    filled = {name: take(given, name, tensor.numpy(), source) for name, tensor in wanted.items()}
    network.load_state_dict({name: torch.from_numpy(value) for name, value in filled.items()})


def save_agent(stem: Path, task: Task, network: torch.nn.Module, about: dict[str, Any]) -> None:
    """Write a network and what is known about it as a bundle."""
    record = {**about, "task": task.name, "interface": interface_fingerprint(task.interface)}
    save_bundle(stem, network_tensors(network), record)


def load_agent(stem: Path, name: str, task: Task | None = None) -> tuple[NetworkAgent | GraphAgent, dict[str, Any]]:
    """Return the agent of a bundle and what is known about it; it must be of `task` if one is given."""
    torch.set_num_threads(1)  # a second thread gains nothing at these sizes and costs much on a busy machine
    tensors, record = load_bundle(stem)
    record = conform(ABOUT, record, f"{stem}.json")
    if task is not None and record["task"] != task.name:
        raise SavedFileError(f"{stem} is an agent of {record['task']}, not of {task.name}")
    found = find_task(record["task"]) if task is None else task
    check_interface(stem, record["interface"], found.interface, found.name)
    agent = new_agent(name, found)
    fill_network(agent.network, tensors, stem)
    return agent, record
