"""Programs as source files that need nothing of surpass."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from surpass.errors import UnknownNameError
from surpass.programs.export.entries import entry_of, memory_entry
from surpass.programs.export.kinds import Kinds
from surpass.programs.export.plan import plan_program
from surpass.programs.program import Program
from surpass.programs.tree import deep_recursion

__all__ = ["LANGUAGES", "export_program"]

LANGUAGES = ("python", "c")


def export_program(program: Program, language: str, *, met: npt.NDArray[np.int64] | None = None) -> str:
    """Return the text of one source file that does what a program's rules do, in as many steps.

    With `met` the file looks up every observation among these and counts the others.
    """
    if language not in LANGUAGES:
        raise UnknownNameError("language", language, LANGUAGES)
    with deep_recursion():
        return _export(program, language, met)


def _export(program: Program, language: str, met: npt.NDArray[np.int64] | None) -> str:
    plan = plan_program(program, entry_of(program.task), met=met)
    kinds = Kinds(plan)
    if plan.entry.shape == "list" and kinds.items != "item":
        # The task reckons with ranks, which the values of a list are not.
        plan = plan_program(program, memory_entry(program.task), met=met)
        kinds = Kinds(plan)
    if language == "python":
        from surpass.programs.export.python import write_python

        return write_python(plan)
    from surpass.programs.export.c import write_c

    return write_c(plan, kinds)
