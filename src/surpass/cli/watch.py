"""`surpass watch`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

from surpass.cli.display import ProgressDisplay
from surpass.cli.options import AgentName, Instance, Limit, OutputFile, Seed, TaskName, option
from surpass.errors import SettingError


def watch_command(
    agent: AgentName,
    against: Annotated[str | None, option("Another agent, in step on the same instance.", "AGENT")] = None,
    instance: Instance = None,
    task: TaskName = None,
    size: Annotated[int, option("The size of a drawn instance.")] = 12,
    seed: Seed = 0,
    data: Annotated[str | None, option("The distribution of a drawn instance.", "NAME")] = None,
    queries: Annotated[str | None, option("For search: mixed, present, absent or paper.")] = None,
    limit: Limit = None,
    out: Annotated[
        Path | None, option("The file to write: .html, .gif or .svg.  [default: trace.html]", "FILE")
    ] = None,
    terminal: Annotated[bool, option("Play in the terminal instead.", name="--terminal")] = False,
    speed: Annotated[float | None, option("Steps a second in the terminal, pictures a second in a GIF.")] = None,
    listing: Annotated[bool, option("Show the program beside the run.")] = True,
    open_page: Annotated[bool, option("Open the page where there is a screen.", name="--open/--no-open")] = True,
) -> None:
    """Watch an agent run: a page for the browser with the bars, the arrows, the call stack and the rule that fires.

    In the page: space plays and stops, the arrow keys step, home and end jump, + and - change the speed.

    Example: surpass watch zoo:sort-bubble/improvement-insertion_sort --against teacher:insertion_sort
    """
    import webbrowser

    from surpass import api
    from surpass.reading import Range, check_range
    from surpass.visualize.watched import SPEED, check_kind, check_size

    if terminal and out is not None:
        raise SettingError("--terminal and --out do not go together: give one of them")
    if speed is not None:
        check_range("speed", speed, Range(0.1, 1000.0))
    target = out or Path("trace.html")
    kind = "" if terminal else check_kind(target)
    if not terminal:
        OutputFile(target)
    if instance is None and kind != ".html":
        check_size(size)
    with ProgressDisplay() as progress:
        seen = api.watch(
            agent,
            instance,
            against=against,
            task=task,
            size=size,
            seed=seed,
            data=data,
            queries=queries,
            limit=limit,
            listing=listing,
            progress=progress,
        )
        if not terminal:
            seen.write(target, speed=speed or SPEED, progress=progress)
    if terminal:
        seen.play(speed=speed)
    print(seen, end="")
    if not terminal:
        shown = kind == ".html" and open_page and _has_screen() and webbrowser.open(target.resolve().as_uri())
        print(f"{target}: {target.stat().st_size / 1000:,.0f} kB{', shown in your browser' if shown else ''}")


def _has_screen() -> bool:
    """Tell whether somebody sits before a screen: a person at a terminal of a machine that has one."""
    if not sys.stdout.isatty():
        return False
    if sys.platform in ("darwin", "win32"):
        return "SSH_CONNECTION" not in os.environ
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
