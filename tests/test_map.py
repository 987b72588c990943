"""The map in CONTRIBUTING.md shows what is there, in the order in which modules may import one another."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
DATA = ["zoo", "recipes"]
"""Folders that hold no code, which come last."""


def mapped() -> list[str]:
    """Return the names in the map, in order."""
    block = TEXT.partition("src/surpass/\n")[2].partition("```")[0]
    return [line.split()[0] for line in block.splitlines()]


def layers() -> list[set[str]]:
    """Return the layers that import-linter holds, each with the modules that may import one another."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    return [{name.strip().removeprefix("surpass.") for name in re.split("[:|]", layer)} for layer in contract["layers"]]


def test_the_map_shows_every_folder_and_module_and_nothing_else() -> None:
    folder = ROOT / "src" / "surpass"
    folders = {f"{path.name}/" for path in folder.iterdir() if (path / "__init__.py").exists()}
    modules = {path.name for path in folder.glob("*.py") if not path.name.startswith("__")}
    assert len(mapped()) == len(set(mapped()))
    assert set(mapped()) == folders | modules


def test_every_line_of_the_map_says_what_is_there() -> None:
    block = TEXT.partition("src/surpass/\n")[2].partition("```")[0]
    assert all(len(line.split(maxsplit=1)) == 2 for line in block.splitlines())


def test_the_map_is_in_the_order_of_the_layers() -> None:
    names = [name.removesuffix("/").removesuffix(".py") for name in mapped()]
    whole = [name for layer in layers() for name in sorted(layer) if "." not in name]
    assert [name for name in names if name not in ("full_view", *DATA)] == whole
    assert names[-2:] == DATA


def test_the_stated_order_of_imports_is_the_one_that_is_held() -> None:
    stated = re.search(r"`(cli -> [^`]*)`", TEXT)
    assert stated is not None
    found = [set(part.replace("\n", " ").strip().split(", ")) for part in stated[1].split("->")]
    assert found == layers()


def test_a_class_name_has_one_meaning() -> None:
    """Two classes of one name make a reader ask which of them is meant."""
    where: dict[str, list[str]] = {}
    for file in sorted((ROOT / "src").rglob("*.py")):
        for name in re.findall(r"^class (\w+)", file.read_text(), re.MULTILINE):
            where.setdefault(name, []).append(file.stem)
    assert len(where) > 100
    assert {name: files for name, files in where.items() if len(files) > 1} == {}
