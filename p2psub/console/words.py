"""A line of the console in words, where quotes and braces keep spaces together."""

from __future__ import annotations

import re
from typing import Final

from p2psub.cli.endpoint import BadUsage

_QUOTED: Final = r""""(?:[^"\\]|\\.)*"|'[^']*'"""
_WORD: Final = re.compile(rf"""\s*((?:[^\s"'{{]|{_QUOTED}|\{{(?:[^}}"']|{_QUOTED})*\}})+)(?=\s|$)""")

BODY_MARK: Final = "--"
"""What follows this word is a body, as it stands."""


def split_words(line: str) -> list[str]:
    """The words, quotes and all; BadUsage if one does not end."""
    words, at = [], 0
    line = line.rstrip()
    while at < len(line):
        word = _WORD.match(line, at)
        if word is None:
            raise BadUsage(f"{line[at:].strip()!r} does not end", "close the quotes, or the braces")
        words.append(word[1])
        at = word.end()
    return words


def split_body(line: str) -> tuple[str, str | None]:
    """What is before ` -- ` and the body after it, if there is one."""
    head, mark, body = f"{line} ".partition(f" {BODY_MARK} ")
    return head.strip(), body.strip() if mark else None
