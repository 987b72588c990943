"""The zoo: what it lists is what it holds, and `zoo:TASK` is the best agent of a task."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tools.publish import publish

import surpass
from surpass.agents import find_agent
from surpass.agents.networks.agent import NetworkAgent
from surpass.agents.networks.files import load_agent
from surpass.agents.zoo import ZooEntry, find_entry, zoo_entries, zoo_folder
from surpass.bundles import load_bundle, save_bundle
from surpass.engine.run import run
from surpass.errors import RecipeError
from surpass.learning.methods import METHODS, new_learner
from surpass.learning.recipes import find_recipe
from surpass.programs.program import Program
from surpass.table import Table
from surpass.tasks.registry import PAPER_TASKS, find_task
from surpass.tasks.task import Request
from tests.cli.here import call_here
from tests.zoo.zoo_entries import NAMES, TABLE_IMITATORS, load

EARLIER = "improvement"
"""The search over programs of earlier versions, whose agents keep their names."""


def test_the_zoo_has_an_agent_for_every_task_of_the_paper() -> None:
    assert {name.partition("/")[0] for name in NAMES} == {task.name for task in PAPER_TASKS}


def test_zoo_lists_every_agent_and_marks_the_best_of_each_task() -> None:
    done = call_here("zoo")
    assert (done.returncode, done.stderr) == (0, "")
    marked = set()
    for name in NAMES:
        (line,) = [line for line in done.stdout.splitlines() if line.split()[:1] == [f"zoo:{name}"]]
        if "best" in line.split():
            marked.add(name)
    assert marked == {find_entry(name.partition("/")[0]).name for name in NAMES}


def test_zoo_as_json_holds_every_record() -> None:
    records = json.loads(call_here("zoo", "--json", "-").stdout)
    assert [find_agent(record["name"]).name for record in records] == [f"zoo:{name}" for name in NAMES]
    told = {"recipe", "seconds", "date", "scores", "task", "interface", "method", "teacher", "rules"}
    assert all(told <= record.keys() for record in records)


@pytest.mark.parametrize("name", NAMES)
def test_zoo_shows_one_agent_with_its_recipe_and_scores(name: str, tmp_path: Path) -> None:
    done = call_here("zoo", name, "--json", tmp_path / "one.json")
    assert (done.returncode, done.stderr) == (0, "")
    record = json.loads((tmp_path / "one.json").read_text())
    assert record["name"] == f"zoo:{name}"
    words = " ".join(done.stdout.split())  # long texts go on in the next line
    assert f"teacher: {record['recipe']['teacher']} seed:".replace("  ", " ") in words
    assert record.get("about", "") in words
    for row in record["scores"]:
        assert f"{row['size']:,}" in done.stdout


@pytest.mark.parametrize("task", [task.name for task in PAPER_TASKS])
def test_a_task_stands_for_its_best_agent(task: str) -> None:
    chosen = find_entry(task)
    assert find_agent(f"zoo:{task}").name == f"zoo:{chosen.name}"
    assert all(chosen.merit >= other.merit for other in zoo_entries() if other.task == task)


def test_merit_counts_the_share_solved_before_the_steps() -> None:
    def resident(solved: float, steps: float) -> ZooEntry:
        rows = [{"size": size, "solved": solved, "mean_steps": steps, "mean_reward": -steps} for size in (10, 20)]
        return ZooEntry("sort-bubble/x", Path("x"), {"scores": rows})

    assert resident(1.0, 90).merit > resident(0.99, 10).merit
    assert resident(1.0, 90).merit > resident(1.0, 91).merit


def test_evaluate_and_trace_take_agents_of_the_zoo_by_task_and_by_name() -> None:
    by_task = call_here("evaluate", "zoo:search", "--sizes", "50", "--json", "-").stdout
    name = json.loads(by_task)["agent"]
    assert name == f"zoo:{find_entry('search').name}"
    assert call_here("evaluate", name, "--sizes", "50", "--json", "-").stdout == by_task
    assert "outcome: solved" in call_here("trace", "zoo:sort-quick", "--instance", "3,1,2").stdout


# The records


@pytest.mark.parametrize("name", NAMES)
def test_a_record_holds_a_recipe_that_a_learner_can_be_made_of(name: str) -> None:
    """A recipe of an earlier version is refused as such; those of imitation still hold, but for the full view's."""
    record = find_entry(name).record
    assert record["seconds"] > 0
    try:
        recipe = find_recipe(f"zoo:{name}")
    except RecipeError as error:
        assert "earlier version" in str(error)  # noqa: PT017
        assert record["method"] != "imitation" or name.startswith("sort-full")
        return
    (variant,) = recipe.variants
    chosen = {"teacher": recipe.teacher or None, "seed": variant.seed, "settings": variant.settings}
    learner = new_learner(find_task(recipe.task), recipe.method, **chosen)
    made = json.loads(json.dumps(learner.recipe))
    # Every recorded setting is used; those that came later have the values that change nothing.
    assert {**made, **record["recipe"]} == made


@pytest.mark.parametrize("name", NAMES)
def test_a_name_says_how_the_agent_was_made(name: str) -> None:
    record = find_entry(name).record
    assert record["method"] == record["recipe"]["method"]
    assert record["method"] in (*METHODS, EARLIER)
    words = [record["method"], *([] if ":" in record["teacher"] else filter(None, [record["teacher"]]))]
    if name.partition("/")[2] != "-".join(words):
        assert record["about"], "a name that says something else needs a reason"
    is_program = find_entry(name).stem.with_suffix(".rules").exists()
    assert is_program == (record["method"] in ("discover", EARLIER))
    assert (record["rules"] is None) == name.startswith("sort-full/")


@pytest.mark.parametrize("name", [name for name in NAMES if "/improvement" in name])
def test_an_improved_agent_is_its_program_and_the_network_its_neural_form(name: str) -> None:
    resident = find_entry(name)
    program, (network, _) = find_agent(f"zoo:{name}"), load_agent(resident.stem, name)
    assert isinstance(program, Program)
    assert isinstance(network, NetworkAgent)
    assert len(program.rules) == resident.record["rules"]
    table = Table.of(program)
    for size in (1, 5, 20):
        run(table, program.task.draw(Request(size=size, count=20, seed=3)))
    assert (network.actions(table.observations) == program.actions(table.observations)).all()


@pytest.mark.usefixtures("small_effort")
@pytest.mark.parametrize(
    ("start", "name"),
    [("teacher:binary_search", "discover-binary_search"), ("", "discover"), ("mine.rules", "discover-mine")],
)
def test_a_program_is_published_under_the_agent_that_it_began_with(
    start: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    surpass.program("teacher:binary_search").write(tmp_path / "mine.rules")
    few = {"sizes": [4], "sets": 1, "candidates": 4, "instances": 4, "islands": 1, "gradients": 0}
    surpass.discover("search", start=start, rounds=1, out=tmp_path / "run", score_sizes=[5], settings=few)
    stem = publish(tmp_path / "run", tmp_path / "zoo", instances=5, sizes=[4])
    assert stem.name == name
    made = load_bundle(stem)[1]
    assert (made["method"], made["recipe"]["start"], stem.with_suffix(".rules").exists()) == ("discover", start, True)


def test_a_run_is_published_with_a_name_and_a_record_that_say_how_it_was_made(tmp_path: Path) -> None:
    tensors, record = load_bundle(find_entry("knapsack/imitation-depth_first").stem)
    (tmp_path / "run").mkdir()
    about = {"recipe": record["recipe"], "seconds": 4.8, "finished": True}
    save_bundle(tmp_path / "run" / "agent", tensors, {**about, "task": "knapsack", "interface": record["interface"]})
    stem = publish(tmp_path / "run", tmp_path / "zoo", instances=5, sizes=[4])
    assert stem == tmp_path / "zoo" / "knapsack" / "imitation-depth_first"
    made = load_bundle(stem)[1]
    assert {**made, "date": "", "scores": []} == {**record, "date": "", "scores": []}
    assert [row["instances"] for row in made["scores"]] == [5]


@pytest.mark.parametrize("name", NAMES)
def test_scores_cover_the_sizes_of_the_papers_tables(name: str) -> None:
    resident = find_entry(name)
    sizes = [row["size"] for row in resident.record["scores"]]
    assert set(find_task(resident.task).sizes) <= set(sizes)
    assert sizes == sorted(sizes)


@pytest.mark.parametrize("name", TABLE_IMITATORS)
def test_recorded_scores_are_those_that_the_agent_gets(name: str) -> None:
    agent, record = load(name), find_entry(name).record
    for row in record["scores"][:4]:
        request = Request(size=row["size"], count=row["instances"], seed=0, queries="present")
        results = run(agent, agent.task.draw(request))
        assert results.steps.mean() == pytest.approx(row["mean_steps"], rel=1e-12)
        assert results.rewards.mean() == pytest.approx(row["mean_reward"], rel=1e-12)
        assert results.solved.mean() == row["solved"] == 1


def test_the_zoo_holds_nothing_but_records_with_their_networks_and_programs() -> None:
    stems: dict[Path, set[str]] = {}
    for path in zoo_folder().glob("*/*"):
        if path.name == "__pycache__" or path.parent.name == "__pycache__":
            continue
        if path.parent.name == "curves":
            assert path.suffix == ".csv"
            continue
        stems.setdefault(path.with_suffix(""), set()).add(path.suffix)
    for stem, suffixes in stems.items():
        assert {".json"} < suffixes <= {".json", ".safetensors", ".rules"}, stem
    assert {f"{stem.parent.name}/{stem.name}" for stem in stems} == set(NAMES)
