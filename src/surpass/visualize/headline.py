"""What was learned, in one plain sentence."""

from __future__ import annotations

import math
from typing import NamedTuple

from surpass.agents.run_task import resuming
from surpass.evaluation.comparison import ComparisonCell, ComparisonRow, ComparisonTable
from surpass.printing import count, show_number
from surpass.visualize.subjects import Subject

LEARNED = {
    "imitation": "was trained to answer like {teacher}",
    "rl": "learned from nothing, by its own tries",
    "rl+imitation": "learned by its own tries, with {teacher} as a teacher",
    "discover": "was found by a search over programs",
    "improvement": "was found by editing the program of {teacher} and keeping what saves steps",
}
MOST_CHANGE = 10.0
"""A larger change says nothing as a percentage, nor does one of a mean below 0."""


class Headline(NamedTuple):
    """What was learned: a sentence, and whether it is a success."""

    text: str
    tone: str
    """`good`, `even` or `bad`."""


def write_headline(subject: Subject, table: ComparisonTable | None, teacher: str) -> Headline:
    """Return the sentence at the top of a report; `teacher` is the label of the row to compare with."""
    if subject.agent is None or table is None:
        missing = "This run has not come far enough to leave an agent that can be run."
        if subject.history is None:
            return Headline(missing, "bad")
        done = count(len(subject.history.rows), "round")
        goes_on = resuming(subject.history.recipe, subject.history.folder)
        return Headline(f"{missing} It has done {done} so far. To continue it: {goes_on}", "bad")
    own = next(row for row in table.rows if row.label == subject.label and row.against in (teacher, ""))
    cells = [cell for cell in own.cells if cell.instances]
    tried = sum(cell.instances for cell in cells)
    solved = sum(round(cell.solved * cell.instances) for cell in cells)
    what = f"“{subject.task.summary}”"
    if solved < tried:
        first = next(cell for cell in cells if cell.solved < 1)
        return Headline(
            f"{subject.label} does not solve the task {what}: it solved {solved:,} of {tried:,} test instances,"
            f" and first fails at n = {first.size:,}, where {first.solved:.0%} are solved.",
            "bad",
        )
    beginning = f"{subject.label} solved every one of {tried:,} test instances of the task {what}"
    if not subject.method:
        return Headline(f"{beginning}; it is written by hand.", "even")
    if not own.against:
        return Headline(f"{beginning}.", "even")
    text, tone = _compare(own, table, teacher)
    return Headline(f"{beginning}, {text}", tone)


def _compare(own: ComparisonRow, table: ComparisonTable, teacher: str) -> tuple[str, str]:
    """Return how an agent that solves everything compares with its teacher."""
    other = next(row for row in table.rows if row.label == teacher)
    both = [(a, b, a.saving) for a, b in zip(own.cells, other.cells, strict=True) if a.saving and b.instances]
    if not both:
        return f"which is all that can be said: nothing of {teacher} was measured.", "even"
    if all(b.solved < 1 for _, b, _ in both):
        return f"where {teacher} does not.", "good"
    by_reward = table.measure == "reward"
    if not any(saving.ours for *_, saving in both):
        same = "the same reward" if by_reward else "exactly as many steps"
        return f"with {same} as {teacher} on each of them.", "even"
    better = [(a, b) for a, b, saving in both if saving.ours > saving.ci95]
    worse = [(a, b) for a, b, saving in both if -saving.ours > saving.ci95]
    if not better and not worse:
        return f"with no difference to {teacher} beyond chance.", "even"
    told, amounts = [], []
    more, less = ("more reward", "less reward") if by_reward else ("fewer steps", "more steps")
    for word, some in ((more, better), (less, worse)):
        if some:
            where = "every size" if len(some) == len(both) else f"{len(some)} of {len(both)} sizes"
            told.append(f"{word} than {teacher} at {where}")
            amounts.append(_amount(*some[-1], table.measure))
    tone = "good" if better and not worse else "bad" if 2 * len(worse) > len(both) else "even"
    return f"with {' and '.join(told)}: {', but '.join(amounts)}.", tone


def _amount(cell: ComparisonCell, level: ComparisonCell, measure: str) -> str:
    """Return how much is saved or lost at a size, in words."""
    digits = 2 if measure == "reward" else 1 if cell.ours < 1000 else 0
    while digits < 4 and show_number(cell.ours, digits) == show_number(level.ours, digits):
        digits += 1
    told = f"{show_number(cell.ours, digits)} instead of {show_number(level.ours, digits)} at n = {cell.size:,}"
    change = abs(cell.ours - level.ours) / level.ours if level.ours else math.inf
    if not 0 <= change <= MOST_CHANGE:
        return told
    few = "less" if measure == "reward" else "fewer"
    return f"{told}, {change:.{1 if change < 0.1 else 0}%} {few if cell.ours < level.ours else 'more'}"


def how_learned(subject: Subject) -> str:
    """Return how something was made, in a sentence."""
    if not subject.method:
        return f"{subject.label} is written by hand."
    said, start = LEARNED.get(subject.method, "is a program whose making is not recorded"), subject.started_from
    if start and subject.method == "rl":
        said = "learned by its own tries"
    text = f"{subject.label} {said.format(teacher=subject.learned_from or 'its teacher')}"
    text += f", starting from {start}" if start else ""
    if subject.seconds:
        text += f", in {_show_time(subject.seconds)}"
    if subject.history is not None:
        text += f" and {count(len(subject.history.rows), 'round')}"
    return text + (". The learning is not finished." if not subject.is_finished else ".")


def _show_time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"
