"""An episode as text or as pixels, drawn from its task's declaration alone."""

from __future__ import annotations

import numpy as np

from surpass.arrays import Array
from surpass.engine.picture import draw_state
from surpass.environments.episodes import Episodes
from surpass.extras import load
from surpass.machine.state import DEPTH, FUNCTION, SIZE, Outcome
from surpass.pictures.layout import Caption, lay_out
from surpass.pictures.plan import plan_of
from surpass.pictures.scene import Renderer

PICTURE = (640, 360)
"""The width and height of an episode in pixels; even, as coders of films need it."""


def render_episode(episodes: Episodes, row: int) -> str | Array | None:
    """Return one episode as text or as pixels [height, width, 3], as the render mode says; None without one."""
    if not episodes.settings.render_mode:
        return None
    draw = _paint if episodes.settings.render_mode == "rgb_array" else _write
    return draw(episodes, row, episodes.labels.get(row, ()))


def _write(episodes: Episodes, row: int, labels: tuple[str, ...]) -> str:
    """Return one episode as text: its lists with the registers beneath the positions they hold, and everything else."""
    batch, task = episodes.batch, episodes.settings.task
    outcome = Outcome(int(batch.outcomes[row])).reason
    lines = [f"{task.name}, size {batch.registers[row, SIZE]}, step {batch.steps[row]}: {outcome}"]
    lines += draw_state(task, batch, row, labels)
    lines.append(f"previous action {episodes.previous_action(row)}")
    return "\n".join(lines)


def _paint(episodes: Episodes, row: int, labels: tuple[str, ...]) -> Array:
    """Return one episode as a new array of pixels [height, width, 3]: its bars, arrows, gauges and words."""
    batch, task = episodes.batch, episodes.settings.task
    registers, items, reals = batch.registers[row], batch.items[row], batch.reals[row]
    plan = plan_of(task, int(registers[SIZE]))
    scene = Renderer(plan, reals, labels).scene(plan.read(registers, items, reals, labels))
    steps, outcome = int(batch.steps[row]), Outcome(int(batch.outcomes[row]))
    caption = Caption(
        title=task.name,
        progress=f"step {steps}" + ("" if outcome is Outcome.RUNNING else f": {outcome.reason}"),
        action=episodes.previous_action(row) if steps else "",
        call="" if task.memory.saved is None else f"function {registers[FUNCTION] or None}, depth {registers[DEPTH]}",
    )
    width, height = PICTURE
    return np.array(load("surpass.pictures.raster").draw_image(lay_out(scene, caption, width, height), width, height))
