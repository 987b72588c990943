"""A user's own tasks are exported too: their kernels are translated, or refused with a reason."""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import surpass
from surpass.engine.batch import Batch
from surpass.errors import DeclarationError, ExportError
from surpass.machine.calls import enter, leave
from surpass.machine.state import FIRST, RUNNING, SCORE, SIZE, SOLVED, WRONG, Outcome
from surpass.programs.export import export_program
from surpass.programs.extract import write_program
from surpass.programs.program import Program
from surpass.table import Table
from surpass.tasks.lists import list_inputs
from surpass.tasks.signature import Signature
from surpass.tasks.task import Inputs, Instances, Memory, Request, Task
from surpass.tasks.teacher import Do, See, Teacher
from surpass.tasks.user_file import load_task_file
from tests.programs.exported import (
    COMPILER,
    Result,
    as_instances,
    c_function,
    compile_c,
    draw_lists,
    forever,
    load_python,
    needs_compiler,
    program_from,
    run_to_the_end,
)

EXAMPLE = Path(__file__).parents[2] / "examples" / "minimum.py"


def nothing_wrong(before: Instances, *ends: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    return np.zeros(before.count, np.bool_)


def check_list_task(program: Program, folder: Path, lists: list[Any], kind: str) -> None:
    """Raise AssertionError unless the exported files of a task on lists end as the engine does."""
    task, names = program.task, load_python(export_program(program, "python"))
    ends = run_to_the_end(program, as_instances(task, [[items] for items in lists]))
    run = names[task.name]
    library = compile_c(export_program(program, "c"), folder) if COMPILER else None
    for k, items in enumerate(lists):
        outcome, steps = Outcome(int(ends.outcomes[k])), int(ends.steps[k])
        registers = ends.registers[k, FIRST : FIRST + len(task.memory.names)].tolist()
        values = sorted(set(items))
        want = [values[r] for r in ends.items[k, : len(items)].tolist()]
        copied = list(items)
        found = run(copied)
        assert found == (outcome.reason, steps, ends.reals[k, SCORE], *registers), f"Python on {items}"
        assert copied == want
        if library is not None:
            function = c_function(library, f"{task.name}_{kind}", "pnp")
            array, result = np.array(items, np.int64 if kind == "i64" else np.float64), Result()
            code = function(array.ctypes.data, len(array), ctypes.byref(result))
            codes = {Outcome.SOLVED: steps, Outcome.WRONG_ANSWER: -7, Outcome.STEP_LIMIT: -3}
            assert code == codes[outcome], f"C on {items}"
            assert (result.steps, result.score) == (steps, ends.reals[k, SCORE])
            assert list(result.registers)[: len(registers)] == registers
            assert array.tolist() == want


def test_the_example_is_exported(tmp_path: Path) -> None:
    (task,) = load_task_file(EXAMPLE)
    agent = surpass.find_agent("teacher:scan")
    assert isinstance(agent, Teacher)
    for kind in ("i64", "f64"):
        lists = [[], [5], [1, 1], [2, 1], [1, 2], [3, 3, 1, 1], *draw_lists(np.random.default_rng(0), 40, 30, kind)]
        program = program_from(agent, as_instances(task, [[items] for items in lists]))
        check_list_task(program, tmp_path, lists, kind)


def test_a_task_says_how_its_programs_are_called(tmp_path: Path) -> None:
    (task,) = load_task_file(EXAMPLE)
    agent = surpass.find_agent("teacher:scan")
    assert isinstance(agent, Teacher)
    program = program_from(agent, as_instances(task, [[[3, 1, 2]], [[1, 2, 1]], [[2, 1]]]))
    register = task.memory.registers.answer
    signature = Signature(name="least", summary="find the least value", note="The first counts.", answer=register)
    program = replace(program, task=replace(task, signature=signature))
    names = load_python(export_program(program, "python"))
    assert names["least"]([3.5, 0.5, 2.5]) == (1, 4)
    assert names["least"]([]) == (None, 0)
    assert "The first counts." in names["__doc__"]
    with pytest.raises(ValueError, match="item 1 is nan"):
        names["least"]([1.0, math.nan])
    if COMPILER:
        function = c_function(compile_c(export_program(program, "c"), tmp_path), "least_f64", "pnp")
        items, steps = np.array([3.5, 0.5, 2.5]), ctypes.c_int64(0)
        assert (function(items.ctypes.data, 3, ctypes.byref(steps)), steps.value) == (1, 4)
        assert function(items.ctypes.data, 0, None) == -1


@pytest.mark.parametrize("fields", [{"name": "two words"}, {"name": "find", "items": "own", "query": "q"}])
def test_a_signature_that_cannot_be_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(DeclarationError):
        Signature(summary="find it", **fields)


def test_the_exporter_names_no_task() -> None:
    folder = Path(surpass.__file__).parent / "programs"
    # `re.search` and the word in sentences are no names.
    named = re.compile(r"""sort[-_](bubble|quick|full)|knapsack|["']search["']|tasks\.search|\bSEARCH\b""")
    assert all(named.search(text) for text in ("SORT = 'sort-quick'", "import tasks.search", 'shape == "search"'))
    files = [*(folder / "export").rglob("*.py")]
    assert len(files) > 5
    assert not [path.name for path in files if named.search(path.read_text())]
    imports = re.compile(r"surpass\.tasks\.(sort|search|knapsack)")
    assert not [path.name for path in folder.rglob("*.py") if imports.search(path.read_text())]


# A selection sort whose kernels loop: what is seen of the list takes a look at all of it.

P = surpass.registers("place")


@surpass.kernel
def find_least(items: npt.NDArray[np.int64], first: int, size: int) -> int:
    """Return the position of the first least item from a position on."""
    best = first
    k = first
    while True:
        k += 1
        if k >= size:
            return best
        if not items[k] < items[best]:
            continue
        best = k


@surpass.kernel
def start_selecting(state: surpass.State) -> int:
    """An empty list is in order."""
    return SOLVED if state.registers[SIZE] == 0 else RUNNING


@surpass.kernel
def smaller_behind(state: surpass.State) -> int:
    """Return whether something smaller stands behind the place."""
    registers, items, _, _ = state
    place = registers[P.place]
    smaller = 0
    for k in range(place + 1, registers[SIZE]):
        if items[k] < items[place]:
            smaller = 1
            break
    return smaller


@surpass.kernel
def is_last(state: surpass.State) -> bool:
    """Tell whether the place is the last one."""
    return state.registers[P.place] + 1 == state.registers[SIZE]


@surpass.kernel
def take(state: surpass.State) -> int:
    """Swap the least item behind the place into it."""
    items, place = state.items, state.registers[P.place]
    least = find_least(items, place, state.registers[SIZE])
    items[place], items[least] = items[least], items[place]
    state.reals[SCORE] += 1
    return RUNNING


@surpass.kernel
def go_on(state: surpass.State) -> int:
    """Go to the next place."""
    state.registers[P.place] += 1 if 0 <= state.registers[P.place] < state.registers[SIZE] - 1 else 0
    return RUNNING


@surpass.kernel
def done(state: surpass.State) -> int:
    """Claim that the list is in order."""
    for k in range(state.registers[SIZE] - 1):
        if state.items[k] > state.items[k + 1]:
            return WRONG
    return SOLVED


SELECTION = Task(
    name="selection",
    summary="sort by selection",
    interface=surpass.Interface(
        [surpass.flag("smaller behind", smaller_behind), surpass.flag("last", is_last), surpass.PREVIOUS_ACTION],
        [
            surpass.Instruction("Take", does=take),
            surpass.Instruction("Next", does=go_on),
            surpass.Instruction("Done", does=done),
        ],
    ),
    start=start_selecting,
    memory=Memory(registers=P),
    inputs=list_inputs(),
    find_wrong=nothing_wrong,
)


def choose_selection(see: See, do: Do) -> surpass.Action:
    if see("smaller behind"):
        return do.Take()
    return do.Done() if see("last") else do.Next()


def choose_too_early(see: See, do: Do) -> surpass.Action:
    return do.Next() if see.previous is None else do.Done()


@pytest.mark.parametrize("choose", [choose_selection, choose_too_early])
def test_kernels_with_loops_are_exported(choose: Callable[[See, Do], surpass.Action], tmp_path: Path) -> None:
    lists = [[], [1], [2, 1], *draw_lists(np.random.default_rng(1), 40, 20, "i64")]
    agent = Teacher("selection", SELECTION, choose, "")
    program = program_from(agent, as_instances(SELECTION, [[items] for items in lists]))
    check_list_task(program, tmp_path, lists, "i64")


# Calls whose place is only seen by a look at everything, and memory that the caller lays out.

W = surpass.registers("here", "count")
TARGET, GUESS = 1, 2


@surpass.kernel
def start_walking(state: surpass.State) -> int:
    """Halve the guess in place."""
    state.reals[GUESS] = state.reals[TARGET] / 2
    return RUNNING


@surpass.kernel
def is_near(state: surpass.State) -> bool:
    """Tell whether the guess is a root of the target."""
    guess, target = state.reals[GUESS], state.reals[TARGET]
    return abs(guess * guess - target) <= 1e-9 * target


@surpass.kernel
def is_odd_above(state: surpass.State) -> int:
    """Return the parity of what is positive from the place on."""
    above = 0
    for k in range(state.registers[W.here], state.registers[SIZE]):
        above += state.items[k] > 0
    return above % 2


@surpass.kernel
def is_at_end(state: surpass.State) -> bool:
    """Tell whether the place lies behind the items."""
    return state.registers[W.here] >= state.registers[SIZE]


@surpass.kernel
def call(state: surpass.State, function: int) -> int:
    """Call a function one place further on."""
    enter(state, function, W.count)
    state.registers[W.here] += 1
    return RUNNING


@surpass.kernel
def give_back(state: surpass.State, more: int) -> int:
    """Return from a function with a larger count."""
    if not leave(state, state.registers[W.count] + 1 + more):
        return SOLVED if state.reals[SCORE] > 0 else WRONG
    return RUNNING


@surpass.kernel
def improve(state: surpass.State) -> int:
    """Improve the guess, and turn the sign of an item."""
    registers, reals = state.registers, state.reals
    reals[GUESS] = (reals[GUESS] + reals[TARGET] / reals[GUESS]) / 2
    reals[SCORE] = max(reals[SCORE], math.sqrt(reals[TARGET]) - int(reals[GUESS]) // 2 % 3)
    state.items[registers[W.here] % registers[SIZE]] *= -1
    return RUNNING


def draw_walks(request: Request) -> Instances:
    instances = WALK.allocate(request.count, request.size)
    instances.items[:] = request.stream("items").integers(-5, 6, instances.items.shape)
    instances.reals[:, TARGET] = request.stream("targets").random(request.count) * 1000 + 100
    return instances


WALK = Task(
    name="walk-2",
    summary="walk to the end and take a root at every place",
    interface=surpass.Interface(
        [
            surpass.flag("near", is_near),
            surpass.flag("odd above", is_odd_above),
            surpass.flag("at the end", is_at_end),
            surpass.CurrentFunction(values=(None, 1, 2)),
            surpass.PREVIOUS_ACTION,
        ],
        [
            surpass.Instruction("Call", surpass.integer("id", (1, 2)), does=call),
            surpass.Instruction("Return", surpass.integer("more", (0, 1)), does=give_back),
            surpass.Instruction("Improve", does=improve),
        ],
    ),
    start=start_walking,
    memory=Memory(registers=W, saved=1, reals=("score", "target"), real_width=lambda _: 3),
    inputs=Inputs(draw={"uniform": draw_walks}),
    find_wrong=nothing_wrong,
    limit="50n",
)


def choose_walk(see: See, do: Do) -> surpass.Action:
    previous = see.previous
    if see("at the end") or (previous is not None and previous.instruction == "Call"):
        return do.Return(1 if see("odd above") else 0)
    if not see("near"):
        return do.Improve()
    return do.Call(1 if see("odd above") else 2) if not see("function = 2") else do.Call(1)


def test_calls_and_reals_are_exported_to_the_bit(tmp_path: Path) -> None:
    agent = Teacher("walker", WALK, choose_walk, "")
    instances = WALK.draw(Request(size=7, count=60))
    program = program_from(agent, instances)
    ends = run_to_the_end(program, instances)
    assert (ends.outcomes == Outcome.SOLVED).all()
    names = load_python(export_program(program, "python"))
    library = compile_c(export_program(program, "c"), tmp_path, "-ffp-contract=off") if COMPILER else None
    for k in range(instances.count):
        items, reals = instances.items[k].tolist(), instances.reals[k].tolist()
        found = names["walk_2"](7, items, reals)
        registers = ends.registers[k, [*W]].tolist()
        assert found == ("solved", ends.steps[k], ends.reals[k, SCORE], *registers)
        assert items == ends.items[k].tolist()
        assert reals == ends.reals[k].tolist()
        if library is not None:
            check_memory(c_function(library, "walk_2", "nppp"), instances, ends, k)


def check_memory(function: Any, instances: Instances, ends: Batch, k: int) -> None:
    """Raise AssertionError unless a C function leaves the memory of an instance as the engine does."""
    items, reals, result = instances.items[k].copy(), instances.reals[k].copy(), Result()
    code = function(int(instances.sizes[k]), items.ctypes.data, reals.ctypes.data, ctypes.byref(result))
    assert code == result.steps == ends.steps[k]
    assert result.score == ends.reals[k, SCORE]
    assert list(result.registers)[:2] == ends.registers[k, [*W]].tolist()
    assert items.tolist() == ends.items[k].tolist()
    assert reals.tolist() == ends.reals[k].tolist()
    assert function(int(instances.sizes[k]), items.ctypes.data, None, ctypes.byref(result)) == -6


# Items that are more than compared: the ranks of a list are not its values.


@surpass.kernel
def is_zero(state: surpass.State) -> bool:
    """Tell whether the item here is 0."""
    return state.items[state.registers[I.int]] == 0


@surpass.kernel
def seek(state: surpass.State) -> int:
    """Go to the next place, if there is one."""
    state.registers[I.int] = min(state.registers[I.int] + 1, state.registers[SIZE] - 1)
    return RUNNING


@surpass.kernel
def stop(state: surpass.State) -> int:
    """Stop here."""
    return SOLVED


I = surpass.registers("int")


def test_a_task_that_reckons_with_ranks_takes_the_memory(tmp_path: Path) -> None:
    task = Task(
        name="zero",
        summary="find the rank 0",
        interface=surpass.Interface(
            [surpass.flag("zero", is_zero)],
            [surpass.Instruction("Go", does=seek), surpass.Instruction("Stop", does=stop)],
        ),
        start=start_selecting,
        memory=Memory(registers=I),
        inputs=list_inputs(),
        find_wrong=nothing_wrong,
    )
    program = write_program("seeker", Table.holding(task, np.array([0, 1]), np.array([0, 1])))
    written = export_program(program, "python")
    assert "`items` holds size whole numbers" in " ".join(written.split())
    zero = load_python(written)["zero"]
    assert zero(3, [2, 1, 0]) == ("solved", 3, 0.0, 2)
    with pytest.raises(ValueError, match="there are 2 items; size 3 needs 3"):
        zero(3, [2, 1])
    if COMPILER:
        library, result = compile_c(export_program(program, "c"), tmp_path), Result()
        items = np.array([2, 1, 0])
        assert library.surpass_zero(3, items.ctypes.data_as(ctypes.c_void_p), ctypes.byref(result)) == 3


# What is refused


O = surpass.registers("place", "other")


def doing(does: Callable[..., int]) -> Program:
    task = Task(
        name="refused",
        summary="",
        interface=surpass.Interface([surpass.flag("zero", is_zero)], [surpass.Instruction("Go", does=does)]),
        start=start_selecting,
        memory=Memory(registers=O),
        inputs=list_inputs(),
        find_wrong=nothing_wrong,
    )
    return forever(task, "Go()")


@surpass.kernel
def reads_any_register(state: surpass.State) -> int:
    """Read the register that another one names."""
    return SOLVED if state.registers[O.place + state.registers[O.place]] == 0 else WRONG


@surpass.kernel
def makes_an_array(state: surpass.State) -> int:
    """Use an array of its own."""
    return SOLVED if np.zeros(3).sum() == 0 else WRONG


@surpass.kernel
def powers(state: surpass.State) -> int:
    """Use a sign that is not exported."""
    return SOLVED if state.registers[SIZE] ** 2 >= 0 else WRONG


@surpass.kernel
def calls_itself(state: surpass.State) -> int:
    """Call itself without end."""
    if state.registers[SIZE] > 3:
        return SOLVED
    return calls_itself(state)


@pytest.mark.parametrize("does", [reads_any_register, makes_an_array, powers, calls_itself])
def test_a_kernel_that_cannot_be_exported_is_named(does: Callable[..., int]) -> None:
    program = doing(does)
    for language in ("python", "c"):
        with pytest.raises(ExportError) as refused:
            export_program(program, language)
        assert does.__name__ in str(refused.value)
        assert "\n" not in str(refused.value)


@needs_compiler
def test_names_cannot_break_out_of_comments(tmp_path: Path) -> None:
    (task,) = load_task_file(EXAMPLE)
    agent = surpass.find_agent("teacher:scan")
    assert isinstance(agent, Teacher)
    name = 'x*/ int y; /* """\nraise SystemExit\n"""\\'
    program = program_from(Teacher(name, task, agent.choose, ""), as_instances(task, [[[3, 1, 2]]]))
    assert load_python(export_program(program, "python"))["minimum"]([3, 1, 2]).answer == 1
    compile_c(export_program(program, "c"), tmp_path)
