"""Three hosts with a network between them that is cut and heals. Real processes, addresses and cables; root only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.runtime.hosts import Host, hosts_on_a_switch
from tests.runtime.overlays import Bootstrap, Peer, wait_idle, wait_one_ring
from tests.runtime.terminals import desk_in

pytestmark = pytest.mark.slow

TOPIC = "news"


class Hosted:
    """Three peers of one cluster, each on its host."""

    def __init__(self, hosts: dict[Peer, Host]) -> None:
        self.hosts = hosts
        self.peers = list(hosts)
        for peer in self.peers:
            peer.wait_ready()
        wait_one_ring(self.peers)

    def with_role(self, role: str) -> Peer:
        """The first peer that says it has this role."""
        return next(peer for peer in self.peers if peer.status()["ring"]["role"] == role)


@pytest.fixture
def hosted(tmp_path: Path) -> Iterator[Hosted]:
    """They are ready; the bootstrap is on the first host."""
    with hosts_on_a_switch(3) as hosts, ExitStack() as stack:
        desks = [stack.enter_context(desk_in(tmp_path, host.machine)) for host in hosts]
        bootstrap = Bootstrap(desks[0], f"{hosts[0].address}:7400")
        token = bootstrap.token()
        peers = [Peer(desk, name) for desk, name in zip(desks, ("ann", "bob", "cid"), strict=True)]
        for peer, host in zip(peers, hosts, strict=True):
            listen = f"{host.address}:7401"
            peer.start(
                "--bootstrap", bootstrap.address, "--token", token, "--listen", listen, "--cluster", "home", "-v"
            )
        yield Hosted(dict(zip(peers, hosts, strict=True)))


@pytest.mark.parametrize("role", ["super_node", "candidate"])
def test_a_cut_loses_nothing(hosted: Hosted, role: str) -> None:
    """Two of three go on; what the third publishes waits in its outbox. After the heal each has all of it, once."""
    lonely = hosted.with_role(role)
    together = [peer for peer in hosted.peers if peer is not lonely]
    subscribers = {peer: peer.subscribe(f"topic = '{TOPIC}'") for peer in hosted.peers}
    published = [peer.publish(TOPIC)["event"] for peer in hosted.peers]
    hosted.hosts[lonely].cut()
    waiting = [lonely.publishing(TOPIC) for _ in range(3)]
    published += [peer.publish(TOPIC)["event"] for peer in together]
    wait_one_ring(together)
    for peer in together:
        subscribers[peer].wait_seen(published)
    hosted.hosts[lonely].heal()
    for publishing in waiting:
        assert publishing.wait() == 0, publishing.text()
        published.append(publishing.pictures()[0]["event"])
    wait_one_ring(hosted.peers)
    wait_idle(hosted.peers)
    published.append(lonely.publish(TOPIC)["event"])
    for subscriber in subscribers.values():
        subscriber.wait_seen(published)
    assert [sorted(subscriber.ids()) for subscriber in subscribers.values()] == [sorted(published)] * 3
