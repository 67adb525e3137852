"""Whole peers on bad disks: a volume that fills, and bodies that rot. Nothing that was acknowledged is lost.

Over real sockets and files.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
import trio

from p2psub.api.errors import NotTaken
from p2psub.api.items import Notification
from p2psub.api.status import Trouble
from p2psub.model.content import Draft
from p2psub.model.ids import key_of_topic
from p2psub.model.outcomes import PublishOutcome
from p2psub.runtime.host import open_peer
from p2psub.runtime.peer import Peer
from p2psub.runtime.subscription_stream import SubscriptionStream
from tests.runtime.places import open_place
from tests.volumes import small_volume


async def numbers_taken(subscription: SubscriptionStream, many: int) -> list[int]:
    """The numbers of the next events, in their order; red if any were missed."""
    numbers: list[int] = []
    for _ in range(many):
        item = await subscription.take()
        assert isinstance(item, Notification), item
        numbers.append(int(str(item.event.attributes["n"])))
    return numbers


async def test_a_full_volume_acknowledges_nothing_and_is_used_again_when_it_is_freed(tmp_path: Path) -> None:
    """What was begun waits, what comes after it is refused with advice, and no peer is started anew."""
    with small_volume(tmp_path / "volume") as volume:
        async with open_place(tmp_path) as place, open_peer(replace(place.config("ann"), data=volume / "ann")) as ann:
            await ann.wait_ready()
            async with ann.subscribe("topic = 'news'") as subscription:
                await ann.publish({"n": 0}, topic="news")
                ballast, begun = volume / "ballast", list[PublishOutcome]()
                ballast.write_bytes(bytes(shutil.disk_usage(volume).free))

                async def begin() -> None:
                    begun.extend(await ann.publish_many([Draft("news", {"n": n}, bytes(100_000)) for n in range(1, 9)]))

                async with trio.open_nursery() as nursery:
                    nursery.start_soon(begin)
                    await ann.wait_status(lambda status: Trouble.STORE in status.troubles)
                    with pytest.raises(NotTaken, match=r"disk_full; .* free some space"):
                        await ann.publish({"n": 9}, topic="news")
                    assert (begun, await numbers_taken(subscription, 1), subscription.waiting) == ([], [0], 0)
                    ballast.unlink()
                assert [(outcome.copies, outcome.refused) for outcome in begun] == [(1, None)] * 8
                assert (await ann.publish({"n": 10}, topic="news")).copies == 1
                assert sorted(await numbers_taken(subscription, 9)) == [*range(1, 9), 10]
            assert Trouble.STORE not in ann.status().troubles


async def wait_ring_of_three(peer: Peer) -> None:
    """Return when a peer serves an arc among three owners."""
    await peer.wait_status(lambda status: status.ready and len(status.node.owners) == 3)


def topic_of(owner: Peer, *others: Peer) -> str:
    """A topic whose key one of these peers owns."""
    ids = sorted(peer.status().node.id for peer in (owner, *others))
    topics = (f"news/{n}" for n in count())
    owners = ((topic, next((id_ for id_ in ids if id_ >= key_of_topic(topic)), ids[0])) for topic in topics)
    return next(topic for topic, id_ in owners if id_ == owner.status().node.id)


async def test_rotten_bodies_come_back_from_the_other_holders(tmp_path: Path) -> None:
    """An owner that cannot read what it owes says so, gets it from a copy, and pays it once."""
    async with (
        open_place(tmp_path) as place,
        open_peer(place.config("bob")) as bob,
        open_peer(place.config("cid")) as cid,
    ):
        await bob.wait_ready()
        # It takes nothing yet, so most events stay owed.
        async with bob.subscribe("n >= 0", window=4) as subscription:
            async with open_peer(place.config("ann")) as ann:
                for peer in (ann, bob, cid):
                    await wait_ring_of_three(peer)
                outcomes = await cid.publish_many([Draft(topic_of(ann, bob, cid), {"n": n}) for n in range(40)])
                assert {(outcome.matched, outcome.refused) for outcome in outcomes} == {(1, None)}
            with closing(sqlite3.connect(tmp_path / "ann" / "node.sqlite")) as disk:
                rotten = disk.execute("UPDATE pack_body SET body = zeroblob(length(body))").rowcount
                disk.commit()
            assert rotten > 0
            async with open_peer(place.config("ann", token=False)) as ann:
                await wait_ring_of_three(ann)
                assert sorted(await numbers_taken(subscription, 40)) == list(range(40))
                await ann.wait_status(lambda status: status.node.undischarged == 0)
                assert subscription.waiting == 0
                assert ann.status().counters["store_bodies_lost"] > 0
                assert "bodies of packs that could not be read" in ann.status().troubles[Trouble.DAMAGE]
