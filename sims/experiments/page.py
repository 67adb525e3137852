"""Tables in Markdown, and how they are written into a page.

Each stands between a comment that names it and one that ends it:

<!-- table: policies -->
...
<!-- end -->
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeVar

from p2psub.errors import ConfigError

T = TypeVar("T")
R = TypeVar("R")

Table = list[str]
"""Its lines."""

_BLOCK: Final = re.compile(r"(<!-- table: ([\w ]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def written(page: str, tables: Mapping[str, Sequence[str]]) -> str:
    """The page with every table made anew. Raises ConfigError if it has none, or one that is not known."""
    names = [found[2] for found in _BLOCK.finditer(page)]
    if not names:
        raise ConfigError("page", f"has no table to write; a table stands in <!-- table: {next(iter(tables))} -->")
    for name in names:
        if name not in tables:
            raise ConfigError("page", f"there is no table {name!r}; choose from {', '.join(tables)}")
    return _BLOCK.sub(lambda found: f"{found[1]}\n" + "\n".join(tables[found[2]]) + f"\n\n{found[4]}", page)


def table_of(heads: str, rows: Sequence[Sequence[str]], picture: str = "", words: str = "") -> Table:
    """A table, and below it a picture by its file; the first column is words, the others are figures."""
    if not rows:
        return ["Not run yet."]
    names = heads.split("|")
    lines = ["| " + " | ".join(names) + " |", "|" + "|".join(["---", *["--:"] * (len(names) - 1)]) + "|"]
    shown = ["", f"![{words}]({picture})"] if picture else []
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows), *shown]


def results_of(trials: Iterable[T], found: Mapping[T, R]) -> list[R]:
    """The results of those that are finished."""
    return [found[trial] for trial in trials if trial in found]
