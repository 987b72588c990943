"""Recordings in the terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import TextIO

from surpass.pictures.text import draw_lines, fit_line
from surpass.visualize.recording import Recording

MOST_SECONDS = 20.0
"""How long a recording lasts at most unless a speed is given."""
SPEED = 4.0
"""Steps a second of a short recording."""
STILLS = 12
"""How many moments are printed where the output is not a terminal."""


def play_recordings(recordings: Sequence[Recording], *, speed: float | None = None, file: TextIO | None = None) -> None:
    """Play recordings in step in a terminal; where the output is none, print a few moments, the last among them."""
    import shutil

    out = file or sys.stdout
    columns, rows = shutil.get_terminal_size((100, 40))
    length = max(len(recording.moves) for recording in recordings)
    height = max(3, min(12, (rows - 2) // len(recordings) - 10))
    moments = _moments(recordings, columns, height)
    if not out.isatty():
        every = max(1, -(-length // (STILLS - 1)))
        for at, lines in enumerate(moments):
            if at % every == 0 or at == length:
                print("\n".join(lines), end="\n\n", file=out)
        return
    pace = speed or max(SPEED, length / MOST_SECONDS)
    out.write("\x1b[?25l\x1b[2J")
    try:
        due = time.monotonic()
        for at, lines in enumerate(moments):
            now = time.monotonic()
            if now - due > 1 / pace and at < length:  # the terminal cannot keep up
                due += 1 / pace
                continue
            out.write("\x1b[H" + "".join(f"{line}\x1b[K\n" for line in lines) + "\x1b[J")
            out.flush()
            due = max(due + 1 / pace, now)
            time.sleep(max(0.0, due - time.monotonic()))
    finally:
        out.write("\x1b[?25h")
        out.flush()


def _moments(recordings: Sequence[Recording], columns: int, height: int) -> Iterator[list[str]]:
    """Yield the lines of each moment of recordings that are shown in step."""
    length = max(len(recording.moves) for recording in recordings)
    reels = [_lines(recording, columns, height) for recording in recordings]
    shown: list[list[str]] = [[] for _ in recordings]
    for _ in range(length + 1):
        shown = [next(reel, before) for reel, before in zip(reels, shown, strict=True)]
        yield [line for lines in shown for line in (*lines, "")][:-1]


def _lines(recording: Recording, columns: int, height: int) -> Iterator[list[str]]:
    texts = {rule: line.text.strip() for line in recording.listing.lines for rule in line.rules}
    for at, (scene, move) in enumerate(recording.scenes()):
        ending = f": {recording.ending}" if at == len(recording.moves) else ""
        action = "start" if move is None else move.action
        rule = "" if move is None or move.rule is None else f"rule {move.rule + 1}: {texts.get(move.rule, '')}"
        call = f"  ({move.function})" if move and recording.calls else ""
        heading = [f"{recording.agent}  step {at:,} of {recording.steps:,}{ending}", f"{action}{call}", rule]
        yield [fit_line(line, columns) for line in heading] + draw_lines(scene, columns, height)
