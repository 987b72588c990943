"""Insertion sort on sort-bubble, n = 100: against sorting-gym 0.0.9, the public re-implementation.

sorting-gym needs an old gym and an old NumPy, so it runs in a process of its own, in the environment that `make bench`
makes of `peers.txt`. On the lists that it sorts it must take as many steps as our insertion sort.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from bench.contestants import compiled, draw, stepped
from bench.report import Measurement, PeerMissingError, Ratio, Report
from bench.timing import Timing, best_of
from surpass.errors import WrongAnswerError
from surpass.tasks.task import Instances

PEERS = Path(sys.prefix) / "peers"
"""The peers' environment, inside ours."""
SCRIPT = Path(__file__).parent / "peers" / "run_sorting_gym.py"

SIZE, LISTS, PEER_LISTS, EPISODES = 100, 1000, 2, 2


def measure(rounds: int) -> Report:
    teacher = "insertion_sort"
    lists = draw(teacher, SIZE, LISTS)
    shared = lists.part(0, PEER_LISTS)
    expected = compiled(teacher, shared)().steps

    def peer() -> Timing:
        timing = run_peer(shared)
        if timing.steps != expected:
            raise WrongAnswerError(f"sorting-gym took {timing.steps} steps for what takes us {expected}")
        return timing

    peer()
    ours, environment, theirs = best_of(rounds, [compiled(teacher, lists), stepped(teacher, SIZE, EPISODES), peer])
    return Report(
        (
            Measurement("engine, 1 thread", ours),
            Measurement("our Gymnasium environment", environment),
            Measurement("sorting-gym 0.0.9", theirs),
        ),
        (
            Ratio("engine / sorting-gym", ours.rate / theirs.rate),
            Ratio("our Gymnasium environment / sorting-gym", environment.rate / theirs.rate),
        ),
    )


def run_peer(instances: Instances) -> Timing:
    """Return how long sorting-gym took to sort these lists."""
    python = PEERS / "bin" / "python"
    if not python.exists():
        raise PeerMissingError(f"sorting-gym is not installed in {PEERS}; `make bench` does that")
    lists = json.dumps(instances.items.tolist())
    done = subprocess.run([python, SCRIPT], input=lists, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise PeerMissingError(f"sorting-gym does not run in {PEERS}: {reason}")
    answer = json.loads(done.stdout)
    return Timing(answer["steps"], answer["seconds"])
