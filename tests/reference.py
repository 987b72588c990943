"""The machine of DESIGN.md once more, in plain Python, and the comparison of the compiled one with it.

Nothing here comes from the package's kernels: lists, dicts, and everything that can be recounted is recounted at every
step. An action is a pair `(name, operands)`, an observation is the tuple of its features' values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from surpass import Outcome
from surpass.engine.advance import Player
from surpass.engine.batch import allocate
from surpass.engine.specialise import specialise
from surpass.machine.interface import NO_ACTION
from surpass.machine.state import DEPTH, FIRST
from surpass.table import Agent, Table
from surpass.tasks.knapsack import WEIGHTS
from surpass.tasks.task import Instances, Task

ActionPair = tuple[str, tuple[Any, ...]]


def compare(a: Any, b: Any) -> str:
    return "<" if a < b else "=" if a == b else ">"


class Machine:
    """What all machines share: an outcome, a step count, the previous action and a stack of saved scopes."""

    def __init__(self) -> None:
        self.outcome = "running"
        self.steps = 0
        self.function: int | None = None
        self.previous: ActionPair | None = None
        self.stack: list[dict[str, Any]] = []

    def step(self, action: ActionPair) -> None:
        name, operands = action
        self.previous = action
        self.steps += 1
        getattr(self, name)(*operands)

    def observe(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def snapshot(self) -> dict[str, Any]:
        return {"outcome": self.outcome, "steps": self.steps, "depth": len(self.stack), "seen": self.observe()}


class ListMachine(Machine):
    """A list and four index variables."""

    def __init__(self, values: Sequence[int]) -> None:
        super().__init__()
        self.A = list(values)
        self.low, self.high = 0, len(self.A) - 1
        self.v: dict[int, int] = {}

    def MoveVar(self, i: int, direction: int) -> None:
        if self.low <= self.v[i] + direction <= self.high:
            self.v[i] += direction

    def AssignVar(self, i: int, j: int) -> None:
        self.v[i] = self.v[j]

    def see_variables(self) -> tuple[Any, ...]:
        seen: list[str] = []
        for a in (1, 2, 3, 4):
            for b in range(a + 1, 5):
                seen += [compare(self.v[a], self.v[b]), compare(self.A[self.v[a]], self.A[self.v[b]])]
        for a in (1, 2, 3, 4):
            p = self.v[a]
            seen.append("low" if p == self.low else compare(self.A[p], self.A[p - 1]))
            seen.append("high" if p == self.high else compare(self.A[p], self.A[p + 1]))
        return tuple(seen)

    def snapshot(self) -> dict[str, Any]:
        return {**super().snapshot(), "variables": tuple(self.v[k] for k in (1, 2, 3, 4)), "items": tuple(self.A)}


class SortMachine(ListMachine):
    """sort-bubble."""

    def __init__(self, values: Sequence[int]) -> None:
        super().__init__(values)
        self.v = {1: self.low, 2: self.high, 3: self.low, 4: self.high}
        self.end_if_sorted()

    def end_if_sorted(self) -> None:
        if sorted(self.A) == self.A:
            self.outcome = "solved"

    def exchange(self, p: int, q: int) -> None:
        self.A[p], self.A[q] = self.A[q], self.A[p]
        self.end_if_sorted()

    def SwapWithNext(self, i: int) -> None:
        if self.v[i] < self.high:
            self.exchange(self.v[i], self.v[i] + 1)

    def observe(self) -> tuple[Any, ...]:
        return self.see_variables()

    def snapshot(self) -> dict[str, Any]:
        score = sum(a <= b for a, b in zip(self.A, self.A[1:], strict=False))
        return {**super().snapshot(), "score": score}


class QuickMachine(SortMachine):
    """sort-quick."""

    def Swap(self, i: int, j: int) -> None:
        self.exchange(self.v[i], self.v[j])

    def FunctionCall(self, function: int, l1: int, l2: int, o1: int, o2: int, r1: int) -> None:
        self.stack.append(
            {"v": dict(self.v), "function": self.function, "previous": self.previous, "receiver": r1},
        )
        outer = dict(self.v)
        self.v[l1] = outer[o1]
        self.v[l2] = outer[o2]
        self.function = function
        self.previous = None

    def Return(self, l1: int) -> None:
        if not self.stack:
            return
        result = self.v[l1]
        frame = self.stack.pop()
        self.v, self.function, self.previous = frame["v"], frame["function"], frame["previous"]
        self.v[frame["receiver"]] = result

    def observe(self) -> tuple[Any, ...]:
        return (*self.see_variables(), self.function, self.previous)


class SearchMachine(ListMachine):
    """search; `values` are the list and the query."""

    def __init__(self, values: Sequence[int]) -> None:
        *values, self.query = values
        super().__init__(values)
        self.v = {1: self.low, 2: self.low, 3: self.high, 4: self.high}
        self.answer: int | None = None

    def AssignMid(self, i: int, j: int, k: int) -> None:
        self.v[i] = (self.v[j] + self.v[k]) // 2

    def Found(self, i: int) -> None:
        self.answer = self.v[i]
        self.outcome = "solved" if self.A[self.v[i]] == self.query else "wrong answer"

    def NotFound(self) -> None:
        self.outcome = "wrong answer" if self.query in self.A else "solved"

    def observe(self) -> tuple[Any, ...]:
        queries = tuple(compare(self.query, self.A[self.v[k]]) for k in (1, 2, 3, 4))
        return (*self.see_variables(), *queries, self.previous)

    def snapshot(self) -> dict[str, Any]:
        seen = super().snapshot()
        return {**seen, "items": (*seen["items"], self.query), "answer": -1 if self.answer is None else self.answer}


class KnapsackMachine(Machine):
    """knapsack, in exact arithmetic."""

    def __init__(self, weights: Sequence[float], values: Sequence[float], capacity: float) -> None:
        super().__init__()
        self.weights, self.values = [Fraction(w) for w in weights], [Fraction(v) for v in values]
        self.capacity = Fraction(capacity)
        self.n, self.i = len(weights), 0
        self.solution: set[int] = set()
        self.best_solution: set[int] = set()

    def total(self, amounts: Sequence[Fraction], items: Any) -> Fraction:
        return sum((amounts[k] for k in items), Fraction(0))

    def keep_the_best(self) -> None:
        if self.total(self.weights, self.solution) <= self.capacity and self.total(
            self.values, self.solution
        ) > self.total(self.values, self.best_solution):
            self.best_solution = set(self.solution)

    def Put(self) -> None:
        if self.i < self.n:
            self.solution.add(self.i)
        self.keep_the_best()

    def Pop(self) -> None:
        self.solution.discard(self.i)
        self.keep_the_best()

    def MoveVar(self, direction: int) -> None:
        self.i = min(max(self.i + direction, 0), self.n)

    def Knapsack(self) -> None:
        self.stack.append({"previous": self.previous})
        self.previous = None

    def Return(self) -> None:
        if not self.stack:
            self.outcome = "solved"
        else:
            self.previous = self.stack.pop()["previous"]

    def amounts(self) -> dict[str, Any]:
        """The names of the paper's appendix A.3."""
        rest = range(self.i + (self.i in self.solution), self.n)
        return {
            "i": self.i,
            "n": self.n,
            "solution": self.solution,
            "w": self.total(self.weights, self.solution),
            "W": self.capacity,
            "v": self.total(self.values, self.solution),
            "v_best": self.total(self.values, self.best_solution),
            "v_rest": self.total(self.values, rest),
            "w_rest": self.total(self.weights, rest),
            "w_min": min((self.weights[k] for k in rest), default=math.inf),
        }

    def observe(self) -> tuple[Any, ...]:
        x = self.amounts()
        return (
            int(self.i > 0),
            -int(self.i < self.n),
            self.i in self.solution,
            x["w"] <= x["W"],
            x["v"] + x["v_rest"] > x["v_best"],
            x["w"] + x["w_rest"] <= x["W"],
            x["w"] + x["w_min"] <= x["W"],
            self.previous,
        )

    def snapshot(self) -> dict[str, Any]:
        x = self.amounts()
        taken = [int(k in self.solution) for k in range(self.n)] + [int(k in self.best_solution) for k in range(self.n)]
        return {
            **super().snapshot(),
            "i": self.i,
            "items": tuple(taken),
            "reals": tuple(float(x[name]) for name in ("v_best", "W", "w", "v")),
        }


MACHINES: dict[str, Any] = {
    "sort-bubble": SortMachine,
    "sort-quick": QuickMachine,
    "search": SearchMachine,
    "knapsack": KnapsackMachine,
}
"""The reference machine of each task that has a table."""


def start_machines(task: Task, instances: Instances, machines: dict[str, Any] = MACHINES) -> list[Any]:
    """Return a reference machine for each instance."""
    found = []
    for size, items, reals in zip(instances.sizes.tolist(), instances.items, instances.reals, strict=True):
        if task.name == "knapsack":
            weights, values = (
                reals[WEIGHTS : WEIGHTS + size].tolist(),
                reals[WEIGHTS + size : WEIGHTS + 2 * size].tolist(),
            )
            found.append(machines[task.name](weights, values, float(reals[1])))
        else:
            found.append(machines[task.name](items[: task.memory.item_width(size)].tolist()))
    return found


class Compiled:
    """Episodes of the compiled machine, driven by its kernels and read out by name."""

    def __init__(self, task: Task, instances: Instances) -> None:
        self.task, self.kernels = task, specialise(task)
        self.sizes = instances.sizes.tolist()
        self.batch = allocate(task, instances.count, int(instances.sizes.max(initial=0)))
        self.kernels.reset(self.batch, *instances, np.arange(instances.count))
        self.limits = np.full(instances.count, 1 << 40)
        self.values = [task.interface.feature_values(k) for k in range(len(task.interface.features))]

    def step(self, actions: Sequence[ActionPair | None]) -> None:
        """Execute one action in each running episode; None stands for any action in an ended one."""
        interface = self.task.interface
        numbers = np.array([0 if a is None else interface.pack_action(a) for a in actions], np.int64)
        self.kernels.step(self.batch, numbers, interface.action_rows[numbers], self.limits)

    def run_until(self, limit: int, table: Table) -> None:
        """Run every episode by a table until it ends or has taken `limit` steps; the latter then still run."""
        self.batch = Player(table).finish(self.batch, np.full(len(self.sizes), limit))
        outcomes = self.batch.outcomes
        outcomes[outcomes == Outcome.STEP_LIMIT] = Outcome.RUNNING

    def digits(self) -> np.ndarray:
        digits = np.zeros((len(self.sizes), len(self.values)), np.int64)
        self.kernels.look(self.batch, digits)
        return digits

    def snapshots(self) -> list[dict[str, Any]]:
        """Return what the reference's `snapshot` returns, for each episode."""
        return [self._snapshot(b, row) for b, row in enumerate(self.digits().tolist())]

    def _snapshot(self, b: int, digits: list[int]) -> dict[str, Any]:
        registers, size = self.batch.registers[b].tolist(), self.sizes[b]
        found: dict[str, Any] = {
            "outcome": Outcome(int(self.batch.outcomes[b])).reason,
            "steps": int(self.batch.steps[b]),
            "depth": registers[DEPTH],
            "seen": tuple(values[d] for values, d in zip(self.values, digits, strict=True)),
            "items": tuple(self.batch.items[b, : self.task.memory.item_width(size)].tolist()),
        }
        if self.task.name == "knapsack":
            return {**found, "i": registers[FIRST], "reals": tuple(self.batch.reals[b, :4].tolist())}
        found["variables"] = tuple(registers[FIRST : FIRST + 4])
        if self.task.name == "search":
            return {**found, "answer": registers[FIRST + 4]}
        return {**found, "score": self.batch.reals[b, 0]}


def check_same(expected: dict[str, Any], got: dict[str, Any], when: str) -> None:
    """Raise AssertionError unless two snapshots hold the same."""
    assert expected.keys() == got.keys()
    differing = {name: (expected[name], got[name]) for name in expected if expected[name] != got[name]}
    assert not differing, f"{when}: expected and got {differing}"


def check_machine(
    task: Task,
    instances: Instances,
    sequences: Sequence[Sequence[ActionPair]],
    machines: dict[str, Any] = MACHINES,
) -> None:
    """Raise AssertionError unless the compiled machine does what the reference does, step by step.

    Episode `b` executes the actions `sequences[b]` until it ends; all sequences are equally long.
    """
    references, compiled = start_machines(task, instances, machines), Compiled(task, instances)
    for b, got in enumerate(compiled.snapshots()):
        check_same(references[b].snapshot(), got, f"instance {b} at the start")
    for t in range(len(sequences[0])):
        actions = [
            sequence[t] if reference.outcome == "running" else None
            for sequence, reference in zip(sequences, references, strict=True)
        ]
        for reference, action in zip(references, actions, strict=True):
            if action is not None:
                reference.step(action)
        compiled.step(actions)
        for b, got in enumerate(compiled.snapshots()):
            check_same(references[b].snapshot(), got, f"instance {b} after step {t + 1}, {actions[b]}")


def check_agent(agent: Agent, instances: Instances, most: int, machines: dict[str, Any] = MACHINES) -> list[Any]:
    """Raise AssertionError unless the compiled `run` and the reference go the agent's way together, step by step.

    After `most` steps the comparison stops. Returns the reference machines as they stand then.
    """
    task = agent.task
    references, compiled, table = start_machines(task, instances, machines), Compiled(task, instances), Table.of(agent)
    numbers = [{value: k for k, value in enumerate(values)} for values in compiled.values]
    answers: dict[tuple[Any, ...], ActionPair | None] = {}

    def answer(seen: tuple[Any, ...]) -> ActionPair | None:
        if seen not in answers:
            digits = [number[value] for number, value in zip(numbers, seen, strict=True)]
            action = int(agent.actions(task.interface.pack_digits(np.array([digits])))[0])
            answers[seen] = None if action == NO_ACTION else task.interface.actions[action]
        return answers[seen]

    for t in range(1, most + 1):
        running = [reference for reference in references if reference.outcome == "running"]
        if not running:
            break
        for reference in running:
            action = answer(reference.observe())
            if action is None:
                reference.outcome = "no action"
            else:
                reference.step(action)
        compiled.run_until(t, table)
        for b, got in enumerate(compiled.snapshots()):
            check_same(references[b].snapshot(), got, f"instance {b} after step {t}")
    return references


SELDOM = {"Found": 0.1, "NotFound": 0.1, "Return": 0.6}
"""How often instructions that may end an episode are drawn, where the others count 1."""


def random_actions(task: Task, shape: tuple[int, int], random: np.random.Generator) -> list[list[ActionPair]]:
    """Return random actions [shape], an instruction as often whatever its number of operands."""
    instructions = task.interface.instructions
    odds = np.array([SELDOM.get(i.name, 1.0) for i in instructions])
    chosen = random.choice(len(instructions), shape, p=odds / odds.sum())
    return [
        [
            (instructions[k].name, tuple(o.values[random.integers(len(o.values))] for o in instructions[k].operands))
            for k in row
        ]
        for row in chosen
    ]


def random_instances(task: Task, count: int, size: int, random: np.random.Generator) -> Instances:
    """Return instances with many ties whose sums are exact: knapsack weights and values are multiples of 1/8."""
    instances = task.allocate(count, size)
    if task.name == "knapsack":
        weights = random.integers(0, 5, (count, size)) / 8
        instances.reals[:, WEIGHTS : WEIGHTS + size] = weights
        instances.reals[:, WEIGHTS + size : WEIGHTS + 2 * size] = random.integers(0, 5, (count, size)) / 8
        instances.reals[:, 1] = weights.sum(axis=1) * random.integers(0, 5, count) / 4
    else:
        instances.items[:, :size] = random.integers(0, max(2, size), (count, size))
        if task.name == "search":
            instances.items[:, :size].sort(axis=1)
            instances.items[:, size] = random.integers(-1, max(2, size) + 1, count)
    return instances
