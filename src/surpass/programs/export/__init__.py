"""Programs as source files that need nothing of surpass."""

from __future__ import annotations

from surpass.errors import UnknownNameError
from surpass.programs.export.c import write_c
from surpass.programs.export.kinds import Kinds
from surpass.programs.export.plan import Plan, memory_signature, signature_of
from surpass.programs.export.python import write_python
from surpass.programs.program import Program
from surpass.programs.tree import deep_recursion

LANGUAGES = ("python", "c")


def export_program(program: Program, language: str) -> str:
    """Return the text of one source file that does what a program's rules do, in as many steps."""
    if language not in LANGUAGES:
        raise UnknownNameError("language", language, LANGUAGES)
    task = program.task
    with deep_recursion():
        plan = Plan(program, signature_of(task))
        kinds = Kinds(plan)
        if "list" in plan.signature.items and kinds.items != "item":
            # The task reckons with ranks, which the values of a list are not.
            plan = Plan(program, memory_signature(task))
            kinds = Kinds(plan)
        return write_python(plan) if language == "python" else write_c(plan, kinds)
