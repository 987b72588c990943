"""A process of this machine that holds a replica: it reads calls from its standard input, and writes the answers."""

from __future__ import annotations

import os
import sys
import threading
from queue import SimpleQueue

from surpass.workers.processes import read_message, write_message
from surpass.workers.worker import Question, answer


def _read_calls(calls: SimpleQueue[list[bytes]]) -> None:
    """Read calls into a queue, and end this process when the standard input is closed: whoever asks is gone.

    Whatever it is doing then is of no use to anybody, and may take minutes.
    """
    while True:
        try:
            calls.put(read_message(sys.stdin.buffer))
        except EOFError:
            os._exit(0)


def main() -> None:
    """Answer calls until the standard input is closed."""
    # What anything else prints must not get among the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    setup: list[bytes] = []
    calls: SimpleQueue[list[bytes]] = SimpleQueue()
    threading.Thread(target=_read_calls, args=(calls,), daemon=True).start()
    while True:
        version, *more, call = calls.get()
        setup += more
        question = Question(version.decode(), frozenset({"own"}), "own", call)
        try:
            write_message(answers, answer(question, setup, bytes))
        except BrokenPipeError:  # nobody waits for it any more
            return


if __name__ == "__main__":
    main()
