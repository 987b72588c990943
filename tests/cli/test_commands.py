import json
import os
import re
import resource
import subprocess
import sys

import pytest

from surpass.machine.trace import read_trace
from tests.cli.here import EXAMPLE, call_here


def call(*words, **options):
    return subprocess.run(
        [sys.executable, "-m", "surpass", *map(str, words)], capture_output=True, text=True, timeout=300, **options
    )


def test_import_and_help_load_neither_torch_nor_numba():
    for program in ("import surpass", "import surpass.cli.main"):
        code = f"import sys; {program}; print({{'torch', 'numba', 'gymnasium', 'numpy'}} & set(sys.modules))"
        assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"


def call_in_shell(words):
    return subprocess.run(["bash", "-c", words], capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize("words", ["zoo", "zoo --json -", "evaluate teacher:scan --help"])
def test_a_pipe_that_its_reader_closes_is_no_failure(words):
    ran = call_in_shell(f"{sys.executable} -m surpass {words} | true; exit ${{PIPESTATUS[0]}}")
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("output", [">/dev/full", ">&-"])
def test_an_output_that_takes_nothing_is_told_in_one_sentence(output):
    ran = call_in_shell(f"{sys.executable} -m surpass zoo {output}")
    assert ran.returncode == 2
    assert re.fullmatch(r"surpass: the (standard )?output .*\n", ran.stderr)


def test_an_error_stream_that_takes_nothing_changes_no_exit_code():
    for errors in ("2>/dev/full", "2>&-"):
        assert call_in_shell(f"{sys.executable} -m surpass zoo nope {errors}").returncode == 2


def test_evaluate_writes_scores(tmp_path):
    path = tmp_path / "scores.json"
    shown = call_here(
        "evaluate", "teacher:hoare_sort", "--sizes", "5,20", "--against", "teacher:quick_sort", "--json", path
    )
    assert shown.returncode == 0, shown.stderr
    record = json.loads(path.read_text())
    assert [row["size"] for row in record["rows"]] == [5, 20]
    assert all(row["difference"] < 0 and row["difference_ci95"] > 0 for row in record["rows"])


def test_json_to_the_output_is_nothing_but_json():
    shown = call_here("evaluate", "teacher:bracket_search", "--sizes", "100", "--queries", "present", "--json", "-")
    assert json.loads(shown.stdout)["rows"][0]["solved"] == 1.0


def test_tasks_shows_the_search_space():
    shown = call_here("tasks", "sort-bubble").stdout
    assert "28 actions" in shown
    assert "3.48e+10 observations" in shown
    listed = {task["name"] for task in json.loads(call_here("tasks", "--json", "-").stdout)}
    assert listed >= {"sort-bubble", "sort-quick", "sort-full", "search", "knapsack"}


def test_a_trace_draws_the_list_with_its_variables_at_each_step():
    shown = call_here("trace", "teacher:insertion_sort", "--instance", "5,2,9,1").stdout
    blocks = shown.split("\n\n")
    assert blocks[0] == "teacher:insertion_sort on sort-bubble: 5,2,9,1"
    assert blocks[1].splitlines()[:3] == ["    at the start", "       0  1  2  3", "    A  5  2  9  1"]
    head, positions, items, beneath, *_ = blocks[4].splitlines()
    assert head == " 3  SwapWithNext(2): A[0] 5 -> 2, A[1] 2 -> 5, in_order 1 -> 2"
    assert [items.split(), beneath.split()] == [["A", "2", "5", "9", "1"], ["v2", "v1", "v4"]]
    assert positions.index("1") == items.index("5") == beneath.index("v1") + 1
    compact = call_here("trace", "teacher:insertion_sort", "--instance", "5,2,9,1", "--compact").stdout
    steps = read_trace(compact).steps
    drawn = [block.split("  ", 1)[1].splitlines()[0].partition(": ")[0] for block in blocks[2:-1]]
    assert drawn == [step.action for step in steps]
    record = json.loads(call_here("trace", "teacher:insertion_sort", "--instance", "5,2,9,1", "--json", "-").stdout)
    assert [step["action"] for step in record["steps"]] == [step.action for step in steps]


def test_a_trace_goes_to_a_file(tmp_path):
    path = tmp_path / "trace.txt"
    assert call_here("trace", "teacher:bubble_sort", "--out", path).returncode == 0
    assert path.read_text().startswith("surpass trace 1\n")


def test_what_does_not_fit_into_memory_is_told_in_one_sentence():
    def have_little() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))

    words = ("evaluate", "teacher:quick_sort", "--sizes", "100000000", "--instances", "10")
    shown = call(*words, preexec_fn=have_little)
    assert shown.returncode == 2
    assert shown.stderr.startswith("surpass: not enough memory: ")
    assert len(shown.stderr.strip().splitlines()) == 1


def test_compiling_is_told_once_and_not_again(tmp_path):
    words = ("evaluate", "teacher:scan", "--task", EXAMPLE, "--sizes", "5", "--instances", "2")
    environment = {**os.environ, "SURPASS_CACHE_DIR": str(tmp_path)}
    first, second = (call(*words, env=environment).stderr for _ in range(2))
    assert first.count("compiling what minimum needs") == 1
    assert "compiling" not in second
