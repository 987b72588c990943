"""Files that are damaged, swapped or made up are refused in a sentence, or mean what they meant; no more happens."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surpass import api
from surpass.agents import find_agent
from surpass.agents.networks.files import save_agent
from surpass.agents.networks.structured import StructuredPolicy
from surpass.agents.storage import save_program
from surpass.agents.zoo import find_entry
from surpass.errors import SavedFileError
from surpass.evaluation.curves import read_curves
from surpass.learning.recipes import parse_recipe
from surpass.learning.runs import RunFolder
from surpass.learning.sweeps import Sweep
from surpass.programs.text import parse_program, read_program
from surpass.tasks.files import read_instances
from surpass.tasks.registry import find_task
from surpass.workers.runner import Ended, Job
from tests.fuzz.damage import FOREIGN, damaged, odd_tensors, signed, with_tensors, wrong_values
from tests.fuzz.judge import Judge
from tests.learning.quick import LEARNERS, quick_learner
from tests.learning.test_sweeps import Fates, PretendRunner
from tests.long import LONG

RULES = """task sort-bubble
A[v2] > A[v2+1]: SwapWithNext(2)
v1 = v2 and not A[v1] = A[v3]: MoveVar(1, +1)
else: AssignVar(2, 1)
"""
RECIPE = """about = "An example."
task = "search"
method = "rl+imitation"
teacher = "binary_search"
seeds = [3]

[settings]
policy = "network"
updates = 7
limit = "20n"
learning_rate = 1e-3
"""
MADE_UP, RANDOM = (600, 150) if LONG else (15, 6)
"""How many attacks of each kind are made on each file."""
KINDS = tuple(LEARNERS) if LONG else ("imitation in knapsack", "rl", "rl by sampled tables", "rl+imitation of a table")
"""The quick learners whose checkpoints are attacked."""


@dataclass
class Case:
    """A file, what it is used for, and whether its content is under a checksum."""

    name: str
    path: Path
    use: Callable[[], Any]
    sealed: bool = False
    beside: Path | None = None
    """The other file of a bundle: the record beside tensors."""


def checkpoint_case(folder: Path, kind: str) -> Iterator[Case]:
    """Yield the files of a checkpoint after two rounds."""
    learner = quick_learner(kind, 6)
    path = folder / kind.replace(" ", "-")
    run = RunFolder(path)
    run.begin(learner.recipe, resume=False)
    for _ in range(2):
        run.curves.append(learner.advance())
    run.seconds = 1.5
    run.save(learner)

    def state(curves: Any) -> Any:
        tensors, record = learner.save_state()
        parts = {name: (tensor.tobytes(), str(tensor.dtype)) for name, tensor in tensors.items()}
        return parts, json.dumps(record, sort_keys=True), json.dumps(curves)

    whole = state(run.curves)

    def restored() -> RunFolder:
        again = RunFolder(path)
        again.restore(learner)
        if again.warnings:
            raise SavedFileError(again.warnings[0])
        return again

    def use() -> Any:
        found = state(restored().curves)
        if found != whole:
            learner.advance()  # what is read as something else must be of use
        return found

    stem = path / "checkpoints" / "00000002"
    record = stem.with_suffix(".json")
    yield Case(f"checkpoint of {kind}", record, use, sealed=True)
    yield Case(f"tensors of {kind}", stem.with_suffix(".safetensors"), use, sealed=True, beside=record)
    if kind == KINDS[0]:
        yield Case("time of a run", path / "time.json", lambda: restored().seconds)


class Idle:
    """A runner that does no job."""

    def run(self, jobs: Sequence[Job], watch: Any = None) -> Generator[Ended]:
        yield from ()


def sweep_cases(folder: Path) -> Iterator[Case]:
    """Yield the files of a sweep with two finished runs and one that failed."""
    content = {"task": "search", "method": "rl", "seeds": [0, 1, 2], "settings": {"updates": 3, "checked": 2}}
    recipe, task = parse_recipe("mine", content), find_task("search")
    sweep = Sweep(recipe, task, folder / "sweep")
    fates: Fates = {f"seed={seed}": (1.0, 5.0) if seed < 2 else (2, "the loss is nan") for seed in (0, 1, 2)}
    sweep.run(PretendRunner(fates))

    def use() -> Any:
        return Sweep(recipe, task, folder / "sweep").run(Idle()).as_json()

    first, last = sweep.run_folder(recipe.variants[0]), sweep.run_folder(recipe.variants[2])
    yield Case("scores of a run", first / "scores.json", use)
    yield Case("failure of a run", last / "failure.json", use)
    yield Case("recipe of a sweep", folder / "sweep" / "sweep.json", use)
    yield Case("agent of a run", first / "agent.json", use, sealed=True)


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    """Every kind of file that surpass reads."""
    folder: Path = tmp_path_factory.mktemp("files")
    knapsack = find_task("knapsack")
    found: list[Case] = []

    def answers(path: Path) -> Any:
        agent = find_agent(str(path))
        return agent.actions(np.arange(50, dtype=np.int64)).tolist()

    network = folder / "network"
    save_agent(network, knapsack, StructuredPolicy(knapsack.interface), {"seconds": 1.0, "recipe": {"seed": 0}})
    record = network.with_suffix(".json")
    found.append(Case("network", record, lambda: answers(record), sealed=True))
    tensors = network.with_suffix(".safetensors")
    found.append(Case("weights", tensors, lambda: answers(tensors), sealed=True, beside=record))

    program = folder / "program"
    save_program(program, parse_program(RULES, "x"), {"seconds": 1.0})
    saved = program.with_suffix(".json")
    found.append(Case("program's record", saved, lambda: find_agent(str(saved)).text, sealed=True))
    found.append(Case("saved program", program.with_suffix(".rules"), lambda: find_agent(str(saved)).text, sealed=True))
    rules = folder / "mine.rules"
    rules.write_text(RULES)
    found.append(Case("program", rules, lambda: read_program(rules).text))
    quick = folder / "quick.rules"
    shutil.copy(find_entry("sort-quick/improvement-hoare_sort").stem.with_suffix(".rules"), quick)
    found.append(Case("program with places", quick, lambda: read_program(quick).text))

    recipe = folder / "mine.toml"
    recipe.write_text(RECIPE)
    found.append(Case("recipe", recipe, lambda: api.new_learner(recipe=recipe).recipe))
    run = folder / "recipe.json"
    run.write_text(json.dumps(quick_learner("imitation", 1).recipe))
    found.append(Case("recipe of a run", run, lambda: api.new_learner(recipe=run).recipe))
    found.append(
        Case(
            "resumed recipe",
            run,
            lambda: RunFolder(folder).begin(quick_learner("imitation", 1).recipe, resume=True),
        )
    )

    def lists(path: Path, task: str) -> Any:
        read = read_instances(find_task(task), path)
        return {size: [part.tolist() for part in batch] for size, batch in read.items()}

    for task, text in (
        ("sort-quick", "3,1,2\n5 4\n\n1,1\n"),
        ("search", "1,2,3:2\n4,5\n"),
        ("knapsack", "1,2:3,4:5\n"),
    ):
        path = folder / f"{task}.txt"
        path.write_text(text)
        found.append(Case(f"lists of {task}", path, lambda path=path, task=task: lists(path, task)))
    array = folder / "lists.npy"
    np.save(array, np.arange(12).reshape(3, 4))
    found.append(Case("array", array, lambda: lists(array, "sort-bubble")))
    curves = folder / "unroll.csv"
    curves.write_text("steps,a=1 seed=0,a=1 seed=1\n10,5.0,6.0\n20,4.0,\n")
    found.append(Case("curves", curves, lambda: str(read_curves(curves).summary())))
    for kind in KINDS:
        found.extend(checkpoint_case(folder, kind))
    found.extend(sweep_cases(folder))
    return found


Attack = tuple[str, Callable[[], dict[Path, bytes]], bool]
"""What an attack is called, what makes the files that it changes, and whether these may then say something else.

What a file without a checksum says may be changed into something else that makes sense, and so may a bundle whose
checksums were made anew.
"""


def made_up(case: Case) -> Iterator[Attack]:
    """Yield every attack on a file that does not depend on chance."""
    path, beside = case.path, case.beside
    content, record = path.read_bytes(), b"" if beside is None else beside.read_bytes()

    def changed(make: Callable[[], bytes], *, sign: bool) -> dict[Path, bytes]:
        made = make()
        if not sign:
            return {path: made}
        return {path: signed(made)} if beside is None else {path: made, beside: with_tensors(record, made)}

    made: list[tuple[str, Callable[[], bytes]]] = [(name, lambda other=other: other) for name, other in FOREIGN.items()]  # type: ignore[misc]
    if path.suffix == ".json":
        made += wrong_values(content)
    if beside is not None:
        made += odd_tensors(content)
    for name, make in made:
        yield name, partial(changed, make, sign=False), not case.sealed
        if case.sealed and (beside is not None or path.suffix == ".json"):
            yield f"{name}, signed", partial(changed, make, sign=True), True


def attacks(case: Case, random: np.random.Generator) -> Iterator[Attack]:
    """Yield some of the attacks on a file that can be made up, and then random damage."""
    all_made = list(made_up(case))
    yield from (all_made[k] for k in random.permutation(len(all_made))[:MADE_UP].tolist())
    content = case.path.read_bytes()
    for _ in range(RANDOM):
        name, changed = damaged(content, random)
        yield name, lambda changed=changed: {case.path: changed}, not case.sealed  # type: ignore[misc]


@pytest.mark.usefixtures("small_effort")
def test_whatever_is_done_to_a_file_it_is_refused_or_means_the_same(
    cases: list[Case], capsys: pytest.CaptureFixture[str]
) -> None:
    judge, random = Judge(), np.random.default_rng(0)
    for case in cases:
        whole = case.use()
        assert case.use() == whole, f"{case.name} must mean the same every time"
        for name, make, may_differ in attacks(case, random):
            files = make()
            before = {path: path.read_bytes() for path in files}
            for path, changed in files.items():
                path.write_bytes(changed)
            judge.judge(f"{case.name}: {name}", case.use, whole, may_differ=may_differ)
            for path, content in before.items():
                path.write_bytes(content)
    with capsys.disabled():
        judge.check("files", 10_000 if LONG else 400)
