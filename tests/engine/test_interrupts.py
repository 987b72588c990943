"""Ctrl-C comes through while compiled code runs, and a kernel that never ends is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from surpass.engine import pool as pool_module
from surpass.engine.advance import advance
from surpass.engine.batch import allocate
from surpass.engine.pool import InterruptiblePool, run_in_thread
from surpass.errors import DeclarationError
from surpass.machine.state import DEPTH, Outcome
from surpass.tasks.sort_quick import SORT_QUICK
from tests.engine.test_kernel_types import make_task
from tests.long import long_test

LONG_RUN = """
import sys
from surpass.agents.teachers import find_teacher
from surpass.engine.run import run
from surpass.tasks.task import Limit, Request

teacher = find_teacher("bubble_sort")
run(teacher, teacher.task.draw(Request(size=5, count=3)))
lists = teacher.task.draw(Request(size=300_000, count=4, data="reversed"))
print("begun", flush=True)
run(teacher, lists, threads=int(sys.argv[1]), limit=Limit(1e17, 0))
print("ended")
"""


def hear_interrupts() -> None:
    """Let a new process hear Ctrl-C, also where this one was started in the background, which ignores it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def interrupt(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Send Ctrl-C to a process that has said something, and return what it writes until its end."""
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    threading.Event().wait(0.5)  # so that it is in compiled code
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=60)


@pytest.mark.parametrize("threads", ["1", "2"])
def test_a_long_run_is_interrupted(threads: str) -> None:
    call = [sys.executable, "-c", LONG_RUN, threads]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "preexec_fn": hear_interrupts}
    with subprocess.Popen(call, text=True, **pipes) as process:  # type: ignore[call-overload]
        try:
            output, errors = interrupt(process)
        finally:
            process.kill()
    assert "KeyboardInterrupt" in errors
    assert "left behind" not in errors
    assert "ended" not in output


@long_test
@pytest.mark.parametrize("kernel", ["start", "swap"])
def test_a_kernel_that_does_not_end_on_large_instances_alone_can_be_interrupted(kernel: str, tmp_path: Path) -> None:
    text = (Path(__file__).parent / "mountain.py").read_text()
    place = {
        "start": "    state.registers[R.answer] = -1\n",
        "swap": "    i, j = state.registers[R.i], state.registers[R.j]\n",
    }
    assert text.count(place[kernel]) == 1
    endless = "    while state.registers[SIZE] > 50:\n        state.reals[TOTAL] += 1\n"
    text = text.replace(place[kernel], place[kernel] + endless).replace("do.Stop()", "do.Swap()")
    (tmp_path / "mountain.py").write_text(text + "\nprint('begun', flush=True)\n")
    words = ("evaluate", "teacher:climb", "--task", str(tmp_path / "mountain.py"), "--sizes", "60", "--instances", "1")
    environment = {**os.environ, "SURPASS_CACHE_DIR": str(tmp_path / "cache")}
    call = [sys.executable, "-m", "surpass", *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "preexec_fn": hear_interrupts}
    with subprocess.Popen(call, env=environment, text=True, **pipes) as process:  # type: ignore[call-overload]
        try:
            assert process.stdout.readline() == "begun\n"
            threading.Event().wait(60)  # it is tried and compiled first
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    assert "a kernel of mountain does not end; it is left behind" in errors
    assert "Traceback" not in errors


def test_what_is_raised_while_calls_run_stops_them_all() -> None:
    stop, ended = np.zeros(1, np.int64), []

    def work(number: int) -> None:
        while not stop[0]:
            pass
        ended.append(number)

    def look() -> None:
        raise KeyboardInterrupt

    with InterruptiblePool(2, stop, "this") as pool, pytest.raises(KeyboardInterrupt):
        pool.make([(lambda: None, ()), (work, (1,)), (work, (2,))], look)
    assert sorted(ended) == [1, 2]


def test_a_call_that_does_not_come_back_is_left_behind(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(pool_module, "GRACE", 0.05)
    monkeypatch.setattr(pool_module, "POLL_SECONDS", 0.05)
    free = threading.Event()

    def look() -> None:
        raise KeyboardInterrupt

    with InterruptiblePool(1, np.zeros(1, np.int64), "toy") as pool, pytest.raises(KeyboardInterrupt):
        pool.make([(free.wait, ())], look)
    free.set()
    assert "a kernel of toy does not end; it is left behind" in caplog.text


@pytest.mark.parametrize("is_apart", [False, True])
def test_what_a_kernel_raises_is_a_sentence(is_apart: bool) -> None:
    def divide() -> None:
        raise ZeroDivisionError("division by zero")

    def call() -> None:
        if is_apart:
            run_in_thread("sort-quick", divide)
        else:
            advance(SORT_QUICK, allocate(SORT_QUICK, 1, 2), lambda _: [(divide, ())])

    with pytest.raises(
        DeclarationError, match="a kernel of task 'sort-quick' raises ZeroDivisionError: division by zero"
    ):
        call()


@pytest.mark.parametrize("number", [-9, int(Outcome.STACK_FULL), int(Outcome.TABLE_FULL), int(Outcome.NEEDS_INSTANCE)])
def test_a_number_that_is_no_outcome_is_a_sentence_and_no_endless_loop(number: int) -> None:
    task = make_task("odd")
    batch = allocate(task, 2, 2)
    assert (batch.registers[:, DEPTH] == 0).all()
    with pytest.raises(DeclarationError, match=str(number)):
        advance(task, batch, lambda batch: [(batch.outcomes.fill, (number,))])
