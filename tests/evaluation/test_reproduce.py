from surpass.evaluation.paper import paper_tables
from surpass.evaluation.reproduce import TABLES


def test_every_teacher_row_of_the_paper_is_wanted():
    scripted = {"bubble sort", "insertion sort", "quick sort", "linear search", "binary search", "teacher"}
    printed = {
        (table, row)
        for table, content in paper_tables().items()
        if isinstance(content, dict) and "rows" in content
        for row in content["rows"]
        if row in scripted or row.startswith("dfs")
    }
    assert printed == {(wanted.table, wanted.name) for wanted in TABLES["teachers"]}
