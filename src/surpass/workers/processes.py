"""A job as a process of its own."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

from surpass.errors import SettingError
from surpass.workers.runner import Job

LOG = "log.txt"
"""The file in a job's folder that gets what the job prints."""
LOG_END = 4000
"""How many of its last bytes are read for its last line."""


def start_job(job: Job, where: Path | None = None) -> subprocess.Popen[bytes]:
    """Start a job, whose words and folder are seen from the folder `where`.

    It ends when its standard input is closed, which happens even if this process is killed.
    """
    try:
        folder = (where or Path()) / job.folder
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / LOG).open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "surpass.cli.job", str(job.folder), *job.words],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=where,
                env={**os.environ, "SURPASS_THREADS": "1", "OMP_NUM_THREADS": "1"},
                # An interrupt from the keyboard goes to this process alone, which then ends its jobs.
                start_new_session=True,
            )
    except OSError as error:
        raise SettingError(f"{job.folder} cannot be written: {error.strerror}") from None


def start_replica() -> subprocess.Popen[bytes]:
    """Start a process that holds a replica and answers calls; it ends when its standard input is closed."""
    return subprocess.Popen(
        [sys.executable, "-m", "surpass.workers.serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "SURPASS_THREADS": "1", "OMP_NUM_THREADS": "1"},
        start_new_session=True,
    )


def write_message(stream: Any, *parts: bytes) -> None:
    """Write some bytes as one message, each with its length."""
    stream.write(struct.pack("<Q", len(parts)))
    for part in parts:
        stream.write(struct.pack("<Q", len(part)))
        stream.write(part)
    stream.flush()


def read_message(stream: Any) -> list[bytes]:
    """Return the parts of the next message; raise `EOFError` at the end."""
    return [_read(stream, _read_number(stream)) for _ in range(_read_number(stream))]


def _read_number(stream: Any) -> int:
    number: int = struct.unpack("<Q", _read(stream, 8))[0]
    return number


def _read(stream: Any, length: int) -> bytes:
    found: bytes = stream.read(length)
    if len(found) < length:
        raise EOFError
    return found


def last_line(folder: Path) -> str:
    """Return the last line that the job of a folder has printed; empty if there is none."""
    try:
        with (folder / LOG).open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - LOG_END))
            lines = log.read().decode(errors="replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1].removeprefix("surpass: ") if lines else ""
