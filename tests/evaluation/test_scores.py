import json
import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from surpass.agents import find_agent
from surpass.errors import DataFileError, SurpassError
from surpass.evaluation.scores import evaluate
from surpass.evaluation.statistics import mean_of, student_quantile
from surpass.tasks.registry import find_task
from surpass.tasks.task import Request


def test_student_quantiles_match_the_printed_tables():
    for degrees, printed in ((1, 12.706), (2, 4.303), (3, 3.182), (5, 2.571), (10, 2.228), (30, 2.042), (99, 1.984)):
        assert student_quantile(0.975, degrees) == pytest.approx(printed, rel=2e-3)


def test_an_interval_covers_the_true_mean_95_times_in_100():
    random = np.random.default_rng(0)
    samples = random.normal(size=(2000, 8))
    covered = [abs(m.mean) <= m.ci95 for m in map(mean_of, samples)]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.02)


def test_scores_have_every_promised_field():
    record = evaluate(find_agent("teacher:insertion_sort"), sizes=[5, 10], instances=20).as_json()
    assert {"agent", "task", "data", "seed", "rows"} <= set(record)
    for row in record["rows"]:
        assert {"size", "instances", "solved", "mean_steps", "ci95", "max_steps", "mean_reward"} <= set(row)
        assert "difference" not in row
        assert row["solved"] == 1.0
    json.dumps(record, allow_nan=False)


def test_one_instance_has_no_interval_and_an_agent_does_not_differ_from_itself():
    alone = evaluate(find_agent("teacher:insertion_sort"), sizes=[5], instances=1)
    assert math.isnan(alone.rows[0].ci95)
    assert alone.as_json()["rows"][0]["ci95"] is None
    row = evaluate("teacher:hoare_sort", sizes=[20], instances=30, against="teacher:hoare_sort").rows[0]
    assert (row.difference, row.difference_ci95) == (0, 0)


def test_a_paired_comparison_is_the_difference_of_the_means_and_tighter():
    agent, other = find_agent("teacher:hoare_sort"), find_agent("teacher:quick_sort")
    paired = evaluate(agent, sizes=[50], instances=200, against=other).rows[0]
    alone = evaluate(other, sizes=[50], instances=200).rows[0]
    assert paired.difference == pytest.approx(paired.mean_steps - alone.mean_steps)
    assert paired.difference_ci95 < math.hypot(paired.ci95, alone.ci95) * 1.2


def test_small_packings_are_compared_with_the_best_there_are():
    """Which no packing beats; where there are too many packings, nothing is said."""
    task = find_task("knapsack")
    row = evaluate("teacher:depth_first", sizes=[3, 20], instances=20, limit="1000n").as_json()["rows"]
    assert row[0]["optimum_share"] == pytest.approx(1.0)
    assert "optimum_share" not in row[1]
    shown = str(evaluate("teacher:depth_first", sizes=[8, 20], instances=20, limit="2n"))
    assert "of optimum" in shown
    assert "of optimum" not in str(evaluate("teacher:hoare_sort", sizes=[5], instances=2))
    instances = task.draw(Request(size=5, count=30, seed=2, data="whole"))
    best = task.optimum(instances)
    for k in range(instances.count):
        weights, values, capacity = instances.reals[k, 6:11], instances.reals[k, 11:16], instances.reals[k, 1]
        packings = np.array(list(product((0, 1), repeat=5)))
        assert best[k] == (packings @ values)[packings @ weights <= capacity].max()
    assert np.isnan(task.optimum(task.draw(Request(size=13, count=1)))).all()


def test_the_mean_score_is_that_of_what_was_solved() -> None:
    strict = replace(find_task("knapsack"), name="strict-knapsack", limit_is_budget=False)
    agent = replace(find_agent("teacher:depth_first"), task=strict)
    some = evaluate(agent, sizes=[6], instances=40, limit="500")
    row, all_scores = some.rows[0], evaluate(agent, sizes=[6], instances=40, limit="5000").rows[0]
    assert 0 < row.solved < 1
    assert all_scores.mean_score == pytest.approx(all_scores.mean_reward)
    assert row.mean_score > row.mean_reward
    assert "mean score" in str(some)
    assert "mean score" not in str(evaluate("teacher:hoare_sort", sizes=[5], instances=2))


def test_the_step_limit_leaves_instances_unsolved_with_a_reason():
    row = evaluate(find_agent("teacher:bubble_sort"), sizes=[50], instances=10, limit="20").rows[0]
    assert row.solved == 0
    assert row.reasons == {"step limit": 10}
    assert row.max_steps == 20


def test_lists_of_a_file_are_reported_by_length(tmp_path):
    text, array = tmp_path / "lists.csv", tmp_path / "lists.npy"
    text.write_text("3,1,2\n9 8 7 6.5\n\n1e300,-5,100000000000000000000000\n")
    np.save(array, np.random.default_rng(0).normal(size=(7, 12)))
    for path, expected in ((text, [(3, 2, 1.0), (4, 1, 1.0)]), (array, [(12, 7, 1.0)])):
        rows = evaluate(find_agent("teacher:quick_sort"), data=path).rows
        assert [(row.size, row.instances, row.solved) for row in rows] == expected


def test_search_draws_queries_for_lists_that_come_without(tmp_path):
    path = tmp_path / "lists.txt"
    path.write_text("1 3 5 7 9\n" * 40)
    for kind in ("present", "absent", "mixed", "paper"):
        row = evaluate(find_agent("teacher:bracket_search"), data=path, queries=kind).rows[0]
        assert (row.instances, row.solved) == (40, 1.0)


BAD_FILES = {
    **{name: ("bubble_sort", text) for name, text in (("empty", ""), ("word", "1,2\n3,x\n"), ("nan", "1,nan\n"))},
    "query": ("bubble_sort", "3,1:2\n"),
    "unsorted": ("binary_search", "1,2\n2,1\n"),
    "flat array": ("bubble_sort", np.zeros(3)),
    "array of words": ("bubble_sort", np.array([["a", "b"]])),
    "array with nan": ("bubble_sort", np.array([[1.0, np.nan]])),
    "pickled": ("bubble_sort", np.array([[{"a": 1}]], dtype=object)),
}


@pytest.mark.parametrize(("agent", "content"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_a_bad_file_is_refused(tmp_path, agent, content):
    path = tmp_path / ("lists.csv" if isinstance(content, str) else "lists.npy")
    path.write_text(content) if isinstance(content, str) else np.save(path, content, allow_pickle=True)
    with pytest.raises(DataFileError):
        evaluate(find_agent(f"teacher:{agent}"), data=path)


@pytest.mark.parametrize(
    "setting",
    [{"data": "nope"}, {"against": "teacher:quick_sort"}, {"queries": "present"}, {"sizes": [5], "instances": 0}],
    ids=str,
)
def test_impossible_settings_are_refused(setting):
    with pytest.raises(SurpassError):
        evaluate("teacher:bubble_sort", **setting)
