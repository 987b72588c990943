"""The viewer: recordings as one self-contained page for a browser, or as a part of another page."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from surpass.errors import SettingError
from surpass.printing import truncate
from surpass.visualize.page import render
from surpass.visualize.recording import Recording

LONGEST_TEXT = 120
"""How long a value may be before its middle is left out."""
LONGEST_INSTANCE = 200
_LONG_NUMBER = re.compile(r"\d+\.\d{4,}(?:e[+-]?\d+)?")


def viewer_page(recordings: Sequence[Recording], title: str) -> str:
    """Return a whole page with one viewer of some recordings; it needs and asks for nothing but itself."""
    return render("viewer.html.j2", title=title, viewer=Markup(viewer_fragment(recordings, element_id="viewer")))


def viewer_fragment(recordings: Sequence[Recording], *, element_id: str) -> str:
    """Return the part of a page that shows one or two recordings in step; the page needs `viewer_assets` once."""
    if not re.fullmatch(r"[A-Za-z][\w-]*", element_id):
        raise SettingError(f"the element's id is {element_id!r}; it must be a letter, then letters, digits, - and _")
    if not 1 <= len(recordings) <= 2:
        raise SettingError(f"a viewer shows one recording or two side by side, not {len(recordings)}")
    data = json.dumps([recording_data(recording) for recording in recordings], separators=(",", ":"), ensure_ascii=True)
    # Nothing in the data can end its element or begin another.
    safe = data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    words = "; ".join(map(repr, recordings))
    return (
        f'<section class="surpass-viewer" id="{element_id}" aria-label="{html.escape(words)}">'
        f"<noscript><p>{html.escape(words)}. Scripts are switched off, so nothing moves.</p></noscript></section>\n"
        f'<script type="application/json" id="{element_id}-recordings">{safe}</script>'
    )


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
    lists = [
        {"name": column.name, "first": plan.first_slot(k), "count": len(column.places), "flags": column.is_flags}
        for k, column in enumerate(plan.lists)
    ]
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
    return {
        "task": recording.task.name,
        "agent": recording.agent,
        "instance": truncate(
            _LONG_NUMBER.sub(lambda found: f"{float(found[0]):.3g}", recording.instance), LONGEST_INSTANCE, tail=50
        ),
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
        "values": [slot for slot in plan.values if slot not in recording.idle],
        "awaited": sorted(recording.awaited),
        "level": plan.level,
        "bracket": plan.bracket,
        "gauges": [
            {"name": gauge.name, "level": level, "mark": mark, "bars": gauge.bars} for gauge, level, mark in plan.gauges
        ],
        "calls": recording.task.memory.saved is not None,
        "texts": [truncate(text, LONGEST_TEXT, tail=30) for text in numbers],
        "heights": [recording.renderer.number(text) for text in numbers],
        "start": start,
        "steps": steps,
        "listing": [{"text": line.text, "rules": line.rules} for line in recording.listing.lines],
        "note": recording.listing.note,
    }
