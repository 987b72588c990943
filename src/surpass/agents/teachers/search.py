"""Teachers of search."""

from __future__ import annotations

from surpass.agents.teacher import Do, See, teacher
from surpass.machine.instructions import Action
from surpass.tasks.search import SEARCH
from surpass.tasks.variables import NAMES


@teacher(SEARCH)
def linear_search(see: See, do: Do) -> Action:
    """Walk from the first position on; answer as soon as any variable shows the query."""
    for number, v in enumerate(NAMES, 1):
        if see(f"q = A[{v}]"):
            return do.Found(number)
    if see("q < A[v1]") or see("v1 = high"):
        return do.NotFound()
    return do.MoveVar(1, +1)


@teacher(SEARCH)
def binary_search(see: See, do: Do) -> Action | None:
    """Look at the middle of the range and drop the half without the query."""
    i, low, high = 1, 2, 3
    if see("v2 > v3") or (see("v1 = v2") and see("q < A[v1]")) or (see("v1 = v3") and see("q > A[v1]")):
        return do.NotFound()
    if see("q = A[v1]"):
        return do.Found(i)
    previous = see.previous
    if previous in (None, do.AssignVar(low, i), do.AssignVar(high, i)):
        return do.AssignMid(i, low, high)
    if previous == do.AssignMid(i, low, high):
        return do.MoveVar(i, +1) if see("q > A[v1]") else do.MoveVar(i, -1)
    if previous == do.MoveVar(i, +1):
        return do.AssignVar(low, i)
    if previous == do.MoveVar(i, -1):
        return do.AssignVar(high, i)
    return None


@teacher(SEARCH)
def bracket_search(see: See, do: Do) -> Action:
    """Halve the bracket that the variables themselves show, one instruction per halving."""
    numbers = range(1, len(NAMES) + 1)
    for k in numbers:
        if see(f"q = A[v{k}]"):
            return do.Found(k)
    if _shows_neighbours(see):
        return do.NotFound()
    below = [k for k in numbers if see(f"q > A[v{k}]")]
    above = [k for k in numbers if see(f"q < A[v{k}]")]
    if not below or not above:
        return do.NotFound()
    low = below[0]
    for k in below[1:]:
        low = k if see(f"v{low} < v{k}") else low
    high = above[0]
    for k in above[1:]:
        high = k if see(f"v{high} > v{k}") else high
    spare = next(k for k in numbers if k not in (low, high))
    return do.AssignMid(spare, low, high)


def _shows_neighbours(see: See) -> bool:
    """Tell whether the last step took the middle of two neighbours around the query: it is then the lower of them."""
    previous = see.previous
    if previous is None or previous.instruction != "AssignMid":
        return False
    middle, low, high = map(str, previous.operands)
    if middle in (low, high) or not (see(f"q > A[v{low}]") and see(f"q < A[v{high}]")):
        return False
    first, second = sorted((middle, low))
    return see(f"v{first} = v{second}")
