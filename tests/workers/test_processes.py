"""Replicas with processes of this machine: answers, lost processes, and an end in the middle of the work."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from surpass.engine.cache import source_version
from surpass.errors import SettingError
from surpass.workers.local import LocalReplica, LocalRunner, ProcessReplicas
from surpass.workers.processes import start_replica, write_message
from surpass.workers.runner import open_runner
from surpass.workers.worker import write_call


def test_one_process_is_this_one() -> None:
    with open_runner("local", 1) as runner:
        replicas = runner.replicate_apart(os.getpid)
        assert isinstance(replicas, LocalReplica)
        assert replicas.ask("__add__", [(0,)]) == [os.getpid()]


def test_processes_answer_in_order_and_what_is_lost_is_done_again() -> None:
    with open_runner("local", 2) as runner:
        replicas = runner.replicate_apart(os.getpid)
        assert isinstance(replicas, ProcessReplicas)
        numbers = replicas.ask("__add__", [(0,), (0,), (0,), (0,)])
        assert os.getpid() not in numbers
        assert len(set(numbers)) <= 2
        for number in set(numbers):
            os.kill(number, signal.SIGKILL)
        again = replicas.ask("__add__", [(0,), (0,)])
        assert not {*again} & {*numbers}
        with pytest.raises(RuntimeError):
            replicas.ask("__add__", [("text", 1)])


def test_setup_comes_before_answers() -> None:
    with open_runner("local", 2) as runner:
        replicas = runner.replicate_apart(list, [3])
        replicas.broadcast("append", 4)
        waits = [replicas.submit("index", 4) for _ in range(4)]
        assert [wait() for wait in waits] == [1, 1, 1, 1]


def test_a_part_that_ends_its_process_each_time_is_given_up() -> None:
    with open_runner("local", 2) as runner:
        replicas = runner.replicate_apart(os.getpid)
        number = replicas.ask("__add__", [(0,)])[0]
        assert number
        killer = runner.replicate_apart(__import__, "os")
        with pytest.raises(SettingError):
            killer.ask("_exit", [(3,)])


def test_what_is_under_way_ends_with_its_runner() -> None:
    """And no process is started anew for it."""
    runner = LocalRunner(2)
    replicas = runner.replicate_apart(threading.Event)
    assert isinstance(replicas, ProcessReplicas)
    for _ in range(4):
        replicas.submit("wait", 600)
    until = time.monotonic() + 60
    while len(replicas._processes) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    began = time.monotonic()
    runner.close()
    assert time.monotonic() - began < 30
    assert all(process.poll() is not None for process in replicas._processes)
    assert len(replicas._processes) == 2


def test_a_process_ends_with_whoever_asked_it_in_the_midst_of_its_work() -> None:
    """Killed, that side says nothing; its end of the pipe is closed by the system."""
    process = start_replica()
    write_message(process.stdin, source_version().encode(), write_call(threading.Event, ()), write_call("wait", ()))
    time.sleep(0.2)
    assert process.poll() is None
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=30) == 0
