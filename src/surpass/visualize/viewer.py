"""Pages from templates, and the viewer in them: text stays text, and pages ask for nothing from outside."""

from __future__ import annotations

import base64
import hashlib
import re
import shlex
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from surpass.learning.recipes import setting_text
from surpass.printing import count, truncate
from surpass.visualize.recording import Recording

MOST_CHARACTERS = 20_000
"""Longer texts of checks and notes are truncated."""
LONGEST_TEXT = 120
"""How long a value may be before its middle is left out."""
LONGEST_INSTANCE = 200
_LONG_NUMBER = re.compile(r"\d+\.\d{4,}(?:e[+-]?\d+)?")


def render(template: str, **values: Any) -> Markup:
    """Return a page; `viewer_assets` and `content_policy` are among the values of every template."""
    given = {"viewer_assets": viewer_assets(), "content_policy": _content_policy()}
    return Markup(_environment().get_template(template).render(**given, **values))


@cache
def _environment() -> Environment:
    loader = PackageLoader("surpass.visualize")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True)
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    environment.filters |= {
        "command": shlex.join,
        "count": count,
        "number": lambda value: f"{value:,}",
        "setting_text": setting_text,
        "shorten": lambda text: truncate(text, MOST_CHARACTERS),
    }
    return environment


def viewer_assets() -> Markup:
    """Return the style and the script of viewers, which a page needs once, anywhere."""
    return Markup(f"<style>\n{_read('viewer.css')}</style>\n<script>{_script()}</script>")


def _content_policy() -> Markup:
    """Return the element for a page's head that forbids every request, and every script but the viewer's."""
    script = base64.b64encode(hashlib.sha256(_script().encode()).digest()).decode()
    policy = f"default-src 'none'; script-src 'sha256-{script}'; style-src 'unsafe-inline'; img-src data:"
    return Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">')


@cache
def _script() -> str:
    return f'\n(function () {{\n"use strict";\n{_read("scene.js")}\n{_read("viewer.js")}}})();\n'


def _read(name: str) -> str:
    return files("surpass.visualize").joinpath("templates", name).read_text(encoding="utf-8")


def viewer_page(recordings: Sequence[Recording], title: str) -> str:
    """Return a whole page with one viewer of some recordings; it needs and asks for nothing but itself."""
    return str(render("viewer.html.j2", title=title, viewer=viewer_fragment(recordings)))


def viewer_fragment(recordings: Sequence[Recording], *, element_id: str = "viewer") -> Markup:
    """Return the part of a page that shows one or two recordings in step; the page needs `viewer_assets` once."""
    data, words = [recording_data(recording) for recording in recordings], "; ".join(map(repr, recordings))
    return render("recordings.html.j2", recordings=data, words=words, element_id=element_id)


def recording_data(recording: Recording) -> dict[str, Any]:
    """Return a recording as plain data for the script: texts are told once and named by their numbers."""
    numbers: dict[str, int] = {}

    def number(text: str) -> int:
        return numbers.setdefault(text, len(numbers))

    plan, moves = recording.plan, recording.moves
    bars = [
        {"name": name, "values": list(values), "texts": [f"{value:.3g}" for value in values]}
        for name, values in recording.renderer.fixed.items()
    ]
    lists, first = [], 0
    for name, places, is_flags in plan.lists:
        lists.append({"name": name, "first": first, "count": len(places), "flags": is_flags})
        first += len(places)
    start = [number(text) for text in recording.start]
    steps = {
        "action": [number(move.action) for move in moves],
        "rule": [move.rule for move in moves],
        "changes": [[part for slot, text in move.changes for part in (slot, number(text))] for move in moves],
        "function": [number(move.function) for move in moves],
        "previous": [number(move.previous) for move in moves],
        "stack": [[move.kept, *map(number, move.opened)] for move in moves],
        "bracket": [move.bracket for move in moves] if plan.bracket else [],
        "score": [recording.first_score, *(move.score for move in moves)],
    }
    instance = _LONG_NUMBER.sub(lambda found: f"{float(found[0]):.3g}", recording.instance)
    return {
        "task": recording.task.name,
        "agent": recording.agent,
        "instance": truncate(instance, LONGEST_INSTANCE, tail=50),
        "size": plan.size,
        "outcome": recording.outcome,
        "ending": recording.ending,
        "total": recording.steps,
        "score": recording.score,
        "measure": recording.task.measure,
        "scoreName": recording.task.memory.reals[0],
        "notices": recording.notices,
        "lists": lists,
        "bars": bars,
        "names": list(plan.names),
        "positions": plan.positions,
        "rows": plan.rows,
        "values": [slot for slot in plan.values if slot not in recording.idle],
        "awaited": sorted(recording.awaited),
        "level": plan.level,
        "bracket": plan.bracket,
        "gauges": [
            {"name": gauge.name, "level": level, "mark": mark, "bars": gauge.bars} for gauge, level, mark in plan.gauges
        ],
        "calls": recording.calls,
        "texts": [truncate(text, LONGEST_TEXT, tail=30) for text in numbers],
        "heights": [recording.renderer.number(text) for text in numbers],
        "start": start,
        "steps": steps,
        "listing": [{"text": line.text, "rules": line.rules} for line in recording.listing.lines],
        "note": recording.listing.note,
    }
