"""What `import surpass` offers."""

from __future__ import annotations

import types

import pytest

import surpass

FOR_A_TASK = """
    SIZE SCORE RUNNING SOLVED WRONG State kernel compare registers value comparison flag Feature Instruction variable
    integer binary pointer STEPS Interface Memory Inputs list_inputs Instances Request Reward Enumeration Task
    register_task teacher See Do Action enter leave NO_RECEIVER PREVIOUS_ACTION CurrentFunction Signature RealInput
    Drawing Gauge Limit
"""


@pytest.mark.parametrize("name", FOR_A_TASK.split())
def test_what_a_users_own_task_needs_is_offered(name: str) -> None:
    assert name in surpass.__all__
    assert getattr(surpass, name) is not None


def test_every_name_that_is_offered_is_there_and_nothing_else_is() -> None:
    assert sorted(set(surpass.__all__)) == sorted(surpass.__all__)
    for name in surpass.__all__:
        assert not isinstance(getattr(surpass, name), types.ModuleType) or name == "environments"
    assert set(surpass.__all__) <= set(dir(surpass))
    with pytest.raises(AttributeError, match="no attribute 'sort'"):
        surpass.sort  # noqa: B018
