"""Writes tables into a page: each stands between a comment that names it and one that ends it.

<!-- table: policies -->
...
<!-- end -->
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from p2psub.errors import ConfigError

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
