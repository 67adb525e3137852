"""A node speaks one version, and says what to do about a peer that speaks another."""

from __future__ import annotations

import pytest

from p2psub.errors import UnknownVersion
from p2psub.wire.version import VERSION, check_version


def test_our_version_is_taken() -> None:
    """Two nodes of one version understand each other."""
    check_version(VERSION)


@pytest.mark.parametrize("theirs", [VERSION - 1, VERSION + 1, -(2**63), 2**64 - 1])
def test_another_version_is_refused_with_advice(theirs: int) -> None:
    """A peer from the future, from the past, or out of its mind: the error names both versions and what to do."""
    with pytest.raises(UnknownVersion, match=f"we speak version {VERSION}, the peer {theirs}: upgrade the older side"):
        check_version(theirs)
