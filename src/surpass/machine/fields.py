"""What a declaration may say: each field is compared with its annotation, and named if it holds something else."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import fields
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from surpass.errors import DeclarationError

Name = Annotated[str, 1]
"""A text that is not blank; a number beside a type is the least that is allowed, and a text says what is."""
Natural = Annotated[int, 0]
Size = Annotated[int, 1]
Kernel = Annotated[Callable[..., Any], "a kernel"]

_NUMBERS = {int: (int, np.integer), float: (int, float, np.number)}
_WORDS: dict[Any, str] = {
    str: "a text",
    bool: "True or False",
    int: "a whole number",
    float: "a finite number",
    tuple: "a tuple",
    Mapping: "a dictionary",
    Callable: "a function",
    Hashable: "a value that can be compared",
}


def refuse_field(field: str, value: Any, allowed: str) -> DeclarationError:
    """Return the error about a field with a value that is not allowed."""
    shown = f"the kernel {value.__name__!r}" if hasattr(value, "py_func") else repr(value)
    return DeclarationError(f"{field} is {shown if len(shown) <= 80 else shown[:77] + '...'}; it must be {allowed}")


def validate_fields(record: Any, whose: str) -> None:
    """Make each field of a dataclass what its annotation says, in place; raise `DeclarationError` if it is not."""
    for name, kind in _kinds(record.__class__).items():
        object.__setattr__(record, name, validate_value(name, getattr(record, name), kind, f" of {whose}"))


@cache
def _kinds(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in fields(kind)}


def validate_value(field: str, value: Any, kind: Any, whose: str = "") -> Any:
    """Return a value as one of a kind, which is a type or an annotation; raise `DeclarationError` if it is not."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin is Annotated:
        least = parts[1] if isinstance(parts[1], int) else -math.inf
        with suppress(DeclarationError):
            found = validate_value(field, value, parts[0], whose)
            if isinstance(parts[1], str) or (len(found.strip()) if isinstance(found, str) else found) >= least:
                return found
        blank = "a text that is not blank" if parts[0] is str else f"{_WORDS.get(parts[0])} of {least} or more"
        raise refuse_field(f"{field}{whose}", value, parts[1] if isinstance(parts[1], str) else blank)
    if origin in (Union, UnionType):
        if value is None and NoneType in parts:
            return None
        *others, last = (part for part in parts if part is not NoneType)
        for part in others:
            with suppress(DeclarationError):
                return validate_value(field, value, part, whose)
        return validate_value(field, value, last, whose)
    if origin is tuple and isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping):
        # A text would split into letters.
        items = tuple(validate_value(f"{field}[{k}]", item, parts[0], whose) for k, item in enumerate(value))
        if parts[-1] is Ellipsis or len(parts) == len(items):
            return items
    elif origin is Mapping and isinstance(value, Mapping):
        for key, item in value.items():
            validate_value(f"a key of {field}", key, parts[0], whose)
            validate_value(f"{field}[{key!r}]", item, parts[1], whose)
        return value
    elif kind in _NUMBERS:
        if isinstance(value, _NUMBERS[kind]) and not isinstance(value, bool) and math.isfinite(value):
            return int(value) if kind is int else value
    elif origin is Literal:
        if value in parts:
            return value
    elif origin is Callable:
        if callable(value) and not isinstance(value, type):
            return value
    elif origin is None and isinstance(value, bool | np.bool_ if kind is bool else kind):
        return value
    words = f"one of {', '.join(map(str, parts))}" if origin is Literal else _WORDS.get(origin or kind)
    raise refuse_field(f"{field}{whose}", value, words or f"a surpass.{kind.__name__}")
