"""Damage to files: bytes changed anywhere, wrong values at every place of a record, tensors of another kind."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import pickle
import re
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from safetensors.numpy import load, save

HUGE = "@a number of 5000 digits@"
MISSING = object()


def _nest(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


WRONG: tuple[Any, ...] = (
    *(None, [], {}, "", "text", "\ud800", "\0", "x" * 5000, True, False, -1, 0.5, float("nan"), float("inf"), 1e308),
    *(10**30, -(10**30), 10**400, HUGE, _nest(15), _nest(400), [None], [[1]], {"a": 1}, ["a"], MISSING),
)
"""What a value of a record is replaced by."""


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value of a record; of long lists only the first and the last."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list):
        for k in sorted({0, len(value) - 1} if value else ()):
            yield from places(value[k], (*path, k))


def with_value(record: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Return a copy of a record with another value, or none, at a path."""
    if not path:
        return None if value is MISSING else value
    changed = copy.deepcopy(record)
    inside = changed
    for key in path[:-1]:
        inside = inside[key]
    if value is MISSING:
        del inside[path[-1]]
    else:
        inside[path[-1]] = value
    return changed


def to_json(record: Any) -> bytes:
    """Return a record as JSON, huge numbers and all."""
    return json.dumps(record).replace(json.dumps(HUGE), "7" * 5000).encode()


Made = tuple[str, Callable[[], bytes]]
"""What was done to a file, and what makes its new content."""


def wrong_values(content: bytes) -> Iterator[Made]:
    """Yield a JSON file with each wrong value at every place."""
    record = json.loads(content)
    for path in places(record):
        for number, value in enumerate(WRONG):
            name = f"value {number} at {'.'.join(map(str, path))}"
            yield name, lambda path=path, value=value: to_json(with_value(record, path, value))  # type: ignore[misc]


def signed(content: bytes) -> bytes:
    """Return the JSON file of a bundle under its right checksum, if it still looks like one."""
    try:
        record = json.loads(content)
        del record["sha256"]
        plain = json.dumps(record, sort_keys=True, separators=(",", ":")).encode()
    except (KeyError, RecursionError, TypeError, ValueError):
        return content
    return to_json({**record, "sha256": hashlib.sha256(plain).hexdigest()})


def with_tensors(content: bytes, tensors: bytes) -> bytes:
    """Return the JSON file of a bundle with the right checksums for other tensors."""
    record = json.loads(content)
    return signed(to_json({**record, "tensors_sha256": hashlib.sha256(tensors).hexdigest()}))


def odd_tensors(content: bytes) -> Iterator[Made]:
    """Yield a safetensors file with each tensor of another type or shape, not finite, missing or under another name."""
    tensors = load(content)
    for name, tensor in tensors.items():
        for change, make in CHANGES.items():
            if change not in ("nan", "inf", "one nan") or tensor.dtype.kind == "f":
                yield (
                    f"{name} {change}",
                    lambda name=name, make=make: save({**tensors, name: _made(make, tensors[name])}),
                )  # type: ignore[misc]
        rest = {key: value for key, value in tensors.items() if key != name}
        yield f"{name} missing", lambda rest=rest: save(rest)  # type: ignore[misc]
        yield f"{name} renamed", lambda rest=rest, name=name: save({**rest, f"{name}.x": tensors[name]})  # type: ignore[misc]
        yield f"{name} twice", lambda name=name: save({**tensors, f"{name}.x": tensors[name]})  # type: ignore[misc]
    yield "no tensors", lambda: save({})
    length = int.from_bytes(content[:8], "little")
    heading = content[8 : 8 + length]
    for kind in (b"BF16", b"F8_E4M3", b"I32", b"U32", b"C64", b"nope"):
        for many in (1, 3, 0):
            other = re.sub(rb'"F32"', b'"' + kind + b'"', heading, count=many)
            whole = len(other).to_bytes(8, "little") + other + content[8 + length :]
            yield f"heading with {many} of {kind.decode()}", lambda whole=whole: whole  # type: ignore[misc]


def _made(make: Callable[[Any], Any], tensor: Any) -> Any:
    with np.errstate(all="ignore"):
        return make(tensor)


def _some_nan(tensor: Any) -> Any:
    changed = tensor.copy()
    changed.reshape(-1)[-1:] = np.nan
    return changed


CHANGES: dict[str, Callable[[Any], Any]] = {
    "as doubles": lambda tensor: tensor.astype(np.float64),
    "as halves": lambda tensor: tensor.astype(np.float16),
    "as bytes": lambda tensor: tensor.astype(np.uint8),
    "as flags": lambda tensor: tensor.astype(np.bool_),
    "transposed": lambda tensor: np.ascontiguousarray(tensor.T),
    "flat": lambda tensor: tensor.reshape(-1).copy(),
    "deeper": lambda tensor: tensor[None],
    "longer": lambda tensor: np.concatenate([tensor.reshape(-1), tensor.reshape(-1)[:1]]),
    "empty": lambda tensor: tensor.reshape(-1)[:0].copy(),
    "nan": lambda tensor: np.full(tensor.shape, np.nan, tensor.dtype),
    "inf": lambda tensor: np.full(tensor.shape, np.inf, tensor.dtype),
    "one nan": _some_nan,
}
"""What is done to a tensor."""


def damaged(content: bytes, random: np.random.Generator) -> tuple[str, bytes]:
    """Return bytes with one damage."""
    size = max(1, len(content))
    at, length = int(random.integers(size)), int(random.integers(1, 1 + min(64, size)))
    before, piece, after = content[:at], content[at : at + length], content[at + length :]
    place, noise = int(random.integers(len(before + after) + 1)), random.bytes(length)
    bit = bytes([content[at] ^ 1 << int(random.integers(8))]) if content else b"x"
    made = {
        "cut": before,
        "head": content[at:],
        "bit": before + bit + content[at + 1 :],
        "byte": before + noise[:1] + content[at + 1 :],
        "gone": before + after,
        "twice": before + piece + piece + after,
        "zeros": before + bytes(length) + after,
        "noise": before + noise + after,
        "inserted": before + noise + piece + after,
        "moved": (before + after)[:place] + piece + (before + after)[place:],
    }
    kind = str(random.choice(list(made)))
    return f"{kind} at {at}", made[kind]


def _zipped() -> bytes:
    file = io.BytesIO()
    np.savez(file, a=np.zeros((2, 3)))
    return file.getvalue()


def _array(array: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def _archive() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("x", "y")
    return file.getvalue()


def _claiming(shape: str, dtype: str = "<f8") -> bytes:
    """Return a .npy file whose heading claims a shape."""
    heading = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(heading).to_bytes(2, "little") + heading


FOREIGN: dict[str, bytes] = {
    "nothing": b"",
    "a pickle": pickle.dumps({"a": 1}),
    "an array": _array(np.zeros((3, 4))),
    "a list as an array": _array(np.zeros(4)),
    "an array of texts": _array(np.array([["a", "b"]])),
    "an array of objects": _array(np.array([[{}, 1]], dtype=object), allow_pickle=True),
    "an array with NaN": _array(np.full((2, 2), np.nan)),
    "an array of complex numbers": _array(np.zeros((2, 2), complex)),
    "an array without columns": _array(np.zeros((3, 0))),
    "an array without rows": _array(np.zeros((0, 3))),
    "many rows without columns": _claiming("(1000000000000, 0)"),
    "more than there is": _claiming("(1000000000000, 3)"),
    "a negative shape": _claiming("(-1, 3)"),
    "a nested shape": _claiming("((" * 40 + "))" * 40),
    "no shape": _claiming("'x'"),
    "a structured array": _claiming("(1, 1)", "<f8,<i4"),
    "half an array": _array(np.zeros((30, 40)))[:200],
    "arrays in a zip file": _zipped(),
    "half of a zip file": _zipped()[:100],
    "another zip file": _archive(),
    "an image": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "a program of the system": b"\x7fELF" + bytes(500),
    "zeros": bytes(5000),
    "noise": np.random.default_rng(0).bytes(5000),
    "deep lists": b"[" * 100_000,
    "deep lists that end": b"[" * 100_000 + b"]" * 100_000,
    "deep mappings": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "deep TOML": b"a = " + b"[" * 50_000 + b"]" * 50_000,
    "deep keys": b".".join([b"a"] * 5000) + b" = 1",
    "deep settings": b'task = "search"\nmethod = "rl"\n[settings]\n' + b".".join([b"a"] * 5000) + b" = 1",
    "a number of 5000 digits": b"7" * 5000,
    "a hexadecimal number in TOML": b'task = "search"\nmethod = "rl"\nseeds = [0x' + b"f" * 9000 + b"]",
    "a setting of many digits": b'task = "search"\nmethod = "rl"\n[settings]\nupdates = 0x' + b"f" * 9000,
    "a million runs": b'task = "search"\nmethod = "rl"\n[grid]\n'
    + b"".join(f"k{k} = {list(range(100))}\n".encode() for k in range(5)),
    "a million seeds": b'task = "search"\nmethod = "rl"\nseeds = ['
    + b",".join(b"%d" % k for k in range(10**5))
    + b",0]",
    "half a pair of surrogates": b'"\\ud800"',
    "UTF-16": '{"format": "surpass bundle 1"}'.encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf{}",
    "an empty record": b"{}",
    "null": b"null",
    "a text": b'"surpass bundle 1"',
    "nothing but a format": b'{"format": "surpass bundle 1"}',
    "one long line": b"1," * 200_000,
    "one long word": b"x" * 200_000,
    "a rule without end": b"task sort-bubble\n" + b"v1 = v2 and " * 20_000,
    "brackets": b"task sort-bubble\n" + b"(" * 50_000,
    "a place in many digits": b"task sort-bubble\n@" + b"9" * 6000 + b" in {0}: SwapWithNext(1)\n",
    "an action in many digits": b"task sort-bubble\nelse: @" + b"9" * 6000 + b"\n",
    "a variable in many digits": b"task sort-bubble\nelse: SwapWithNext(" + b"9" * 6000 + b")\n",
    "commas": b",,,:::,,,\n" * 50,
    "infinities": b"inf,-inf,1e999\n1e400:2:3\n",
    "numbers with underscores": b"1_0" * 3000 + b"\n",
}
"""Files of other formats, and such as attackers make."""
