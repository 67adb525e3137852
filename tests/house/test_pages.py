"""What the pages for contributors name is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from p2psub.model.messages import AnyMessage

ROOT = Path(__file__).resolve().parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MESSAGES = (ROOT / "docs" / "protocol" / "messages.md").read_text(encoding="utf-8")
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
