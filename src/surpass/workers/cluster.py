"""The runner of a Ray cluster.

Every worker is one Ray actor with one processor, a process that runs jobs and holds actors of ours. What is computed is
a function of what was sent, so whatever is lost with a worker is computed again by another: a job goes on from its
last checkpoint, an actor is made again from its last saved state and told again what it was told since.

A cluster is for trusted users and machines: whoever can reach it can run programs on it. surpass opens no port of its
own; the ports are Ray's. Jobs need a folder that all machines of the cluster share.
"""

from __future__ import annotations

import logging
import pickle
import time
from collections import Counter, deque
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from surpass.errors import SettingError
from surpass.printing import cut
from surpass.reading import THREADS, check_range
from surpass.workers.connecting import connect, import_ray
from surpass.workers.runner import Actors, Ended, Job, Make, Watch
from surpass.workers.worker import (
    About,
    Remaking,
    Worker,
    new_token,
    read_answer,
    source_version,
    write_call,
    write_make,
)

_log = logging.getLogger(__name__)

LOOK_EVERY = 0.1
"""Seconds between two looks at the workers while jobs run."""
PATIENCE = 120.0
"""Seconds within which a first worker must be there."""
GRACE = 20.0
"""Seconds that the others then have; those that come later join in."""
MOST_LOSSES = 4
"""How often the same part of the work may be lost with its worker: it may be what ends them."""
TOKEN = ".shared"
"""A file by which workers show that they see the folder of the jobs."""


@dataclass(eq=False)
class Hand:
    """A worker of the cluster as it is known here."""

    handle: Any
    about: About
    sees_files: bool = False
    held: set[str] = field(default_factory=set)
    """The names of the actors that it holds."""


class RayRunner:
    """Runs jobs and holds actors on the processors of a Ray cluster."""

    is_local = False

    def __init__(self, address: str = "", processes: int | None = None) -> None:
        """Connect to a cluster, or start one of this machine's processors, which ends with this runner."""
        if processes is not None:
            check_range("processes", processes, THREADS)
        self.ray = import_ray()
        self._kind = self.ray.remote(Worker)
        self._version = source_version()
        self._has_connected = connect(self.ray, address, processes)
        self._hands: list[Hand] = []
        self._coming: dict[Any, Any] = {}
        """Workers that were asked for, by what says that they are there."""
        self._numbers = count()
        self.lost = 0
        """How many workers were lost."""
        try:
            self._recruit(processes)
        except BaseException:
            self.close()
            raise

    # Workers

    def _recruit(self, processes: int | None) -> None:
        """Ask for a worker on each processor, and wait until they are there."""
        processors = int(self.ray.cluster_resources().get("CPU", 0))
        if not processors:
            raise SettingError("the Ray cluster has no processors; start its nodes with --num-cpus of 1 or more")
        wanted = min(processes or processors, processors)
        for _ in range(wanted):
            self._ask_for_worker()
        began = time.monotonic()
        while len(self._hands) < wanted:
            self.hands(wait=1.0)
            waited = time.monotonic() - began
            if self._hands and waited > GRACE:
                break
            if waited > PATIENCE:
                raise SettingError(
                    f"no processor of the Ray cluster came free within {PATIENCE:.0f} seconds; it has {processors}"
                )

    def _ask_for_worker(self) -> None:
        handle = self._kind.options(num_cpus=1, max_restarts=0).remote()
        self._coming[handle.about.remote()] = handle

    def hands(self, wait: float = 0.0) -> list[Hand]:
        """Return the workers that are there, those among them that have just come."""
        while self._coming:
            ready, _ = self.ray.wait(list(self._coming), num_returns=1, timeout=wait)
            if not ready:
                break
            handle = self._coming.pop(ready[0])
            about = self._meet(ready[0])
            if about is None:  # its machine was lost before it could begin
                self._ask_for_worker()
                wait = min(wait, 1.0)
                if not wait:
                    break
                continue
            if about.version != self._version:
                raise SettingError(
                    f"the worker on {about.machine} has other sources of surpass; install the same version everywhere"
                )
            self._hands.append(Hand(handle, about))
            wait = 0.0
        return self._hands

    def _meet(self, ready: Any) -> About | None:
        """Return who a worker is that was asked for, or None if it was lost on the way."""
        try:
            about: About = self.ray.get(ready)
        except Exception as error:
            said = str(error)
            if "No module named" in said:
                name = said.partition("No module named ")[2].split("'")[1]
                raise SettingError(
                    f"a worker of the Ray cluster has no {name}; install surpass there as it is here, with its extras"
                ) from None
            if isinstance(error, self.ray.exceptions.RayActorError) and "node" in said.lower():
                return None
            raise SettingError(f"a worker of the Ray cluster cannot begin: {cut(_one_line(said), 500)}") from None
        return about

    def some_hand(self) -> Hand:
        """Return the worker that holds the fewest actors, waiting for one if there is none."""
        began = time.monotonic()
        while not self.hands():
            if time.monotonic() - began > PATIENCE:
                raise SettingError("all workers of the Ray cluster are gone")
            self.hands(wait=1.0)
        return min(self._hands, key=lambda hand: len(hand.held))

    def lose(self, hand: Hand, *, on_purpose: bool = False) -> None:
        """Do without a worker from here on, and ask for another."""
        if hand in self._hands:
            self._hands.remove(hand)
            if not on_purpose:
                self.lost += 1
                _log.warning("the worker %d on %s was lost; others do its work", hand.about.process, hand.about.machine)
            with suppress(Exception):  # it is gone already, as a rule
                self.ray.kill(hand.handle)
            self._ask_for_worker()

    @property
    def count(self) -> int:
        """How many parts to cut a piece of work into: one for each worker."""
        return max(1, len(self.hands()))

    # Sending and receiving

    def put(self, sent: bytes) -> Any:
        """Return a reference to bytes that lie in the cluster's object store once, for all who are sent them."""
        try:
            return self.ray.put(sent)
        except self._full as error:
            raise _refuse_full(error) from None

    def receive(self, reference: Any) -> Any:
        """Return what a worker answers, or None if it was lost."""
        try:
            return self.ray.get(reference)
        except self._full as error:
            raise _refuse_full(error) from None
        except (
            self.ray.exceptions.RayActorError,
            self.ray.exceptions.ObjectLostError,
            self.ray.exceptions.WorkerCrashedError,
            self.ray.exceptions.NodeDiedError,
        ):
            return None

    @property
    def _full(self) -> tuple[type[Exception], ...]:
        return self.ray.exceptions.ObjectStoreFullError, self.ray.exceptions.OutOfDiskError

    # What is asked of a runner

    def run(self, jobs: Sequence[Job], watch: Watch | None = None) -> Generator[Ended]:
        """Run every job and yield each as it ends, in any order. Closing the generator ends the jobs still running."""
        where, waiting, losses = Path.cwd(), deque(jobs), Counter[str]()
        running: dict[Any, tuple[Hand, Job]] = {}
        try:
            while waiting or running:
                busy = {hand for hand, _ in running.values()}
                for hand in [hand for hand in self.hands() if hand not in busy][: len(waiting)]:
                    if self._sees(hand, where, waiting[0].folder):
                        job = waiting.popleft()
                        running[hand.handle.run_job.remote(job, where)] = hand, job
                if not running:
                    self.some_hand()
                    continue
                if watch:
                    watch(tuple(job for _, job in running.values()))
                for reference in self.ray.wait(list(running), num_returns=1, timeout=LOOK_EVERY)[0]:
                    hand, job = running.pop(reference)
                    ended = self.receive(reference)
                    if ended is not None:
                        yield Ended(job, *ended)
                        continue
                    self.lose(hand)
                    losses[job.name] += 1
                    _refuse_losses(losses[job.name], job.name)
                    waiting.appendleft(job)
        finally:
            for hand, _ in running.values():
                self.lose(hand, on_purpose=True)

    def _sees(self, hand: Hand, where: Path, folder: Path) -> bool:
        """Return whether a worker is there, once it is known that it sees the folder of the jobs."""
        if hand.sees_files:
            return True
        token, path = new_token(), folder.parent / TOKEN
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(token)
        except OSError as error:
            raise SettingError(f"{folder} cannot be written: {error.strerror}") from None
        try:
            sees = self.receive(hand.handle.sees.remote(where, path, token))
        finally:
            path.unlink(missing_ok=True)
        if sees is None:
            self.lose(hand)
            return False
        if not sees:
            raise SettingError(
                f"the worker on {hand.about.machine} does not see {(where / folder.parent)}: on a cluster, start in a"
                " folder that all of its machines share, and put --out there"
            )
        hand.sees_files = True
        return True

    def gather(self, make: Make, arguments: Sequence[tuple[Any, ...]]) -> RayActors:
        """Return actors, one for each of some arguments of `make`."""
        return RayActors(self, [write_make(make, words) for words in arguments], next(self._numbers))

    def close(self) -> None:
        """Let go of all workers, and of the cluster; one that was started here is ended."""
        for handle in [hand.handle for hand in self._hands] + list(self._coming.values()):
            with suppress(Exception):
                self.ray.kill(handle)
        self._hands, self._coming = [], {}
        if self._has_connected:
            self._has_connected = False
            self.ray.shutdown()


class RayActors(Actors):
    """Actors on the workers of a cluster."""

    def __init__(self, runner: RayRunner, makes: Sequence[bytes], number: int) -> None:
        self._runner, self._makes = runner, makes
        self._names = [f"{number}.{k}" for k in range(len(makes))]
        self._places: list[Hand | None] = [None] * len(makes)
        self._states: list[bytes | None] = [None] * len(makes)
        self._journal: list[bytes] = []
        """What all of them were told since their states were known."""
        self.sent = self.received = 0
        """How many bytes all of them were sent, and have answered with."""
        self.waited = 0.0
        """Seconds spent waiting for answers."""

    def tell(self, method: str, *arguments: Any) -> list[Any]:
        """Let every actor do something that may change it, and return what each answers, in their order."""
        call = write_call(method, arguments)
        shared = self._runner.put(call)
        self.sent += len(call) * len(self._names)
        found = self._answers([(k, shared) for k in range(len(self._names))])
        self._journal.append(call)
        return found

    def ask(self, method: str, parts: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the answer to each of some parts, given as arguments, in their order."""
        calls = [write_call(method, part) for part in parts]
        self.sent += sum(map(len, calls))
        return self._answers([(None, call) for call in calls])

    def save(self) -> list[Any]:
        """Return the state of each actor; one that is lost from here on goes on from it."""
        states = self.tell("save")
        self._keep(states)
        return states

    def load(self, states: Sequence[Any]) -> None:
        """Set each actor to a state."""
        self._keep(states)
        self._places = [None] * len(self._places)

    def _keep(self, states: Sequence[Any]) -> None:
        written = {id(state): pickle.dumps(state, pickle.HIGHEST_PROTOCOL) for state in states}
        self._states = [written[id(state)] for state in states]
        self._journal = []

    def close(self) -> None:
        """Let go of them."""
        for hand in {hand for hand in self._places if hand is not None}:
            hand.held.difference_update(self._names)
            with suppress(Exception):
                hand.handle.forget.remote(self._names)
        self._places = [None] * len(self._places)

    def _answers(self, calls: Sequence[tuple[int | None, Any]]) -> list[Any]:
        """Return the answer to each call of an actor, or of any if none is named; lost ones are made again."""
        answers: list[Any] = [None] * len(calls)
        todo, losses = deque(range(len(calls))), Counter[int]()
        waiting: dict[Any, tuple[int, int]] = {}
        idle = deque([*range(len(self._names))] * 2)  # a second call waits at the worker while it does the first
        while todo or waiting:
            while todo and (calls[todo[0]][0] is not None or idle):
                at = todo.popleft()
                k = calls[at][0]
                actor = idle.popleft() if k is None else k
                waiting[self._submit(actor, calls[at][1])] = at, actor
            began = time.monotonic()
            (reference, *_), _ = self._runner.ray.wait(list(waiting), num_returns=1)
            answer = self._runner.receive(reference)
            self.waited += time.monotonic() - began
            at, actor = waiting.pop(reference)
            idle.append(actor)
            if answer is None:
                self._lose(actor)
                losses[at] += 1
                _refuse_losses(losses[at], f"{at + 1} of {len(calls)}")
                todo.appendleft(at)
                continue
            self.received += len(answer)
            answers[at] = read_answer(answer)
        return answers

    def _submit(self, k: int, call: Any) -> Any:
        """Send a call to an actor, which is made first if no worker holds it."""
        place, remaking = self._places[k], None
        if place is None or place not in self._runner.hands():
            place = self._places[k] = self._runner.some_hand()
            place.held.add(self._names[k])
            remaking = Remaking(self._makes[k], self._states[k], tuple(self._journal))
            self.sent += len(remaking.make) + len(remaking.state or b"") + sum(map(len, remaking.journal))
        return place.handle.do.remote(self._names[k], call, remaking)

    def _lose(self, k: int) -> None:
        place, self._places[k] = self._places[k], None
        if place is not None:
            self._runner.lose(place)


def _refuse_losses(losses: int, what: str) -> None:
    """Raise an error about a part of the work that is lost again and again."""
    if losses > MOST_LOSSES:
        raise SettingError(
            f"part {what} of the work was lost {losses} times with its worker; perhaps their memory is not enough"
        )


def _refuse_full(error: Exception) -> SettingError:
    return SettingError(
        "the object store of the Ray cluster is full: start its nodes with more --object-store-memory, or give fewer or"
        f" smaller instances ({cut(_one_line(str(error)), 160)})"
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())
