"""Pages from templates: text in them stays text, and they ask for nothing from outside."""

from __future__ import annotations

import base64
import hashlib
import shlex
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from surpass.learning.recipes import setting_text
from surpass.printing import count, truncate

MOST_CHARACTERS = 20_000
"""Longer texts of checks and notes are truncated."""


def render(template: str, **values: Any) -> str:
    """Return a page; `viewer_assets` and `content_policy` are among the values of every template."""
    given = {"viewer_assets": Markup(viewer_assets()), "content_policy": Markup(_content_policy())}
    return _environment().get_template(template).render(**given, **values)


@cache
def _environment() -> Environment:
    loader = PackageLoader("surpass.visualize")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True)
    environment.filters |= {
        "command": shlex.join,
        "setting_text": setting_text,
        "shorten": lambda text: truncate(text, MOST_CHARACTERS),
        "number": lambda value: f"{value:,}",
        "count": count,
    }
    return environment


def viewer_assets() -> str:
    """Return the style and the script of viewers, which a page needs once, anywhere."""
    return f"<style>\n{_read('viewer.css')}</style>\n<script>{_script()}</script>"


def _content_policy() -> str:
    """Return the element for a page's head that forbids every request, and every script but the viewer's."""
    script = base64.b64encode(hashlib.sha256(_script().encode()).digest()).decode()
    policy = f"default-src 'none'; script-src 'sha256-{script}'; style-src 'unsafe-inline'; img-src data:"
    return f'<meta http-equiv="Content-Security-Policy" content="{policy}">'


@cache
def _script() -> str:
    return f'\n(function () {{\n"use strict";\n{_read("scene.js")}\n{_read("viewer.js")}}})();\n'


def _read(name: str) -> str:
    return files("surpass.visualize").joinpath("templates", name).read_text(encoding="utf-8")
