"""Networks in files."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from surpass.agents.networks.agent import NetworkAgent, layer_sizes
from surpass.agents.storage import ABOUT
from surpass.arrays import Floats
from surpass.bundles import Tensors, check_interface, checked_tensor, interface_fingerprint, load_bundle, save_bundle
from surpass.errors import SavedFileError
from surpass.extras import load
from surpass.machine.interface import Interface
from surpass.reading import validate
from surpass.tasks.registry import find_task
from surpass.tasks.task import Task

if TYPE_CHECKING:
    from torch import nn

    from surpass.full_view.graph import GraphAgent

PREFIX = "network."


def network_tensors(network: nn.Module) -> Tensors:
    """Return copies of the parameters of a network by name."""
    return {PREFIX + name: tensor.numpy().copy() for name, tensor in network.state_dict().items()}


def fill_network(network: nn.Module, tensors: Tensors, source: object, prefix: str = PREFIX) -> None:
    """Set the parameters of a network in place from tensors by name; `source` is named in a refusal."""
    wanted = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    for name, values in _checked_parameters(wanted, tensors, source, prefix).items():
        wanted[name][...] = values


def _checked_parameters(wanted: Tensors, tensors: Tensors, source: object, prefix: str = PREFIX) -> Tensors:
    """Return the parameters of a network by name, which must be like those that are wanted."""
    given = {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
    if not given:
        raise SavedFileError(f"{source} holds no network; if it belongs to a run that was stopped, resume the run")
    if set(given) != set(wanted):
        odd = sorted(set(given) ^ set(wanted))[0]
        raise SavedFileError(f"{source} does not hold the parameters of this network: {odd!r} is on one side only")
    return {name: checked_tensor(given, name, like, source) for name, like in wanted.items()}


def save_agent(stem: Path, task: Task, network: nn.Module, about: dict[str, Any]) -> None:
    """Write a network and its record as a bundle."""
    record = {**about, "task": task.name, "interface": interface_fingerprint(task.interface)}
    save_bundle(stem, network_tensors(network), record)


def load_agent(stem: Path, name: str, task: Task | None = None) -> tuple[NetworkAgent | GraphAgent, dict[str, Any]]:
    """Return the agent of a bundle and its record; its task must be `task` if one is given."""
    tensors, record = load_bundle(stem)
    record = validate(ABOUT, record, f"{stem}.json")
    if task is not None and record["task"] != task.name:
        raise SavedFileError(f"{stem} is an agent of {record['task']}, not of {task.name}")
    found = find_task(record["task"]) if task is None else task
    check_interface(stem, record["interface"], found.interface, found.name)
    if not found.interface.is_full_view:
        return NetworkAgent(name, found, _checked_parameters(_blank(found.interface), tensors, stem)), record
    load("torch").set_num_threads(1)  # a second thread gains nothing at these sizes and costs much on a busy machine
    graph = load("surpass.full_view.graph")
    agent: GraphAgent = graph.GraphAgent(name, found, graph.GraphPolicy())
    fill_network(agent.network, tensors, stem)
    return agent, record


def _blank(interface: Interface) -> Tensors:
    """Return the parameters of the structured policy of an interface by name, all of them 0."""
    blank: dict[str, Floats] = {}
    for slot in range(len(interface.slots)):
        for depth, (inputs, outputs) in enumerate(pairwise(layer_sizes(interface, slot))):
            blank[f"slots.{slot}.{2 * depth}.weight"] = np.zeros((outputs, inputs), np.float32)
            blank[f"slots.{slot}.{2 * depth}.bias"] = np.zeros(outputs, np.float32)
    return blank
