"""What a declaration may say: each check names the field, the value that was given and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from surpass.errors import DeclarationError


def refuse_field(field: str, value: Any, allowed: str) -> DeclarationError:
    """Return the error about a field with a value that is not allowed."""
    shown = f"the kernel {value.__name__!r}" if hasattr(value, "py_func") else repr(value)
    return DeclarationError(f"{field} is {shown if len(shown) <= 80 else shown[:77] + '...'}; it must be {allowed}")


def is_whole(value: Any) -> bool:
    """Tell whether a value is a whole number, and no truth."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def check_text(field: str, value: Any, *, blank: bool = True) -> None:
    """Raise `DeclarationError` unless a field is a text; one that must not be blank has letters."""
    if not isinstance(value, str):
        raise refuse_field(field, value, "a text")
    if not blank and not value.strip():
        raise refuse_field(field, value, "a text that is not blank")


def check_whole(field: str, value: Any, least: int | None = None) -> None:
    """Raise `DeclarationError` unless a field is a whole number, not below `least`."""
    if not is_whole(value) or (least is not None and value < least):
        raise refuse_field(field, value, "a whole number" + ("" if least is None else f" of {least} or more"))


def check_real(field: str, value: Any, least: float | None = None) -> None:
    """Raise `DeclarationError` unless a field is a finite number, not below `least`."""
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or (least is not None and value < least):
        raise refuse_field(field, value, "a finite number" + ("" if least is None else f" of {least:g} or more"))


def check_truth(field: str, value: Any) -> None:
    """Raise `DeclarationError` unless a field is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise refuse_field(field, value, "True or False")


def check_function(field: str, value: Any, called: str) -> None:
    """Raise `DeclarationError` unless a field is a function, which is `called` like this."""
    if not callable(value) or isinstance(value, type):
        raise refuse_field(field, value, f"a function, called as {called}")


def check_kernel_given(field: str, value: Any, called: str) -> None:
    """Raise `DeclarationError` unless a field can be a kernel; whether it is one is seen when it is tried."""
    if not callable(value) or isinstance(value, type):
        raise refuse_field(field, value, f"a kernel, called as {called}")


def check_kind(field: str, value: Any, kind: Any, allowed: str) -> None:
    """Raise `DeclarationError` unless a field is of a kind."""
    if not isinstance(value, kind):
        raise refuse_field(field, value, allowed)


def as_tuple(field: str, value: Any, what: str) -> tuple[Any, ...]:
    """Return the parts of a field that lists something; a text, which would split into letters, is not a list."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise refuse_field(field, value, f"a tuple of {what}")
    return tuple(value)


def check_kinds(field: str, values: Iterable[Any], kind: Any, what: str) -> None:
    """Raise `DeclarationError` unless every part of a field is of a kind."""
    for number, value in enumerate(values):
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
            raise refuse_field(f"{field}[{number}]", value, what)


def check_mapping(field: str, value: Any, what: str) -> None:
    """Raise `DeclarationError` unless a field is a dictionary with texts as its keys."""
    if not isinstance(value, Mapping):
        raise refuse_field(field, value, f"a dictionary of {what}")
    for key in value:
        if not isinstance(key, str):
            raise refuse_field(f"a key of {field}", key, "a text")
