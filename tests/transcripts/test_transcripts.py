"""What the docs show is what happens: each transcript and diagram is made anew and compared.

If one of them differs on purpose, `python -m tests.transcripts` writes it down.
"""

from __future__ import annotations

import pytest

from tests.transcripts.pages import BLOCKS, PAGE, blocks, rewritten

SHOWN = blocks(PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", BLOCKS)
def test_the_page_shows_what_happens(name: str) -> None:
    """Message by message, with its time; stage by stage."""
    assert SHOWN[name] == BLOCKS[name]()


def test_only_what_is_generated_is_written_anew() -> None:
    """The text around the blocks stays as it is."""
    page = "before\n<!-- generated: life cycle -->\n```mermaid\nold\n```\nafter\n"
    assert rewritten(page) == page.replace("old\n", BLOCKS["life cycle"]())
