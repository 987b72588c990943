"""Results in a notebook that is executed and converted to a page: tables are tables, and their numbers are in line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.visualize.conftest import Browser

CELLS = (
    "import surpass",
    "surpass.evaluate('teacher:insertion_sort', against='teacher:bubble_sort', sizes=[5, 10], instances=4)",
    "surpass.check('teacher:insertion_sort', up_to=3, sizes=[8], instances=4, effort=20)",
    "surpass.apply('teacher:insertion_sort', [[3, 1, 2], [10, 9]])",
    "surpass.trace('teacher:insertion_sort', '3,1,2')",
    "surpass.show('teacher:insertion_sort', size=5, instances=5)",
    "from surpass.evaluation.growth import Contender, compare_by_size; task = surpass.find_task('sort-bubble')",
    "compare_by_size(task, [Contender(surpass.find_agent('teacher:bubble_sort'), 'bubble sort')], sizes=(5, 10))",
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    why = "a notebook is executed by nbclient with ipykernel, and converted by nbconvert"
    nbclient, nbformat = pytest.importorskip("nbclient", reason=why), pytest.importorskip("nbformat", reason=why)
    pytest.importorskip("ipykernel", reason=why)
    convert = pytest.importorskip("nbconvert", reason=why)
    version: Any = nbformat.v4
    notebook = version.new_notebook(cells=[version.new_code_cell(source) for source in CELLS])
    nbclient.NotebookClient(notebook, kernel_name="python3", timeout=600).execute()
    path = tmp_path_factory.mktemp("notebook") / "notebook.html"
    path.write_text(convert.HTMLExporter().from_notebook_node(notebook)[0], encoding="utf-8")
    return path


def test_the_numbers_of_a_column_end_at_one_place(page: Path, browser: Browser) -> None:
    browser.open(page)
    for width in (1280, 500):
        browser.resize(width)
        tables = browser.driver.execute_script(
            "return [...document.querySelectorAll('.jp-OutputArea-output table')].map((table) =>"
            " [...table.querySelectorAll('tbody tr')].map((row) => [...row.querySelectorAll('td')].map((cell) => {"
            " const text = document.createRange(); text.selectNodeContents(cell);"
            " return [cell.textContent, getComputedStyle(cell).textAlign,"
            " Math.round(text.getBoundingClientRect().right)]; })))"
        )
        assert len(tables) == 5, "two of the check, and one each of evaluate, apply and a comparison with the paper"
        for rows in tables:
            for column in zip(*filter(None, rows), strict=True):
                if column[0][0][:1].isdigit():
                    assert {side for _, side, _ in column} == {"right"}, column
                    assert len({end for *_, end in column}) == 1, column


def test_what_is_no_table_has_letters_of_one_width(page: Path, browser: Browser) -> None:
    browser.open(page)
    fonts = browser.driver.execute_script(
        "return [...document.querySelectorAll('.jp-OutputArea-output.jp-RenderedHTMLCommon pre')].map((text) =>"
        " [text.textContent, getComputedStyle(text).fontFamily])"
    )
    assert any("SwapWithNext" in text for text, _ in fonts), "a trace"
    assert all(font.endswith("monospace") for _, font in fonts)
