"""The walks of docs/architecture.md are true: every hop is there, and a walk is short enough to be read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
ROW: Final = re.compile(r"\| (?P<message>[^|]*)\| [^|]*\| `(?P<file>[^`]+\.py)` \| (?P<functions>.*) \|")
FILES_MAX: Final = {"subscribe": 12, "publish across clusters": 10, "publish at most once": 10}
"""With `node/core.py`, by which every message comes in."""


def walks() -> dict[str, list[re.Match[str]]]:
    """The rows of every walk, by its name."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    sections = re.split(r"^### Walk: ", text, flags=re.MULTILINE)[1:]
    return {section.partition("\n")[0]: rows_of(section.partition("\n## ")[0]) for section in sections}


def rows_of(section: str) -> list[re.Match[str]]:
    """The rows of a section's table, without its head."""
    _, _, *rows = [line for line in section.splitlines() if line.startswith("|")]
    found = [ROW.fullmatch(row) for row in rows]
    assert all(found), [row for row, match in zip(rows, found, strict=True) if match is None]
    return [match for match in found if match is not None]


@pytest.mark.parametrize("name", FILES_MAX)
def test_walk_is_short(name: str) -> None:
    """A reader can hold that many files in mind."""
    files = {row["file"] for row in walks()[name]} | {"node/core.py"}
    assert len(files) <= FILES_MAX[name], sorted(files)


@pytest.mark.parametrize("name", FILES_MAX)
def test_every_hop_of_a_walk_is_where_it_says(name: str) -> None:
    """The file has the functions, and the message is one that the node hears."""
    heard = (ROOT / "p2psub" / "node" / "core.py").read_text(encoding="utf-8")
    for row in walks()[name]:
        source = (ROOT / "p2psub" / row["file"]).read_text(encoding="utf-8")
        for function in re.findall(r"`(\w+)`", row["functions"]):
            assert f"def {function}(" in source, f"{row['file']} has no {function}"
        message = row["message"].strip(" `")
        assert not message or re.search(rf"\b{message}\b", heard), f"no node hears {message}"


@pytest.mark.parametrize("name", FILES_MAX)
def test_walk_comes_back_to_a_file_by_a_message_only(name: str) -> None:
    """Between two messages no file is left and entered again."""
    seen: list[str] = []
    for row in walks()[name]:
        if row["message"].strip():
            seen = []
        assert row["file"] not in seen, f"{row['file']} is entered twice without a message"
        seen.append(row["file"])
