"""Whom the operator denies loses its links within seconds, to peers as to the bootstrap; real processes all of them."""

from __future__ import annotations

from pathlib import Path

from tests.runtime.overlays import Bootstrap, Peer
from tests.runtime.terminals import desk_in, eventually

SOON_S = 15.0
"""The bootstrap looks every 3 s; the rest is for a machine that is busy."""


def links_of(peer: Peer) -> set[str]:
    """Whom a peer is linked to."""
    return {link["peer"] for link in peer.look()["queues"]["links"]}


def test_a_denied_peer_loses_its_links_and_gets_none_again(tmp_path: Path) -> None:
    """The others go on; one that was away when it was denied refuses it too, without a word from the bootstrap."""
    with desk_in(tmp_path, settings={}) as desk:
        bootstrap = Bootstrap(desk)
        token, peers = bootstrap.token(), [Peer(desk, name) for name in ("ann", "bob", "cid", "dan")]
        for peer in peers:
            peer.start("--cluster", "home", "--bootstrap", bootstrap.address, "--token", token)
        for peer in peers:
            peer.wait_ready()
        *others, away, denied = peers
        id_ = denied.place[0]
        eventually(lambda: any(id_ in links_of(peer) for peer in others), "it is linked")
        away.leave()

        issued_s = bootstrap.deny(id_)
        eventually(lambda: not links_of(denied), "it has no link", lambda: links_of(denied), SOON_S)
        assert not [peer.name for peer in others if id_ in links_of(peer)]

        eventually(lambda: all(peer.look()["deny_list_issued_s"] == issued_s for peer in others), "the others know")

        # Nobody but its peers can tell it now.
        bootstrap.terminal.end()
        away.start()
        away.wait_ready()
        eventually(lambda: away.look()["deny_list_issued_s"] == issued_s, "who was away has the list", away.look)
        eventually(lambda: not links_of(denied), "it has no link again", lambda: links_of(denied), SOON_S)
        assert id_ not in {link["peer"] for link in away.status()["queues"]["links"]}
        # With its own three an event that is owed is acknowledged; the denied one is not among its holders.
        others[1].subscribe("topic = 'news'")
        assert others[0].publish("news")["copies"] == 3
