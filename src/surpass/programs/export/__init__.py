"""Programs as source files that need nothing of surpass."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from surpass.errors import UnknownNameError
from surpass.programs.export.entries import entry_of, memory_entry
from surpass.programs.export.kinds import Kinds
from surpass.programs.export.plan import plan_program
from surpass.programs.program import Program

__all__ = ["LANGUAGES", "export_program"]

LANGUAGES = ("python", "c")
MOST_DEPTH = 50_000


def export_program(program: Program, language: str, *, count_unmet: bool = False) -> str:
    """Return the text of one source file that does what a program's rules do, in as many steps.

    With `count_unmet` the file looks up every observation among those of the program's table and counts the others.
    """
    if language not in LANGUAGES:
        raise UnknownNameError("language", language, LANGUAGES)
    with _deep_recursion():
        return _export(program, language, count_unmet)


@contextmanager
def _deep_recursion() -> Iterator[None]:
    """Allow deep recursion for the length of a block: a program may be a chain of a thousand rules."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(max(usual, MOST_DEPTH))
    try:
        yield
    finally:
        sys.setrecursionlimit(usual)


def _export(program: Program, language: str, count_unmet: bool) -> str:
    plan = plan_program(program, entry_of(program.task), count_unmet=count_unmet)
    kinds = Kinds(plan)
    if plan.entry.shape == "list" and kinds.items != "item":
        # The task reckons with ranks, which the values of a list are not.
        plan = plan_program(program, memory_entry(program.task), count_unmet=count_unmet)
        kinds = Kinds(plan)
    if language == "python":
        from surpass.programs.export.python import write_python

        return write_python(plan)
    from surpass.programs.export.c import write_c

    return write_c(plan, kinds)
