"""How `--help` shows texts: whole, as they are written, and with options in groups."""

from __future__ import annotations

import inspect
import re
from typing import Any

from typer.core import TyperGroup

INSTANCES, RUNNING, LEARNING, FILES = "Instances", "How it runs", "How it learns", "Files"
"""The groups that options are shown in."""

_MARKUP = re.compile(r"(\\*)(\[[a-z#/@][^[]*?\])")
"""What Rich would take for markup, and so not show."""


class Commands(TyperGroup):
    """The commands; their texts are plain, so square brackets are not markup."""

    def get_params(self, ctx: Any) -> Any:
        """Return the options of the program itself."""
        return [_as_flag(parameter) for parameter in super().get_params(ctx)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command whose texts are ready to be shown."""
        command = super().get_command(ctx, cmd_name)
        if command is not None and not getattr(command, "has_plain_texts", False):
            command.has_plain_texts = True  # type: ignore[attr-defined]
            _as_flag(command.get_help_option(ctx))  # which is made once, and kept
            command.help = _escape(unfold(command.help or ""))
            for parameter in command.params:
                parameter.help = _escape(getattr(parameter, "help", None) or "")  # type: ignore[attr-defined]
                _as_flag(parameter)
        return command


def _as_flag(parameter: Any) -> Any:
    """Return a parameter; if it is a flag, no word stands for its value."""
    if getattr(parameter, "is_flag", False):
        parameter.metavar = ""
    return parameter


def unfold(text: str) -> str:
    """Return a text with each paragraph on one line, but for those with indented lines, which stay as they are."""
    first, *rest = inspect.cleandoc(text).split("\n\n")
    unfolded = [part if "\n " in part else part.replace("\n", " ") for part in rest]
    # The empty paragraph keeps Typer from taking the indentation away from the ones behind it.
    return "\n\n".join([first.replace("\n", " "), *([""] if rest else []), *unfolded])


def _escape(text: str) -> str:
    return _MARKUP.sub(r"\1\1\\\2", text)
