"""The glossary is true: every noun stands once, and every module that it names is there."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOUNS_MAX = 185
"""What a new reader can be asked to learn: 180, and five for what admission adds up before it promises."""
GERUNDS = {"covering", "flooding", "framing", "gc_tuning", "matching", "queueing", "routing"}
"""The field's own. A ring is no gerund."""
NO_GERUNDS = {"ring"}


def entries() -> list[tuple[str, str]]:
    """Noun and module of every row."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| ([^|]+) \|$", text, flags=re.MULTILINE)
    return [(noun, where) for noun, where in rows if noun != "noun"]


def test_every_noun_stands_once_and_there_are_not_too_many() -> None:
    """One name means one thing."""
    nouns = Counter(noun.strip().lower() for names, _ in entries() for noun in names.split(","))
    assert not [noun for noun, times in nouns.items() if times > 1]
    assert 100 < len(nouns) <= NOUNS_MAX


def test_every_entry_names_a_module_that_exists() -> None:
    """A reader who looks a noun up finds it."""
    for noun, where in entries():
        modules = re.findall(r"`([^`]+)`", where)
        assert modules, noun
        for module in modules:
            assert any((ROOT / top / module).is_file() for top in ("p2psub", ".")), f"{noun}: there is no {module}"


def test_modules_are_named_by_nouns() -> None:
    """No module is named by a gerund, except where the field does so."""
    modules = [path.stem for top in ("p2psub", "bootstrap", "sims", "tests") for path in (ROOT / top).rglob("*.py")]
    names = {name.removeprefix("test_") for name in modules}
    assert not [name for name in names if re.fullmatch(r"\w*ing", name) and name not in GERUNDS | NO_GERUNDS]


def test_every_class_name_means_one_thing() -> None:
    """Across the packages that are shipped."""
    sources = [path for top in ("p2psub", "bootstrap", "sims") for path in (ROOT / top).rglob("*.py")]
    named = Counter(
        name for path in sources for name in re.findall(r"^class (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert not {name for name, times in named.items() if times > 1}
