"""Command lines of hostile words end with a sentence and code 2, or do what they say; never with a traceback."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from click import Command

from surpass.cli.main import app
from surpass.workers.local import LocalRunner
from surpass.workers.runner import Ended, Job
from tests.cli.here import call_here
from tests.fuzz.judge import GREEDY, HANG, REFUSED, SAME, TRACEBACK, HangError, Judge, limited
from tests.long import LONG

ENDLESS = ("json", "rules", "toml", "py", "safetensors", "csv")
"""The endings of files that have no end."""
HOSTILE = (
    *("", " ", "-", "--", "=", "==", ",", ":", "::", ".", "..", "/", "//", "~", "*", "\0", "a\0b", "a\nb", "\x1b[31m"),
    *("x" * 256, "x" * 5000, "x/" * 3000, "/" + "y" * 300 + "/z", "\ud800", "naïve", "名前", "\u202e", "1²", "٣"),
    *("nan", "inf", "-inf", "1e30", "1e400", "-1", "-0", "0", "0.5", "1e-400", str(10**40), str(-(10**40)), "9" * 5000),
    *(str(2**31), str(2**32), str(2**63), str(2**64), "0x10", "1_000", "True", "None", "null", "[]", "{}", "5,,5"),
    *("/dev/null", "/dev/full", "/dev/zero", "/proc/self/mem", "folder", "folder/", "folder/below", "file", "file/x"),
    *("missing", "missing.json", "missing.toml", "missing.rules", "missing.npy", "missing.py", "missing.safetensors"),
    *("folder.json", "folder.rules", "folder.npy", "folder.toml", "folder.py", "folder.safetensors", "binary.json"),
    *("binary.rules", "binary.npy", "binary.toml", "binary.py", "binary.safetensors", "zip.npy", "deep.json", "loop"),
    *("loop.json", "endless.json", "endless.rules", "endless.toml", "endless.txt", "endless.npy", "closed", "bad.py"),
    *("endless.py", "endless.safetensors", "endless.csv"),
    *(
        "zoo:",
        "zoo:/",
        "zoo:../..",
        "zoo:search/",
        "teacher:",
        "teacher:\0",
        "teacher:" + "x" * 5000,
        "zoo:" + "x" * 999,
    ),
    *("-1n", "n^3", "1e5n", "0n", "999999999999999999n^2", "n" * 5000, "task=1", "seed=1", "updates=-1", "sizes="),
    *("sizes=0", "batch=1e9", "items=" + "9" * 40, "learning_rate=nan", "learning_rate=1e400", "limit=\0", "a=b=c"),
    *("zoo:search/rl=", "zoo:search/rl=missing", "=zoo:search/rl", "zoo:search/rl=zoo:sort-bubble/rl", "search"),
)
"""Words that no one means, and some that are meant for something else."""

BASE: dict[str, tuple[list[str], dict[str, str]]] = {
    "tasks": (["search"], {}),
    "zoo": (["search/rl"], {}),
    "evaluate": (["teacher:binary_search"], {"--sizes": "5", "--instances": "2"}),
    "trace": (["teacher:binary_search"], {}),
    "watch": (["teacher:binary_search"], {"--size": "5"}),
    "show": (["mine.rules"], {"--instances": "2", "--size": "5"}),
    "check": (["teacher:linear_search"], {"--up-to": "3", "--sizes": "5", "--instances": "2", "--effort": "0"}),
    "export": (["mine.rules"], {"--to": "python", "--out": "exported.py"}),
    "discover": (
        ["search", "--no-report"],
        {
            **{"--out": "found", "--sizes": "2", "--instances": "2", "--from": "linear_search"},
            **{"--rounds": "1", "--minutes": "0.0001", "--set": "sets=1"},
        },
    ),
    "learn": (
        ["knapsack", "--no-report"],
        {"--out": "run", "--sizes": "2", "--instances": "2", "--minutes": "0.0001", "--set": "most_rounds=1"},
    ),
    "sweep": (["tiny.toml"], {"--out": "sweep", "--processes": "1"}),
    "apply": (["teacher:binary_search"], {"--data": "lists.csv"}),
    "plot": (["teacher:binary_search"], {"--out": "plot.svg", "--sizes": "5", "--instances": "2"}),
    "report": (["begun"], {"--out": "report.html"}),
    "reproduce": (["table3"], {"--instances": "2"}),
}
"""For each command, words with which it does little."""


def options_of(command: Command) -> tuple[list[str], list[str]]:
    """Return the options of a command that take a value, and those that take none."""
    options = [p for p in command.params if p.param_type_name == "option" and p.name != "help"]
    with_value = [p.opts[0] for p in options if not getattr(p, "is_flag", False)]
    return with_value, [p.opts[0] for p in options if getattr(p, "is_flag", False)]


def command_lines(random: np.random.Generator, count: int) -> Iterator[list[str]]:
    """Yield lines of all commands: with little to do, but for some words that are replaced, repeated or added."""
    commands: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert commands.keys() == BASE.keys(), "every command must be tried"
    plan: list[tuple[str, str, str]] = []
    for name, command in commands.items():
        values, _ = options_of(command)
        plan += [(name, place, word) for place in ("", *values) for word in HOSTILE]
    order = random.permutation(len(plan)).tolist()
    for number in range(count):
        # Every option with every word once, if there are enough lines; beside it, now and then, another.
        name, place, word = plan[order[number % len(order)]]
        arguments, options = list(BASE[name][0]), dict(BASE[name][1])
        values, flags = options_of(commands[name])
        options.pop(place, None)
        if place:
            extra = [place, word]
        else:
            arguments, extra = [word], []
        words = [name, *arguments, *(part for pair in options.items() for part in pair), *extra]
        dice = random.random()
        if dice < 0.1 and values:
            words += [str(random.choice(values)), HOSTILE[int(random.integers(len(HOSTILE)))]]
        elif dice < 0.2 and flags:
            words += [str(random.choice(flags))]
        elif dice < 0.25:
            words.insert(int(random.integers(len(words) + 1)), HOSTILE[int(random.integers(len(HOSTILE)))])
        elif dice < 0.28:
            words += words[1:]
        elif dice < 0.3:
            words = [words[0], *random.permutation(words[1:]).tolist()]
        yield words


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with all sorts of things, in which commands are run; sweeps start no process."""

    def run(self: LocalRunner, jobs: Sequence[Job], watch: Any = None) -> Generator[Ended]:
        yield from ()

    monkeypatch.setattr(LocalRunner, "run", run)
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("some text")
    Path("lists.csv").write_text("1,3,5:3\n2,4:9\n")
    Path("tiny.toml").write_text('task = "knapsack"\nmethod = "imitation"\n[settings]\nmost_rounds = 1\n')
    Path("mine.rules").write_text("task sort-bubble\nA[v1] > A[v1+1]: SwapWithNext(1)\nelse: MoveVar(1, +1)\n")
    Path("bad.py").write_text("raise OSError(5, 'no')\n")
    Path("deep.json").write_bytes(b"[" * 100_000)
    Path("zip.npy").write_bytes(b"PK\x03\x04" + bytes(100))
    for suffix in ("json", "rules", "npy", "toml", "py", "safetensors"):
        Path(f"binary.{suffix}").write_bytes(np.random.default_rng(0).bytes(2000))
        Path(f"folder.{suffix}").mkdir()
    Path("folder").mkdir()
    Path("begun").mkdir()
    Path("begun/recipe.json").write_text('{"task": "knapsack", "method": "imitation", "seed": 0}')
    Path("closed").mkdir(mode=0)
    Path("loop").symlink_to("loop")
    Path("loop.json").symlink_to("loop.json")
    for suffix in ENDLESS:
        Path(f"endless.{suffix}").symlink_to("/dev/zero")
    Path("endless.txt").write_bytes(b"1," * 1_000_000)
    Path("endless.npy").symlink_to("endless.txt")
    return tmp_path


def run(words: list[str]) -> tuple[int, str, str]:
    """Return exit code, output and errors of a command line, run in this process."""
    with limited():
        done = call_here(*words)
    return done.returncode, done.stdout, done.stderr


def is_refusal(code: int, errors: str) -> bool:
    """Return whether a command ended with code 2 and one sentence, ours or that of the reader of options."""
    ours = [line for line in errors.splitlines() if line.startswith("surpass: ") and "compiling what" not in line]
    is_usage = errors.lstrip().startswith(("Usage: ", "╭─ Error"))
    return code == 2 and (is_usage or (len(ours) == 1 and len(ours[0]) < 2100))


@pytest.mark.usefixtures("small_effort")
def test_whatever_the_words_are_a_command_refuses_them_or_does_what_they_say(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    judge, random = Judge(), np.random.default_rng(1)
    count = 2200 if LONG else 150
    for words in command_lines(random, count):
        shown = " ".join(word if len(word) < 60 else f"{word[:20]}...({len(word)})" for word in map(repr, words))
        try:
            code, _, errors = run(words)
        except HangError:
            judge.fault(HANG, shown, "it hangs")
        except BaseException as error:
            judge.fault(TRACEBACK, shown, f"{type(error).__name__}: {error}")
        else:
            if code == 70 or "Traceback" in errors:
                judge.fault(TRACEBACK, shown, errors[-500:])
            elif "not enough memory" in errors:
                judge.fault(GREEDY, shown, errors[-500:])
            elif code == 2:
                judge.counts[REFUSED] += 1
                if not is_refusal(code, errors):
                    judge.faults.append(f"{shown}: this is no sentence: {errors[:300]!r}")
            else:
                judge.counts[SAME] += 1
                if code not in ((0, 1) if words[0] == "check" else (0,)):
                    judge.faults.append(f"{shown}: code {code}: {errors[:300]}")
    assert Path("/dev/null").is_char_device(), "what is written to a device must not take its place"
    with capsys.disabled():
        judge.check("command lines", 2000 if LONG else 150)


@pytest.mark.parametrize("name", [f"endless.{suffix}" for suffix in ENDLESS])
def test_a_file_without_an_end_is_refused_and_not_read_to_its_end(here: Path, name: str) -> None:
    lines = [
        ["evaluate", name],
        ["check", "mine.rules", "--task", name],
        ["evaluate", "teacher:binary_search", "--data", name],
        ["sweep", name, "--out", "sweep"],
        ["report", name, "--out", "report.html"],
    ]
    for words in lines:
        code, _, errors = run(words)
        assert is_refusal(code, errors), (words, code, errors)
        assert "not enough memory" not in errors, words


def test_what_the_command_lines_are_made_of_does_work(here: Path) -> None:
    """So that what is refused is refused for its hostile word."""
    for name, (arguments, options) in BASE.items():
        words = [name, *arguments, *(part for pair in options.items() for part in pair)]
        code, _, errors = run(words)
        assert code == 0, (words, errors)
    assert json.loads(run(["zoo", "search/rl", "--json", "-"])[1])["name"] == "zoo:search/rl"
