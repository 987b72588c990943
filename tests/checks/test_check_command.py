"""`surpass check` from the command line."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest

from surpass.agents.zoo import find_entry
from tests.cli.here import call_here

NOTED = Path(__file__).parent / "noted_sorting.py"
EXAMPLE = Path(__file__).parents[2] / "examples" / "minimum.py"


def test_a_certificate_is_printed_and_written(tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    shown = call_here(
        "check", "teacher:scan", "--task", EXAMPLE, "--up-to", 6, "--sizes", "20,100", "--effort", 500, "--json", path
    )
    assert shown.returncode == 0, shown.stderr
    assert "teacher:scan on minimum: passed" in shown.stdout
    record = json.loads(path.read_text())
    assert record["passed"]
    assert record["small"]["up_to"] == 6
    assert (record["observations"], record["closed_after"]) == (6, 3)


def test_a_failing_instance_comes_with_a_command_that_shows_it_again() -> None:
    shown = call_here("check", "teacher:stuck_on_two", "--task", NOTED)
    assert shown.returncode == 1
    assert "the smallest failing instance: 1,0\n" in shown.stdout
    assert "loop" in shown.stdout
    (command,) = [line.partition(": ")[2] for line in shown.stdout.splitlines() if line.startswith("to see it again")]
    words = shlex.split(command)
    assert words[0] == "surpass"
    again = call_here(*words[1:], "--compact")
    assert again.returncode == 0
    assert again.stdout in shown.stdout


def test_a_run_folder_is_checked_and_json_alone_goes_to_the_output(tmp_path: Path) -> None:
    stem = find_entry("search/imitation-bracket_search").stem
    for suffix in (".json", ".safetensors"):
        shutil.copy(stem.with_name(stem.name + suffix), tmp_path / f"agent{suffix}")
    shown = call_here("check", tmp_path, "--up-to", 12, "--instances", 0, "--effort", 0, "--json", "-")
    assert shown.returncode == 0, shown.stderr
    record = json.loads(shown.stdout)
    assert (record["task"], record["passed"], record["drawn"]["sizes"]) == ("search", True, [])


@pytest.mark.parametrize("words", [("teacher:nope",), ("teacher:bubble_sort", "--sizes", "five")])
def test_bad_input_gets_one_sentence_and_exit_code_2(words: tuple[str, ...]) -> None:
    shown = call_here("check", *words)
    assert (shown.returncode, shown.stdout) == (2, "")
    assert len(shown.stderr.strip().splitlines()) == 1
