"""An episode as text."""

from __future__ import annotations

from surpass.engine.picture import draw_state
from surpass.environments.episodes import Episodes
from surpass.machine.state import SIZE, Outcome


def draw_episode(episodes: Episodes, row: int, labels: tuple[str, ...] = ()) -> str:
    """Return one episode as text: its lists with the registers beneath the positions they hold, and everything else.

    `labels` says how to write the values of a user's own list, whose items are their ranks.
    """
    batch, task = episodes.batch, episodes.settings.task
    outcome = Outcome(int(batch.outcomes[row])).reason
    lines = [f"{task.name}, size {batch.registers[row, SIZE]}, step {batch.steps[row]}: {outcome}"]
    lines += draw_state(task, batch, row, labels)
    lines.append(f"previous action {episodes.previous_action(row)}")
    return "\n".join(lines)
