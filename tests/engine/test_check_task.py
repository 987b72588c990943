"""A wrong task file is refused with one sentence that names the file and the line.

Each case is one edit of a right task. Compiled, many of them would end the process by a signal or never return.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import surpass
from surpass.api import as_task
from surpass.engine import check_task as checking
from surpass.engine.check_task import check_task
from surpass.errors import DeclarationError, SurpassError
from surpass.tasks.registry import PAPER_TASKS, known_tasks
from surpass.tasks.teacher import declared_teachers
from surpass.tasks.user_file import forget_task_file, load_task_file
from tests.cli.here import call_here

GOOD = (Path(__file__).parent / "mountain.py").read_text()

WALK = "    state.registers[v] = clamp(state.registers[v] + step, state.registers[SIZE])\n"
SWAP = "    state.items[i], state.items[j] = state.items[j], state.items[i]\n"
BEGIN = "    state.registers[R.answer] = -1\n"
ITEM = "    return state.items[state.registers[v]]\n"
ZONE = "    if state.registers[v] == 0:\n"
CALL = "    surpass.enter(state, 1, R.j)\n"
BACK = "    surpass.leave(state, state.registers[R.i])\n    return RUNNING\n"
DRAW = '    """Draw lists of small values."""\n'
CLAMP = "    return min(max(value, 0), size - 1)\n"
CLIMB = 'return do.Move(1, +1) if see("A[i] <= A[i+1]") else do.Stop()'
NEVER = 'if see("zone = last") and see("A[i] < A[i+1]"):\n        return '
SEARCH = "    while True:\n        pass\n"

PLAYED = {
    "a step past the end": (WALK, "    state.registers[v] += step\n", r"(reads|writes) (items|reals)\["),
    "a read before the first": (ITEM, "    return state.items[-1]\n", r"'item' reads items\[-1\]"),
    "a write far away": (SWAP, "    state.items[1 << 40] = i + j\n", r"'swap' writes items\[1099511627776\]"),
    "an edge that is not looked at": ("return state.registers[v] == state.registers[SIZE] - 1\n", "return v < 0\n", ""),
    "an undeclared register": (BEGIN, BEGIN + "    state.registers[700] = 1\n", r"'start' writes registers\[700\]"),
    "an operand that is no register": ('"v", R.i, R.j)', '"v", R.i, 12)', r"'move' reads registers\[12\].* in Move\(2"),
    "a part that is too short": (BEGIN, BEGIN + "    own = state.registers[R.i :]\n    own[3] = 1\n", "writes"),
    "a helper that goes wrong": (CLAMP, "    return (0,)[max(value, 0)]\n", "'clamp' raises IndexError: .* in Move"),
    "a size that is written": (BEGIN, BEGIN + "    state.registers[SIZE] = 3\n", "belong to the machine"),
    "a depth that is written": (SWAP, "    state.registers[surpass.DEPTH] = 9\n", "belong to the machine"),
    "a feature that writes": (ZONE, "    state.registers[v] = 0\n" + ZONE, "'zone' writes registers, .* only be read"),
    "a call in a feature": (ZONE, "    surpass.enter(state, 1, R.j)\n" + ZONE, "'zone' writes .* only be read"),
    "two calls in a step": (CALL, CALL + CALL, "'call' opens a second call"),
    "a call without saved registers": ("            saved=2,\n", "", "'call' opens .*saves no registers"),
    "a function that is not there": (CALL, "    surpass.enter(state, 7, R.j)\n", "ObservationError.*'function'"),
    "a kernel that calls itself": (ITEM, "    return item(state, v) + 1\n", "'item' calls itself without end"),
    "an unknown outcome": (BACK, BACK.replace("RUNNING", "7"), "instruction Back: 'back' returns 7;"),
    "no return": (BACK, "    surpass.leave(state, 0)\n", "instruction Back: 'back' returns None;"),
    "a start that returns a truth": ("SOLVED if size == 0 else RUNNING\n", "size > 0\n", "start: 'start' returns"),
    "a feature that is a real": ("        return 0\n", "        return 0.25\n", "'zone' returned 0.25"),
    "a feature out of range": ("    return 2 if state", "    return 3 if state", "ObservationError.*'zone' returned 3"),
    "a division by zero": ("i % 3", "i % (i - j)", "'swap' divides by zero"),
    "an exception": (SWAP, "    raise ValueError('stuck')\n" + SWAP, "'swap' raises ValueError: stuck"),
    "a name that is not there": (WALK, "    state.registers[v] = clip(0, 1)\n", "python.*'move' raises NameError"),
    "a draw that raises": (DRAW, "    [].pop()\n", r"draw\['small'\].* raises IndexError: pop from empty list"),
    "a draw of other sizes": ("request.size)))", "request.size + 1)))", r"draw\['small'\] returned 2 instances"),
    "items without rows": ("size), items,", "size), items[0],", r"must be an array \[count, width\]"),
    "too few reals": ("np.zeros((count, 2 + size)))", "np.zeros((count, 1)))", "1 reals for size"),
    "an enumeration that raises": ('    """Yield every list of 0, 1 and 2."""\n', "    1 // 0\n", "in inputs.small"),
    "a reader that fails": ("    (values,) = parts\n", "    (values, _) = parts\n", "inputs.read does not read '"),
    "a writer of numbers": ('    return ",".join(map(str, ', "    return sum(map(int, ", "inputs.write returned"),
    "a find_wrong that raises": ("!= items[k, :size].max()", "!= items[k, size + 9]", "find_wrong raises IndexError"),
    "a find_wrong that counts": ("    return wrong\n", "    return wrong * 1\n", "find_wrong returned an array"),
    "an unknown condition": ('see("A[i] <= A[i+1]")', 'see("A[i] <= A[i+l]")', r"unknown condition .* line 203\)"),
    "an action without brackets": ("else do.Stop()", "else do.Stop", r"without brackets.* line 200\)"),
    "a mistake where no teacher comes": (CLIMB, f"{NEVER}do.Move(1)\n    {CLIMB}", r"unknown action .* line 20\d\)"),
    "a teacher that raises": ("else do.Stop()", "else 1 // 0", r"climb of task 'mountain' raises Zero.* line 203\)"),
}
"""What playing the task finds: the text, what stands there instead, and what the error must say."""

RIGHT = {
    "a lambda as a kernel": ('"Swap", does=swap', '"Swap", does=kernel(lambda state: swap(state))'),
    "the sign of a difference": ("== state.registers[R.j]\n", "== (state.items[0] > 3) - (state.items[0] < 3)\n"),
    "numbers that wrap": (
        WALK,
        "    state.registers[R.answer] = 3**40\n    state.registers[R.answer] *= 3**39\n" + WALK,
    ),
    "a part of the registers": (BEGIN, "    own = state.registers[R.i :]\n    own[2] = -1\n    own[0] = 0\n"),
    "a copy in a feature": (ZONE, "    copy = state.items.copy()\n    copy[0] = 7\n" + ZONE),
    "sums of arrays": ("        return 0\n", "        return 0 * int(np.sum(state.items[:2] + 1))\n"),
    "a walk through items": (
        WALK,
        WALK + "    for x in state.items[9:]:\n        state.registers[R.answer] = -(x > 0)\n",
    ),
    "a long loop": (BEGIN, BEGIN + "    for k in range(20_000):\n        state.registers[R.answer] = -1\n"),
    "a draw that has no small sizes": (DRAW, "    if request.size < 3:\n        raise ValueError('too small')\n"),
    "no action where no teacher comes": (CLIMB, f"{NEVER}None\n    {CLIMB}"),
}
"""Edits that leave the task right, some of them where plain Python and compiled code differ."""

DOUBTED = {
    "a teacher that solves nothing": (
        'return do.Move(1, +1) if see("A[i] <= A[i+1]") else do.Stop()',
        "return do.Move(1, -1)",
        r"teacher:climb of task 'mountain' solves none of \d+ small instances .* loop \(mountain.py, line 200\)",
    ),
    "a find_wrong that is the wrong way round": (
        "    return wrong\n",
        "    return ~wrong\n",
        r"find_wrong calls all \d+ solutions wrong .* \(mountain.py, line 110\)",
    ),
}
"""What is allowed but hardly meant: a warning when the file is loaded."""

DECLARED = {
    "no kernel": ("@kernel\ndef swap", "def swap", "is not a kernel"),
    "a number for a kernel": ("does=swap)", "does=5)", "it must be a function"),
    "a negative width": ("lambda size: size + 1", "lambda size: size - 3", r"item_width\(0\)"),
    "a width without end": ("item_width=lambda size: size + 1", "item_width=lambda size: 10**12", r"item_width\(0\)"),
    "a width that grows too fast": ("lambda size: 2 + size", "lambda size: 3**size + 1", "real_width"),
    "a colour in the name of a feature": ('surpass.flag("i = j"', 'surpass.flag("i \x1b[31m= j"', "feature"),
    "a line end in the name of a feature": ('surpass.flag("i = j"', 'surpass.flag("i\\n= j"', "feature"),
    "a colour in a value": ('("first", "inner", "last")', '("first", "\x9b31mmid", "last")', "feature"),
    "a colour in the name of a distribution": ('{"small": draw}', '{"sm\x1b[0mall": draw}', "draw"),
    "more saved than registers": ("saved=2", "saved=9", "saves 9 registers"),
    "a register with a bad name": ('("i", "j", "answer")', '("i", "j", "an answer")', "plain word"),
    "a hint that is no value": ("limit=", "hints=(item,), limit=", "hints"),
    "a size of 0": ("sizes=(5, 10)", "sizes=(0, 10)", "a whole number"),
    "training sizes upside down": ("(3, 6)", "(6, 3)", "training_sizes"),
    "a cost that is no number": ("wrong_cost=100.0", 'wrong_cost=float("nan")', "a number from"),
    "an interface that is a list": ("interface=surpass.Interface(\n", "interface=list(\n", "TypeError"),
    "an operand that is a number": ('"Swap", does', '"Swap", R.i, does', "operand"),
    "a sign that is not there": ('("<", "=", ">", "end")', '("<", "=", "end")', "comparison"),
    "no way to draw": ('{"small": draw}', "{}", "draw"),
    "a teacher of nothing": ("@surpass.teacher(MOUNTAIN)", "@surpass.teacher(None)", "teacher"),
    "a field that is left out": ("        find_wrong=find_wrong,\n", "", "find_wrong"),
    "a file that fails": ("TABLE = (1, 2, 4)\n", "TABLE = 1 // 0\n", "ZeroDivisionError"),
    "a file with a syntax error": ("TABLE = (1, 2, 4)\n", "TABLE = (1, 2\n", "SyntaxError"),
}
"""What loading the file finds, before anything is played."""


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(checking, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(checking, "CALL_SECONDS", 0.3)


def write(folder: Path, old: str = "", new: str = "") -> Path:
    """Write the task with an edit into a folder, and return the file."""
    assert not old or GOOD.count(old) == 1, old
    path = folder / "mountain.py"
    path.write_text(GOOD.replace(old, new) if old else GOOD)
    return path


PLAY_ALL = """
import json, sys
from pathlib import Path
from surpass.engine.checked_play import check
from surpass.tasks.user_file import forget_task_file, load_task_file
for folder in sorted(Path(sys.argv[1]).iterdir()):
    print(json.dumps([folder.name, check("mountain", str(folder / "mountain.py"))]))
    forget_task_file(folder / "mountain.py")
"""


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """What is said of each edit, all by one process with the compiler off."""
    root = tmp_path_factory.mktemp("edits")
    for name, (old, new, *_) in {**PLAYED, **RIGHT, **DOUBTED}.items():
        (root / name).mkdir()
        write(root / name, old, new)
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    call = [sys.executable, "-c", PLAY_ALL, str(root)]
    done = subprocess.run(call, env=environment, capture_output=True, text=True, check=True)
    return dict(map(json.loads, done.stdout.splitlines()))


@pytest.mark.parametrize("case", PLAYED)
def test_a_mistake_is_found_by_playing(case: str, verdicts: dict[str, dict[str, str]]) -> None:
    verdict = verdicts[case]
    assert re.search(PLAYED[case][2], f"{verdict['kind']}: {verdict['said']}"), verdict
    if "function that is not there" not in case:  # which the machine shows, and no line of the user's
        assert re.search(r"\(mountain.py, line \d+\)", verdict["said"]), verdict
    assert "\n" not in verdict["said"]


@pytest.mark.parametrize("case", RIGHT)
def test_a_right_task_passes(case: str, verdicts: dict[str, dict[str, str]]) -> None:
    assert verdicts[case]["kind"] == "passed", verdicts[case]
    assert not verdicts[case]["doubts"]


@pytest.mark.parametrize("case", DOUBTED)
def test_what_is_hardly_meant_is_pointed_out(case: str, verdicts: dict[str, dict[str, str]]) -> None:
    assert verdicts[case]["kind"] == "passed", verdicts[case]
    assert re.search(DOUBTED[case][2], verdicts[case]["doubts"][-1]), verdicts[case]


@pytest.mark.parametrize("case", DECLARED)
def test_a_wrong_declaration_is_refused_when_the_file_is_loaded(case: str, tmp_path: Path) -> None:
    before = known_tasks(), set(declared_teachers())
    old, new, said = DECLARED[case]
    with pytest.raises(SurpassError, match=said) as refused:
        as_task(write(tmp_path, old, new))
    assert "mountain.py" in str(refused.value) or "mountain" in str(refused.value)
    assert (known_tasks(), set(declared_teachers())) == before


@pytest.mark.parametrize("task", PAPER_TASKS, ids=lambda task: task.name)
def test_every_task_of_the_package_passes(task: surpass.Task) -> None:
    assert check_task(task)["doubts"] == []


def test_a_wrong_file_ends_a_command_with_one_sentence(tmp_path: Path) -> None:
    old, new, said = PLAYED["a write far away"]
    words = ("evaluate", "teacher:climb", "--task", str(write(tmp_path, old, new)), "--sizes", "5")
    environment = {**os.environ, "SURPASS_CACHE_DIR": str(tmp_path / "cache")}
    call = [sys.executable, "-m", "surpass", *words]
    ran = subprocess.run(call, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert ran.returncode == 2, ran.stderr
    assert re.search(said + r".*\(mountain.py, line \d+\)", ran.stderr.splitlines()[-1])
    assert "Traceback" not in ran.stderr + ran.stdout


ENDLESS = {
    "a kernel": (
        SWAP,
        SWAP + "    while True:\n        clamp(i, j)\n",
        r"'(swap|clamp)' is still running .* \(mountain.py, line \d+\), in Swap",
    ),
    "a draw": (DRAW, SEARCH, r"'draw' is still running .* \(mountain.py, line \d+\), in inputs.draw"),
    "a crash": (DRAW, "    import os\n    os.kill(os.getpid(), 11)\n", "SIGSEGV"),
    "an exit": (DRAW, "    import os\n    os._exit(0)\n", "without an answer"),
    "a long sleep": (DRAW, "    import time\n    time.sleep(60)\n", "no answer within 4 s"),
    "a type": (ITEM, "    return state.itms[0]\n", r"does not compile: .*itms.* \(mountain.py, line \d+, in item\)"),
}


@pytest.mark.parametrize("case", ENDLESS)
def test_a_process_that_does_not_come_to_a_verdict_is_a_refusal(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if case == "a long sleep":
        monkeypatch.setattr(checking, "MOST_SECONDS", 4.0)
    old, new, said = ENDLESS[case]
    with pytest.raises(DeclarationError, match=said):
        as_task(write(tmp_path, old, new))
    assert not list((tmp_path / "cache").rglob("mountain*"))


FAR = "    far = state.registers[SIZE] // 200 << 40\n"
STUCK = "    while state.registers[SIZE] > 200:\n        pass\n"
RIGHT_SO_FAR = "    return wrong\n"
LARGE = {
    "an index": (ITEM, FAR + ITEM.replace("[v]]", "[v] + far]"), "reads items"),
    "an endless kernel": (SWAP, SWAP + STUCK, "'swap' is still running"),
    "an endless draw": (DRAW, STUCK.replace("state.registers[SIZE]", "request.size"), "'draw' is still running"),
    "an endless find_wrong": (RIGHT_SO_FAR, STUCK.replace("state.registers[SIZE]", "len(items[0])") + RIGHT_SO_FAR, ""),
}
"""What goes wrong on large instances alone."""


@pytest.mark.parametrize("case", LARGE)
def test_a_mistake_on_large_instances_is_found_before_a_task_runs(case: str, tmp_path: Path) -> None:
    old, new, said = LARGE[case]
    with pytest.raises(DeclarationError, match=rf"{said}.* \(mountain.py, line \d+\).* of size (250|1000)"):
        as_task(write(tmp_path, old, new))


def test_a_task_is_checked_on_instances_as_large_as_those_that_are_asked_for(tmp_path: Path) -> None:
    old, new, said = LARGE["an index"]
    path = write(tmp_path, old, new.replace("200", "3000"))
    try:
        assert surpass.evaluate("teacher:climb", task=path, sizes=[1000], instances=2).rows
        for run in (surpass.evaluate, surpass.check):
            with pytest.raises(DeclarationError, match=f"{said}.* of size 3500"):
                run("teacher:climb", task=path, sizes=[20, 3500], instances=2)
        for run in (surpass.show, surpass.trace):
            with pytest.raises(DeclarationError, match=f"{said}.* of size (3500|4000)"):
                run("teacher:climb", task=path, size=4100)
        with pytest.raises(DeclarationError, match=said):
            surpass.apply("teacher:climb", [list(range(5000))], task=path)
        with pytest.raises(DeclarationError, match=said):
            surpass.api.new_learner(path, "imitation", settings={"sizes": "5,4500"})
    finally:
        forget_task_file(path)


def test_what_is_only_slow_as_plain_python_is_no_mistake(tmp_path: Path) -> None:
    slow = "    for _ in range(size * size):\n        state.registers[R.answer] = -1\n"
    path = write(tmp_path, BEGIN, BEGIN + slow)
    try:
        (task,) = load_task_file(path)
        assert ["not checked on instances" in doubt for doubt in check_task(task, largest=20_000)["doubts"]] == [True]
    finally:
        forget_task_file(path)


def test_a_file_is_checked_once_for_each_version_of_it_and_of_what_it_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(checking, "check_task", lambda task, **_: asked.append(task.name) or check_task(task))
    monkeypatch.syspath_prepend(str(tmp_path))
    path, helper = (
        tmp_path / "mountain.py",
        "import surpass\n\n\n@surpass.kernel\ndef pick(k):\n    return (1, 2, 4)[k]\n",
    )
    path.write_text(
        GOOD.replace("TABLE = (1, 2, 4)\n", "from heights import pick\n").replace("TABLE[i % 3]", "pick(i % 3)")
    )
    (tmp_path / "heights.py").write_text(helper)
    try:
        for _ in range(2):
            as_task(path)
            forget_task_file(path)
        assert len(asked) == 1
        monkeypatch.delitem(sys.modules, "heights")
        (tmp_path / "heights.py").write_text(helper.replace("(1, 2, 4)", "(1, 2)") + "# longer\n")
        with pytest.raises(DeclarationError, match=r"'pick' raises IndexError: tuple index .* \(heights.py, line 6\)"):
            as_task(path)
        monkeypatch.delitem(sys.modules, "heights")
        (tmp_path / "heights.py").write_text(helper)
        assert as_task(path).name == "mountain"  # mended, and loaded in the same process
    finally:
        forget_task_file(path)
        sys.modules.pop("heights", None)


def test_doubts_are_warned_of_each_time(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(tmp_path, " else do.Stop()", " else None")
    for _ in range(2):
        as_task(path)
        forget_task_file(path)
    first, second = (message for message in caplog.messages if "teacher:climb" in message)
    assert first == second
    assert "returns no action" in first


def test_a_check_that_is_asked_for_shows_the_way_to_the_mistake(tmp_path: Path) -> None:
    ran = call_here("tasks", write(tmp_path, *PLAYED["a helper that goes wrong"][:2]), "--check")
    assert ran.returncode == 2
    assert "in clamp" in ran.stdout
    assert "value = 1" in ran.stdout
