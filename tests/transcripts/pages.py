"""Blocks of the docs that are made by a command: `python -m tests.transcripts` writes them anew.

A block is a fenced one behind a comment that names it: `<!-- generated: join -->`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from p2psub.node.life_cycle import diagram
from tests.transcripts.scenes import SCENES

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "architecture.md"
BLOCKS: Final[dict[str, Callable[[], str]]] = {"life cycle": diagram, **SCENES}
_BLOCK = re.compile(r"(<!-- generated: ([\w ]+) -->\n```\w*\n)(.*?)(```\n)", re.DOTALL)


def blocks(text: str) -> dict[str, str]:
    """The generated blocks of a page, by their names."""
    return {name: body for _, name, body, _ in _BLOCK.findall(text)}


def rewritten(text: str) -> str:
    """The page with every block made anew."""
    return _BLOCK.sub(lambda found: found[1] + BLOCKS[found[2]]() + found[4], text)
