"""Programs as source files that need nothing of surpass."""

from __future__ import annotations

from surpass.errors import ExportError, UnknownNameError
from surpass.programs.export.c import write_c
from surpass.programs.export.kinds import Kinds
from surpass.programs.export.plan import list_signature, memory_signature, plan_program
from surpass.programs.export.python import write_python
from surpass.programs.program import Function, Place, Program, Rule, Test, place_features
from surpass.programs.tree import deep_recursion
from surpass.tasks.task import Task

LANGUAGES = ("python", "c")


def find_obstacle(task: Task) -> str:
    """Return why programs of a task cannot be exported, in a sentence; nothing if they can."""
    if task.interface.is_full_view:
        return ""
    try:
        for language in LANGUAGES:
            export_program(_program_of_everything(task), language)
    except ExportError as error:
        return str(error)
    return ""


def _program_of_everything(task: Task) -> Program:
    """Return a program of no use that looks at every feature and has every instruction."""
    interface = task.interface
    places = place_features(interface)
    tests = [(Test(k, frozenset({0})),) for k, radix in enumerate(interface.radices) if radix > 1 and k not in places]
    actions = list(interface.offsets)
    count = max(len(tests), len(actions))
    rules = [Rule(tests[k % len(tests)] if tests else (), actions[k % len(actions)]) for k in range(count)]
    ids, after = (() if k is None else tuple(range(interface.radices[k])) for k in places)
    return Program("everything", task, (Function(ids, (Place(after, (*rules, Rule((), actions[0]))),)),))


def export_program(program: Program, language: str) -> str:
    """Return the text of one source file that does what a program's rules do, in as many steps."""
    if language not in LANGUAGES:
        raise UnknownNameError("language", language, LANGUAGES)
    task = program.task
    declared = task.signature or list_signature(task) or memory_signature(task)
    with deep_recursion():
        plan = plan_program(program, declared)
        kinds = Kinds(plan)
        if "list" in declared.items and kinds.items != "item":
            # The task reckons with ranks, which the values of a list are not.
            plan = plan_program(program, memory_signature(task))
            kinds = Kinds(plan)
        return write_python(plan) if language == "python" else write_c(plan, kinds)
