"""What an exported file says of itself."""

from __future__ import annotations

import textwrap
from importlib.metadata import version

from surpass.programs.export.plan import Plan

__all__ = ["WIDTH", "comment_lines", "describe", "for_c", "plain_text"]

WIDTH = 112

_ENDS = {
    "sort": "The neighbours in order are counted, at a fixed cost for each swap, and the run ends the moment all are.",
    "search": "The list must be in order. A report that the query is not there is taken on trust, since to check it"
    " takes another search; a reported position is checked.",
    "knapsack": "The best packing found within the budget of steps is what comes back.",
}


def describe(plan: Plan, calls: list[str], unsolved: str, unmet: str) -> list[str]:
    """Return the heading of a file, given how its functions are called and what happens without a rule.

    `unmet` is how the counter of new observations is called.
    """
    program, task = plan.program, plan.program.task
    rules, places = len(program.rules), len(program.places)
    paragraphs = [
        f"To {task.summary}: {program.name}, written out by surpass {version('surpass')}.",
        *calls,
        f"The program has {_count(rules, 'rule')} at {_count(places, 'place')}. A step is one executed instruction; a"
        " comment above each names it. A place in the program is a place in the code: it stands for the"
        f" function and the instruction before. {_ENDS.get(plan.entry.shape, '')}".rstrip(),
        "What the program does with an observation that the agent never met: it follows its rules as they are. Where it"
        f" has no rule at all, {unsolved}. " + _counting(plan, unmet),
    ]
    lines: list[str] = []
    for paragraph in paragraphs:
        lines += ([""] if lines else []) + textwrap.wrap(plain_text(paragraph), WIDTH)
    return lines


def plain_text(text: str) -> str:
    """Return a text on one line, with nothing in it that cannot be seen."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def for_c(text: str) -> str:
    """Return a text with nothing in it that would end a comment of C."""
    return text.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")


def comment_lines(text: str) -> list[str]:
    """Return a text as a comment of C."""
    lines = textwrap.wrap(for_c(plain_text(text)), WIDTH - 10)
    return [
        ("/* " if k == 0 else "   ") + line + (" */" if k + 1 == len(lines) else "") for k, line in enumerate(lines)
    ]


def _counting(plan: Plan, unmet: str) -> str:
    if plan.counts_unmet:
        return f"This file looks up every observation; {unmet} tells how many were new, each time that they came."
    return (
        f"{unmet} tells how often that was; to count the others as well takes a look at every feature before each step:"
        " export with --count-unmet."
    )


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
