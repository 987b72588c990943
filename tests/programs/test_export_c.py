"""Exported C files: a million numbers, no finding of the sanitizers, bad input and no memory told by codes."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from surpass.agents.teachers import known_teachers
from surpass.agents.zoo import zoo_entries
from surpass.programs.export import export_program
from surpass.programs.program import Program
from surpass.table import Agent
from surpass.tasks.lists import from_lists
from surpass.tasks.sort_quick import SORT_QUICK
from surpass.tasks.task import Instances, Request, Task
from surpass.tasks.user_file import load_task_file
from tests.programs.exported import (
    CLEAN,
    COMPILERS,
    Numbers,
    agent_of,
    c_function,
    c_knapsack,
    c_search,
    c_sort,
    compile_c,
    draw_lists,
    draw_packings,
    draw_queries,
    forever,
    needs_compiler,
    program_from,
    run_to_the_end,
    taught,
)

pytestmark = needs_compiler
MILLION = 1_000_000
EXAMPLES = Path(__file__).parents[2] / "examples"


def test_a_million_numbers_are_sorted_in_the_engines_steps(tmp_path: Path) -> None:
    sort = c_sort(compile_c(export_program(taught("hoare_sort"), "c"), tmp_path), "i64")
    random = np.random.default_rng(5)
    items = random.integers(-(2**63), 2**63 - 1, MILLION)
    ranks = np.unique(items, return_inverse=True)[1]
    ends = run_to_the_end(agent_of("teacher:hoare_sort"), from_lists(ranks[None, :]))
    ordered, steps = sort(items.tolist())
    assert steps == ends.steps[0]
    assert ordered == np.sort(items).tolist()


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("optimise", ["-O0", "-O3"])
def test_every_compiler_is_content(compiler: str, optimise: str, tmp_path: Path) -> None:
    for name in ("quick_sort", "binary_search", "depth_first"):
        (tmp_path / "exported.c").write_text(export_program(taught(name), "c"))
        built = subprocess.run(
            [compiler, "-std=c11", *CLEAN, optimise, "-c", "-o", tmp_path / "exported.o", tmp_path / "exported.c"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert built.returncode == 0, built.stderr


ALL = [f"zoo:{entry.name}" for entry in zoo_entries() if not entry.name.startswith("sort-full/")]


@pytest.mark.parametrize("name", ALL)
def test_every_agent_of_the_zoo_is_clean_as_c_and_as_cplusplus(name: str, tmp_path: Path) -> None:
    agent = agent_of(name)
    compile_c(export_program(program_from(agent, *drawn(agent.task)), "c"), tmp_path)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_every_example_is_clean_as_c_and_as_cplusplus(path: Path, tmp_path: Path) -> None:
    (task,) = load_task_file(path)
    for agent in known_teachers(task):
        assert isinstance(agent, Agent)
        compile_c(export_program(program_from(agent, *drawn(task)), "c"), tmp_path)


def drawn(task: Task) -> list[Instances]:
    """Return some instances, from which short programs come."""
    return [task.draw(Request(size=size, count=20)) for size in (1, 4, 9)]


# Sanitizers

DRIVER = """
#include <stdio.h>
#include <string.h>

/* Reads numbers, each list behind its length, and writes what comes of them. */
static void *read_array(int64_t n)
{
    void *array = n ? malloc((size_t)n * 8) : NULL;
    if (n && fread(array, 8, (size_t)n, stdin) != (size_t)n) exit(3);
    return array;
}

int main(void)
{
    int64_t n;
    while (fread(&n, sizeof n, 1, stdin) == 1) {
        @
    }
    return 0;
}
"""
USES = {
    "sort": """TYPE *items = read_array(n);
        int64_t steps = surpass_sort_KIND(items, (size_t)n);
        fwrite(&steps, 8, 1, stdout);
        if (n) fwrite(items, 8, (size_t)n, stdout);
        free(items);""",
    "search": """TYPE *items = read_array(n), *query = read_array(1);
        int64_t steps, answer = surpass_search_KIND(items, (size_t)n, *query, &steps);
        fwrite(&answer, 8, 1, stdout);
        fwrite(&steps, 8, 1, stdout);
        free(items), free(query);""",
    "knapsack": """double *weights = read_array(n), *values = read_array(n), *capacity = read_array(1), value = -1;
        unsigned char *chosen = malloc((size_t)n + !n);
        int64_t steps = surpass_knapsack_f64(weights, values, (size_t)n, *capacity, 20 * n + 1, chosen, &value);
        fwrite(&steps, 8, 1, stdout);
        fwrite(&value, 8, 1, stdout);
        free(weights), free(values), free(capacity), free(chosen);""",
}


SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g", "-O1")


def run_driver(
    program: Program, kind: str, inputs: bytes, folder: Path, flags: Sequence[str] = SANITIZED, more: str = ""
) -> subprocess.CompletedProcess[bytes]:
    """Return the end of a driver that calls an exported file; `more` is added to the lengths that it passes on."""
    use = next(use for name, use in USES.items() if program.task.name.startswith(name))
    use = use.replace("KIND", kind).replace("TYPE", "int64_t" if kind == "i64" else "double")
    use = use.replace("(items, (size_t)n", f"(items, (size_t)n{more}")
    (folder / "driver.c").write_text(export_program(program, "c") + DRIVER.replace("@", use))
    built = subprocess.run(
        [COMPILERS[0], "-std=c11", *flags, "-o", folder / "driver", folder / "driver.c", "-lm"],
        capture_output=True,
        text=True,
        check=False,
    )
    if "cannot find -lasan" in built.stderr or "cannot find -lubsan" in built.stderr:
        pytest.skip("the compiler has no sanitizers")
    assert built.returncode == 0, built.stderr
    return subprocess.run([folder / "driver"], input=inputs, capture_output=True, check=False)


def draw_inputs(task: Task, kind: str) -> list[list[Numbers]]:
    """Return instances of a task, the smallest first."""
    random = np.random.default_rng(2)
    if task.name == "knapsack":
        return [[[], [], [0.0]], *draw_packings(random, 60, 20)]
    if task.name == "search":
        return [[[], [1]], [[1], [1]], [[1], [0]], *draw_queries(random, draw_lists(random, 100, 60, kind), kind)]
    return [[items] for items in ([], [1], [2, 1], [1, 1], *draw_lists(random, 100, 60, kind))]


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name in ("quick_sort", "insertion_sort", "bracket_search") for kind in ("i64", "f64")]
    + [("depth_first", "f64")],
)
def test_sanitizers_find_nothing_and_results_stay_the_same(name: str, kind: str, tmp_path: Path) -> None:
    """What files compiled without sanitizers do is compared with the engine elsewhere."""
    program = taught(name)
    inputs = b""
    for part in draw_inputs(program.task, kind):
        numbers = [np.array(one, np.int64 if kind == "i64" else np.float64).tobytes() for one in part]
        inputs += b"".join([np.int64(len(part[0])).tobytes(), *numbers])
    plain, sanitized = (run_driver(program, kind, inputs, tmp_path, flags) for flags in (["-O2"], SANITIZED))
    assert sanitized.returncode == 0, sanitized.stderr.decode()[:2000]
    assert len(plain.stdout) >= 8 * 64
    assert sanitized.stdout == plain.stdout


def test_sanitizers_find_nothing_where_calls_never_return(tmp_path: Path) -> None:
    short, long = [2, 3, 1], list(range(2000, 0, -1))
    inputs = np.array([len(short), *short, len(long), *long], np.int64).tobytes()
    ran = run_driver(forever(SORT_QUICK, "FunctionCall(1, 2, 3, 3, 2, 1)"), "i64", inputs, tmp_path)
    assert ran.returncode == 0, ran.stderr.decode()[:2000]
    assert np.frombuffer(ran.stdout, np.int64).tolist() == [-3, *short, -4, *long]


def test_the_sanitizers_are_at_work(tmp_path: Path) -> None:
    inputs = np.array([2, 2, 1], np.int64).tobytes()
    ran = run_driver(taught("insertion_sort"), "i64", inputs, tmp_path, more=" + 1")
    assert ran.returncode != 0
    assert b"heap-buffer-overflow" in ran.stderr


# Codes


def test_numbers_that_cannot_be_ordered_are_refused(tmp_path: Path) -> None:
    library = compile_c(export_program(taught("hoare_sort"), "c"), tmp_path)
    items = [3.0, float("nan"), 1.0]
    found = c_sort(library, "f64")(items)
    assert found.steps == -6
    assert str(found.items) == str(items)
    library = compile_c(export_program(taught("bracket_search"), "c"), tmp_path)
    assert c_search(library, "f64")([1.0, 2.0], float("nan"))[0] == -6


def test_what_cannot_be_packed_is_refused(tmp_path: Path) -> None:
    knapsack = c_knapsack(compile_c(export_program(taught("depth_first"), "c"), tmp_path))
    ones, nan, infinite = [1.0, 1.0], float("nan"), float("inf")
    for given in (([1.0, nan], ones, 10, 1.0), (ones, [1.0, -1.0], 10, 1.0), (ones, ones, 0, 1.0)):
        assert knapsack(*given)[2] == -6
    assert knapsack(ones, ones, 10, infinite)[2] == -6


@pytest.mark.parametrize(("name", "function"), [("hoare_sort", "realloc"), ("depth_first", "calloc")])
def test_no_memory_is_told(name: str, function: str, tmp_path: Path) -> None:
    text = export_program(taught(name), "c")
    parameters = "void *a, size_t b" if function == "realloc" else "size_t a, size_t b"
    none = f"static void *none({parameters}) {{ (void)a; (void)b; return NULL; }}\n"
    head, tail = text.split("#include <stdlib.h>\n")
    assert f"{function}(" in tail
    text = head + "#include <stdlib.h>\n" + none + tail.replace(f"{function}(", "none(")
    library = compile_c(text, tmp_path)
    if name == "depth_first":
        assert c_knapsack(library)([1.0], [1.0], 10, 1.0)[2] == -5
    else:
        assert c_sort(library, "i64")(list(range(30))[::-1] + [5] * 9 + list(range(20))).steps == -5


def test_null_may_be_given_for_the_steps(tmp_path: Path) -> None:
    function = c_function(compile_c(export_program(taught("bracket_search"), "c"), tmp_path), "search_i64", "pnip")
    items = np.array([1, 3, 5])
    assert [function(items.ctypes.data, 3, query, None) for query in (1, 3, 5, 4)] == [0, 1, 2, -1]
