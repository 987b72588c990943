"""Programs as source files that need nothing of surpass."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from surpass.errors import UnknownNameError
from surpass.programs.export.c import write_c
from surpass.programs.export.kinds import Kinds
from surpass.programs.export.plan import list_signature, memory_signature, plan_program
from surpass.programs.export.python import write_python
from surpass.programs.program import Program

__all__ = ["LANGUAGES", "export_program"]

LANGUAGES = ("python", "c")
MOST_DEPTH = 50_000


def export_program(program: Program, language: str) -> str:
    """Return the text of one source file that does what a program's rules do, in as many steps."""
    if language not in LANGUAGES:
        raise UnknownNameError("language", language, LANGUAGES)
    task = program.task
    declared = task.signature or list_signature(task) or memory_signature(task)
    with _deep_recursion():
        plan = plan_program(program, declared)
        kinds = Kinds(plan)
        if "list" in declared.items and kinds.items != "item":
            # The task reckons with ranks, which the values of a list are not.
            plan = plan_program(program, memory_signature(task))
            kinds = Kinds(plan)
        return write_python(plan) if language == "python" else write_c(plan, kinds)


@contextmanager
def _deep_recursion() -> Iterator[None]:
    """Allow deep recursion for the length of a block: a program may be a chain of a thousand rules."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(max(usual, MOST_DEPTH))
    try:
        yield
    finally:
        sys.setrecursionlimit(usual)
