"""How hard the product looks for what a program gets wrong, made small for tests of something else."""

from __future__ import annotations

import pytest

SMALL = {
    "surpass.programs.collect.MOST_ENUMERATED": 600,
    "surpass.programs.collect.MOST_DRAWN": 20,
    "surpass.programs.collect.CHANGED_ROUNDS": 1,
    "surpass.learning.improvement.learner.MOST_CHECKED": 10,
    "surpass.learning.improvement.learner.MOST_ENUMERATED": 500,
    "surpass.learning.improvement.learner.CHANGED_ROUNDS": 2,
    "surpass.learning.improvement.learner.LAST_CHANGED_ROUNDS": 4,
    "surpass.learning.soundness.MOST_ENUMERATED": 500,
    "surpass.learning.soundness.MOST_DRAWN": 10,
    "surpass.learning.soundness.ROUNDS": 2,
    "surpass.learning.soundness.THOROUGH": 2,
    "surpass.visualize.report.PROGRAM_SECONDS": 2.0,
    "surpass.visualize.report.MOST_SMALL": 500,
    "surpass.visualize.report.BRIEF": {"instances": 2, "effort": 300, "minutes": 0.05},
    "surpass.evaluation.growth.LARGEST": 100,
}
"""From how many instances a program is written, and on how many it, or an agent that learns, is checked."""


def lessen_effort(patch: pytest.MonkeyPatch) -> None:
    """Write programs from fewer instances, and check what is learned on fewer, until the patch is undone."""
    for name, value in SMALL.items():
        patch.setattr(name, value)
