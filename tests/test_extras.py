"""Without any extra, programs and networks run, and a command that needs one says which."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from surpass.errors import MissingExtraError
from surpass.extras import EXTRAS, is_installed, load

FEW = "--set sizes=3,5 --set sets=2 --set candidates=8 --set instances=8 --sizes 5"
WORKING = (
    "evaluate zoo:sort-bubble/improvement-insertion_sort --sizes 5,10",
    "evaluate zoo:knapsack/imitation-depth_first --sizes 4 --against teacher:depth_first",
    "show teacher:depth_first --size 4 --instances 5",
    "check zoo:sort-bubble/improvement-insertion_sort --up-to 4 --sizes 12 --instances 2 --effort 100",
    "export zoo:sort-bubble/improvement-insertion_sort --to c --out sort.c",
    "watch zoo:sort-bubble/improvement-insertion_sort --size 5 --out race.html",
    f"discover search --rounds 10 --out run {FEW}",
    f"discover search --from nothing --rounds 8 --out other-run {FEW}",
    "evaluate run --sizes 5",
    "check run/agent.rules --up-to 3 --sizes 5 --instances 2 --effort 100",
)
REFUSED = {
    "discover search --set bunch=3 --out other": "unknown setting",
    f"discover search --rounds 1 --network --out taught {FEW}": "surpass[torch]",
    "evaluate zoo:sort-full --sizes 3": "surpass[torch]",
    "learn search --method imitation --out other": "surpass[torch]",
    "learn search --method rl --out other": "surpass[torch]",
    "watch zoo:sort-bubble/improvement-insertion_sort --size 5 --out race.gif": "surpass[plot]",
    "plot teacher:depth_first --sizes 4 --instances 2 --out x.png": "surpass[plot]",
    "report teacher:depth_first --out x.html": "surpass[plot]",
    "evaluate teacher:depth_first --sizes 4 --on ray": "surpass[ray]",
}
SCRIPT = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout, suppress

from pytest import MonkeyPatch
from tests.effort import SMALL

blocked, *lines = json.load(sys.stdin)
sys.modules.update(dict.fromkeys(blocked))
assert not any(name.partition(".")[0] in blocked and module for name, module in sys.modules.items())
for name, value in SMALL.items():
    with suppress(ImportError):  # a learner that needs PyTorch
        MonkeyPatch().setattr(name, value)
from surpass.cli.main import main

ended = []
for line in lines:
    sys.argv = ["surpass", *line.split()]
    said = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(said):
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
    ended.append((code, said.getvalue()))
print(json.dumps(ended))
"""


def test_what_an_installation_without_extras_can_do_and_what_it_says_of_the_rest(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    asked = json.dumps([list(EXTRAS), *WORKING, *REFUSED])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], input=asked, cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    ended = json.loads(done.stdout)
    for line, (code, said) in zip(WORKING, ended, strict=False):
        assert code == 0, f"{line}: {said[-1000:]}"
    for (line, word), (code, said) in zip(REFUSED.items(), ended[len(WORKING) :], strict=True):
        assert code == 2, f"{line}: {said[-1000:]}"
        assert word in said, line
    assert (tmp_path / "run" / "agent.rules").exists()
    assert not (tmp_path / "run" / "agent.safetensors").exists()
    assert not (tmp_path / "other").exists()
    assert not (tmp_path / "taught").exists()


@pytest.mark.parametrize("package", EXTRAS)
def test_a_missing_package_is_an_error_that_names_its_extra(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    assert not is_installed(package)
    with pytest.raises(MissingExtraError, match=rf"surpass\[{EXTRAS[package][1]}\]"):
        load(package)


def test_what_is_no_extra_is_not_called_one() -> None:
    with pytest.raises(ModuleNotFoundError) as caught:
        load("surpass.nowhere")
    assert not isinstance(caught.value, MissingExtraError)
