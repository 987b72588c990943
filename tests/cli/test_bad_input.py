"""Bad input gets one sentence on the error stream and exit code 2, and leaves nothing behind.

`refusals.txt` holds the sentence for each command; `...` stands there for any text.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from surpass.learning.methods import new_learner
from surpass.tasks.registry import find_task
from tests.cli.here import call_here

BLOCKS = Path(__file__).with_name("refusals.txt").read_text().removeprefix("$ ").split("\n\n$ ")
REFUSALS = dict(block.rstrip().split("\n") for block in BLOCKS)
RUN = new_learner(find_task("search"), "imitation", teacher="linear_search").recipe
RECIPE = 'task = "knapsack"\nmethod = "imitation"\nseeds = [3]\n'
FILES = {
    "x.txt": "x",
    "empty/.hidden": "",
    "one.toml": RECIPE,
    "two.toml": RECIPE.replace("[3]", "[3, 4]"),
    "evil.toml": 'task = "evil.py"\nmethod = "imitation"\n',
    "evil.py": "from pathlib import Path\nPath('ran').touch()\n",
    "other.rules": "task never-named\nelse: Walk()\n",
    "wrong.rules": "task sort-bubble\nelse: Answer(9)\n",
    "run/recipe.json": json.dumps(RUN),
    "old/recipe.json": json.dumps({name: value for name, value in RUN.items() if name != "batch"}),
    "older/recipe.json": json.dumps({"method": "improvement", "task": "search", "teacher": "binary_search", "seed": 0}),
    "torn/recipe.json": "{",
    "list/recipe.json": "[1]",
    "blank/recipe.json": "",
    "cake/recipe.json": '{"flour": 500}',
    "more/recipe.json": json.dumps(RUN),
    "more/thesis.tex": "years of work",
    "mine/thesis.tex": "years of work",
    "also/checkpoints/best.pt": "more years of work",
}


@pytest.mark.parametrize("words", REFUSALS)
def test_bad_input_gets_one_sentence_and_exit_code_2(words: str, tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    shown = call_here(*shlex.split(words), cwd=tmp_path)
    assert (shown.returncode, shown.stdout) == (2, "")
    assert re.fullmatch(".*".join(map(re.escape, f"surpass: {REFUSALS[words]}\n".split("..."))), shown.stderr)
    left = {str(path.relative_to(tmp_path)): path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    assert left == FILES


@pytest.mark.parametrize("name", ["\x1b[31mred", "two\nlines", "right\u202eleft", "old\x9bcontrol"])
def test_a_file_whose_name_would_change_the_terminal_is_refused(name: str, tmp_path: Path) -> None:
    for words in ("evaluate {}.rules", "evaluate teacher:bubble_sort --data {}.csv", "learn {}.py", "zoo --json {}"):
        (tmp_path / f"{name}{words.rpartition('}')[2]}").touch()
        shown = call_here(*(word.format(name) for word in words.split()), cwd=tmp_path)
        assert (shown.returncode, shown.stdout) == (2, "")
        assert "control characters" in shown.stderr
        assert shown.stderr.count("\n") == 1
        assert shown.stderr.strip().isprintable()
