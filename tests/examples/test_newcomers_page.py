"""The page for newcomers quotes the example as it is, and messages as they are."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "your-own-task.md").read_text()
EXAMPLE = (ROOT / "examples" / "minimum.py").read_text()

EVALUATE, CHECK = ("evaluate", "--sizes", "5"), ("check", "--up-to", "3", "--instances", "0", "--effort", "500")
MISTAKES = {
    "a feature that returns 3": ("registers[v] == state.registers[SIZE] - 1", "registers[v] + 3", EVALUATE),
    "a kernel that does not compile": ("state.items[state.registers[v]]", "state.itms[state.registers[v]]", EVALUATE),
    "no return": ("= state.registers[R.v1]\n    return RUNNING\n", "= state.registers[R.v1]\n", EVALUATE),
    "no kernel": ("@kernel\ndef keep", "def keep", EVALUATE),
    "an index past the end": (
        "min(state.registers[R.v1] + 1, state.registers[SIZE] - 1)",
        "state.registers[R.v1] + 1",
        EVALUATE,
    ),
    "an endless loop": (
        "for k in range(state.registers[SIZE]):\n",
        "k = 0\n    while k < state.registers[SIZE]:\n",
        EVALUATE,
    ),
    "an unknown outcome": (
        "= state.registers[R.v1]\n    return RUNNING",
        "= state.registers[R.v1]\n    return 3",
        EVALUATE,
    ),
    "half a width": ("Memory(registers=R)", "Memory(registers=R, item_width=lambda size: size / 2)", EVALUATE),
    "an unknown condition": ('see("A[v1] < A[v2]")', 'see("A[v1] < A[v3]")', EVALUATE),
    "a register for an operand": ("do.Answer(2)", "do.Answer(R.v2)", EVALUATE),
    "a wrong teacher": ('see("A[v1] < A[v2]")', 'see("A[v1] < A[v2]") and not see("v1 is last")', CHECK),
}


def without_indents(text: str) -> str:
    return "".join(f"{line.strip()}\n" for line in text.splitlines())


@pytest.mark.parametrize(
    "block", re.findall(r"```(?:python|text)\n(.*?)```", PAGE, re.DOTALL), ids=lambda text: text[:30]
)
def test_what_the_page_quotes_stands_in_the_example(block: str) -> None:
    assert without_indents(block) in without_indents(EXAMPLE)


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_looks_as_the_page_says(case: str, tmp_path: Path) -> None:
    old, new, (command, *words) = MISTAKES[case]
    assert EXAMPLE.count(old) == 1
    (tmp_path / "mistake.py").write_text(EXAMPLE.replace(old, new))
    call = [sys.executable, "-m", "surpass", command, "teacher:scan", "--task", str(tmp_path / "mistake.py"), *words]
    ran = subprocess.run(call, capture_output=True, text=True, check=False)
    if command == "check":
        quoted, printed = PAGE[PAGE.index("teacher:scan on minimum: FAILED") :].partition("```")[0], ran.stdout
    else:
        (quoted,) = (
            line
            for line in ran.stderr.splitlines()
            if line.startswith("surpass: ") and "compiling" not in line and "checking" not in line
        )
        printed = PAGE
    # Python versions differ in the line of a loop that they show.
    assert re.sub(r"line 7\d", "line 7", quoted) in re.sub(r"line 7\d", "line 7", printed), ran.stderr
    assert ran.returncode != 0
