"""The viewer: films as one self-contained page for a browser, or as a part of another page."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

from surpass.errors import SettingError
from surpass.visualize.film import Film

LONGEST_TEXT = 120
"""How long a value may be before its middle is left out."""
LONGEST_INSTANCE = 200
_LONG_NUMBER = re.compile(r"\d+\.\d{4,}(?:e[+-]?\d+)?")
_SCRIPTS, _STYLES = ("scene.js", "viewer.js"), ("viewer.css",)


def viewer_page(films: Sequence[Film], title: str) -> str:
    """Return a whole page with one viewer of some films; it needs and asks for nothing but itself."""
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            content_policy(),
            '<meta name="color-scheme" content="light dark">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{html.escape(title)}</title>",
            viewer_assets(),
            "</head>",
            '<body class="surpass-page">',
            f"<h1>{html.escape(title)}</h1>",
            viewer_fragment(films, element_id="viewer"),
            "</body>",
            "</html>",
            "",
        ]
    )


def viewer_fragment(films: Sequence[Film], *, element_id: str) -> str:
    """Return the part of a page that shows one or two films in step; the page needs `viewer_assets` once."""
    if not re.fullmatch(r"[A-Za-z][\w-]*", element_id):
        raise SettingError(f"the element's id is {element_id!r}; it must be a letter, then letters, digits, - and _")
    if not 1 <= len(films) <= 2:
        raise SettingError(f"a viewer shows one film or two side by side, not {len(films)}")
    data = json.dumps([film_data(film) for film in films], separators=(",", ":"), ensure_ascii=True)
    # Nothing in the data can end its element or begin another.
    safe = data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    words = "; ".join(map(repr, films))
    return (
        f'<section class="surpass-viewer" id="{element_id}" aria-label="{html.escape(words)}">'
        f"<noscript><p>{html.escape(words)}. Scripts are switched off, so nothing moves.</p></noscript></section>\n"
        f'<script type="application/json" id="{element_id}-films">{safe}</script>'
    )


@cache
def viewer_assets() -> str:
    """Return the style and the script of viewers, which a page needs once, anywhere."""
    return f"<style>\n{_style()}</style>\n<script>{_script()}</script>"


@cache
def content_policy(*scripts: str) -> str:
    """Return the element for a page's head that forbids every request, and every script but the viewer's and these."""
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in (_script(), *scripts))
    policy = f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:"
    return f'<meta http-equiv="Content-Security-Policy" content="{policy}">'


def film_data(film: Film) -> dict[str, Any]:
    """Return a film as plain data for the script: texts are told once and named by their numbers."""
    numbers: dict[str, int] = {}

    def number(text: str) -> int:
        return numbers.setdefault(text, len(numbers))

    plan, moves = film.plan, film.moves
    bars = [
        {"name": name, "values": list(values), "texts": [f"{value:.3g}" for value in values]}
        for name, values in film.stage.fixed.items()
    ]
    lists = [
        {"name": column.name, "first": plan.first_slot(k), "count": len(column.places), "flags": column.is_flags}
        for k, column in enumerate(plan.lists)
    ]
    start = [number(text) for text in film.start]
    steps = {
        "action": [number(move.action) for move in moves],
        "rule": [move.rule for move in moves],
        "changes": [[part for slot, text in move.changes for part in (slot, number(text))] for move in moves],
        "function": [number(move.function) for move in moves],
        "previous": [number(move.previous) for move in moves],
        "stack": [[move.kept, *map(number, move.opened)] for move in moves],
        "bracket": [move.bracket for move in moves] if plan.bracket else [],
        "score": [film.first_score, *(move.score for move in moves)],
    }
    return {
        "task": film.task.name,
        "agent": film.agent,
        "instance": _shorten(_LONG_NUMBER.sub(lambda found: f"{float(found[0]):.3g}", film.instance), LONGEST_INSTANCE),
        "size": plan.size,
        "outcome": film.outcome,
        "ending": film.ending,
        "total": film.steps,
        "score": film.score,
        "measure": film.task.measure,
        "scoreName": film.task.memory.reals[0],
        "notices": film.notices,
        "lists": lists,
        "bars": bars,
        "names": list(plan.names),
        "positions": plan.positions,
        "values": [slot for slot in plan.values if slot not in film.idle],
        "awaited": sorted(film.awaited),
        "level": plan.level,
        "bracket": plan.bracket,
        "gauges": [
            {"name": gauge.name, "level": level, "mark": mark, "bars": gauge.bars} for gauge, level, mark in plan.gauges
        ],
        "calls": film.task.memory.saved is not None,
        "texts": [_shorten(text, LONGEST_TEXT) for text in numbers],
        "heights": [film.stage.number(text) for text in numbers],
        "start": start,
        "steps": steps,
        "listing": [{"text": line.text, "rules": line.rules} for line in film.listing.lines],
        "note": film.listing.note,
    }


def _shorten(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most // 2]} … {text[-most // 4 :]}"


@cache
def _script() -> str:
    parts = "\n".join(_read(name) for name in _SCRIPTS)
    return f'\n(function () {{\n"use strict";\n{parts}}})();\n'


@cache
def _style() -> str:
    return "\n".join(_read(name) for name in _STYLES)


def _read(name: str) -> str:
    return resources.files("surpass.visualize").joinpath(name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
