"""What a person does in terminals, as the README says. Real processes, TLS on loopback, signals, a real console."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pexpect  # type: ignore[import-untyped]
import pytest

from tests.runtime.overlays import Bootstrap, Peer, place_of, wait_idle, wait_one_ring
from tests.runtime.terminals import COMMAND, PATIENCE_S, ROOT, desk_in

pytestmark = pytest.mark.slow

TOPIC = "quotes/ACME"


class Cluster:
    """A bootstrap, and three peers of one cluster that are ready."""

    def __init__(self, bootstrap: Bootstrap, peers: list[Peer]) -> None:
        self.bootstrap = bootstrap
        self.peers = peers
        wait_one_ring(peers)
        leading = place_of(peers[0].status()["ring"]["super_node"])
        self.super_node = next(peer for peer in peers if peer.place == leading)
        self.members = [peer for peer in peers if peer is not self.super_node]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """One that was just started."""
    with desk_in(tmp_path) as desk:
        bootstrap = Bootstrap(desk)
        token = bootstrap.token()
        peers = [Peer(desk, name) for name in ("ann", "bob", "cid")]
        for peer in peers:
            peer.start("--bootstrap", bootstrap.address, "--token", token, "--cluster", "home")
        for peer in peers:
            peer.wait_ready()
        yield Cluster(bootstrap, peers)


class Console:
    """`p2psub console` at a terminal."""

    def __init__(self, child: pexpect.spawn) -> None:
        self._child = child
        child.expect_exact("help lists the commands")

    def publish(self, price: int) -> None:
        """Type it, and wait for the acknowledgement; one subscription wants it."""
        self._child.sendline(f"publish {TOPIC} price={price}")
        self._child.expect(r"published \S+: \d cop(y|ies), matched 1 subscription\b")

    def advertise_too_little(self) -> None:
        """One event in a hundred seconds; the second is refused at once."""
        self._child.sendline("advertise 0.01 topic = 'rare'")
        self._child.expect(r"\[1\] advertised as \S+, in every cluster")
        self._child.sendline("publish rare")
        self._child.expect("published")
        self._child.sendline("publish rare")
        self._child.expect_exact("above_rate")


@contextmanager
def console_at(peer: Peer) -> Iterator[Console]:
    """A console of a peer; it is closed when the block ends."""
    child = pexpect.spawn(
        COMMAND[0],
        [*COMMAND[1:], "console", "--data", str(peer.data)],
        cwd=ROOT,
        encoding="utf-8",
        dimensions=(40, 160),
        env={"TERM": "xterm", "PATH": os.environ["PATH"], "PROMPT_TOOLKIT_NO_CPR": "1"},
        timeout=PATIENCE_S,
    )
    try:
        yield Console(child)
    finally:
        child.close(force=True)


def test_a_cluster_lives_through_the_loss_of_super_node_and_bootstrap(cluster: Cluster) -> None:
    """What is published in a console is seen at another peer; and the super-node comes back from its cache alone."""
    publisher, reader = cluster.members
    subscriber = reader.subscribe(f"topic = '{TOPIC}' AND price > 10")
    with console_at(publisher) as console:
        console.advertise_too_little()
        console.publish(price=11)
        subscriber.wait_count(1)
        cluster.super_node.kill()
        console.publish(price=12)
        subscriber.wait_count(2)
        assert cluster.bootstrap.terminal.end() == 0
        console.publish(price=13)
        subscriber.wait_count(3)
        cluster.super_node.start()
        cluster.super_node.wait_ready()
        cluster.super_node.publish(TOPIC, "price=14")
        subscriber.wait_count(4)
        wait_one_ring(cluster.peers)
        wait_idle(cluster.peers)
        console.publish(price=15)
        subscriber.wait_count(5)


def test_ten_restarts_leave_no_duplicate_and_no_stale_member(cluster: Cluster) -> None:
    """Gracefully and by power failure in turns, with the bootstrap and then without; others publish meanwhile."""
    restarted, (publisher, reader) = cluster.super_node, cluster.members
    subscriber = reader.subscribe(f"topic = '{TOPIC}'")
    published, under_way = [], []
    for number in range(10):
        if number == 5:
            cluster.bootstrap.terminal.end()
        if number % 2:
            restarted.kill()
        else:
            restarted.leave()
        under_way.append(publisher.publishing(TOPIC))
        restarted.start()
        restarted.wait_ready()
        published.append(restarted.publish(TOPIC)["event"])
    for publishing in under_way:
        assert publishing.wait() == 0, publishing.text()
        published.append(publishing.pictures()[0]["event"])
    subscriber.wait_seen(published)
    wait_one_ring(cluster.peers)
    wait_idle(cluster.peers)
    published.append(publisher.publish(TOPIC)["event"])
    subscriber.wait_seen(published)
    assert sorted(subscriber.ids()) == sorted(published)
