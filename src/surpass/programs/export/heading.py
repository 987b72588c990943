"""What an exported file says of itself, in words that both languages share."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from importlib.metadata import version

from surpass.errors import ExportError
from surpass.printing import count
from surpass.programs.export.plan import Plan
from surpass.tasks.task import Task

WIDTH = 112
INDENT = "    "
Lines = Iterator[str]


def describe(plan: Plan, calls: list[str], unsolved: str) -> list[str]:
    """Return the heading of a file, given how its functions are called and what happens without a rule."""
    program, task = plan.program, plan.task
    rules, places = len(program.rules), len(program.places)
    paragraphs = [
        f"To {task.summary}: {program.name}, written out by surpass {version('surpass')}.",
        *calls,
        f"The program has {count(rules, 'rule')} at {count(places, 'place')}. A step is one executed"
        " instruction; a comment above each names it. A place in the program is a place in the code: it stands for the"
        f" function and the instruction before. {plan.signature.note}".rstrip(),
        "What the program does with an observation that never came up while its rules were made: it follows them as"
        f" they are. Where it has no rule at all, {unsolved}.",
    ]
    lines: list[str] = []
    for paragraph in paragraphs:
        lines += ([""] if lines else []) + textwrap.wrap(plain_text(paragraph), WIDTH)
    return lines


def describe_memory(plan: Plan) -> str:
    """Return what the caller lays out, in words, if that is the memory of an episode; else nothing."""
    if plan.signature.items != "memory":
        return ""
    items, reals = show_widths(plan.task, "size")
    words = f" `items` holds {items} whole numbers, in the order in which the task lays out an instance"
    if plan.has_real_array:
        words += f", and `reals` {reals} real numbers, of which the first is the score"
    return f"{words}."


def indent(lines: Iterable[str]) -> Lines:
    """Yield lines one step further to the right."""
    return (INDENT + line for line in lines)


def plain_text(text: str) -> str:
    """Return a text on one line, with nothing in it that cannot be seen."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def scaled(times: int, size: str) -> str:
    """Return a number of times the size as a formula."""
    return size if times == 1 else f"{times} * {size}"


def show_widths(task: Task, size: str) -> tuple[str, str]:
    """Return how many integers and reals an instance has, as formulas in its size."""
    found = []
    for width in (task.memory.item_width, task.memory.real_width):
        fixed, each = width(0), width(1) - width(0)
        if any(width(n) != fixed + each * n for n in (2, 3, 10, 1000)):
            raise ExportError(f"task {task.name!r} cannot be exported: its memory does not grow evenly with the size")
        found.append(" + ".join([*([scaled(each, size)] if each else []), *([str(fixed)] if fixed else [])]) or "0")
    return found[0], found[1]
