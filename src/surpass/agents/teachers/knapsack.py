"""Teachers of knapsack."""

from __future__ import annotations

from surpass.agents.teacher import Do, See, teacher
from surpass.machine.instructions import Action
from surpass.tasks.knapsack import KNAPSACK


@teacher(KNAPSACK)
def depth_first(see: See, do: Do) -> Action | None:
    """Try each item in and then out, and all the items behind it for both."""
    previous = see.previous
    if previous is None:
        return do.Return() if see("i = n") or see("not w <= W") else do.Put()
    if previous == do.Put() or previous == do.Pop():
        return do.MoveVar(+1)
    if previous == do.MoveVar(+1):
        return do.Knapsack()
    if previous == do.Knapsack():
        return do.MoveVar(-1)
    if previous == do.MoveVar(-1):
        return do.Pop() if see("i in solution") else do.Return()
    return None
