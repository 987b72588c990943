"""Compiled code is never stale and a damaged cache is no failure.

The tests that compile do so in processes of their own, each with its own cache.
"""

from __future__ import annotations

import importlib.util
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

import surpass
from surpass.engine import specialise as specialise_module
from surpass.engine.specialise import Kernels, Template, _load_general, cache_folder, specialise
from surpass.learning.discover import trials
from surpass.learning.policy_gradient import sampler as policy_gradient
from surpass.learning.table import critic
from surpass.tasks.search import SEARCH
from surpass.tasks.sort_bubble import SORT_BUBBLE

HELPER = """
from surpass import kernel

FACTOR, SEVEN, ONE = 10, 7, 1


@kernel
def worth(x):
    return x * FACTOR
"""

TASK = """
import numpy as np

from surpass.tasks.teacher import Teacher
from surpass.engine.run import run
from surpass import Feature, Instruction, Interface, kernel
from surpass.tasks.task import Inputs, Task
from helper import worth


@kernel
def start(state):
    return 0


@kernel
def see(state):
    return 0


@kernel
def go(state):
    state.reals[0] = worth(1)
    return 1


TOY = Task(
    name="toy",
    summary="a score from another file",
    interface=Interface([Feature("light", ("off", "on"), see)], [Instruction("Go", does=go)]),
    start=start,
    inputs=Inputs(draw={"uniform": lambda request: TOY.allocate(request.count, request.size)}),
    find_wrong=lambda before, registers, items, reals: np.zeros(before.count, np.bool_),
)

if __name__ == "__main__":
    agent = Teacher("teacher:goer", TOY, lambda see, do: do.Go(), "")
    print("score", run(agent, TOY.allocate(1, 3)).scores[0])
"""


class Workshop:
    """A user's folder with a task, its helper and a cache of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.cache = folder, folder / "cache"
        if not (folder / "task.py").exists():
            (folder / "task.py").write_text(TASK)
            self.write_helper(HELPER)

    def write_helper(self, text: str) -> None:
        (self.folder / "helper.py").write_text(text)

    def edit_helper(self, old: str, new: str) -> None:
        text = (self.folder / "helper.py").read_text()
        assert old in text
        self.write_helper(text.replace(old, new))

    def start(self, preexec_fn: Callable[[], None] | None = None, **environment: str) -> subprocess.Popen[str]:
        """Run the task in a fresh process."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "SURPASS_"))}
        # Python's own cache of modules may miss an edit within the same second; it is not what is tested here.
        settings = {"SURPASS_CACHE_DIR": str(self.cache), "PYTHONDONTWRITEBYTECODE": "1", **environment}
        command = [sys.executable, str(self.folder / "task.py")]
        pipe = subprocess.PIPE
        streams = {"stdout": pipe, "stderr": pipe, "text": True}
        return subprocess.Popen(command, env={**kept, **settings}, preexec_fn=preexec_fn, **streams)

    def score(self, **environment: str) -> float:
        """Run the task in a fresh process and return its score."""
        with self.start(**environment) as process:
            shown, errors = process.communicate()
        assert process.returncode == 0, errors[-2000:]
        word, score = shown.split()
        assert word == "score"
        return float(score)

    def load(self) -> ModuleType:
        """Import the task afresh into this process."""
        for name, file in (("helper", "helper.py"), ("toy_task", "task.py")):
            spec = importlib.util.spec_from_file_location(name, self.folder / file)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module
            spec.loader.exec_module(module)
        return sys.modules["toy_task"]

    def find(self, pattern: str) -> dict[Path, tuple[int, int]]:
        """Return the size and the time of each file of the cache."""
        found = {path: path.stat() for path in self.folder.rglob(pattern)}
        return {path: (stat.st_size, stat.st_mtime_ns) for path, stat in found.items()}


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


@pytest.fixture(scope="module")
def first_compiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workshop, str]:
    """A workshop whose task two processes ran at once, and what Numba said of its cache meanwhile."""
    first = Workshop(tmp_path_factory.mktemp("workshop"))
    with first.start(NUMBA_DEBUG_CACHE="1") as one, first.start(NUMBA_DEBUG_CACHE="1") as other:
        said = [process.communicate()[0] for process in (one, other)]
    assert all("score 10.0" in shown for shown in said)
    return first, "\n".join(said)


@pytest.fixture
def compiled(first_compiled: tuple[Workshop, str], tmp_path: Path) -> Workshop:
    """Return a workshop whose task has run before."""
    shutil.copytree(first_compiled[0].folder, tmp_path / "copy")
    return Workshop(tmp_path / "copy")


def test_two_processes_at_once_compile_each_loop_once(first_compiled: tuple[Workshop, str]) -> None:
    workshop, said = first_compiled
    saved = re.findall(r"data saved to '(.*)'", said)
    assert sorted(saved) == sorted(map(str, workshop.find("*.nbc")))
    assert len(re.findall(r"data loaded from", said)) == len(saved)


# Freshness, through and through


def test_an_unchanged_task_is_not_compiled_again(compiled: Workshop) -> None:
    before = compiled.find("*.nb[ci]")
    assert {path.suffix for path in before} == {".nbc", ".nbi"}
    assert compiled.score() == 10
    assert compiled.find("*.nb[ci]") == before


def test_editing_a_helper_kernel_in_another_file_changes_what_runs(compiled: Workshop) -> None:
    compiled.edit_helper("x * FACTOR", "x * FACTOR + 3")
    assert compiled.score() == 13


# Freshness, by the folder that a task's code is kept in


@pytest.fixture
def folder_of(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    """Return a function that loads the task as it stands and returns the folder where its code is kept."""
    monkeypatch.setattr(specialise_module, "cache_folder", lambda: workshop.cache)
    monkeypatch.syspath_prepend(str(workshop.folder))
    for name in ("helper", "toy_task"):
        monkeypatch.delitem(sys.modules, name, raising=False)

    def find() -> str:
        before = set(workshop.cache.glob("toy-*"))
        specialise(workshop.load().TOY)
        new = set(workshop.cache.glob("toy-*")) - before
        return new.pop().name if new else ""

    return find


IMPORTS = "import enum\nimport numpy as np\nfrom surpass import kernel\n"
CHANGES: dict[str, tuple[str, str, str]] = {
    "a helper's text": (HELPER, "x * FACTOR", "x + FACTOR"),
    "a helper's constant": (HELPER, "FACTOR, SEVEN, ONE = 10", "FACTOR, SEVEN, ONE = 11"),
    "a constant that takes the value of another": (
        "A, B, C = 1, 2, 1\n\n\n@kernel\ndef worth(x):\n    return x * A + B + C * 10\n",
        "A, B, C = 1, 2, 1",
        "A, B, C = 1, 2, 2",
    ),
    "the middle of a long array": (
        "T = np.arange(5000)\nT[2500] = 7\n\n\n@kernel\ndef worth(x):\n    return T[2500 * x]\n",
        "= 7",
        "= 8",
    ),
    "the ninth digit of an array": (
        "T = np.array([0.1])\n\n\n@kernel\ndef worth(x):\n    return T[0] * x\n",
        "[0.1]",
        "[0.1000000001]",
    ),
    "a member of an enumeration": (
        "class K(enum.IntEnum):\n    X = 7\n\n\n@kernel\ndef worth(x):\n    return K.X * x\n",
        "X = 7",
        "X = 8",
    ),
    "a name in a kernel that was typed in at a prompt": (
        "exec('@kernel\\ndef worth(x):\\n    return (x + 1.5j).real\\n')\n",
        ".real",
        ".imag",
    ),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_change_that_the_code_depends_on_gets_another_folder(
    workshop: Workshop, folder_of: Callable[[], str], case: str
) -> None:
    body, old, new = CHANGES[case]
    workshop.write_helper(IMPORTS + body)
    assert folder_of()
    workshop.edit_helper(old, new)
    assert folder_of()


def test_without_a_change_that_the_code_depends_on_the_folder_is_the_same(
    workshop: Workshop, folder_of: Callable[[], str]
) -> None:
    assert folder_of()
    assert not folder_of()
    workshop.edit_helper("7, 1", "8, 1")
    assert not folder_of()


ENGINE = "specialise(task.TOY)"
SAMPLER = "specialise(task.TOY, TEMPLATE)"


def load_loops(workshop: Workshop, loops: str) -> None:
    """Load loops of the task in a process of its own, with the version of the package in the workshop."""
    template = "from surpass.learning.policy_gradient.sampler import TEMPLATE; " * (loops == SAMPLER)
    load = f"import task; from surpass.engine.specialise import specialise; {template}{loops}"
    places = {"PYTHONPATH": f"{workshop.folder / 'src'}:{workshop.folder}", "SURPASS_CACHE_DIR": str(workshop.cache)}
    environment = {**os.environ, **places, "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, "-c", load], env=environment, check=True)


def folders(workshop: Workshop, loops: str) -> set[str]:
    """Return the folders in which loops of the task are kept."""
    return {
        path.parent.name
        for path in workshop.cache.rglob("kernels.py")
        if ("DecisionPlan" in path.read_text()) == (loops == SAMPLER)
    }


@pytest.fixture(scope="module")
def first_versions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return, for each kind of loops, a workshop with a copy of the package that has loaded them."""
    found = {}
    for loops in (ENGINE, SAMPLER):
        workshop = Workshop(tmp_path_factory.mktemp("version"))
        ignored = shutil.ignore_patterns("__pycache__", "zoo")
        shutil.copytree(Path(surpass.__file__).parent, workshop.folder / "src" / "surpass", ignore=ignored)
        load_loops(workshop, loops)
        found[loops] = workshop.folder
    return found


@pytest.mark.parametrize(
    ("file", "old", "new", "loops", "another"),
    [
        ("machine/calls.py", "1000", "2000", ENGINE, True),
        ("machine/state.py", "BAD_OBSERVATION = -5", "BAD_OBSERVATION = -15", ENGINE, True),
        ("table.py", "0x9E3779B1", "0x9E3779B3", ENGINE, True),
        ("engine/kernels.py", "> stack_limit", ">= stack_limit", SAMPLER, True),
        ("learning/policy_gradient/forward.py", "np.exp(", "1 * np.exp(", SAMPLER, True),
        ("learning/policy_gradient/forward.py", "np.exp(", "1 * np.exp(", ENGINE, False),
    ],
    ids=["stack limit", "outcome", "table", "engine of the sampler", "sampler", "sampler, not the engine"],
)
def test_another_version_of_the_package_gets_another_folder(
    first_versions: dict[str, Path], tmp_path: Path, file: str, old: str, new: str, loops: str, another: bool
) -> None:
    workshop = Workshop(shutil.copytree(first_versions[loops], tmp_path / "copy"))
    assert len(folders(workshop, loops)) == 1
    edited = workshop.folder / "src" / "surpass" / file
    assert old in edited.read_text()
    edited.write_text(edited.read_text().replace(old, new))
    load_loops(workshop, loops)
    assert len(folders(workshop, loops)) == 1 + another
    if loops == SAMPLER:
        assert len(list(workshop.cache.rglob("general.py"))) == 1 + another


@pytest.mark.parametrize("template", [critic.TEMPLATE, policy_gradient.TEMPLATE, trials.TEMPLATE])
def test_loops_that_use_nothing_of_a_task_are_the_same_for_all(template: Template) -> None:
    first, second = (specialise(task, template) for task in (SORT_BUBBLE, SEARCH))
    assert template.general
    for name in template.signatures:
        is_same = getattr(first._module, name) is getattr(second._module, name)
        assert is_same == (name in template.general)


def test_running_an_agent_loads_no_loops_of_a_learner(compiled: Workshop) -> None:
    copies = compiled.find("kernels.py")
    assert len(copies) == 1
    assert all("def advance(" in path.read_text() and "def sample(" not in path.read_text() for path in copies)


# Damage


def test_a_truncated_cache_is_compiled_afresh(compiled: Workshop) -> None:
    damaged = compiled.find("*.nb[ci]")
    for k, path in enumerate(sorted(damaged)):
        path.write_bytes(path.read_bytes()[: 10 * (k % 2)])
    assert compiled.score() == 10
    whole = compiled.find("*.nb[ci]")
    assert whole.keys() == damaged.keys()
    assert all(size > 10 for size, _ in whole.values())


def test_a_truncated_cache_in_numbas_own_folder_is_compiled_afresh(workshop: Workshop) -> None:
    environment = {"NUMBA_CACHE_DIR": str(workshop.folder / "numba")}
    assert workshop.score(**environment) == 10
    damaged = workshop.find("*.nb[ci]")
    assert damaged
    for path in damaged:
        path.write_bytes(path.read_bytes()[:10])
    assert workshop.score(**environment) == 10


def test_a_truncated_cache_of_what_all_tasks_use_is_compiled_afresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    specialise(SORT_BUBBLE)
    monkeypatch.setattr(specialise_module, "cache_folder", lambda: tmp_path)
    for size in (None, 10):
        monkeypatch.setattr(specialise_module, "_load_general", cache(_load_general.__wrapped__))
        for path in tmp_path.rglob("general.*.nb[ci]"):
            path.write_bytes(path.read_bytes()[:size])
        assert Kernels(SORT_BUBBLE, policy_gradient.TEMPLATE).tabulate is not None
        kept = list(tmp_path.rglob("general.tabulate-*.nb[ci]"))
        assert len(kept) == 2
        assert all(path.stat().st_size > 10 for path in kept)


def test_a_damaged_copy_of_the_kernels_is_written_afresh(compiled: Workshop) -> None:
    (copy,) = compiled.find("kernels.py")
    whole = copy.read_bytes()
    for damaged in (whole[:3000], b"\xff" + whole):
        copy.write_bytes(damaged)
        assert compiled.score() == 10
        assert copy.read_bytes() == whole


def test_compiled_code_that_does_not_fit_on_the_disk_runs_and_is_not_kept(workshop: Workshop) -> None:
    with workshop.start(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))) as process:
        shown, errors = process.communicate()
    assert (process.returncode, shown) == (0, "score 10.0\n"), errors
    assert "cannot be kept" in errors
    assert not workshop.find("*.nbc")


def test_a_folder_that_cannot_be_written_is_replaced_by_a_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("SURPASS_CACHE_DIR", str(blocked / "cache"))
    folder = cache_folder.__wrapped__()
    assert folder.is_dir()
    assert blocked not in folder.parents
    code = "from surpass.engine.cache import cache_folder; print(cache_folder())"
    (tmp_path / "temporary").mkdir()
    places = {"SURPASS_CACHE_DIR": str(blocked / "cache"), "TMPDIR": str(tmp_path / "temporary")}
    used = subprocess.check_output([sys.executable, "-c", code], env={**os.environ, **places}, text=True)
    assert Path(used).parent == tmp_path / "temporary"
    assert not list((tmp_path / "temporary").iterdir())  # it is gone with the process
    folder.rmdir()


def test_the_named_folder_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SURPASS_CACHE_DIR", str(tmp_path / "mine"))
    assert tmp_path / "mine" in cache_folder.__wrapped__().parents
