"""The glossary names what exists and what the docs use, and the docs use no word that only its authors understand."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from typer.main import get_command

from surpass.cli.main import app

DOCS = Path(__file__).parents[2] / "docs"
GLOSSARY = DOCS / "glossary.md"
PAGES = [DOCS.parent / "README.md", *(page for page in sorted(DOCS.rglob("*.md")) if page != GLOSSARY)]

PRIVATE_WORDS = {
    r"astray|stray(s|ed|ing)?": "random actions",
    r"blam(e|ed|ing)": "credit assignment",
    r"drawn (whole )?tables?|tables? (is|are) drawn": "a sampled table",
    r"films?": "recording",
    r"forks?": "deviation",
    r"hands": "carriers, or the names of the variables",
    r"level(led|ling)": "worst-group objective",
    r"mend(s|ed|ing)?": "repair",
    r"outlook": "status",
    r"pupil": "student",
    r"rehears(al|e|ed)": "check_task",
    r"retreat": "rollback",
    r"settl(e|ed|ing)": "prune",
    r"sketch(es)?": "preview",
    r"softness|soft(er)? start": "teacher_logit",
    r"yardstick": "reference",
}
"""Words, as patterns, that a stranger could not guess, with what to write instead."""


def entries() -> dict[str, str]:
    """Return the last cell of each row of the glossary, by its word."""
    rows = [[cell.strip() for cell in line.split("|")] for line in GLOSSARY.read_text().splitlines()]
    return {row[1]: row[4] for row in rows if len(row) == 6 and row[1] not in ("word", "---")}


def prose(page: Path) -> str:
    """Return the text of a page without code and without the addresses of links."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    return re.sub(r"`[^`]*`|\]\([^)]*\)", "", text).lower()


def exists(name: str) -> bool:
    """Tell whether `surpass VERB` is a command, or a dotted name can be imported."""
    if " " in name:
        return name.removeprefix("surpass ") in get_command(app).list_commands(None)  # type: ignore[attr-defined]
    owner, _, last = name.rpartition(".")
    return hasattr(import_module(owner), last) or find_spec(name) is not None


def test_the_glossary_has_many_words_in_one_sentence_each() -> None:
    rows = [line for line in GLOSSARY.read_text().splitlines() if line.startswith("| ") and "| word |" not in line]
    assert len(entries()) == len(rows) > 50
    assert all(row.split(" | ")[1].endswith(".") for row in rows)


@pytest.mark.parametrize("word", entries())
def test_the_code_of_an_entry_exists(word: str) -> None:
    assert all(exists(name) for name in re.findall(r"`([^`]+)`", entries()[word]))


def test_what_does_not_exist_is_noticed() -> None:
    assert not exists("surpass.Tusk")
    assert not exists("surpass unlearn")


def test_every_word_is_used_in_the_docs() -> None:
    text = "\n".join(prose(page) for page in PAGES)
    assert [word for word in entries() if word not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_the_docs_use_no_private_word(page: Path) -> None:
    text = prose(page)
    assert [better for word, better in PRIVATE_WORDS.items() if re.search(rf"\b({word})\b", text)] == []
