"""After a power failure of everything the peers come back by themselves. Real processes, real disks, no bootstrap."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.runtime.overlays import Bootstrap, Peer, wait_idle, wait_one_ring
from tests.runtime.terminals import desk_in, eventually

TOPIC = "quotes/ACME"
CLUSTERS = {"ann": "home", "bob": "home", "cid": "away", "dan": "away"}


def clusters_seen_by(peer: Peer) -> set[tuple[str, str]]:
    """The cube as one peer knows it."""
    return {(found["cluster"], found["prefix"]) for found in peer.look()["cube"]["clusters"]}


@pytest.mark.slow
def test_two_clusters_come_back_from_their_disks_alone(tmp_path: Path) -> None:
    """Every process is killed, the bootstrap for good. What is published in one cluster is then seen in the other."""
    with desk_in(tmp_path) as desk:
        bootstrap = Bootstrap(desk)
        token = bootstrap.token()
        peers = [Peer(desk, name) for name in CLUSTERS]
        for peer in peers:
            peer.start("--bootstrap", bootstrap.address, "--token", token, "--cluster", CLUSTERS[peer.name])
            peer.wait_ready()
        ann, bob, cid, dan = peers
        eventually(lambda: len(clusters_seen_by(ann)) == 2 and clusters_seen_by(ann) == clusters_seen_by(dan), "a cube")
        before = clusters_seen_by(ann)
        subscriber = dan.subscribe(f"topic = '{TOPIC}'")
        subscriber.wait_seen([ann.publish(TOPIC)["event"]])
        addresses = {peer.name: peer.place[1] for peer in peers}
        for terminal in (bootstrap.terminal, *(peer.terminal for peer in peers)):
            terminal.end(signal.SIGKILL)
        for peer in peers:
            peer.start("--listen", addresses[peer.name])
        for peer in peers:
            peer.wait_ready()
        wait_one_ring([ann, bob])
        wait_one_ring([cid, dan])
        assert clusters_seen_by(ann) == clusters_seen_by(cid) == before
        subscriber = dan.subscribe(f"topic = '{TOPIC}'")
        subscriber.wait_seen([ann.publish(TOPIC)["event"], cid.publish(TOPIC)["event"]])
        wait_idle(peers)
