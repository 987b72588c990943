"""The page of a task's fields has a row for every field of every declaration that a task file can make."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

import surpass

PAGE = (Path(__file__).parents[2] / "docs" / "task-fields.md").read_text()
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_has_a_row_for_each_field_and_no_other(name: str) -> None:
    rows = re.findall(r"^\| `(\w+)` \|", SECTIONS[name], re.MULTILINE)
    assert rows == [field.name for field in fields(getattr(surpass, name))]


def test_every_declaration_has_a_section() -> None:
    words = " ".join(str(field.type) for name in SECTIONS for field in fields(getattr(surpass, name)))
    parts = {"Task", *re.findall(r"\b[A-Z]\w+\b", words)} & set(surpass.__all__)
    assert parts - {"Feature", "Instruction", "Value"} <= set(SECTIONS), "the page for newcomers explains these"


def test_the_names_of_the_page_are_offered() -> None:
    named = set(re.findall(r"`surpass\.(\w+)", PAGE))
    assert named <= set(surpass.__all__)
