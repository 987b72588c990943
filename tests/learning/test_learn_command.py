"""`surpass learn` leaves a run that the other commands can use, goes on after a kill, and refuses in one sentence."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from surpass.agents import find_agent
from surpass.cli.main import main
from surpass.machine.trace import read_trace
from tests.learning.quick import checkpoint_files

ROUNDS = 8
LEARN = (
    *("learn", "search", "--teacher", "linear_search", "--set", "sizes=5", "--set", "items=20"),
    *("--set", "calm_rounds=1000", "--set", f"most_rounds={ROUNDS}", "--no-report"),
)
"""A run of a few rounds."""
EXAMPLE = Path(__file__).parents[2] / "examples" / "minimum.py"


def complaints(errors: str) -> list[str]:
    """Return what the error stream says beside how far the learning has come."""
    told = ("round ", "continuing after round ", "in the first round: ", "scoring it", "still running")
    return [line for line in errors.splitlines() if not line.startswith((*told, "surpass: compiling what "))]


def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: object) -> tuple[int, str, str]:
    """Return exit code, output and errors of a command, run in this process; learning writes no report."""
    quickly = ["--no-report"] if words[0] == "learn" else []
    monkeypatch.setattr(sys, "argv", ["surpass", *map(str, words), *quickly])
    with pytest.raises(SystemExit) as end:
        main()
    shown = capsys.readouterr()
    code = end.value.code
    return (code if isinstance(code, int) else 0 if code is None else 1), shown.out, shown.err


@pytest.fixture
def surpass(capsys, monkeypatch):  # type: ignore[no-untyped-def]
    """Run a command and return its exit code, output and errors."""
    return lambda *words: call(capsys, monkeypatch, *words)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run by the command line in a process of its own, not to be changed."""
    folder: Path = tmp_path_factory.mktemp("runs") / "finished"
    words = [sys.executable, "-m", "surpass", *LEARN, "--out", str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert complaints(done.stderr) == []
    return folder


@pytest.fixture
def run_folder(finished: Path, tmp_path: Path) -> Path:
    """A copy of that folder."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


# What it leaves


def test_a_run_leaves_its_network_scores_curves_and_recipe(finished: Path) -> None:
    names = {path.name for path in finished.iterdir()}
    assert names == {
        "agent.json",
        "agent.safetensors",
        "checkpoints",
        "curves.csv",
        "recipe.json",
        "scores.json",
        "time.json",
    }
    recipe = json.loads((finished / "recipe.json").read_text())
    assert (recipe["task"], recipe["teacher"], recipe["seed"]) == ("search", "linear_search", 0)
    assert (recipe["sizes"], recipe["most_rounds"]) == ([5], ROUNDS)
    rows = json.loads((finished / "scores.json").read_text())["rows"]
    assert [row["size"] for row in rows] == [5, 10, 20, 30, 50, 100, 200, 500, 1000]
    assert len((finished / "curves.csv").read_text().splitlines()) == 1 + ROUNDS


def test_its_agent_is_that_of_its_newest_checkpoint(finished: Path) -> None:
    agents = [find_agent(str(finished)), find_agent(str(finished / "checkpoints" / f"{ROUNDS:08d}.safetensors"))]
    observations = np.random.default_rng(0).integers(0, agents[0].task.interface.observation_count, 500)
    first, second = (agent.actions(observations).tolist() for agent in agents)  # type: ignore[union-attr]
    assert first == second


def test_evaluate_takes_the_folder_and_each_file_of_a_run(finished: Path, surpass) -> None:  # type: ignore[no-untyped-def]
    checkpoint = finished / "checkpoints" / f"{ROUNDS:08d}"
    found = []
    for name in (finished, finished / "agent.safetensors", f"{checkpoint}.safetensors", f"{checkpoint}.json"):
        code, shown, _ = surpass("evaluate", name, "--sizes", "3,5", "--seed", "3", "--json", "-")
        assert code == 0
        record = json.loads(shown)
        assert record["agent"] == str(name)
        found.append(record["rows"])
    assert found.count(found[0]) == 4
    assert [row["solved"] for row in found[0]] == [1.0, 1.0]


def test_evaluate_takes_the_newest_whole_checkpoint_of_a_run_without_an_agent(run_folder: Path, surpass) -> None:  # type: ignore[no-untyped-def]
    (run_folder / "agent.json").unlink()
    (run_folder / "agent.safetensors").unlink()
    words = ("evaluate", run_folder, "--sizes", "5", "--json", "-")
    assert surpass(*words)[0] == 0
    newest = run_folder / "checkpoints" / f"{ROUNDS:08d}.safetensors"
    newest.write_bytes(newest.read_bytes()[:-1])
    code, shown, errors = surpass(*words)
    whole = [path for path in (run_folder / "checkpoints").glob("*.json") if path.stem != newest.stem]
    # Whether there is one before depends on how long the run took: they are saved every few seconds.
    if whole:
        assert code == 0
        assert json.loads(shown)["rows"]
    else:
        assert (code, shown) == (2, "")
        assert str(run_folder) in errors


def test_trace_takes_the_folder_of_a_run(finished: Path, surpass) -> None:  # type: ignore[no-untyped-def]
    code, shown, _ = surpass("trace", finished, "--instance", "1,3,5,7,9:7", "--compact")
    assert code == 0
    assert read_trace(shown).outcome == "solved"
    code, taught, _ = surpass("trace", "teacher:linear_search", "--instance", "1,3,5,7,9:7", "--compact")
    assert [step.action for step in read_trace(shown).steps] == [step.action for step in read_trace(taught).steps]


def test_a_users_own_task_is_learned_evaluated_and_traced(tmp_path: Path, surpass) -> None:  # type: ignore[no-untyped-def]
    out = tmp_path / "run"
    code, shown, errors = surpass(
        "learn", EXAMPLE, "--out", out, "--set", "sizes=1,2,3,5,8", "--set", "items=40", "--seed", "2"
    )
    assert (code, complaints(errors)) == (0, [])
    assert "teacher:scan" in shown
    code, shown, _ = surpass("evaluate", out, "--task", EXAMPLE, "--sizes", "5,1000", "--json", "-")
    assert code == 0
    assert [row["solved"] for row in json.loads(shown)["rows"]] == [1.0, 1.0]
    code, shown, _ = surpass("trace", out, "--task", EXAMPLE, "--instance", "4,2,7,1,3")
    assert code == 0
    assert "outcome: solved after 7 steps" in shown


# Going on


def test_a_run_killed_on_the_command_line_ends_as_one_that_was_not(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "killed"
    words = [sys.executable, "-m", "surpass", *LEARN, "--out", str(folder)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert any(line.startswith("round 1:") for line in process.stderr)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert not (folder / "agent.json").exists()
    done = subprocess.run([*words, "--resume"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert complaints(done.stderr) == []
    assert checkpoint_files(folder) == checkpoint_files(finished)
    assert (folder / "agent.safetensors").read_bytes() == (finished / "agent.safetensors").read_bytes()
    assert (folder / "scores.json").read_text().replace(str(folder), "") == (
        finished / "scores.json"
    ).read_text().replace(str(finished), "")


def test_a_damaged_checkpoint_is_passed_over_with_a_message_and_the_run_ends_the_same(
    run_folder: Path, finished: Path, surpass
) -> None:  # type: ignore[no-untyped-def]
    newest = run_folder / "checkpoints" / f"{ROUNDS:08d}.safetensors"
    newest.write_bytes(newest.read_bytes()[:1000])
    code, _, errors = surpass(*LEARN, "--out", run_folder, "--resume")
    assert code == 0
    assert errors.startswith("surpass: passed over: ")
    assert newest.name in errors
    assert len(complaints(errors)) == 1
    assert checkpoint_files(run_folder) == checkpoint_files(finished)


def test_a_run_out_of_time_says_so_and_a_resumed_one_ends_the_same(tmp_path: Path, finished: Path, surpass) -> None:  # type: ignore[no-untyped-def]
    code, shown, errors = surpass(*LEARN, "--out", tmp_path / "run", "--minutes", "1e-6")
    assert (code, complaints(errors)) == (0, [])
    told = " ".join(shown.split())
    assert f"not finished: surpass learn --out {tmp_path / 'run'} --resume" in told
    assert json.loads((tmp_path / "run" / "agent.json").read_text())["record"]["finished"] is False
    code, shown, errors = surpass(*LEARN, "--out", tmp_path / "run", "--resume")
    assert (code, complaints(errors)) == (0, [])
    assert checkpoint_files(tmp_path / "run") == checkpoint_files(finished)


def test_a_run_that_gave_up_before_it_agreed_is_not_called_finished(tmp_path: Path, surpass) -> None:  # type: ignore[no-untyped-def]
    code, _, _ = surpass("learn", "search", "--set", "sizes=2", "--set", "most_rounds=1", "--out", tmp_path / "run")
    assert code == 0
    assert json.loads((tmp_path / "run" / "agent.json").read_text())["record"]["finished"] is False


# What it refuses


def check_refused(result: tuple[int, str, str], message: str) -> None:
    """Raise AssertionError unless a command ended with code 2 and one sentence with this message, and nothing else."""
    code, shown, errors = result
    assert code == 2
    assert message in errors
    assert "Traceback" not in errors
    assert shown == ""
    assert len(errors.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nope",), "unknown task 'nope'; known: sort-full"),
        (("search", "--method", "magic"), "unknown method 'magic'; known: imitation"),
        (("search", "--teacher", "nobody"), "unknown teacher of search 'nobody'; known: linear_search"),
        (("search", "--teacher", "quick_sort"), "its teachers: linear_search"),
        (("search", "--seed", "-1"), "seed is -1"),
        (("search", "--minutes", "0"), "minutes is 0"),
        (("search", "--minutes", "-3"), "minutes is -3"),
        (("search", "--set", "bunch=3"), "unknown setting 'bunch', perhaps batch; known: sizes"),
        (
            ("search", "--data", "good.csv"),
            "imitation draws its own lists and takes no data; --data is for --method imp",
        ),
        (("search", "--set", "teacher=x"), "unknown setting 'teacher'"),
        (("search", "--method", "rl", "--set", "teacher=x"), "unknown setting 'teacher'; known"),
        (
            ("search", "--method", "rl", "--set", "policy=network", "--set", "starts=3"),
            "unknown setting 'starts', which goes with policy=table; known",
        ),
        (("sort-full", "--method", "rl", "--set", "policy=table"), "unknown policy 'table'; known: network"),
        (("--out", "no-such-run", "--resume"), "no-such-run"),
        (("search", "--set", "batch"), "'batch' is not of the form NAME=VALUE"),
        (("search", "--set", "batch=many"), "batch is 'many'"),
        (("search", "--set", "batch=0"), "batch is 0"),
        (("search", "--set", "batch=2.5"), "batch is '2.5'"),
        (("search", "--set", "sizes=3,x"), "sizes is '3,x'"),
        (("search", "--set", "sizes=0"), "sizes[0] is 0; it must be a whole number from 1 to"),
        (("search", "--set", "learning_rate=2"), "learning_rate is 2.0"),
        (("search", "--set", "limit=n^3"), "'n^3'"),
        (("missing.py",), "no file missing.py"),
        (("search", "--out", "a-file"), "a-file cannot be written"),
        (("search", "--out", "a-file/below"), "a-file/below cannot be written"),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, tuple) else "",
)
def test_bad_input_gets_one_sentence_and_exit_code_2(
    words: tuple[str, ...], message: str, surpass, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a-file").write_text("")
    check_refused(surpass("learn", *words), message)
    assert [path.name for path in tmp_path.iterdir()] == ["a-file"], "a refused command leaves nothing behind"


def test_a_folder_with_a_run_is_refused_without_resume(run_folder: Path, surpass) -> None:  # type: ignore[no-untyped-def]
    before = checkpoint_files(run_folder)
    check_refused(surpass(*LEARN, "--out", run_folder), "search by imitation from linear_search, seed 0")
    assert checkpoint_files(run_folder) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--teacher", "binary_search"), "you asked for search by imitation from binary_search, seed 0: replace it"),
        (("--set", "batch=64"), "with batch 512; you asked for search by imitation from linear_search, seed 0, with"),
    ],
    ids=["teacher", "setting"],
)
def test_a_folder_with_another_run_is_refused_with_what_it_holds(
    words: tuple[str, ...], message: str, run_folder: Path, surpass
) -> None:  # type: ignore[no-untyped-def]
    refused = surpass(*LEARN, *words, "--out", run_folder)
    check_refused(refused, f"{run_folder} holds search by imitation from linear_search, seed 0")
    check_refused(refused, message)
    assert "--resume" not in refused[2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--seed", "1"), "seed 0, not 1"),
        (("--set", "batch=64"), "batch 512, not 64"),
        (("--teacher", "binary_search"), "teacher 'linear_search', not 'binary_search'"),
    ],
    ids=["seed", "setting", "teacher"],
)
def test_a_run_of_another_recipe_is_not_resumed(
    words: tuple[str, ...], message: str, run_folder: Path, surpass
) -> None:  # type: ignore[no-untyped-def]
    check_refused(surpass(*LEARN, *words, "--out", run_folder, "--resume"), message)


def test_a_run_of_another_task_is_not_resumed(run_folder: Path, surpass) -> None:  # type: ignore[no-untyped-def]
    check_refused(surpass("learn", "knapsack", "--out", run_folder, "--resume"), f"{run_folder} is a run with")


def test_a_run_of_another_version_is_not_resumed(run_folder: Path, tmp_path: Path, surpass) -> None:  # type: ignore[no-untyped-def]
    older = tmp_path / "older"
    shutil.copytree(run_folder, older)
    recipe = json.loads((older / "recipe.json").read_text())
    del recipe["batch"]
    (older / "recipe.json").write_text(json.dumps(recipe))
    check_refused(surpass("learn", "--out", older, "--resume"), "another version of surpass, without the setting batch")


def test_a_run_that_is_not_there_to_be_resumed_begins_and_says_so(tmp_path: Path, surpass) -> None:  # type: ignore[no-untyped-def]
    code, _, errors = surpass(*LEARN, "--out", tmp_path / "new", "--resume", "--no-report")
    assert (code, f"a run begins in {tmp_path / 'new'}" in errors) == (0, True)


def test_a_folder_in_the_place_of_the_task_is_not_resumed(run_folder: Path, surpass) -> None:  # type: ignore[no-untyped-def]
    check_refused(surpass("learn", run_folder, "--resume"), f"surpass learn --out {run_folder} --resume")


@pytest.mark.parametrize("command", ["evaluate", "trace"])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.safetensors", "missing.json cannot be read: No such file"),
        ("empty-folder", "empty-folder is not the folder of a run"),
        ("zoo:nope", "unknown agent of the zoo 'nope'; known: knapsack/"),
        ("nope", "unknown agent 'nope'"),
    ],
)
def test_an_agent_that_is_not_there_is_refused(
    command: str, name: str, message: str, surpass, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty-folder").mkdir()
    check_refused(surpass(command, name), message)


def test_a_damaged_agent_is_refused_in_one_sentence_by_a_process_of_its_own(run_folder: Path) -> None:
    path = run_folder / "agent.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-m", "surpass", "evaluate", str(run_folder)], capture_output=True, text=True, check=False
    )
    check_refused((done.returncode, done.stdout, done.stderr), f"{path} has changed since it was written")


def test_a_run_of_another_task_than_asked_for_is_refused(finished: Path, surpass) -> None:  # type: ignore[no-untyped-def]
    check_refused(surpass("evaluate", finished, "--task", "knapsack"), "works on search, not on knapsack")


@pytest.mark.parametrize(
    "words",
    [
        ("sort-bubble", "--set", "sizes=1"),
        ("sort-full", "--set", "learning_rate=-1"),
        ("search", "--seed", "1" + "0" * 30),
    ],
    ids=["nothing to do", "learning rate", "seed"],
)
def test_more_bad_input_gets_one_sentence_and_exit_code_2(words: tuple[str, ...], surpass, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    check_refused(surpass("learn", *words, "--out", tmp_path / "run"), words[-1].partition("=")[0].strip("-"))


def test_a_run_goes_on_by_its_folder_alone(run_folder: Path, surpass) -> None:  # type: ignore[no-untyped-def]
    code, _, told = surpass("learn", "--out", run_folder, "--resume", "--sizes", "5", "--instances", "5")
    assert code == 0
    assert "continuing after round" in told


def test_settings_are_listed_with_their_values(surpass) -> None:  # type: ignore[no-untyped-def]
    words = ("learn", "search", "--method", "rl+imitation", "--teacher", "teacher:bracket_search")
    code, shown, _ = surpass(*words, "--set", "policy=network", "--set", "updates=7", "--settings")
    assert code == 0
    lines = shown.splitlines()
    assert {"teacher = bracket_search", "updates = 7", "unroll = 80"} <= set(lines)


@pytest.mark.parametrize("name", ["thesis.tex", "checkpoints/best.pt"])
def test_a_folder_of_other_things_is_refused_and_left_alone(name: str, tmp_path: Path, surpass) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "mine" / name
    path.parent.mkdir(parents=True)
    path.write_text("x")
    check_refused(surpass(*LEARN, "--out", tmp_path / "mine"), Path(name).parts[0])
    assert [p for p in (tmp_path / "mine").rglob("*") if p.is_file()] == [path]


def test_an_interrupted_run_says_how_to_go_on(tmp_path: Path, surpass, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("surpass.learning.runs.train", interrupt)
    code, _, errors = surpass("learn", "search", "--out", tmp_path / "run")
    assert code == 130
    assert f"surpass learn --out {tmp_path / 'run'} --resume" in errors
