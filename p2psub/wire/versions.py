"""Protocol versions: a node speaks the current one and the one before (design 3, Identity)."""

from __future__ import annotations

from typing import Final

from p2psub.errors import UnknownVersion
from p2psub.model.messages.hello import Hello

VERSION: Final = 1
"""Goes up when a message changes its meaning; a new field at the end, with a default, does not."""

VERSIONS: Final = range(max(1, VERSION - 1), VERSION + 1)
"""Every version that this node speaks."""


def negotiate(ours: range, theirs: Hello) -> int:
    """The highest version that both sides speak; UnknownVersion if there is none."""
    assert ours.step == 1, "versions are spoken without gaps"
    highest = min(ours[-1], theirs.version_max)
    if highest < max(ours[0], theirs.version_min):
        raise UnknownVersion(
            f"we speak {ours[0]} to {ours[-1]}, the peer {theirs.version_min} to {theirs.version_max}: "
            "upgrade the older side"
        )
    return highest
