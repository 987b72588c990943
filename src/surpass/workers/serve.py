"""A process of this machine that holds a replica: it reads calls from its standard input, and writes the answers."""

from __future__ import annotations

import os
import sys

from surpass.workers.processes import read_message, write_message
from surpass.workers.worker import Question, answer


def main() -> None:
    """Answer until the standard input is closed."""
    # What anything else prints must not get among the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    setup: list[bytes] = []
    while True:
        try:
            version, *more, call = read_message(sys.stdin.buffer)
        except EOFError:
            return
        setup += more
        question = Question(version.decode(), frozenset({"own"}), "own", call)
        try:
            write_message(answers, answer(question, setup, bytes))
        except BrokenPipeError:  # nobody waits for it any more
            return


if __name__ == "__main__":
    main()
