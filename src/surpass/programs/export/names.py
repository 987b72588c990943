"""What things are called in exported files: words that neither the languages nor the files themselves use."""

from __future__ import annotations

import keyword
import re

from surpass.machine.state import DEPTH, FIRST, FUNCTION, PREVIOUS, SIZE
from surpass.programs.export.code import Cell, Const, Expr, Register
from surpass.tasks.task import Task

__all__ = ["RESERVED", "SEEN", "name_memory", "name_task"]

SEEN = Register(-1)
"""The whole observation, where the code looks at it before each step."""

_C_WORDS = (
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float",
    "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed", "sizeof",
    "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "int64_t", "size_t",
    "double", "main", "free", "calloc", "realloc", "abs", "ceil", "exp", "fabs", "floor", "llabs", "log", "sqrt",
)  # fmt: skip
_OWN_WORDS = (
    "n", "items", "reals", "query", "limit", "left", "steps", "score", "stack", "stack_limit", "frames", "depth",
    "capacity", "site", "place", "result", "function", "previous", "seen", "back", "end", "no_place", "too_deep",
    "out_of_memory", "step_limit", "unmet", "grow", "was_met", "limit_of", "in_range", "met", "math", "namedtuple",
    "len", "range", "min", "max", "int", "float", "count", "size", "value",
)  # fmt: skip
RESERVED = frozenset((*keyword.kwlist, *keyword.softkwlist, *_C_WORDS, *_OWN_WORDS))
"""Words that the exported files use themselves."""


def name_memory(task: Task) -> dict[Expr, str]:
    """Return a name for each register and each leading real of a task."""
    names: dict[Expr, str] = {
        Register(SIZE): "n",
        Register(PREVIOUS): "previous",
        Register(FUNCTION): "function",
        Register(DEPTH): "depth",
        SEEN: "seen",
    }
    # A run's outcome is a variable too, and results go to addresses that end in `_out`.
    taken = RESERVED | {"outcome"}
    places: list[tuple[Expr, str]] = [(Register(FIRST + k), name) for k, name in enumerate(task.registers)]
    places += [(Cell("reals", Const(k)), name) for k, name in enumerate(task.real_names)]
    for place, given in places:
        name = _as_word(given)
        while name in taken or name.endswith("_out"):
            name += "_"
        taken |= {name}
        names[place] = name
    return names


def name_task(task: Task) -> str:
    """Return the name of the function that runs a program of a task."""
    name = _as_word(task.name)
    return f"{name}_" if name in RESERVED else name


def _as_word(name: str) -> str:
    """Return a name as a word of letters, digits and underscores."""
    word = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")
    return word if word and not word[0].isdigit() else f"x{word}"
