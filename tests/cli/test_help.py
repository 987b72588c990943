"""`--help` shows every text whole, at 80 columns."""

from __future__ import annotations

import re

import pytest
import typer.main
from typer.testing import CliRunner

from surpass.cli.help import unfold
from surpass.cli.main import app

WRITTEN = {
    one.name or one.callback.__name__: one.callback for one in app.registered_commands if one.callback is not None
}
"""The functions of the commands, with their texts as they are written."""


def squeeze(text: str) -> str:
    """Return a text without what a frame, a colour or the end of a line adds to it."""
    return "".join(re.sub(r"\x1b\[[0-9;]*m|[│╭╮╰╯─]", "", text).split())


@pytest.fixture(scope="module")
def helps() -> dict[str, str]:
    """What `--help` of each command prints."""
    environment = {"COLUMNS": "80", "TERMINAL_WIDTH": "80", "NO_COLOR": "1"}
    runner = CliRunner(env=environment)
    return {name: runner.invoke(app, [name, "--help"]).stdout for name in WRITTEN}


@pytest.mark.parametrize("name", sorted(WRITTEN))
def test_every_text_of_a_command_is_shown_whole(name: str, helps: dict[str, str]) -> None:
    shown = squeeze(helps[name])
    assert max(map(len, helps[name].splitlines())) <= 80
    # The frame's column of text is narrow, so texts are compared without blanks; the order of words must be kept.
    assert squeeze(unfold(WRITTEN[name].__doc__ or "")) in shown
    options = WRITTEN[name].__annotations__
    described = [part for part in typer.main.get_params_from_function(WRITTEN[name]).values() if part.name in options]
    assert described
    for part in described:
        text = part.default.help
        assert text, f"{part.name} has no help"
        assert _holds(helps[name], text), f"{name}: the help of {part.name} is not shown whole: {text}"


def _holds(shown: str, text: str) -> bool:
    """Return whether the words of a text follow on one another in the rightmost column of a table."""
    words = [re.sub(r"[│╭╮╰╯]", "", line).rstrip() for line in shown.splitlines()]
    wanted = text.split()
    for k, line in enumerate(words):
        for found in re.finditer(rf"(?<!\S){re.escape(wanted[0])}", line):
            rest = " ".join(part[found.start() :] for part in words[k:]).split()
            if rest[: len(wanted)] == wanted:
                return True
    return False


def test_no_word_stands_for_the_value_of_a_flag(helps: dict[str, str]) -> None:
    whole = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}).invoke(app, ["--help"]).stdout
    assert "--version" in whole
    for shown in (whole, *helps.values()):
        assert "--help" in shown
        assert "<bool>" not in shown


def test_options_are_grouped_and_examples_stand_on_lines_of_their_own(helps: dict[str, str]) -> None:
    assert {"How it learns", "The scores at the end", "Files"} <= set(re.findall(r"╭─ (.+?) ─", helps["learn"]))
    lines = [line.strip() for line in helps["learn"].splitlines()]
    assert "surpass learn knapsack --method rl --minutes 2" in lines
    for name, shown in helps.items():
        assert f"surpass {name} " in shown, f"{name} has no example"
