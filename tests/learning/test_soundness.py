"""Whether what is being learned fails anywhere."""

from __future__ import annotations

from typing import Any

import pytest

from surpass.agents.teachers import find_teacher
from surpass.engine.run import run
from surpass.learning import soundness
from surpass.machine.state import Outcome
from surpass.table import Table
from surpass.tasks.registry import find_task
from surpass.tasks.task import Request


@pytest.mark.parametrize(
    ("fails_at", "is_thorough", "wanted"),
    [(0, False, [1]), (0, True, [1, 8]), (1, True, [1]), (8, True, [1, 8]), (8, False, [1])],
)
def test_a_thorough_check_goes_on_with_more_instances_if_none_has_failed(
    monkeypatch: pytest.MonkeyPatch, fails_at: int, is_thorough: bool, wanted: list[int]
) -> None:
    task = find_task("sort-bubble")
    table = Table.of(find_teacher("insertion_sort"))  # type: ignore[arg-type]
    instances = task.draw(Request(size=6, count=3, seed=1))
    efforts: list[int] = []

    def tried(*given: Any) -> Any:
        efforts.append(given[-1])
        results = run(table, instances)
        if given[-1] == fails_at:
            results.outcomes[:] = Outcome.STEP_LIMIT
        yield instances, results

    monkeypatch.setattr(soundness, "_tried", tried)
    found = soundness.find_failures(table, is_thorough=is_thorough)
    assert efforts == wanted
    assert len(found) == (3 if fails_at in wanted else 0)


def test_more_effort_draws_other_instances_and_more() -> None:
    task = find_task("sort-bubble")
    few, many = (list(soundness._drawn(task, 0, effort)) for effort in (1, 8))
    assert [8 * one.count for one in few] == [one.count for one in many]
    assert any(
        task.write_instance(a.part(0, 1)) != task.write_instance(b.part(0, 1)) for a, b in zip(few, many, strict=True)
    )
