"""Every command of the README and the docs works, in the order in which its page gives them.

A command that learns, checks or measures for long is given a small effort here; with SURPASS_LONG_TESTS it runs as it
stands.
"""

from __future__ import annotations

import re
import shlex
from functools import partial
from pathlib import Path

import pytest

import surpass
from surpass.cli.main import app
from tests.long import LONG, long_test

pytestmark = [] if LONG else [pytest.mark.usefixtures("small_effort")]

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "tasks").glob("*.md"))]

SMALL = {
    "discover": "--minutes 0.005 --sizes 5 --instances 5 --set candidates=8",
    "check": "--up-to 4 --sizes 10 --instances 2 --effort 500",
    "evaluate": "--instances 5",
    "learn": "--minutes 0.005 --sizes 5 --instances 5",
    "report": "",
    "reproduce": "--instances 2",
}
"""What is added to a command, by its verb, so that it takes a second or two."""
SMALL_BY_METHOD = {"imitation": "--set sizes=2,5"}
"""What is added to a command that learns, by its method."""
APART = {"sweep": "a sweep is many runs", "reproduce": "tables are many evaluations"}
"""Verbs whose commands run only in the long form, with the reason; others test them on smaller grids and tables."""


def commands(page: Path) -> list[list[str]]:
    """Return the words of each command of surpass in the shell blocks of a page."""
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def run(words: list[str]) -> None:
    """Run a command in this process; a short form of it unless long tests are asked for."""
    program, verb, *_ = words
    assert program == "surpass", f"{words} is no command of surpass; only those stand in blocks marked sh"
    if not LONG and verb in APART:
        return
    small = "" if LONG else SMALL.get(verb, "")
    if not LONG and verb == "learn" and "--method" in words:
        small += " " + SMALL_BY_METHOD.get(words[words.index("--method") + 1], "")
    added = shlex.split(small)
    for name, value in zip(added[::2], added[1::2], strict=True):
        if name not in words:
            words = [*words, name, value]
        elif name == "--minutes":
            words[words.index(name) + 1] = value
    app(words[1:], standalone_mode=False)


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.stem)
def test_the_commands_of_a_page_work(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "my-lists.csv").write_text("".join(f"{k % 7},{k % 5},9,1,{k % 3}\n" for k in range(60)))
    for words in commands(page):
        run(words)


@pytest.mark.parametrize(
    "page", ["README.md", "docs/python.md", pytest.param("docs/stable-baselines3.md", marks=long_test)]
)
def test_the_python_code_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert blocks
    monkeypatch.chdir(tmp_path)
    if not LONG:
        monkeypatch.setattr(surpass, "check", partial(surpass.check, effort=500))
    for block in blocks:
        exec(compile(block, page, "exec"), {})


def learned_in(page: Path) -> list[str]:
    """Return the folder of each run that the commands and the code of a page begin."""
    text = page.read_text()
    folders = re.findall(r'surpass\.(?:learn|discover)\([^`]*?out="([^"]+)"', text)
    for line in re.findall(r"^surpass (?:learn|discover) .*", text, re.MULTILINE):
        words = line.partition("#")[0].split()
        if "--settings" not in words and "--resume" not in words:
            method = words[words.index("--method") + 1] if "--method" in words else words[1]
            folders.append(words[words.index("--out") + 1] if "--out" in words else f"{words[2]} {method}")
    return folders


def test_no_page_learns_into_the_folder_of_another() -> None:
    folders = [folder for page in PAGES for folder in learned_in(page)]
    assert len(folders) > 15
    assert sorted(folders) == sorted(set(folders))


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            assert target.startswith("http") or (page.parent / target).exists(), f"{page.name} links to {target}"
