"""Errors that come out of a user's functions, with the file and the line of the user's code."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType

from surpass.errors import DeclarationError, SurpassError

PACKAGE = Path(__file__).parents[1]


@contextmanager
def user_errors(what: str) -> Iterator[None]:
    """Turn errors of a user's plain Python into `DeclarationError`s that name what raised them, and where."""
    try:
        yield
    except (SurpassError, MemoryError):
        raise
    except Exception as error:
        raise DeclarationError(f"{what} raises {describe_error(error)}{place_of(error)}") from error


def describe_error(error: BaseException) -> str:
    """Return the type and the text of an error as one line."""
    said = " ".join(str(error).split())
    return type(error).__name__ + (f": {said}" if said else "")


def place_of(error: BaseException, function: object = None) -> str:
    """Return the user's line that an error came out of, as ` (FILE, line N)`, or else where a function stands."""
    own = user_frames(error)
    return show_place(*own[-1]) if own else place_of_function(function)


def user_frames(error: BaseException) -> list[tuple[CodeType, int]]:
    """Return the user's functions and lines on the way to an error, the outermost first."""
    frames = [(frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    return [frame for frame in frames if is_users(frame[0].co_filename)]


def place_of_function(function: object) -> str:
    """Return where a function or a kernel stands, as ` (FILE, line N)`; nothing if it is not written in Python."""
    code = getattr(getattr(function, "py_func", function), "__code__", None)
    return show_place(code, code.co_firstlineno) if isinstance(code, CodeType) else ""


def show_place(code: CodeType, line: int) -> str:
    """Return a file and a line as ` (FILE, line N)`."""
    return f" ({Path(code.co_filename).name}, line {line})"


def is_users(file: str) -> bool:
    """Tell whether a file is the user's, and neither ours nor a library's."""
    is_library = re.search(r"[/\\](site|dist)-packages[/\\]|^<|[/\\]lib[/\\]python3", file)
    return not (is_library or Path(file).is_relative_to(PACKAGE))
