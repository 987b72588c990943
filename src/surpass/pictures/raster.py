"""Shapes as pixels."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from PIL import Image, ImageColor, ImageDraw, ImageFont

from surpass.pictures.layout import (
    ARROWS,
    BAR,
    BRACKET,
    COLOURS,
    FAINT,
    INK,
    LEVEL,
    PAPER,
    Box,
    Line,
    Polygon,
    Shape,
    Text,
)

_SHADES = 4
"""Into how many steps the edge of a letter fades into its ground."""
_ANCHORS = {"left": "lm", "middle": "mm", "right": "rm"}


@lru_cache(maxsize=16)
def _font(size: float) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Return the letters that come with Pillow."""
    return ImageFont.load_default(size)


def draw_image(shapes: Iterable[Shape], width: int, height: int) -> Image.Image:
    """Return shapes as an image."""
    image = Image.new("RGB", (width, height), PAPER)
    draw = ImageDraw.Draw(image)
    for shape in shapes:
        if isinstance(shape, Box) and shape.width and shape.height:
            # Pillow includes the last pixel; a shape narrower than one is drawn as one.
            x, y = round(shape.x), round(shape.y)
            right, bottom = max(x, round(shape.x + shape.width) - 1), max(y, round(shape.y + shape.height) - 1)
            draw.rectangle((x, y, right, bottom), fill=shape.colour)
        elif isinstance(shape, Line):
            draw.line((*shape.start, *shape.end), fill=shape.colour, width=max(1, round(shape.width)))
        elif isinstance(shape, Polygon):
            draw.polygon(list(shape.points), fill=shape.colour)
        elif isinstance(shape, Text):
            draw.text((shape.x, shape.y), shape.text, shape.colour, _font(shape.size), _ANCHORS[shape.align])
    return image


@lru_cache(maxsize=1)
def palette() -> Image.Image:
    """Return an image whose palette holds every colour of pictures, and the shades of the letters' edges."""
    colours: list[tuple[int, ...]] = [ImageColor.getrgb(colour) for colour in COLOURS]
    for letter in (INK, FAINT, LEVEL, *ARROWS):
        for ground in (PAPER, BAR, BRACKET):
            a, b = ImageColor.getrgb(letter), ImageColor.getrgb(ground)
            for k in range(1, _SHADES):
                colours.append(tuple((x * k + y * (_SHADES - k)) // _SHADES for x, y in zip(a, b, strict=True)))
    image = Image.new("P", (1, 1))
    image.putpalette([part for colour in colours for part in colour])
    return image
