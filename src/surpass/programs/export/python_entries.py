"""The functions of an exported Python file that its caller sees."""

from __future__ import annotations

from surpass.programs.export.code import Register
from surpass.programs.export.header import describe
from surpass.programs.export.plan import Plan
from surpass.tasks.knapsack import CAPACITY, LARGEST, WEIGHTS
from surpass.tasks.task import Limit

__all__ = ["write_entry"]

_CALLS = {
    "sort": "sort(items) sorts a list of values that can be compared, in place, and returns the number of steps.",
    "search": "search(items, query) returns the position of the query in an ordered list, or None, and the number of"
    " steps.",
    "knapsack": "knapsack(weights, values, budget=None, capacity=None) returns the positions of the chosen items, their"
    " value and the number of steps. The budget is {limit} steps and the capacity half of the total weight unless they"
    " are given.",
    "list": "{name}(items) works on a list of values that can be compared, in place, and returns a Result.",
    "memory": "{name}(size, items, reals) works on the memory with which an episode of that size starts, two lists that"
    " are changed in place, and returns a Result.",
}
_COMMON = '''
RUNNING, SOLVED, WRONG_ANSWER, STEP_LIMIT, STACK_LIMIT, NO_RULE = range(6)
_WORDS = ("running", "solved", "wrong answer", "step limit", "stack limit", "no rule")
_UNMET = [0]


class Unsolved(RuntimeError):
    """A run that ended without an answer."""


def unmet():
    """Return how many observations have come up that the agent never met, as far as they are counted."""
    return _UNMET[0]


def _no_place(steps, limit):
    """Return the outcome where the program has no rule at all."""
    if steps == limit:
        return STEP_LIMIT
    _UNMET[0] += 1
    return NO_RULE


def _need(outcome, steps, *allowed):
    """Raise `Unsolved` unless an outcome is allowed."""
    if outcome not in allowed:
        raise Unsolved(f"the program stopped after {{steps}} steps: {{_WORDS[outcome]}}")


def _limit(n, limit):
    """Return the number of steps that a run may take."""
    limit = {limit} if limit is None else limit
    if limit < 1:
        raise ValueError(f"a run needs at least 1 step, not {{limit}}")
    return limit
'''
_ORDERED = '''
def _refuse_unordered(items):
    """Raise `ValueError` if an item is not equal to itself, as NaN is not."""
    for k, item in enumerate(items):
        if item != item:
            raise ValueError(f"item {{k}} is {{item!r}}, which cannot be ordered")
'''
_ENTRIES = {
    "sort": '''
def sort(items, limit=None):
    """Sort a list in place and return the number of steps; the limit is {limit} unless it is given."""
    _refuse_unordered(items)
    outcome, steps = _run(len(items), items, _limit(len(items), limit))
    _need(outcome, steps, SOLVED)
    return steps
''',
    "search": '''
def search(items, query, limit=None):
    """Return the position of the query in an ordered list, or None, and the number of steps.

    The limit is {limit} steps unless it is given.
    """
    _refuse_unordered([query])
    outcome, steps, answer = _run(len(items), items, query, _limit(len(items), limit))
    _need(outcome, steps, SOLVED)
    return (None if answer < 0 else answer), steps
''',
    "knapsack": '''
def knapsack(weights, values, budget=None, capacity=None):
    """Return the positions of the items to pack, their value and the number of steps."""
    n = len(weights)
    if len(values) != n:
        raise ValueError(f"there are {{n}} weights but {{len(values)}} values")
    if capacity is None:
        capacity = math.fsum(weights) / 2
    for number in (*weights, *values, capacity):
        if not 0 <= number <= {largest!r}:
            raise ValueError(f"{{number!r}} is not a number from 0 to {largest:g}")
    # The memory: whether each item is packed, then whether it is in the best packing so far; and the real
    # numbers that the program works with, weights and values from place {weights} on.
    items = [0] * (2 * n)
    reals = [0.0] * ({weights} + 5 * n + 3)
    reals[{capacity}] = float(capacity)
    reals[{weights} : {weights} + n] = map(float, weights)
    reals[{weights} + n : {weights} + 2 * n] = map(float, values)
    outcome, steps = _run(n, items, reals, _limit(n, budget))
    _need(outcome, steps, SOLVED, STEP_LIMIT)
    return [k for k in range(n) if items[n + k]], reals[0], steps
''',
    "list": '''
Result = namedtuple("Result", ("outcome", "steps", {fields}))


def {name}(items, limit=None):
    """Run the program on a list, in place; the limit is {limit} steps unless it is given."""
    _refuse_unordered(items)
    outcome, *rest = _run(len(items), items, _limit(len(items), limit))
    return Result(_WORDS[{outcome}], *rest)
''',
    "memory": '''
Result = namedtuple("Result", ("outcome", "steps", {fields}))


def {name}(size, items, reals, limit=None):
    """Run the program on the memory with which an episode starts, in place.

    The limit is {limit} steps unless it is given.
    """
    outcome, steps, *rest = _run(size, items, reals, _limit(size, limit))
    return Result(_WORDS[{outcome}], steps, reals[0], *rest)
''',
}


def write_entry(plan: Plan, *, needs_math: bool) -> list[str]:
    """Return the lines of a file up to the functions that run the program."""
    entry, task = plan.entry, plan.program.task
    limit = Limit.parse(task.limit)
    outputs = [plan.names[Register(index)] for index in entry.outputs]
    words = {
        "name": entry.name,
        "limit": str(limit),
        "fields": ", ".join(f'"{name}"' for name in ("score", *outputs)),
        "outcome": "SOLVED if outcome == STEP_LIMIT else outcome" if task.measure == "reward" else "outcome",
        "largest": LARGEST,
        "weights": WEIGHTS,
        "capacity": CAPACITY,
    }
    heading = describe(plan, [_CALLS[entry.shape].format(**words)], "it raises Unsolved", "unmet()")
    imports = ["import math"] if needs_math or entry.shape == "knapsack" else []
    imports += ["from collections import namedtuple"] if entry.shape in ("list", "memory") else []
    # As numbers that are reals or whole, the limit comes out as the engine has it.
    formula = f"max(1, int({limit.factor!r} * n**{limit.power}))"
    text = _COMMON.format(limit=formula)
    if entry.shape in ("sort", "search", "list"):
        text += "\n" + _ORDERED.format()
    text += "\n" + _ENTRIES[entry.shape].format(**words)
    if plan.counts_unmet:
        text += "\n_MET = frozenset(\n    (\n" + "".join(
            f"        {observation},\n" for observation in ([] if plan.met is None else plan.met.tolist())
        )
        text += "    )\n)\n"
    return [
        '"""' + _quoted(heading[0]),
        *map(_quoted, heading[1:]),
        '"""',
        *([""] if imports else []),
        *imports,
        *text.rstrip().split("\n"),
    ]


def _quoted(line: str) -> str:
    """Return a line that can stand inside a docstring."""
    return line.replace("\\", "\\\\").replace('"', "'")
