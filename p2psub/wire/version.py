"""The protocol's version: a node speaks one, and connects to no node that speaks another."""

from __future__ import annotations

from typing import Final

from p2psub.errors import UnknownVersion

VERSION: Final = 1
"""Goes up when a message changes its meaning; a new field at the end, with a default, does not."""


def check_version(theirs: int) -> None:
    """Raise UnknownVersion, with advice, unless the peer speaks our version."""
    if theirs != VERSION:
        raise UnknownVersion(f"we speak version {VERSION}, the peer {theirs}: upgrade the older side")
