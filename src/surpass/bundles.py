"""Saved agents and checkpoints: tensors in safetensors, everything else in JSON, both under a checksum.

A bundle `NAME` is the pair of files `NAME.safetensors` and `NAME.json`, or the latter alone if it has no tensors.
Loading one runs no code from it.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load, save

from surpass.errors import SavedFileError
from surpass.machine.interface import Interface

FORMAT = "surpass bundle 1"

Tensors = dict[str, npt.NDArray[Any]]


def save_bundle(stem: Path, tensors: Tensors | None, record: dict[str, Any]) -> None:
    """Write a bundle; the JSON file comes last, so that a bundle is whole once it is there."""
    content: dict[str, Any] = {"format": FORMAT, "record": record}
    if tensors is not None:
        data = save({name: np.asarray(tensor, order="C") for name, tensor in tensors.items()})
        content["tensors_sha256"] = _digest(data)
        write_atomically(stem.with_name(stem.name + ".safetensors"), data)
    content["sha256"] = _digest(_canonical(content))
    write_atomically(stem.with_name(stem.name + ".json"), (json.dumps(content, indent=1) + "\n").encode())


def load_bundle(stem: Path) -> tuple[Tensors, dict[str, Any]]:
    """Return the tensors, if it has any, and the record of a bundle, once both are known to be whole."""
    record_path, tensors_path = stem.with_name(stem.name + ".json"), stem.with_name(stem.name + ".safetensors")
    content = _read_record(record_path)
    record: dict[str, Any] = content["record"]
    if "tensors_sha256" not in content:
        return {}, record
    data = _read(tensors_path)
    if _digest(data) != content["tensors_sha256"]:
        raise SavedFileError(
            f"{tensors_path} has changed since it was written, or is cut off: its checksum does not match"
        )
    try:
        tensors = load(data)
    except (SafetensorError, ValueError, KeyError) as error:
        raise SavedFileError(f"{tensors_path} is not a safetensors file: {error}") from None
    return tensors, record


def interface_fingerprint(interface: Interface) -> str:
    """Return a short text that changes when what an agent sees or does changes."""
    parts = [
        *(f"{f.name}:{getattr(f, 'values', 'previous')}" for f in interface.features),
        *(f"{i.name}({','.join(f'{o.name}:{o.kind}:{o.values}' for o in i.operands)})" for i in interface.instructions),
    ]
    return _digest("\n".join(parts).encode())[:16]


def check_interface(stem: Path, record: dict[str, Any], interface: Interface, task: str) -> None:
    """Raise `SavedFileError` unless a record was made for this interface of a task."""
    if record.get("interface") != interface_fingerprint(interface):
        raise SavedFileError(f"{stem} was made for another version of the interface of {task}")


def _read_record(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(_read(path))
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise SavedFileError(f"{path} is not JSON, or it is cut off") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise SavedFileError(f"{path} was not written by surpass: it does not say {FORMAT!r}")
    checksum = content.pop("sha256", None)
    if checksum != _digest(_canonical(content)):
        raise SavedFileError(f"{path} has changed since it was written: its checksum does not match")
    return content


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SavedFileError(f"{path} cannot be read: {error.strerror}") from None


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _canonical(content: dict[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that at any moment it is either as before or complete."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with fresh.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
