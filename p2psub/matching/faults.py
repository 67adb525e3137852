"""What is wrong with the text of a filter, and where."""

from __future__ import annotations

import unicodedata
from typing import Final

from p2psub.errors import P2psubError

EXCERPT_MAX: Final = 72
"""A line longer than a terminal is cut around the fault."""


class FilterError(P2psubError):
    """A text that is not a filter. `position` counts characters from 0; `caret` goes below `line`, under the fault."""

    def __init__(self, text: str, position: int, message: str, hint: str) -> None:
        self.message = _printable(message)
        self.position = position
        self.hint = _printable(hint)
        self.line, self.caret = _excerpt(text, position)
        super().__init__(f"{self.message} (at {position})\n  {self.line}\n  {self.caret}\n{self.hint}")


def _excerpt(text: str, position: int) -> tuple[str, str]:
    start = text.rfind("\n", 0, position) + 1
    stop = text.find("\n", position)
    start = max(start, position - EXCERPT_MAX // 2)
    stop = min(len(text) if stop < 0 else stop, start + EXCERPT_MAX)
    line = _printable(text[start:stop])
    width = sum(2 if unicodedata.east_asian_width(char) in "FW" else 1 for char in line[: position - start])
    return line, " " * width + "^"


def _printable(text: str) -> str:
    """The text, with blanks for what a terminal might obey or cannot show."""
    return "".join(char if char.isprintable() else " " for char in text)
