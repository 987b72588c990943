"""The paper's tables are made whole, on few instances here; a better, a worse and a wrong agent are told apart."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from surpass.agents.zoo import zoo_entries
from surpass.errors import UnknownNameError
from surpass.evaluation.comparison import ComparisonRow
from surpass.evaluation.reproduce import (
    NAMES,
    CellEffort,
    Reproduction,
    count_verdicts,
    learned_agents,
    plans_of,
)
from surpass.evaluation.scores import evaluate
from surpass.evaluation.tables import TABLES, RowPlan, TablePlan, paper_tables
from surpass.tasks.search import SEARCH
from surpass.tasks.teacher import teacher
from tests.cli.here import call_here

LEARNED = "zoo:search/imitation-binary_search"
SEARCH_ROWS = (
    RowPlan(label="binary search", agent="teacher:binary_search", limit="20n"),
    RowPlan(label="rl + imitation", agent=LEARNED, limit="20n", against="binary search"),
)
PLAN = TablePlan(name="search", title="Search", paper_table="table3_search_steps", queries="present", rows=SEARCH_ROWS)
"""A small table in which any agent of search can take the place of the learned one."""


@teacher(SEARCH)
def gives_up(see, do):  # type: ignore[no-untyped-def]
    """Says at once that nothing is there: short, and wrong."""
    return do.NotFound()


@teacher(SEARCH)
def stands_still(see, do):  # type: ignore[no-untyped-def]
    """Never answers."""
    return do.AssignVar(1, 1)


def compare(agent: str, instances: int = 200) -> ComparisonRow:
    """Return the row of an agent that stands in for a learned one."""
    return Reproduction(instances=instances, stand_ins={LEARNED: agent}).table(PLAN).rows[1]


# What is planned


def printed_rows() -> set[tuple[str, str]]:
    return {
        (table, row)
        for table, content in paper_tables().items()
        if isinstance(content, dict) and "rows" in content
        for row in content["rows"]
    }


def test_every_row_of_the_paper_is_planned_once() -> None:
    planned = [
        (plan.paper_table, row.paper_row or row.label)
        for plan in TABLES
        for row in plan.rows
        if row.paper_row is not None and not row.is_optional
    ]
    assert len(planned) == len(set(planned))
    assert set(planned) == printed_rows()


def test_the_teachers_are_every_row_that_is_written_by_hand() -> None:
    scripted = {"bubble sort", "insertion sort", "quick sort", "linear search", "binary search", "teacher"}
    by_hand = {(table, row) for table, row in printed_rows() if row in scripted or row.startswith("dfs")}
    assert {(plan.paper_table, row.label) for plan in plans_of("teachers") for row in plan.rows} == by_hand


def test_the_rows_of_the_paper_show_agents_by_gradients_and_improvement_has_its_own() -> None:
    methods = {f"zoo:{one.name}": one.record["method"] for one in zoo_entries()}
    rows = [row for plan in TABLES for row in plan.rows if row.agent in methods]
    improved = [row for row in rows if methods[row.agent] == "improvement"]
    assert improved
    assert all(row.label.startswith("improvement (ours)") and row.paper_row is None for row in improved)
    assert not [row for row in rows if row not in improved and "improvement" in row.label]


def test_savings_are_counted_from_a_teacher_of_the_same_table() -> None:
    for plan in TABLES:
        teachers = {row.label for row in plan.rows if row.is_teacher}
        for row in plan.rows:
            assert row.is_teacher or not teachers or row.against in teachers
            assert len(plan.printed(row)) == len(plan.sizes)


def test_all_is_every_table_and_other_names_are_refused() -> None:
    assert plans_of("all") == TABLES
    assert NAMES == ("teachers", "best", "table1", "table2", "table3", "table4", "table5", "table6")
    with pytest.raises(UnknownNameError):
        plans_of("table7")


def test_the_best_of_each_task_is_set_beside_the_best_teacher_and_the_papers_best() -> None:
    for plan in plans_of("best"):
        teacher, *found = plan.rows
        assert teacher.is_teacher
        assert found
        for row in found:
            assert row.against == teacher.label
            assert "rule" in row.label
            assert any(cell is not None for cell in plan.printed(row))


def test_cheap_cells_get_many_instances_and_costly_ones_few() -> None:
    effort = CellEffort()
    assert [effort.count(steps) for steps in (1, 1e4, 1e5, 5e5, 5e6, 7.5e7, 1e12)] == [1000, 1000, 1000, 200, 100, 6, 2]
    assert [CellEffort(instances=5).count(steps) for steps in (1, 5e6, 7.5e7)] == [5, 5, 5]
    for steps in (1, 1e3, 1e6, 1e8):
        assert CellEffort(quick=True).count(steps) <= effort.count(steps)


# What is made


def test_tables_of_few_instances_have_every_cell() -> None:
    reproduction = Reproduction(instances=4)
    for name in ("table3", "table4"):
        (table,) = reproduction.tables(name)
        assert table.sizes == tuple(paper_tables()[plans_of(name)[0].paper_table]["sizes"])
        for row in table.rows:
            assert [cell.size for cell in row.cells] == list(table.sizes)
            if not row.missing:
                assert all(cell.instances == 4 and math.isfinite(cell.ours) for cell in row.cells)
                assert all(cell.verdict != "empty" for cell in row.cells)


def test_an_agent_that_is_not_in_the_zoo_is_said_to_be_missing_or_left_out() -> None:
    absent = RowPlan(label="rl from scratch", agent="zoo:search/nobody", limit="20n", against="binary search")
    optional = RowPlan(label="rl + imitation", agent="zoo:search/nobody-plain", limit="20n", is_optional=True)
    plan = TablePlan(
        name="x", title="X", paper_table=PLAN.paper_table, queries="present", rows=(SEARCH_ROWS[0], absent, optional)
    )
    table = Reproduction(instances=2).table(plan)
    assert [(row.label, row.missing) for row in table.rows] == [
        ("binary search", ""),
        ("rl from scratch", "no agent by gradient yet"),
    ]
    assert "rl from scratch (no agent by gradient yet)\n" in str(table)
    assert "| **rl from scratch (no agent by gradient yet)** |" in table.as_markdown()
    assert table.as_json()["rows"][1]["missing"] == "no agent by gradient yet"
    assert table.as_json()["rows"][1]["cells"][0]["ours"] is None
    assert count_verdicts([table])["no agent"] == len(table.sizes)
    failed = Reproduction(instances=2, failures={LEARNED: "the loss is nan"}).table(PLAN).rows[1]
    assert failed.missing == "the loss is nan"


def test_savings_are_paired_and_equal_those_of_evaluate() -> None:
    row = compare("teacher:bracket_search", instances=50)
    how = {"sizes": PLAN.sizes, "instances": 50, "queries": "present", "limit": "20n"}
    expected = evaluate("teacher:bracket_search", against="teacher:binary_search", **how)  # type: ignore[arg-type]
    for cell, scores in zip(row.cells, expected.rows, strict=True):
        assert cell.ours == pytest.approx(scores.mean_steps, abs=1e-9)
        assert cell.saving is not None
        assert scores.difference is not None
        assert cell.saving.ours == pytest.approx(-scores.difference, abs=1e-9)
        assert cell.saving.ci95 == pytest.approx(scores.difference_ci95, abs=1e-9)
    # binary search 21.8 and rl + imitation 85.8 are printed for n = 1000
    assert row.cells[-1].saving.paper == pytest.approx(21.8 - 85.8)  # type: ignore[union-attr]


@pytest.mark.parametrize(("agent", "answers"), [("bracket_search", 1), ("gives_up", 1), ("stands_still", 0)])
def test_steps_before_the_answer_are_one_fewer_where_there_is_an_answer(agent: str, answers: int) -> None:
    reproduction = Reproduction(instances=20, stand_ins={LEARNED: f"teacher:{agent}"})
    teacher, learned = reproduction.table(PLAN).rows
    teacher_before, learned_before = reproduction.table(replace(PLAN, measure="steps before the answer")).rows
    for row, before, fewer in ((teacher, teacher_before, 1), (learned, learned_before, answers)):
        assert [cell.ours for cell in before.cells] == pytest.approx([cell.ours - fewer for cell in row.cells])
    savings, savings_before = (
        [cell.saving.ours for cell in row.cells if cell.saving] for row in (learned, learned_before)
    )
    assert savings_before == pytest.approx([saving + answers - 1 for saving in savings])


# Verdicts


def test_a_faster_agent_is_better_and_a_slower_one_worse() -> None:
    assert [cell.verdict for cell in compare("teacher:bracket_search").cells][-4:] == ["better"] * 4
    assert [cell.verdict for cell in compare("teacher:linear_search").cells][2:] == ["worse"] * 7


def test_an_agent_that_is_short_because_it_is_wrong_is_worse_everywhere() -> None:
    row = compare("teacher:gives_up")
    assert all(cell.ours == 1.0 and cell.solved == 0.0 for cell in row.cells)
    assert {cell.verdict for cell in row.cells} == {"worse"}


def test_a_share_is_judged_by_its_own_noise() -> None:
    plan = plans_of("table1")[0]
    small = TablePlan(name="x", title="x", paper_table=plan.paper_table, measure="solved", rows=plan.rows[1:])
    table = Reproduction(instances=20).table(small)
    assert [cell.verdict for cell in table.rows[0].cells] == ["even"] * len(table.sizes)
    assert all(cell.paper == 1.0 and cell.ours == 1.0 for cell in table.rows[0].cells)


def test_a_cell_that_would_take_too_long_is_left_empty() -> None:
    plan = plans_of("table2")[0]
    reproduction = Reproduction(instances=2)
    reproduction.effort.hopeless_steps = 900_000
    table = reproduction.table(TablePlan(name="x", title="x", paper_table=plan.paper_table, rows=plan.rows[:2]))
    for row in table.rows:
        assert [cell.verdict == "empty" for cell in row.cells] == [cell.size > 500 for cell in row.cells]
        assert row.cells[-1].instances == 0
    assert "empty" in str(table)


# How they look


def test_a_table_shows_the_papers_numbers_ours_and_the_savings() -> None:
    table = Reproduction(instances=2).table(PLAN)
    text = str(table)
    lines = [line.split() for line in text.splitlines()]
    paper = paper_tables()[PLAN.paper_table]["rows"]
    assert ["paper", *(f"{value:.1f}" for value in paper["rl + imitation"])] in lines
    savings = [b - a for a, b in zip(paper["rl + imitation"], paper["binary search"], strict=True)]
    assert ["paper", "saves", *(f"{value:.1f}" for value in savings)] in lines
    assert any(line[:1] == ["verdict"] for line in lines)
    assert "-0.0" not in text
    cells = [line.count("|") for line in table.as_markdown().splitlines() if line.startswith("|")]
    assert set(cells) == {len(table.sizes) + 2}


# The command


def test_the_command_prints_and_writes_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    files = ("--json", tmp_path / "t.json", "--markdown", tmp_path / "t.md")
    ran = call_here("reproduce", "table4", "--instances", "3", *files)
    assert ran.returncode == 0
    shown = ran.stdout
    assert "zoo:knapsack/rl: rl" in shown
    assert max(map(len, shown.splitlines())) <= 80
    record = json.loads((tmp_path / "t.json").read_text())
    (table,) = record["tables"]
    assert [row["label"] for row in table["rows"]][:2] == ["dfs, budget 20 x size", "rl, budget 20 x size"]
    assert sum(record["verdicts"].values()) == sum(len(row["cells"]) for row in table["rows"])
    assert "| paper | 0.45 |" in (tmp_path / "t.md").read_text()


def test_the_agents_to_train_again_are_those_of_the_zoo() -> None:
    known = {f"zoo:{one.name}" for one in zoo_entries()}
    for name in ("all", *NAMES):
        assert set(learned_agents(name)) <= known
    assert learned_agents("teachers") == []
    assert "zoo:knapsack/rl" in learned_agents("table4")


# Stand-ins


def test_an_agent_that_stands_in_is_run_and_named() -> None:
    word = "zoo:search/rl+imitation-binary_search=teacher:linear_search"
    ran = call_here("reproduce", "table3", "--instances", "2", "--stand-in", word)
    assert ran.returncode == 0
    assert "rl + imitation (teacher:linear_search" in ran.stdout
