"""The curves of a run as event files for TensorBoard, which is an extra: pip install 'surpass[tensorboard]'."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from surpass.errors import SettingError
from surpass.extras import load
from surpass.learning.runs import Curve

FOLDER = "tensorboard"
"""The folder in that of a run that event files are put into."""
EVENTS = "events.out.tfevents.*"


def writer_class() -> Any:
    """Return the class that writes event files, or raise `MissingExtraError`."""
    load("tensorboard")
    return load("torch.utils.tensorboard").SummaryWriter


class EventFile:
    """Writes rounds of a run as they end.

    What event files hold cannot be taken back, and a run that was killed resumes from a checkpoint before the last
    round that was written. So a resumed run gets a new file with all rounds from the first, in place of the old.
    """

    def __init__(self, run: Path, curves: list[Curve]) -> None:
        folder = run / FOLDER
        for path in folder.glob(EVENTS) if folder.is_dir() else ():
            path.unlink(missing_ok=True)
        try:
            self._writer = writer_class()(str(folder))
        except OSError as error:
            raise SettingError(f"{folder} cannot be written: {error.strerror}") from None
        for number, curve in enumerate(curves, 1):
            self.add(number, curve)

    def add(self, number: int, curve: Curve) -> None:
        """Write what a round showed, each column as a line of its own over the rounds."""
        for name, value in curve.items():
            if name != "round" and math.isfinite(value):
                self._writer.add_scalar(name, value, number)

    def close(self) -> None:
        """Write what is left."""
        self._writer.close()
