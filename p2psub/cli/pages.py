"""Pages of experiments: what is between their marks is written by a command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from p2psub.errors import ConfigError

Page = Annotated[Path, typer.Argument(help="Markdown: what is between its marks is written anew.")]
Kept = Annotated[Path, typer.Option("--keep", help="Directory for finished runs; those in it are not run again.")]
ShowFinished = Annotated[bool, typer.Option("--finished", help="Run nothing: show what is finished.")]


def read_page(page: Path) -> str:
    """What stands on it; ConfigError if it cannot be read."""
    try:
        return page.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError("page", f"{page} cannot be read: {error.strerror}; name a page with marks") from error
