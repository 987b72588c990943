"""Programs as readable pseudo-code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from surpass.machine.interface import Interface
from surpass.printing import count, line_width, wrap
from surpass.programs.flow import Act, Condition, If, Jump, Loop, Mark, Statement, structure
from surpass.programs.program import Program
from surpass.programs.tree import deep_recursion
from surpass.programs.words import show_action, show_condition, show_function

INDENT = "    "
NARROWEST_CODE = 30
"""Lines of code are not made shorter than this to fit."""


class ListedLine(NamedTuple):
    """A line of a listing."""

    text: str
    rules: tuple[int, ...]
    """The rules whose action the line takes; none on other lines."""


def list_program(program: Program) -> list[ListedLine]:
    """Return the program as lines of pseudo-code; each rule stands on one of them."""
    interface = program.task.interface
    lines, first = [], 0
    with deep_recursion():
        for function in program.functions:
            name = show_function(interface, function)
            if name:
                lines.append(ListedLine(f"{name}:", ()))
            lines += _indent(_Listing(interface).show(structure(function, first)), 1 if name else 0)
            first += sum(len(place.rules) for place in function.places)
    return lines


def write_listing(program: Program, columns: Callable[[tuple[int, ...]], tuple[str, str]] | None = None) -> str:
    """Return the program as text: a heading, and its lines, each with the numbers of its rules and `columns`."""
    lines = list_program(program)
    rows = [("", "rules", *(("steps", "observations") if columns else ("", "")))]
    for line in lines:
        numbers = "+".join(str(rule + 1) for rule in line.rules)
        rows.append((line.text, numbers, *(columns(line.rules) if columns else ("", ""))))
    middle = max(len(row[1]) for row in rows)
    room = max(NARROWEST_CODE, line_width() - middle - (24 if columns else 2))
    texts = [_wrap_code(row[0], room) for row in rows]
    width = max((len(part) for text in texts for part in text), default=0)
    size = f"{count(len(program.rules), 'rule')} at {count(len(program.places), 'place')}"
    found = [f"{program.name} on {program.task.name}: {size}", ""]
    for (first, *more), (_, numbers, a, b) in zip(texts, rows, strict=True):
        found += [f"{first:<{width}}  {numbers:>{middle}}  {a:>6}  {b:>12}".rstrip(), *more]
    return "\n".join(found) + "\n"


def _wrap_code(text: str, room: int) -> list[str]:
    """Return a line in parts that fit; those below the first are indented further than what may follow."""
    begin = text[: len(text) - len(text.lstrip())]
    return wrap(text.lstrip(), begin + 2 * INDENT, first=begin, width=room).split("\n")


class _Listing:
    """The lines of a function."""

    def __init__(self, interface: Interface) -> None:
        self.interface = interface
        self.labels: dict[int, str] = {}

    def show(self, statements: Sequence[Statement]) -> Iterator[ListedLine]:
        """Yield the lines of some statements."""
        for statement in statements:
            if isinstance(statement, Act):
                text = show_action(self.interface, statement.action) + (", end" if statement.ends else "")
                yield ListedLine(text, tuple(sorted(statement.rules)))
            elif isinstance(statement, Loop):
                condition = statement.condition
                yield ListedLine(f"while {self._condition(condition)}:" if condition else "repeat:", ())
                yield from _indent(self.show(statement.body))
            elif isinstance(statement, Jump):
                words = {"again": "continue", "leave": "break"}
                yield ListedLine(words.get(statement.kind) or f"go to {self._label(statement.place)}", ())
            elif isinstance(statement, Mark):
                yield ListedLine(f"{self._label(statement.place)}:", ())
            else:
                yield from self._show_if(statement)

    def _show_if(self, statement: If) -> Iterator[ListedLine]:
        word = "if"
        while True:
            yield from self._show_way(f"{word} {self._condition(statement.condition)}:", statement.then)
            rest = statement.otherwise
            if len(rest) != 1 or not isinstance(rest[0], If):
                break
            word, statement = "else if", rest[0]
        if rest:
            yield from self._show_way("else:", rest)

    def _show_way(self, heading: str, statements: tuple[Statement, ...]) -> Iterator[ListedLine]:
        """Yield a way of a branch: on one line where it is one action."""
        inside = list(self.show(statements))
        if len(inside) == 1:
            yield ListedLine(f"{heading} {inside[0].text}", inside[0].rules)
        else:
            yield ListedLine(heading, ())
            yield from _indent(inside)

    def _condition(self, condition: Condition) -> str:
        return show_condition(self.interface, condition.tests, condition.holds)

    def _label(self, place: int) -> str:
        number = len(self.labels)
        letter = chr(ord("A") + number % 26) + (str(number // 26) if number >= 26 else "")
        return self.labels.setdefault(place, letter)


def _indent(lines: Iterable[ListedLine], depth: int = 1) -> list[ListedLine]:
    return [ListedLine(INDENT * depth + line.text, line.rules) for line in lines]
