"""Everything surpass refuses, as one tree.

SurpassError
├── DeclarationError        a task, feature, instruction or kernel is declared wrongly
│   └── ObservationError    an `observe` returned a value that its feature does not have
├── DivergedError           learning whose loss is no longer a number
├── ExportError             an agent or a kernel that cannot be written as a source file
├── UnknownNameError        a name that is not in a registry
├── MissingExtraError       a package that an extra of surpass brings is not installed
├── InstanceError           an input that does not fit its task
├── DataFileError           a file of lists that cannot be read
├── TraceError              a text that is not a trace, or a trace that does not replay
├── ProgramError            a program file that cannot be read, or a program that cannot be written to one
├── RecipeError             a recipe that cannot be read, or is not valid
├── SavedFileError          a checkpoint or saved agent that is damaged, foreign or of another task
├── SettingError            an option with an impossible value
└── WrongAnswerError        a checked result is not the right one
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class SurpassError(Exception):
    """The base of every error that surpass raises on purpose; its text is one sentence."""


class DeclarationError(SurpassError):
    """A task, feature, instruction or kernel is declared wrongly."""


class ObservationError(DeclarationError):
    """An `observe` returned a value that its feature does not have."""


class DivergedError(SurpassError):
    """Learning whose loss is no longer a number; the last checkpoint is still good."""


class ExportError(SurpassError):
    """An agent or a kernel that cannot be written as a source file."""


class UnknownNameError(SurpassError):
    """A name that is not in a registry; the message lists the known ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str], why: str = "") -> None:
        """Name the unknown word and the known ones; between them stands `why`, or similar known names."""
        self.kind, self.name, known = kind, name, list(known)
        listing, shown, why = ", ".join(known) or "none", repr(name), why or did_you_mean(name, known)
        super().__init__(f"unknown {kind} {shown if len(shown) < 80 else shown[:77] + '...'}{why}; known: {listing}")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the known names that are near to one, in words with a comma before; nothing if none is."""
    near = get_close_matches(name[:100], list(known), 3)
    return f", perhaps {' or '.join(near)}" if near else ""


class MissingExtraError(SurpassError, ImportError):
    """A package that an extra of surpass brings is not installed."""


class InstanceError(SurpassError):
    """An input that does not fit its task."""


class DataFileError(SurpassError):
    """A file of lists that cannot be read."""


class TraceError(SurpassError):
    """A text that is not a trace, or a trace that does not replay."""


class ProgramError(SurpassError):
    """A program file that cannot be read, or a program that cannot be written to one."""


class RecipeError(SurpassError):
    """A recipe that cannot be read, or is not valid."""


class SavedFileError(SurpassError):
    """A checkpoint or saved agent that is damaged, foreign or of another task."""


class SettingError(SurpassError):
    """An option with an impossible value."""


class WrongAnswerError(SurpassError):
    """A checked result is not the right one."""
