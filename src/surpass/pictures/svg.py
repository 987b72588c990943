"""Shapes as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from surpass.pictures.layout import Box, Line, Polygon, Shape, Text

_ANCHORS = {"left": "start", "middle": "middle", "right": "end"}


def write_svg(shapes: Iterable[Shape], width: float, height: float, title: str) -> str:
    """Return shapes as a file of SVG; what looks like markup in texts is written as text."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}"'
        f' height="{height:g}" font-family="Helvetica, Arial, sans-serif" role="img">',
        f"<title>{_text(title)}</title>",
        *_elements(shapes),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _elements(shapes: Iterable[Shape]) -> Iterator[str]:
    for shape in shapes:
        if isinstance(shape, Box):
            size = f'width="{shape.width:.2f}" height="{shape.height:.2f}"'
            yield f'<rect x="{shape.x:.2f}" y="{shape.y:.2f}" {size} fill="{shape.colour}"/>'
        elif isinstance(shape, Line):
            (x1, y1), (x2, y2) = shape.start, shape.end
            ends = f'x1="{x1:.2f}" y1="{y1:.2f}" x2="{x2:.2f}" y2="{y2:.2f}"'
            yield f'<line {ends} stroke="{shape.colour}" stroke-width="{shape.width:g}"/>'
        elif isinstance(shape, Polygon):
            points = " ".join(f"{x:.2f},{y:.2f}" for x, y in shape.points)
            yield f'<polygon points="{points}" fill="{shape.colour}"/>'
        elif isinstance(shape, Text) and shape.text:
            at = f'x="{shape.x:.2f}" y="{shape.y + 0.35 * shape.size:.2f}"'
            look = f'font-size="{shape.size:g}" fill="{shape.colour}" text-anchor="{_ANCHORS[shape.align]}"'
            yield f'<text {at} {look} xml:space="preserve">{_text(shape.text)}</text>'


def _text(text: str) -> str:
    """Return a text as XML holds it: without what XML cannot hold."""
    return escape("".join(c if c.isprintable() else "�" for c in text), quote=False)
