"""How hard the product looks for what a program gets wrong, made small for tests of something else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from surpass.checks import Effort
from surpass.workers.local import LocalRunner

SMALL_EFFORT = Effort(enumerated=500, sizes=(1, 2, 3, 5, 8, 12, 60), drawn=10, large=0, changed=500)
BRIEF_EFFORT = replace(SMALL_EFFORT, sizes=(2, 5, 12), drawn=5, changed=50)
SMALL = {
    "surpass.programs.collect.EFFORT": replace(SMALL_EFFORT, up_to=20, enumerated=600, drawn=8, cost=100_000),
    "surpass.programs.collect.CHANGED_ROUNDS": 1,
    "surpass.learning.discover.attempts.QUICK": BRIEF_EFFORT,
    "surpass.learning.discover.attempts.EACH_ROUND": BRIEF_EFFORT,
    "surpass.learning.discover.attempts.AT_END": SMALL_EFFORT,
    "surpass.learning.discover.attempts.ROUNDS": 2,
    "surpass.learning.discover.attempts.REWRITES": 5,
    "surpass.learning.discover.gradients.UPDATES": 4,
    "surpass.learning.discover.gradients.UPDATES_FROM_PROGRAM": 2,
    "surpass.learning.discover.gradients.NORMAL": SMALL_EFFORT,
    "surpass.learning.discover.worker.NORMAL": SMALL_EFFORT,
    "surpass.learning.discover.worker.REPAIRS": 1,
    "surpass.learning.discover.front.COMPARED": 10,
    "surpass.learning.table.learner.QUICK": SMALL_EFFORT,
    "surpass.learning.table.learner.THOROUGH": SMALL_EFFORT,
    "surpass.learning.table.learner.ROUND": 2,
    "surpass.learning.table.learner.STAGE_UPDATES": 4,
    "surpass.learning.table.learner.STEPS_PER_UPDATE": 1 << 14,
    "surpass.learning.table.learner.MIN_EPISODES": 64,
    "surpass.learning.table.learner.EVALUATED": 60,
    # Processes of their own would not see what is patched here.
    "surpass.workers.local.LocalRunner.replicate_apart": LocalRunner.replicate,
    "surpass.visualize.report.PROGRAM_SECONDS": 0.5,
    "surpass.visualize.report.MOST_SMALL": 500,
    "surpass.visualize.report.BRIEF": {"instances": 2, "effort": 300, "minutes": 0.01},
    "surpass.evaluation.growth.LARGEST": 100,
}
"""From how many instances a program is written, and on how many it, or an agent that learns, is checked."""


def lessen_effort(patch: pytest.MonkeyPatch) -> None:
    """Write programs from fewer instances, and check what is learned on fewer, until the patch is undone."""
    for name, value in SMALL.items():
        patch.setattr(name, value)
