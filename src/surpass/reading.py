"""What comes from outside, checked before it is used: numbers, paths, files, and records of declared fields.

What a record may hold is declared once: as a dataclass with annotations, or as a mapping of names to kinds, with a `?`
behind a name that may be missing. A kind is a type such as `int`, `list[str]` or `float | None`, and
`Annotated[int, Range(1, 9)]` bounds a number. `validate` reads plain data as what is declared; `check_fields` makes the
fields of a dataclass that was built in Python what is declared.
"""

from __future__ import annotations

import json
import math
import re
import types
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from numbers import Integral, Real
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from surpass.errors import SavedFileError, SettingError, SurpassError
from surpass.printing import truncate

MOST_BYTES = 1 << 26
"""How large a file may be that is read whole, unless its reader allows more: 64 MB."""
MOST_DEPTH = 20
"""How deep the lists and mappings of a record may be nested."""
LONGEST_PART, LONGEST_PATH = 200, 3000
"""How long a name and a path may be, in bytes: what systems take, less what is added to them beside."""


# Numbers


@dataclass(frozen=True)
class Range:
    """The numbers from `low` to `high`, without `low` itself if `above`, and without `high` if `below`."""

    low: float
    high: float = math.inf
    above: bool = False
    below: bool = False

    def __contains__(self, value: Any) -> bool:
        is_high = value > self.low if self.above else value >= self.low
        return bool(is_high and (value < self.high if self.below else value <= self.high))

    def __str__(self) -> str:
        if self.high == math.inf:
            return f"of {self.low:,} or more"
        until = "and below" if self.below else "and up to" if self.above else "to"
        return f"{'above' if self.above else 'from'} {self.low:,} {until} {self.high:,}"

    @property
    def is_wide(self) -> bool:
        """Whether it ends where no sensible number comes."""
        return self.high >= 10**6


@dataclass(frozen=True)
class OneOf:
    """Some names, of which one is chosen."""

    names: tuple[str, ...]

    def __contains__(self, value: Any) -> bool:
        return value in self.names

    def __str__(self) -> str:
        return f"of {', '.join(self.names)}"


CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""What changes how a terminal or a page shows the text around it; lines of a longer text may have tabs and ends."""


class _OneLine:
    """Texts that say something, on one line."""

    def __contains__(self, value: str) -> bool:
        return bool(value.strip()) and not CONTROL.search(value)

    def __str__(self) -> str:
        return "of one line that is not blank"


MOST = 10**9
SEED = Range(0, 2**32 - 1)
ANY_SEED = Range(0, 10**20)
"""Learners draw with seeds that they make of their own one."""
SIZE = Range(1, 10**8)
COUNT = Range(1, 10**8)
MINUTES = Range(0, 100_000, above=True)
THREADS = Range(1, 1024)

Seed = Annotated[int, SEED]
Size = Annotated[int, SIZE]
Natural = Annotated[int, Range(0)]
Name = Annotated[str, _OneLine()]
Many = Annotated[int, Range(1, MOST)]
"""How many times something is done."""
Whole = Annotated[int, Range(0, MOST)]
Batch = Annotated[int, Range(1, 10**6)]
"""How many of something are held at once."""
Count = Annotated[int, Range(0, 10**15)]
"""How many there were so far."""
Share = Annotated[float, Range(0, 1)]
Fraction = Annotated[float, Range(0, 1, below=True)]
Weight = Annotated[float, Range(0, MOST)]
Finite = Annotated[float, Range(-MOST, MOST)]
Rate = Annotated[float, Range(0, 1, above=True, below=True)]
Setting = float | str | list[float] | tuple[float, ...]
"""What a setting may be in a recipe."""


def check_range(name: str, value: float, allowed: Range) -> None:
    """Raise `SettingError` unless a number lies in a range."""
    if value not in allowed:
        raise SettingError(f"{name} is {show(value)}; it must be {allowed}")


def show(value: Any) -> str:
    """Return a value for a message, cut if it is long."""
    try:
        return truncate(f"the kernel {value.__name__!r}" if hasattr(value, "py_func") else repr(value), 80)
    except ValueError:
        return "a number of too many digits"


# Files


def as_path(text: str | Path) -> Path:
    """Return a path, once it is known that the system takes such a name; there need be nothing there."""
    path = Path(text)
    if CONTROL.search(str(path)):
        raise SettingError(f"{show(str(path))} has control characters; no name of a file may have them here")
    try:
        name = str(path).encode()
        if len(name) > LONGEST_PATH or max(map(len, name.split(b"/"))) > LONGEST_PART:
            raise SettingError(f"{show(str(path))} is too long for a path: a name in it has up to {LONGEST_PART} bytes")
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise SettingError(f"{path} cannot be used: {error.strerror}") from None
    except ValueError:
        raise SettingError(f"{show(str(path))} is not a path: it is not UTF-8") from None
    return path


def read_bytes(path: Path, error: type[SurpassError] = SavedFileError, most: int = MOST_BYTES) -> bytes:
    """Return the content of a file, which must not be larger than `most` bytes."""
    try:
        with path.open("rb") as file:
            content = file.read(most + 1)
    except OSError as reason:
        raise error(f"{path} cannot be read: {reason.strerror}") from None
    if len(content) > most:
        raise error(f"{path} is too large: it has more than {most:,} bytes")
    return content


def read_record(path: Path, kind: Any) -> Any:
    """Return the record of a JSON file, of a declared kind."""
    return validate(kind, parse_json(read_bytes(path), path), path)


def parse_json(content: bytes, source: object, error: type[SurpassError] = SavedFileError) -> Any:
    """Return the plain data of a JSON text."""
    try:
        value = json.loads(content)
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise error(f"{source} is not JSON, or it is cut off") from None
    except ValueError:
        raise error(f"{source} holds a number of too many digits") from None
    except RecursionError:
        value = None
    if value is None or is_deep(value):
        raise error(f"{source} is not a record: it is empty, or nested too deep")
    return value


def is_deep(value: Any, most: int = MOST_DEPTH) -> bool:
    """Return whether plain data is nested deeper than `most`."""
    if not isinstance(value, dict | list):
        return False
    return most == 0 or any(is_deep(part, most - 1) for part in (value.values() if isinstance(value, dict) else value))


# Records


class _MisfitError(Exception):
    """What is wrong with a value, without where it was read."""


def validate(kind: Any, value: Any, source: object, error: type[SurpassError] = SavedFileError) -> Any:
    """Return a value as one of a declared kind; what a mapping says beside what is declared stays as it is."""
    try:
        return _validate(kind, value, "")
    except _MisfitError as misfit:
        raise error(f"{source}{'' if str(misfit)[0] == ' ' else ': '}{misfit}") from None


def check_fields(record: Any, source: str = "", error: type[SurpassError] = SettingError) -> None:
    """Make each field of a dataclass what its annotation says, in place; raise an error if it is not."""
    try:
        for name, kind in _kinds(record.__class__).items():
            object.__setattr__(record, name, _validate(kind, getattr(record, name), name))
    except _MisfitError as misfit:
        raise error(f"{source}: {misfit}" if source else str(misfit)) from None


@cache
def _kinds(kind: Any) -> dict[str, Any]:
    """Return the kinds of the fields of a dataclass."""
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in fields(kind)}


def _make(kind: Any, value: dict[str, Any], place: str) -> Any:
    """Return the dataclass that a mapping describes; fields with a default may be missing."""
    needed = {field.name for field in fields(kind) if field.default is field.default_factory is MISSING}
    declared = {name if name in needed else f"{name}?": part for name, part in _kinds(kind).items()}
    found = _validate(declared, value, place)
    return kind(**{name: found[name] for name in _kinds(kind) if name in found})


def _validate(kind: Any, value: Any, place: str) -> Any:
    """Return a value as one of a kind; `place` is where it stands in its record."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin is Annotated:
        found = _validate(parts[0], value, place)
        if found in parts[1]:
            return found
    elif origin in (Union, types.UnionType):
        for part in parts:
            try:
                return _validate(part, value, place)
            except _MisfitError:
                continue
    elif origin is Literal:
        if value in parts:
            return value
    elif origin is Callable:
        if callable(value) and not isinstance(value, type):
            return value
    elif isinstance(kind, dict) and isinstance(value, dict):
        found = dict(value)
        for name, part in kind.items():
            key = name.removesuffix("?")
            if key in value:
                found[key] = _validate(part, value[key], f"{place} {key}".strip())
            elif key == name:
                raise _MisfitError(f"{place} does not say its {name}")
        return found
    elif is_dataclass(kind) and isinstance(value, dict):
        return _make(kind, value, place)
    elif isinstance(kind, list) or origin in (list, tuple):
        if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping):  # a text would be its letters
            item = (parts or kind)[0]
            items = [_validate(item, one, f"{place}[{k}]") for k, one in enumerate(value)]
            if origin is not tuple or parts[-1] is Ellipsis or len(parts) == len(items):
                return (origin or list)(items)
    elif origin in (dict, Mapping):
        if isinstance(value, Mapping):
            return {
                _validate(parts[0], key, f"a key of {place}"): _validate(parts[1], item, f"{place} {key}")
                for key, item in value.items()
            }
    elif kind in (int, float):
        is_number = isinstance(value, Integral if kind is int else Real) and not isinstance(value, bool)
        if is_number and not (isinstance(value, int) and abs(value) >= 2**63 and kind is float):
            return value if type(value) in (int, float) else kind(value)
    elif isinstance(kind, type) and isinstance(value, kind) and _is_text(value):
        return value
    raise _MisfitError(f"{place} is {show(value)}; it must be {describe_kind(kind)}")


def _is_text(value: Any) -> bool:
    """Return whether a text can be written and shown: half of a pair of surrogates and controls cannot."""
    return not (isinstance(value, str) and re.search("[\ud800-\udfff]|(?![\t\n])" + CONTROL.pattern, value))


NAMES: dict[Any, str] = {
    **{int: "a whole number", float: "a number", bool: "true or false", types.NoneType: "null"},
    **dict.fromkeys((dict, Mapping), "a table of names and values"),
    **{Hashable: "a value that can be compared", Callable: "a function", str: "a text without control characters"},
}


def describe_kind(kind: Any) -> str:
    """Return what values of a kind are, for a message."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return f"one {parts[1]}" if isinstance(parts[1], OneOf) else f"{describe_kind(parts[0])} {parts[1]}"
    if origin is Literal:
        return f"one {OneOf(parts)}"
    if origin in (Union, types.UnionType):
        words = list(dict.fromkeys(describe_kind(part) for part in parts))
        return " or ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]
    if isinstance(kind, list) or origin in (list, tuple):
        if get_origin(parts[0] if parts else None) is Annotated:
            return f"a list of numbers with commas between, each {describe_kind(parts[0])}"
        return "a list of numbers" if parts[:1] == (float,) else "a list"
    if is_dataclass(kind) and isinstance(kind, type):
        return f"a surpass.{kind.__name__}"
    return NAMES[dict if isinstance(kind, dict) else origin or kind]
