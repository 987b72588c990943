"""Programs in text files that a person reads and edits.

    # insertion sort                            comments and blank lines may stand anywhere
    task sort-bubble

    A[v2] > A[v2+1]: SwapWithNext(2)            the first rule whose conditions all hold gives the action
    v1 = v2 and not A[v1] = A[v3]: MoveVar(1, +1)
    else: AssignVar(2, 1)

Where an interface has functions or a previous action, rules stand under headings that say where they hold; rules
without a heading hold everywhere.

    main and function 1, at the start or after MoveVar(2, -1):
        v1 <= v2 and (A[v2] < A[v3] or A[v2] > A[v3]): MoveVar(2, -1)
        else: MoveVar(1, +1)
    function 2, anywhere:
        always: Return(1)

A condition names a value of a feature, or is `not` a condition, `(one or another)` of the same feature, or
`feature in {value, value}`. Where such words would mean two things, the writer puts `@3 in {0, 2}`: the feature's
position and the numbers of its values, and `@7` for an action.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path

from surpass.bundles import write_atomically
from surpass.errors import ProgramError, UnknownNameError, did_you_mean
from surpass.machine.interface import NO_ACTION, Interface, mirror
from surpass.printing import truncate
from surpass.programs.program import START, Function, Place, Program, Rule, Test, place_features
from surpass.programs.words import show_action, show_after, show_place, show_test
from surpass.reading import as_path, read_bytes
from surpass.tasks.registry import known_tasks
from surpass.tasks.task import Task

SUFFIX = ".rules"
"""How the name of a program file ends."""
MOST_BYTES = 10_000_000
DEEPEST_BRACKETS = 20
INDENT = "    "
OTHERWISE = ("else", "always")


def write_text(program: Program) -> str:
    """Return a program as the text of a file."""
    interface, vocabulary = program.task.interface, _Vocabulary(program.task.interface)
    lines = [f"# {' '.join(program.name.split())}", f"task {program.task.name}"]
    is_flat = [(function.ids, [place.after for place in function.places]) for function in program.functions] == [
        (vocabulary.everywhere[0], [vocabulary.everywhere[1]])
    ]
    for function in program.functions:
        for place in function.places:
            lines.append("")
            if not is_flat:
                lines.append(f"{show_place(interface, function, place)}:")
            for rule in place.rules:
                when = " and ".join(map(vocabulary.write_condition, rule.conditions))
                when = when or OTHERWISE[rule is place.rules[0]]
                lines.append(f"{'' if is_flat else INDENT}{when}: {vocabulary.write_action(rule.action)}")
    return "\n".join(lines) + "\n"


def write_program_file(program: Program, path: Path) -> None:
    """Write a program to a file, once it is known that it will be read back exactly."""
    text = write_text(program)
    try:
        if parse_program(text, str(path), program.task) != program:
            raise ProgramError(f"{path}: it would be read back as another program")
    except ProgramError as error:
        raise ProgramError(f"{program.name} cannot be written to a file: {error}") from None
    write_atomically(path, text.encode(), ProgramError)


def read_program(path: Path | str, name: str = "", task: Task | None = None) -> Program:
    """Return the program of a file, which is called like the file unless it has a name; it must be of `task`, if any.

    Its first line that is not a comment names the task. A task of one's own must have been registered before.
    """
    return parse_program(read_text(path), str(path), task, name)


def read_text(path: Path | str) -> str:
    """Return the text of a program file, which must be UTF-8 and not too large."""
    content = read_bytes(as_path(path), ProgramError, MOST_BYTES)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ProgramError(f"{path}, line {line}: this is not UTF-8 text, so it is not a program") from None


def parse_program(text: str, source: str, task: Task | None = None, name: str = "") -> Program:
    """Return the program that a text holds; `source` is named in complaints."""
    return _Reader(source, task).read(text, name or source)


class _LineError(Exception):
    """What is wrong with a line, without where it stands."""


class _Reader:
    """Reads a program line by line."""

    def __init__(self, source: str, task: Task | None) -> None:
        self.source, self.wanted = source, task
        self.functions: dict[tuple[int, ...], dict[tuple[int, ...], list[Rule]]] = {}
        """The rules by function and place."""
        self.lines: dict[tuple[int, int], int] = {}
        """The line of the heading for each function and previous action."""
        self.rules: list[Rule] | None = None
        """Those of the present place."""
        self.line = 0

    def read(self, text: str, name: str) -> Program:
        """Return the program of a text."""
        try:
            lines = self._statements(text)
            task = self._read_task(next(lines, ""))
            self.vocabulary = _Vocabulary(task.interface)
            for line in lines:
                self._read_line(line)
            if not self.rules:
                raise _LineError("there are no rules here; one is written CONDITION and CONDITION: ACTION")
        except (_LineError, UnknownNameError) as error:
            raise ProgramError(f"{self.source}, line {max(1, self.line)}: {error}") from None
        functions = (
            Function(ids, tuple(Place(after, tuple(rules)) for after, rules in places.items()))
            for ids, places in self.functions.items()
        )
        return Program(name, task, tuple(functions))

    def _statements(self, text: str) -> Iterator[str]:
        """Yield the lines without comments and blanks around them; those with nothing else are left out."""
        for number, line in enumerate(text.split("\n"), 1):
            statement = _without_comment(line).strip()
            if statement:
                self.line = number
                yield statement

    def _read_task(self, line: str) -> Task:
        word, _, name = line.partition(" ")
        if word != "task" or not name.strip():
            raise _LineError(
                f"the first line must name the task, such as 'task sort-bubble', not {truncate(line, 60)!r}"
            )
        tasks = {task.name: task for task in known_tasks()}
        task = tasks.get(name.strip())
        if task is None:
            raise _LineError(f"{_unknown('task', name.strip(), tasks)}; your own task is loaded with --task FILE.py")
        if self.wanted is not None and task is not self.wanted:
            raise _LineError(f"this is a program of {task.name}, not of {self.wanted.name}")
        if task.interface.is_full_view:
            raise _LineError(f"task {task.name} shows whole lists, so there are no rules for it")
        return task

    def _read_line(self, line: str) -> None:
        when, colon, action = (part.strip() for part in line.rpartition(":"))
        if not colon:
            raise _LineError(f"{truncate(line, 60)!r} is neither a rule nor a heading: it has no colon")
        if not action:
            if self.rules == []:
                raise _LineError("there are no rules under the heading above")
            self._begin_place(*self.vocabulary.read_heading(when))
            return
        if self.rules is None:
            self._begin_place(*self.vocabulary.everywhere)
        assert self.rules is not None
        if self.rules and not self.rules[-1].conditions:
            raise _LineError(f"this rule stands behind '{OTHERWISE[0]}', which holds always, so nothing comes here")
        conditions = () if when in OTHERWISE else tuple(self.vocabulary.read_conditions(when))
        self.rules.append(Rule(conditions, self.vocabulary.read_action(action)))

    def _begin_place(self, ids: tuple[int, ...], after: tuple[int, ...]) -> None:
        for other in self.functions:
            if other != ids and set(other) & set(ids):
                raise _LineError("a function of this heading stands in another one with others; name them all in both")
        for function in ids or (0,):
            for value in after or (0,):
                if (function, value) in self.lines:
                    where = show_after(self.vocabulary.interface, (value,))
                    raise _LineError(f"the place {where} has rules already, in line {self.lines[function, value]}")
                self.lines[function, value] = self.line
        self.rules = self.functions.setdefault(ids, {}).setdefault(after, [])


class _Vocabulary:
    """The words of an interface, to write and to read."""

    def __init__(self, interface: Interface) -> None:
        self.interface = interface
        self.function, self.previous = place_features(interface)

    @cached_property
    def everywhere(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """All functions and all values of the previous action."""
        ids, after = (
            () if k is None else tuple(range(self.interface.radices[k])) for k in (self.function, self.previous)
        )
        return ids, after

    @cached_property
    def conditions(self) -> dict[str, Test]:
        """Every condition with a name that a rule may have, by its text without blanks."""
        named = self.interface.conditions.items()
        return {_bare(text): Test(*test) for text, test in named if test[0] not in (self.function, self.previous)}

    @cached_property
    def functions(self) -> dict[str, int]:
        """The functions by name."""
        assert self.function is not None
        values = self.interface.feature_values(self.function)
        return {"main" if value is None else f"function {value}": k for k, value in enumerate(values)}

    # Writing

    def write_condition(self, test: Test) -> str:
        """Return a text that is read back as this test."""
        text = show_test(self.interface, test)
        numbers = f"@{test.feature} in {{{', '.join(map(str, sorted(test.values)))}}}"
        return text if _reads(self.read_conditions, text) == [test] else numbers

    def write_action(self, action: int) -> str:
        """Return a text that is read back as this action."""
        text = show_action(self.interface, action)
        return text if ":" not in text and _reads(self.read_action, text) == action else f"@{action}"

    # Reading

    def read_heading(self, text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the functions and the values of the previous action that a heading names."""
        if self.previous is None:
            raise _LineError(
                f"there is no action behind {truncate(text, 60)!r}; this task has no places, so no headings"
            )
        names, comma, where = ("", "", text) if self.function is None else text.partition(",")
        if self.function is not None and not comma:
            raise _LineError(
                f"the heading {truncate(text, 60)!r} must say a function and a place, such as 'main, at the start'"
            )
        ids = []
        for name in re.split(r"\s+and\s+", names.strip()) if comma else ():
            if name not in self.functions:
                raise _unknown("function", name, self.functions)
            ids.append(self.functions[name])
        if where.strip() == "anywhere":
            return tuple(ids), self.everywhere[1]
        after = []
        for part in re.split(r"\s+or\s+", where.strip()):
            if part == "at the start":
                after.append(START)
            elif part.startswith("after "):
                after.append(1 + self.read_action(part.removeprefix("after ")))
            else:
                raise _LineError(
                    f"{truncate(part, 60)!r} is not a place; allowed: at the start, after ACTION, anywhere"
                )
        if len({*ids}) < len(ids) or len({*after}) < len(after):
            raise _LineError("this heading names a place twice")
        return tuple(ids), tuple(after)

    def read_action(self, text: str) -> int:
        """Return the number of an action."""
        if text == "no action":
            return NO_ACTION
        if (number := re.fullmatch(r"@(\d{1,9})", text)) and int(number[1]) < self.interface.action_count:
            return int(number[1])
        return self.interface.parse_action(text)

    def read_conditions(self, text: str) -> list[Test]:
        """Return the tests of conditions that are joined by `and`."""
        tests = [self._read_condition(part) for part in _split(text, "and")]
        allowed: dict[int, tuple[frozenset[int], str]] = {}
        for test in tests:
            values, before = allowed.get(test.feature, (test.values, ""))
            if not values & test.values:
                words = show_test(self.interface, test)
                raise _LineError(f"{before!r} and {words!r} never hold together" if before else f"{text!r} never holds")
            allowed[test.feature] = values & test.values, before or show_test(self.interface, test)
        return tests

    def _read_condition(self, text: str, depth: int = 0) -> Test:
        if depth > DEEPEST_BRACKETS:
            raise _LineError(f"{truncate(text, 60)!r} stands in too many brackets, or behind too many a `not`")
        numbers = re.fullmatch(r"@(\d{1,9}) in \{([\d, ]*)\}", text)
        if numbers and int(numbers[1]) < len(self.interface.radices):
            feature = int(numbers[1])
            found = frozenset(int(word) for word in numbers[2].replace(",", " ").split() if len(word) < 9)
            if found and feature not in (self.function, self.previous) and max(found) < self.interface.radices[feature]:
                return Test(feature, found)
        named = self.conditions.get(_bare(text))
        if named is not None:
            return named
        if text.startswith("not "):
            return self._read_condition(text.removeprefix("not ").strip(), depth + 1).negated(self.interface)
        if text.startswith("(") and text.endswith(")"):
            parts = [self._read_condition(part, depth + 1) for part in _split(text[1:-1], "or")]
            if len({part.feature for part in parts}) > 1:
                raise _LineError(
                    f"the conditions of {truncate(text, 60)!r} are not of one feature; write a rule for each"
                )
            return Test(parts[0].feature, frozenset().union(*(part.values for part in parts)))
        return self._read_values(text)

    def _read_values(self, text: str) -> Test:
        """Return the test of `feature in {value, value}`."""
        name, braces, values = text.partition(" in {")
        feature = self.interface.feature_index.get(name.strip())
        for k in (self.function, self.previous):
            if k is not None and text.startswith(self.interface.features[k].name):
                raise _LineError(f"{truncate(text, 60)!r} belongs into a heading; rules have no such condition")
        if feature is None or not braces or not values.endswith("}"):
            examples = [one for one in self.interface.conditions if _bare(one) in self.conditions]
            raise _unknown("condition", text, examples)
        known = {str(value): k for k, value in enumerate(self.interface.feature_values(feature))}
        words = [word.strip() for word in values[:-1].split(",")]
        for word in words:
            if word not in known:
                raise _unknown(f"value of {name.strip()}", word, known)
        return Test(feature, frozenset(known[word] for word in words))


def _reads(read: Callable[[str], object], text: str) -> object:
    """Return what a text is read as in its line, or None if it is not read there."""
    if _without_comment(text) != text or "\n" in text:
        return None
    try:
        return read(text)
    except (_LineError, UnknownNameError):
        return None


def _without_comment(line: str) -> str:
    return re.sub(r"(^|\s)#.*", "", line)


def _split(text: str, word: str) -> list[str]:
    """Return the parts of a text between a word that stands outside of brackets."""
    parts, depth, start = [], 0, 0
    for found in re.finditer(rf"[({{]|[)}}]|\s+{word}\s+", text):
        if found[0] in "({":
            depth += 1
        elif found[0] in ")}":
            depth -= 1
        elif depth == 0:
            parts.append(text[start : found.start()])
            start = found.end()
    return [part.strip() for part in (*parts, text[start:])]


def _bare(text: str) -> str:
    return "".join(text.split())


def _unknown(kind: str, text: str, known: Iterable[str]) -> UnknownNameError:
    """Return an error about an unknown name, with similar ones and the first known ones."""
    known = list(known)
    near = f", which is written {mirror(text)}" if mirror(text) in known else did_you_mean(text, known)
    return UnknownNameError(kind, text, [*known[:12], *(["..."] if len(known) > 12 else [])], near)
