from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from surpass import Instruction, Interface
from surpass.environments.settings import read_settings
from surpass.errors import SettingError, SurpassError
from surpass.machine.instructions import pointer
from surpass.tasks.sort_full import SORT_FULL


def test_everything_left_out_comes_from_the_task() -> None:
    settings = read_settings("search")
    assert settings.task.name == "search"
    assert settings.sizes == settings.task.training_sizes
    assert (settings.data, settings.queries, str(settings.limit)) == ("uniform", "mixed", "20n")
    assert (settings.observation, settings.shaping) == ("features", 0.0)


def test_a_full_view_defaults_to_the_larger_training_size() -> None:
    assert read_settings(SORT_FULL).sizes == (SORT_FULL.training_sizes[1],) * 2


@pytest.mark.parametrize(
    ("size", "sizes"), [(7, (7, 7)), ((2, 9), (2, 9)), ([3, 3], (3, 3)), (np.int32(4), (4, 4))], ids=str
)
def test_sizes_are_one_number_or_two(size: Any, sizes: tuple[int, int]) -> None:
    assert read_settings("sort-bubble", size=size).sizes == sizes


@pytest.mark.parametrize("size", [0, -3, (5, 2), (0, 4), (1, 2, 3), 2.5, "5", True, ()], ids=repr)
def test_impossible_sizes_are_refused(size: Any) -> None:
    with pytest.raises(SettingError):
        read_settings("sort-bubble", size=size)


@pytest.mark.parametrize(
    ("task", "options"),
    [
        ("sort-bogus", {}),
        ("sort-bubble", {"data": "sortd"}),
        ("search", {"queries": "some"}),
        ("sort-bubble", {"queries": "mixed"}),
        ("sort-bubble", {"limit": "n^3"}),
        ("sort-bubble", {"observation": "pixels"}),
        ("sort-bubble", {"render_mode": "human"}),
        ("sort-bubble", {"shaping": math.nan}),
        ("sort-bubble", {"shaping": "much"}),
        ("sort-full", {"size": (5, 9)}),
    ],
    ids=str,
)
def test_impossible_options_are_refused_in_one_sentence(task: str, options: Any) -> None:
    with pytest.raises(SurpassError) as caught:
        read_settings(task, **options)
    assert "\n" not in str(caught.value)


def test_a_full_view_with_two_instructions_is_refused() -> None:
    (swap,) = SORT_FULL.interface.instructions
    drop = Instruction("Drop", pointer("i"), pointer("j"), does=swap.does)
    task = dataclasses.replace(SORT_FULL, name="two-ways", interface=Interface([], [swap, drop]))
    with pytest.raises(SettingError):
        read_settings(task)
