"""Whose fault an error is: the function of a user's file that it came out of, with its line."""

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
def blaming(what: str) -> Iterator[None]:
    """Turn errors of a user's plain Python into `DeclarationError`s that say what raised them, and where."""
    try:
        yield
    except (SurpassError, MemoryError):
        raise
    except Exception as error:
        said = " ".join(str(error).split())
        shown = type(error).__name__ + (f": {said}" if said else "")
        place = f" ({place_of(error)[1]})" if _own_frames(error) else ""
        raise DeclarationError(f"{what} raises {shown}{place}") from error


def place_of(error: BaseException) -> tuple[str, str]:
    """Return the function that an error came out of, the user's if there is one, and its file and line in words."""
    frames = _own_frames(error) or [(f.f_code, line) for f, line in traceback.walk_tb(error.__traceback__)]
    return show_place(*frames[-1])


def own_place(error: BaseException, function: object = None) -> str:
    """Return where an error came out of a user's file, in words with a blank before, or where a function stands."""
    own = [place for place in _own_frames(error) if is_own(place[0])]
    return f" ({show_place(*own[-1])[1]})" if own else place_of_function(function)


def place_of_function(function: object) -> str:
    """Return where a function of Python stands, in words, with a blank before; nothing if it is none."""
    code = getattr(getattr(function, "py_func", function), "__code__", None)
    return f" ({show_place(code, code.co_firstlineno)[1]})" if isinstance(code, CodeType) else ""


def show_place(code: CodeType, line: int) -> tuple[str, str]:
    """Return the name of a function, and its file with a line, in words."""
    return code.co_name, f"{Path(code.co_filename).name}, line {line}"


def is_own(code: CodeType) -> bool:
    """Tell whether a function is the user's, and neither ours nor a library's."""
    return not (Path(code.co_filename).is_relative_to(PACKAGE) or _is_library(code.co_filename))


def _own_frames(error: BaseException) -> list[tuple[CodeType, int]]:
    """Return the functions and lines of an error's way that are the user's, or of a library if none is."""
    frames = [(frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    others = [place for place in frames if not Path(place[0].co_filename).is_relative_to(PACKAGE)]
    return [place for place in others if not _is_library(place[0].co_filename)] or others


def _is_library(file: str) -> bool:
    return bool(re.search(r"[/\\](site|dist)-packages[/\\]|^<|[/\\]lib[/\\]python3", file))
