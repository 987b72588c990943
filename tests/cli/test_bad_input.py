"""Bad input gets one sentence on the error stream and exit code 2, and leaves nothing behind."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.cli.here import call_here

BAD = """
evaluate teacher:nope
evaluate nope
evaluate x.txt
evaluate teacher:bubble_sort --task nope
evaluate teacher:bubble_sort --task search
evaluate teacher:bubble_sort --data nope
evaluate teacher:bubble_sort --data missing.csv
evaluate teacher:bubble_sort --sizes 0
evaluate teacher:bubble_sort --sizes -5
evaluate teacher:bubble_sort --sizes five
evaluate teacher:bubble_sort --sizes ,
evaluate teacher:bubble_sort --sizes 5 --json /nowhere/x.json
evaluate teacher:bubble_sort --limit n^3
evaluate teacher:bubble_sort --instances 0
evaluate teacher:scan --task missing.py
trace teacher:binary_search --instance 5,2
trace teacher:depth_first --instance 5,2
trace teacher:bubble_sort --instance 5,2:3
trace teacher:bubble_sort --size 0
tasks nope
show teacher:selection_sort
show zoo:sort-full
show teacher:bubble_sort --instances 0
show teacher:bubble_sort --seed -1
show teacher:bubble_sort --out /nowhere/x.rules
show teacher:bubble_sort --out - --json -
show missing.rules
export teacher:bubble_sort --to java --out x.java
export teacher:bubble_sort --out x.txt2
export teacher:bubble_sort --to c --out nowhere/x.c
export teacher:bubble_sort --to c --out - --json -
export teacher:selection_sort --to c --out x.c
watch teacher:insertion_sort --instance 5,two,9
watch teacher:insertion_sort --size 1000000 --out run.gif
watch teacher:insertion_sort --size 1000000 --terminal
watch teacher:insertion_sort --out missing/run.html
watch teacher:insertion_sort --out run.mp4
watch teacher:insertion_sort --against teacher:binary_search
watch teacher:insertion_sort --terminal --out run.gif
watch teacher:insertion_sort --speed 0
reproduce teachers --instances 1
reproduce table9
reproduce table3 --seed -1
reproduce table3 --json - --markdown -
reproduce table3 --markdown nowhere/x.md
reproduce table3 --quick --stand-in zoo:search/rl+imitation-binary_search
reproduce table3 --quick --stand-in zoo:search/none=teacher:linear_search
reproduce table3 --quick --stand-in zoo:search/rl+imitation-binary_search=teacher:quick_sort
report zoo:search --out r.pdf
report zoo:search --out none/r.html
report zoo:nope
report zoo:search --task knapsack
plot teacher:binary_search --out p.jpeg
plot teacher:binary_search --out p.svg --by learning
plot teacher:binary_search --out p.svg --column steps
plot teacher:binary_search --out p.svg --sizes 0
"""


@pytest.mark.parametrize("words", BAD.strip().splitlines())
def test_bad_input_gets_one_sentence_and_exit_code_2(words: str, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("x")
    shown = call_here(*shlex.split(words), cwd=tmp_path)
    assert (shown.returncode, shown.stdout) == (2, "")
    assert shown.stderr.startswith("surpass: ")
    assert len(shown.stderr.strip().splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["x.txt"]
