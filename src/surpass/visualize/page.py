"""Pages from templates: text in them stays text, and they ask for nothing from outside."""

from __future__ import annotations

import base64
import hashlib
import shlex
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from surpass.learning.recipes import setting_text
from surpass.printing import truncate

if TYPE_CHECKING:
    from jinja2 import Environment

MOST_CHARACTERS = 20_000
"""Longer texts of checks and notes are truncated."""


def render(template: str, **values: Any) -> str:
    """Return a page; `viewer_assets` and `content_policy` are among the values of every template."""
    given = {"viewer_assets": as_markup(viewer_assets()), "content_policy": as_markup(content_policy())}
    return _environment().get_template(template).render(**given, **values)


def as_markup(text: str) -> str:
    """Return text that a template does not escape."""
    from markupsafe import Markup

    return Markup(text)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("surpass.visualize")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True)
    environment.filters |= {
        "command": shlex.join,
        "setting_text": setting_text,
        "shorten": lambda text: truncate(text, MOST_CHARACTERS),
        "number": lambda value: f"{value:,}",
    }
    return environment


@cache
def viewer_assets() -> str:
    """Return the style and the script of viewers, which a page needs once, anywhere."""
    return f"<style>\n{_read('viewer.css')}</style>\n<script>{_script()}</script>"


@cache
def content_policy(*scripts: str) -> str:
    """Return the element for a page's head that forbids every request, and every script but the viewer's and these."""
    digests = (hashlib.sha256(script.encode()).digest() for script in (_script(), *scripts))
    hashes = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    policy = f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:"
    return f'<meta http-equiv="Content-Security-Policy" content="{policy}">'


@cache
def _script() -> str:
    return f'\n(function () {{\n"use strict";\n{_read("scene.js")}\n{_read("viewer.js")}}})();\n'


def _read(name: str) -> str:
    return files("surpass.visualize").joinpath("templates", name).read_text(encoding="utf-8")
