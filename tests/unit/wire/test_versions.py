"""Two nodes speak the highest version that both know."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2psub.errors import UnknownVersion
from p2psub.model.ids import Contact, NodeId, Place
from p2psub.model.messages.hello import Hello
from p2psub.wire.versions import VERSION, VERSIONS, negotiate


def hello(low: int, high: int) -> Hello:
    """A hello of a peer that speaks `low` to `high`."""
    return Hello("overlay", Contact(NodeId(Place(bytes(20))), "host:1"), 1, low, high)


@given(st.integers(1, 8), st.integers(1, 8), st.integers(0, 9), st.integers(0, 9))
def test_highest_common_version(low: int, more: int, their_low: int, their_high: int) -> None:
    """The result is the greatest element of both ranges; without one, or with a range upside down, it is refused."""
    ours = range(low, low + more)
    common = set(ours) & set(range(their_low, their_high + 1))
    if common:
        assert negotiate(ours, hello(their_low, their_high)) == max(common)
    else:
        with pytest.raises(UnknownVersion):
            negotiate(ours, hello(their_low, their_high))


def test_a_node_speaks_its_version_and_at_most_the_one_before() -> None:
    """Upgrades go one version at a time."""
    assert VERSION in VERSIONS
    assert len(VERSIONS) <= 2
    assert negotiate(VERSIONS, hello(VERSION, VERSION + 1)) == VERSION


@pytest.mark.parametrize("versions", [(VERSION + 1, VERSION + 5), (-(2**63), 0), (VERSION + 1, VERSION)])
def test_no_common_version_is_refused(versions: tuple[int, int]) -> None:
    """A peer from the future, from the past, or out of its mind is told so."""
    with pytest.raises(UnknownVersion):
        negotiate(VERSIONS, hello(*versions))
