"""What was learned, in one plain sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from surpass.evaluation.reproduce import PaperCell, PaperRow, PaperTable
from surpass.printing import count, show_number
from surpass.visualize.subjects import Subject

LEARNED = {
    "imitation": "was trained to answer like {teacher}",
    "rl": "learned from nothing but its own tries",
    "rl+imitation": "learned by its own tries, with {teacher} as a teacher",
    "improvement": "was found by editing the program of {teacher} and keeping what saves steps",
}


@dataclass(frozen=True)
class Headline:
    """What was learned: a sentence, and whether it is a success."""

    text: str
    tone: str
    """`good`, `even` or `bad`."""


def write_headline(subject: Subject, table: PaperTable | None, teacher: str) -> Headline:
    """Return the sentence at the top of a report; `teacher` is the label of the row to compare with."""
    if subject.agent is None or table is None:
        going = f" It has done {count(len(subject.history.rows), 'round')} so far." if subject.history else ""
        return Headline(f"{subject.missing}{going}", "bad")
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


def _compare(own: PaperRow, table: PaperTable, teacher: str) -> tuple[str, str]:
    """Return how an agent that solves everything compares with its teacher."""
    other = next(row for row in table.rows if row.label == teacher)
    pairs = [(a, b) for a, b in zip(own.cells, other.cells, strict=True) if a.saving is not None and b.instances]
    if not pairs:
        return f"which is all that can be said: nothing of {teacher} was measured.", "even"
    if all(b.solved < 1 for _, b in pairs):
        return f"where {teacher} does not.", "good"
    by_reward = table.measure == "reward"
    if not any(a.saving.ours for a, _ in pairs if a.saving):
        same = "the same reward" if by_reward else "exactly as many steps"
        return f"with {same} as {teacher} on each of them.", "even"
    better = [(a, b) for a, b in pairs if a.saving and a.saving.ours > a.saving.ci95]
    worse = [(a, b) for a, b in pairs if a.saving and -a.saving.ours > a.saving.ci95]
    if not better and not worse:
        return f"with no difference to {teacher} beyond chance.", "even"
    more, less = ("more reward", "less reward") if by_reward else ("fewer steps", "more steps")
    told = [f"{word} than {teacher} at {_at(some, pairs)}" for word, some in ((more, better), (less, worse)) if some]
    amount = _amount(*(better or worse)[-1], table.measure)
    if better and worse:
        amount += f", but {_amount(*worse[-1], table.measure)}"
    rest = len(pairs) - len(better) - len(worse)
    others = f", and no difference beyond chance at the other {rest}" if rest and not (better and worse) else ""
    tone = "good" if better and not worse else "bad" if 2 * len(worse) > len(pairs) else "even"
    return f"with {' and '.join(told)}{others}: {amount}.", tone


def _at(some: Sequence[object], pairs: Sequence[object]) -> str:
    return "every size" if len(some) == len(pairs) else f"{len(some)} of {len(pairs)} sizes"


def _amount(cell: PaperCell, level: PaperCell, measure: str) -> str:
    """Return how much is saved or lost at a size, in words."""
    digits = 2 if measure == "reward" else 1 if cell.ours < 1000 else 0
    while digits < 4 and show_number(cell.ours, digits) == show_number(level.ours, digits):
        digits += 1
    ours, theirs = show_number(cell.ours, digits), show_number(level.ours, digits)
    change = abs(cell.ours - level.ours) / level.ours if level.ours else 0.0
    few, many = ("less", "more") if measure == "reward" else ("fewer", "more")
    told = f"{change:.{1 if change < 0.1 else 0}%} {few if cell.ours < level.ours else many}"
    if cell.ours > 2 * level.ours:
        told = f"{cell.ours / max(level.ours, 1e-9):.1f} times as {'much' if measure == 'reward' else 'many'}"
    return f"{ours} instead of {theirs} at n = {cell.size:,}, {told}"


def how_learned(subject: Subject) -> str:
    """Return how something was made, in a sentence."""
    if not subject.method:
        return f"{subject.label} is written by hand."
    said = LEARNED.get(subject.method, "is a program whose making is not recorded")
    text = f"{subject.label} {said.format(teacher=subject.learned_from or 'its teacher')}"
    if subject.seconds:
        text += f", in {_show_time(subject.seconds)}"
    if subject.history is not None:
        text += f" and {count(len(subject.history.rows), 'round')}"
    return text + (". The learning is not finished." if not subject.is_finished else ".")


def _show_time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"
