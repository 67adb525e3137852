"""A whole peer from one configuration: it enrols once, founds, serves its application, and starts again as itself.

Over real sockets and files.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import trio

from p2psub.api.items import Notification
from p2psub.api.status import Trouble
from p2psub.errors import ConfigError, P2psubError
from p2psub.identity.keys import CA_KEY
from p2psub.model.content import Draft, Guarantee
from p2psub.model.ids import EventId
from p2psub.model.rights import Rights
from p2psub.runtime import host
from p2psub.runtime.enrolment_client import EnrolmentFailed
from p2psub.runtime.host import open_peer
from p2psub.runtime.peer import Peer
from p2psub.runtime.store_file import StoreBusy
from p2psub.runtime.subscription_stream import SubscriptionStream
from tests.runtime.certified_nodes import OVERLAY
from tests.runtime.places import NODE, Place, open_place


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    """With a new overlay."""
    async with open_place(tmp_path) as place:
        yield place


async def published(peer: Peer) -> str:
    """The topic of an event that a peer published and got itself."""
    async with peer.subscribe("price > 1") as subscription:
        await peer.publish({"price": 2}, topic="quotes/ACME")
        item = await subscription.take()
        assert isinstance(item, Notification)
        return item.event.topic


async def test_the_first_peer_founds_the_overlay(place: Place) -> None:
    """With a bootstrap and a token; then it serves its application, and says how it is."""
    async with open_peer(place.config("ann")) as peer:
        assert not peer.status().ready
        await peer.wait_ready()
        assert await published(peer) == "quotes/ACME"
        status = peer.status()
    assert (status.name, status.overlay, status.stage, status.missing) == ("ann", OVERLAY, "ready", None)
    assert (status.node.cluster, status.node.incarnation) == ("blue", 1)
    assert 6.9 < status.certificate_days_left <= 7
    assert [link.address for link in status.links] == [place.address]


async def test_a_peer_that_starts_again_is_itself(place: Place) -> None:
    """Without bootstrap or token, from what its directory holds; only its incarnation is another."""
    async with open_peer(place.config("ann")) as peer:
        await peer.wait_ready()
        before = peer.status().node
    async with open_peer(place.config("ann", token=False)) as peer:
        await peer.wait_ready()
        after = peer.status().node
    assert (after.id, after.cluster, after.incarnation) == (before.id, before.cluster, before.incarnation + 1)


async def test_damage_in_the_store_is_told_by_the_status(place: Place, tmp_path: Path) -> None:
    """The peer goes on without the row, but not silently."""
    async with open_peer(place.config("ann")) as peer:
        await peer.wait_ready()
        assert peer.status().troubles == {}
    with closing(sqlite3.connect(tmp_path / "ann" / "node.sqlite")) as disk:
        disk.execute("UPDATE row SET checksum = checksum + 1 WHERE number = (SELECT max(number) FROM row)")
        disk.commit()
    async with open_peer(place.config("ann", token=False)) as peer:
        assert peer.status().troubles == {
            Trouble.DAMAGE: "rows of the store that were damaged and are set aside: 1; check the disk"
        }


async def test_the_machine_is_measured_again_and_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the links that it has by then; the super-node ranks it by what was measured last."""
    monkeypatch.setattr(host, "MEASURE_EVERY_S", 0.1)
    async with open_peer(place.config("ann")) as ann, open_peer(place.config("bob")) as bob:
        for peer in (ann, bob):
            assert peer.status().capability is not None
            while peer.status().capability.nearness == 0.0:  # type: ignore[union-attr]
                await trio.sleep(0.01)
        await bob.wait_ready()
        while (bob.status().rank or ann.status().rank) is None:
            await trio.sleep(0.01)
        assert bob.status().score == bob.status().capability.score > 1  # type: ignore[union-attr]


async def test_a_second_peer_joins(place: Place) -> None:
    """What one publishes the other gets."""
    async with open_peer(place.config("ann")) as ann, open_peer(place.config("bob")) as bob:
        await ann.wait_ready()
        await bob.wait_ready()
        async with bob.subscribe("topic = 'news'") as subscription:
            outcome = await ann.publish({}, topic="news")
            assert outcome.matched == 1
            async for item in subscription:
                assert isinstance(item, Notification)
                assert item.event.id == outcome.event
                break


async def test_many_events_that_promise_nothing_are_streamed(place: Place) -> None:
    """Under a few signatures, all of which the other end verifies: nothing is missing, doubled or out of order."""
    drafts = [Draft("news", {"n": n}, guarantee=Guarantee.AT_MOST_ONCE) for n in range(1000)]
    async with open_peer(place.config("ann")) as ann, open_peer(place.config("bob")) as bob:
        await ann.wait_ready()
        await bob.wait_ready()
        async with bob.subscribe("topic = 'news'") as named, bob.subscribe("n >= 500") as any_topic:
            outcomes = await ann.publish_many(drafts)
            assert {(outcome.copies, outcome.matched, outcome.refused) for outcome in outcomes} == {(None, None, None)}
            ids = [outcome.event for outcome in outcomes]
            assert await events_of(named, 1000) == ids
            assert await events_of(any_topic, 500) == ids[500:]


async def events_of(subscription: SubscriptionStream, count: int) -> list[EventId]:
    """The first so many events of a subscription; red at a gap."""
    seen: list[EventId] = []
    async for item in subscription:
        assert isinstance(item, Notification)
        seen.append(item.event.id)
        if len(seen) == count:
            break
    return seen


async def test_a_peer_without_the_right_to_rule_founds_nothing(place: Place) -> None:
    """It waits for one that may, and says so."""
    async with open_peer(place.config("member", rights=Rights(may_lead=False))) as member:
        while not member.status().links:
            await trio.sleep(NODE.heartbeat_us / 1e6)
        await trio.sleep(5 * NODE.heartbeat_us / 1e6)
        status = member.status()
    assert (status.stage, status.ready, status.score < 0) == ("seeking", False, True)


async def test_what_an_application_raises_reaches_its_caller(place: Place) -> None:
    """As it is, not in a group; and the peer is closed gracefully, so it can start again."""
    with pytest.raises(ZeroDivisionError):
        async with open_peer(place.config("ann")):
            raise ZeroDivisionError
    async with open_peer(place.config("ann", token=False)) as peer:
        assert peer.status().node.incarnation == 2


async def test_a_directory_is_for_one_process(place: Place) -> None:
    """The second is told so, and the first notices nothing."""
    async with open_peer(place.config("ann")) as peer:
        with pytest.raises(StoreBusy):
            async with open_peer(place.config("ann", token=False)):
                pytest.fail("there are two of them")
        await peer.wait_ready()


async def test_a_directory_belongs_to_its_cluster(place: Place) -> None:
    """Another one is refused instead of passed over; the authority's directory is not a peer's."""
    config = place.config("ann")
    async with open_peer(config) as peer:
        await peer.wait_ready()
        cluster = peer.status().node.cluster
    with pytest.raises(ConfigError, match=f"belongs to the cluster '{cluster}'; leave the cluster out"):
        async with open_peer(replace(config, token=None, cluster="elsewhere")):
            pytest.fail("it is a member already")
    (config.data / CA_KEY).touch()
    with pytest.raises(ConfigError, match="data directory of a bootstrap"):
        async with open_peer(replace(config, token=None)):
            pytest.fail("it would take the bootstrap's key")


async def test_a_peer_may_be_closed_as_soon_as_it_is_open(place: Place) -> None:
    """Before its node took a first step: then it takes none."""
    async with open_peer(place.config("ann", traces=True)) as peer:
        pass
    assert peer.status().counters.get("steps", 0) == 0


@pytest.mark.parametrize("file", ["enrolment.msgpack", "key.pem", "certificate.pem", "node.sqlite", "traces"])
async def test_a_data_directory_that_cannot_be_used_is_an_error_of_ours(place: Place, file: str) -> None:
    """Whatever file it is: it says which, and what to do."""
    config = place.config("ann", traces=True)
    async with open_peer(config):
        pass
    unusable = config.data / file
    if unusable.is_dir():
        shutil.rmtree(unusable)
        unusable.touch()
    else:
        unusable.unlink()
        unusable.mkdir()
    with pytest.raises(P2psubError, match=rf"{file}.*(check|restore|run as)"):
        async with open_peer(replace(config, token=None)):
            pytest.fail("it cannot be used")


async def test_what_cannot_be_is_refused_with_advice(place: Place) -> None:
    """No token, a token that is used up, a place where nobody can listen."""
    with pytest.raises(ConfigError, match="give --bootstrap and --token once"):
        async with open_peer(place.config("new", token=False)):
            pytest.fail("it has no certificate")
    config = place.config("ann")
    async with open_peer(config):
        pass
    with pytest.raises(EnrolmentFailed, match="token_used"):
        async with open_peer(replace(place.config("bob"), token=config.token)):
            pytest.fail("its token is used up")
