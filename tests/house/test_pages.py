"""What the pages name is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from p2psub.model.messages import AnyMessage

ROOT = Path(__file__).resolve().parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MESSAGES = (ROOT / "docs" / "protocol" / "messages.md").read_text(encoding="utf-8")
QUOTED = re.compile(r"`([\w./-]+(?:\.py|\.toml|/))`")
LINK = re.compile(r"\]\(([^)#\s:]*)(?:#([\w-]*))?\)")
PREFIXES = ("", "p2psub/", "p2psub/analysis/")
OF_OTHER_TREES = {"traces/", "tables/", "pubsub/"}
"""Directories of a peer's data and of a report, and the one that a decision says there is no more."""
PATH = re.compile(r"(?:\]\(|`|pytest )((?:p2psub|tests|docs|sims)/[\w./-]*\w/?|[A-Z]+(?:\.md)?)[`) ]")


def test_every_path_for_contributors_exists() -> None:
    """A module that moves takes its mention along."""
    named = PATH.findall(CONTRIBUTING)
    assert {"tests/mutants", "p2psub/node/core.py", "docs/decisions/", "LICENSE"} <= set(named)
    assert not [path for path in named if not (ROOT / path).exists()]


def test_every_message_says_why_losing_it_is_harmless() -> None:
    """The page of messages has one row for each, and none for others."""
    rows = re.findall(r"^\| `(\w+)` \|", MESSAGES, re.MULTILINE)
    assert sorted(rows) == sorted(cls.__name__ for cls in get_args(AnyMessage))


def _quoted() -> Iterator[tuple[str, str]]:
    """All paths in backticks, each with its page. The glossary has a test of its own."""
    for page in sorted((ROOT / "docs").rglob("*.md")):
        if page.name != "glossary.md":
            yield from ((page.name, path) for path in QUOTED.findall(page.read_text(encoding="utf-8")))


def test_every_path_on_a_page_exists() -> None:
    """A path is of the repository or of the package; a bare name is that of some module, scenario or test."""
    tops = ("p2psub", "bootstrap", "sims", "tests", "docs")
    names = {path.name for top in tops for path in (ROOT / top).rglob("*") if path.suffix in {".py", ".toml"}}
    names |= {path.name for path in ROOT.glob("*.*")}
    quoted = list(_quoted())
    assert len(quoted) > 200
    missing = [
        (page, path)
        for page, path in quoted
        if path not in names | OF_OTHER_TREES and not any((ROOT / prefix / path).exists() for prefix in PREFIXES)
    ]
    assert not missing


def _anchors(page: Path) -> set[str]:
    """Where a link into a page can lead: its headings, as forges name them, and what it names itself."""
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    named = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return named | set(re.findall(r'<a id="([\w-]+)"', text))


def test_every_link_between_pages_leads_somewhere() -> None:
    """A page or a heading that changes its name takes its links along."""
    pages = [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]
    links = [(page, *link) for page in pages for link in LINK.findall(page.read_text(encoding="utf-8"))]
    assert len(links) > 100
    for page, path, anchor in links:
        target = page.parent / path if path else page
        assert target.exists(), f"{page.name} links to {path}"
        assert not anchor or anchor in _anchors(target), f"{page.name} links to {path}#{anchor}"
