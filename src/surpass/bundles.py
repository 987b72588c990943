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

from surpass.errors import SavedFileError, SettingError, SurpassError
from surpass.machine.interface import Interface
from surpass.reading import parse_json, read_bytes, validate

FORMAT = "surpass bundle 1"
MOST_TENSORS = 1 << 31
"""How many bytes the tensors of a bundle may have."""

Tensors = dict[str, npt.NDArray[Any]]


CONTENT = {"record": dict[str, Any], "tensors_sha256?": str}
"""What the JSON file of a bundle holds beside its format and checksum."""


def save_bundle(stem: Path, tensors: Tensors | None, record: dict[str, Any]) -> None:
    """Write a bundle; the JSON file comes last, so that a bundle is whole once it is there."""
    content: dict[str, Any] = {"format": FORMAT, "record": record}
    if tensors is not None:
        data = save({name: np.asarray(tensor, order="C") for name, tensor in tensors.items()})
        content["tensors_sha256"] = digest(data)
        write_atomically(stem.with_name(stem.name + ".safetensors"), data)
    content["sha256"] = digest(_canonical(content))
    write_atomically(stem.with_name(stem.name + ".json"), (json.dumps(content, indent=1) + "\n").encode())


def load_bundle(stem: Path) -> tuple[Tensors, dict[str, Any]]:
    """Return the tensors, if it has any, and the record of a bundle, once both are known to be whole."""
    record_path, tensors_path = stem.with_name(stem.name + ".json"), stem.with_name(stem.name + ".safetensors")
    content = _read_content(record_path)
    if "tensors_sha256" not in content:
        return {}, content["record"]
    data = read_bytes(tensors_path, most=MOST_TENSORS)
    if digest(data) != content["tensors_sha256"]:
        raise SavedFileError(
            f"{tensors_path} has changed since it was written, or is cut off: its checksum does not match"
        )
    try:
        tensors = load(data)
    except (SafetensorError, AttributeError, TypeError, ValueError, KeyError) as error:
        # Beside what safetensors refuses itself: types of numbers that NumPy does not have.
        raise SavedFileError(f"{tensors_path} is not a safetensors file of numbers: {error}") from None
    return tensors, content["record"]


def checked_tensor(
    tensors: Tensors, name: str, like: npt.NDArray[Any], source: object, *, finite: bool = True
) -> npt.NDArray[Any]:
    """Return a copy of a tensor, once it is known to be there with the type and shape of another, and to be finite."""
    if name not in tensors:
        raise SavedFileError(f"{source} does not hold {name!r}")
    found = tensors[name]
    if (found.dtype, found.shape) != (like.dtype, like.shape):
        raise SavedFileError(
            f"{source} holds {name!r} as {found.dtype} of shape {found.shape}, not {like.dtype} of shape {like.shape}"
        )
    if finite and found.dtype.kind == "f" and not np.isfinite(found).all():
        raise SavedFileError(f"{source} holds {name!r} with numbers that are not finite")
    return found.copy()


def interface_fingerprint(interface: Interface) -> str:
    """Return a short text that changes when what an agent sees or does changes."""
    parts = [
        *(f"{f.name}:{getattr(f, 'values', 'previous')}" for f in interface.features),
        *(f"{i.name}({','.join(f'{o.name}:{o.kind}:{o.values}' for o in i.operands)})" for i in interface.instructions),
    ]
    return digest("\n".join(parts).encode())[:16]


def check_interface(stem: Path, fingerprint: str, interface: Interface, task: str) -> None:
    """Raise `SavedFileError` unless something with a fingerprint was made for this interface of a task."""
    if fingerprint != interface_fingerprint(interface):
        raise SavedFileError(f"{stem} was made for another version of the interface of {task}")


def _read_content(path: Path) -> dict[str, Any]:
    content = parse_json(read_bytes(path), path)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise SavedFileError(f"{path} was not written by surpass: it does not say {FORMAT!r}")
    checksum = content.pop("sha256", None)
    if checksum != digest(_canonical(content)):
        raise SavedFileError(f"{path} has changed since it was written: its checksum does not match")
    return validate(CONTENT, content, path)  # type: ignore[no-any-return]


def digest(data: bytes) -> str:
    """Return the SHA-256 of some bytes as text."""
    return hashlib.sha256(data).hexdigest()


def _canonical(content: dict[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def write_atomically(path: Path, data: bytes, refusal: type[SurpassError] = SettingError) -> None:
    """Write a file so that at any moment it is either as before or complete; a device or a pipe is just written to."""
    in_place = path.exists() and not path.is_file() and not path.is_dir()
    fresh = path if in_place else path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with fresh.open("wb") as file:
            file.write(data)
            file.flush()
            if not in_place:
                os.fsync(file.fileno())
                fresh.replace(path)
    except OSError as error:
        if not in_place:
            fresh.unlink(missing_ok=True)
        raise refusal(f"{path} cannot be written: {error.strerror}") from None
