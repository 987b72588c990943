"""The command line: run some benchmarks or all, print what they found and save it."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.registry import BENCHMARKS, find_benchmarks
from bench.report import PeerMissingError, describe_machine, show
from surpass.errors import SurpassError

QUIET = 0.3
"""The load average up to which the machine counts as quiet."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Speed, as ratios measured in one run.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which to run: {', '.join(BENCHMARKS)} (all)")
    parser.add_argument("--rounds", type=int, default=10, help="how often to measure; the best counts (%(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="save what was found")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error(f"--rounds is {options.rounds}; it must be 1 or more")
    try:
        found = run(options.names, options.rounds)
    except SurpassError as error:
        sys.exit(f"bench: {error}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")


def run(names: list[str], rounds: int) -> dict[str, Any]:
    """Run benchmarks, show each as it ends, and return everything as JSON values."""
    console = Console()
    benchmarks = find_benchmarks(names)
    machine = describe_machine()
    print(f"best of {rounds}; a step is one executed instruction")
    print(", ".join(f"{key} {value}" for key, value in machine.items()))
    if machine["load"] is not None and machine["load"] > QUIET:
        print(f"the machine is busy (load above {QUIET}): rates are low, and a second thread gains little")
    print(flush=True)
    reports: dict[str, Any] = {}
    for benchmark in benchmarks:
        try:
            report = benchmark.measure(rounds)
        except PeerMissingError as error:
            print(f"{benchmark.name}: left out: {error}\n", flush=True)
            reports[benchmark.name] = {"left_out": str(error)}
            continue
        show(console, benchmark.name, benchmark.summary, report)
        reports[benchmark.name] = report.to_json()
    return {"machine": machine, "rounds": rounds, "benchmarks": reports}


if __name__ == "__main__":
    main()
