"""`surpass discover` leaves a run with a front of programs, and goes on where it was.

What it refuses stands in `tests/cli/refusals.txt`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import surpass
from surpass.bundles import write_atomically
from surpass.learning.runs import RunFolder
from tests.cli.here import call_here
from tests.learning.quick import checkpoint_files, quick_learner, run_in

pytestmark = pytest.mark.usefixtures("small_effort")

SMALL = ("--set", "sets=2", "--set", "candidates=8", "--set", "instances=8", "--sizes", "5,10", "--no-report")
DISCOVER = ("discover", "search", "--set", "sizes=5,10", *SMALL)


def rounds_in(folder: Path) -> int:
    return len((folder / "curves.csv").read_text().splitlines()) - 1


def front_of(folder: Path) -> dict[str, str]:
    """Return the files of a front by their names."""
    return {path.name: path.read_text() for path in (folder / "front").iterdir()}


def programs_of(folder: Path) -> list[str]:
    return sorted(name for name in front_of(folder) if name.endswith(".rules"))


def test_discover_leaves_its_best_program_and_the_front(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shown = call_here(*DISCOVER, "--rounds", "8", "--out", folder)
    assert shown.returncode == 0, shown.stderr
    assert rounds_in(folder) == 8
    recipe = json.loads((folder / "recipe.json").read_text())
    assert (recipe["method"], recipe["rounds"], recipe["start"]) == ("discover", 8, "")
    best = surpass.program(folder)
    records = json.loads((folder / "front" / "front.json").read_text())
    assert sorted(front_of(folder)) == sorted(["front.json", *(record["file"] for record in records)])
    for record in records:
        program = surpass.program(folder / "front" / record["file"])
        assert len(program.rules) == record["rules"] == record["lineage"][-1]["rules"]
    assert len(best.rules) in [record["rules"] for record in records]
    notes = (folder / "notes.txt").read_text()
    assert notes in shown.stdout
    for name in ("binary_search", "linear_search"):
        assert f"teacher:{name}" in notes
    rows = json.loads((folder / "scores.json").read_text())["rows"]
    assert [(row["size"], row["solved"]) for row in rows] == [(5, 1.0), (10, 1.0)]
    assert json.loads(call_here("evaluate", folder, "--sizes", "5", "--json", "-").stdout)["rows"][0]["solved"] == 1.0
    assert call_here("show", folder / "front" / records[0]["file"]).returncode == 0


def test_the_json_of_a_run_has_what_it_prints(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shown = call_here(*DISCOVER, "--rounds", "8", "--out", folder, "--json", tmp_path / "run.json")
    assert shown.returncode == 0, shown.stderr
    front = json.loads((tmp_path / "run.json").read_text())["front"]
    assert sorted(one["file"] for one in front["programs"]) == sorted(f"front/{name}" for name in programs_of(folder))
    assert {"teacher:binary_search", "teacher:linear_search"} <= {one["name"] for one in front["starts"]}
    for one in (*front["starts"], *front["programs"], front["best"]):
        means = ("-" if mean is None else f"{mean:,.1f}" for mean in one["means"].values())
        row = [str(one["rules"]), f"{one['cost']:.3f}", *means]
        assert any(line.split()[-len(row) :] == row for line in shown.stdout.splitlines())
        assert one["lineage"][-1]["rules"] == one["rules"]
    best = front["best"]
    assert len(best["savings"]) == best["rules"] == len(surpass.program(folder).rules)
    assert all(saving["rule"] in shown.stdout for saving in best["savings"])
    assert front["best_is_sound"] is best["sound"] is True
    assert f"{front['tried']:,}" in shown.stdout
    assert front["tried_since_the_last_gain"] <= front["tried"]


def test_a_run_that_is_stopped_goes_on_to_the_same_end(tmp_path: Path) -> None:
    """With the same curves, checkpoints and front, whatever the time is."""
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert call_here(*DISCOVER, "--rounds", "10", "--out", whole).returncode == 0
    stopped = call_here(*DISCOVER, "--rounds", "10", "--minutes", "1e-9", "--out", parts)
    assert stopped.returncode == 0, stopped.stderr
    assert rounds_in(parts) < 10
    assert "surpass discover --out" in stopped.stdout
    done = call_here("discover", "--out", parts, "--resume", "--minutes", "5", "--sizes", "5,10", "--no-report")
    assert done.returncode == 0, done.stderr
    assert (parts / "curves.csv").read_bytes() == (whole / "curves.csv").read_bytes()
    assert checkpoint_files(parts) == checkpoint_files(whole)
    assert front_of(parts) == front_of(whole)


@pytest.mark.parametrize("verb", ["show", "evaluate", "check", "report"])
def test_a_run_that_was_stopped_is_its_best_program_so_far(verb: str, tmp_path: Path) -> None:
    """From its first checkpoint on; the front stands in its folder too."""
    learner = quick_learner("discover", 3)
    folder = run_in(tmp_path / "run", learner).path
    assert not (folder / "agent.json").exists()
    assert surpass.program(folder).rules == learner.program.rules
    assert {len(surpass.program(folder / "front" / name).rules) for name in programs_of(folder)} == {
        one.rules for one in learner.population.front
    }
    words = {
        "show": (),
        "evaluate": ("--sizes", "5"),
        "check": ("--up-to", "2"),
        "report": ("--out", tmp_path / "r.html"),
    }
    shown = call_here(verb, folder, *words[verb])
    assert shown.returncode == 0, shown.stderr
    if verb == "report":
        page = (tmp_path / "r.html").read_text()
        assert "Relative cost of the best program" in page
        assert "The learning is not finished" in page


@pytest.mark.parametrize(
    ("start", "rounds"), [("", 0), ("nothing", 1)], ids=["before the first checkpoint", "before the first program"]
)
def test_a_run_without_a_program_is_refused_with_what_to_do(start: str, rounds: int, tmp_path: Path) -> None:
    learner = quick_learner("discover", 3, start=start)
    folder = RunFolder(tmp_path / "run")
    folder.begin(learner.recipe, resume=False)
    if rounds:
        folder.save(learner)
    for words in (("show", folder.path), ("evaluate", folder.path), ("discover", "--out", folder.path)):
        shown = call_here(*words)
        assert shown.returncode == 2
        assert "resume" in shown.stderr
    shown = call_here("report", folder.path, "--out", tmp_path / "report.html")
    assert f"To continue it: surpass discover --out {folder.path} --resume" in shown.stdout


def test_the_front_can_be_read_while_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file of it is missing or half written at any moment, and what does not belong to it any more goes."""
    learner = quick_learner("discover", 3)
    folder = run_in(tmp_path / "run", learner).path
    names = programs_of(folder)
    (folder / "front" / "99.rules").write_text("of a longer program, which another one beats now")

    def write(path: Path, data: bytes) -> None:
        assert {*names} <= {*programs_of(folder)}
        write_atomically(path, data)

    monkeypatch.setattr("surpass.learning.discover.front.write_atomically", write)
    learner.write_files(folder)
    assert programs_of(folder) == names


def test_discover_from_nothing_tells_when_there_is_no_program_yet(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shown = call_here(*DISCOVER, "--from", "nothing", "--rounds", "4", "--out", folder)
    assert shown.returncode == 0, shown.stderr
    assert json.loads((folder / "recipe.json").read_text())["start"] == "nothing"
    assert rounds_in(folder) == 4


def test_the_report_of_a_run_says_where_its_program_came_from(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    words = [word for word in DISCOVER if word != "--no-report"]
    shown = call_here(*words, "--rounds", "2", "--from", "binary_search", "--out", folder)
    assert shown.returncode == 0, shown.stderr
    page = (folder / "report.html").read_text()
    assert "search over programs" in page
    assert "starting from binary_search" in page
