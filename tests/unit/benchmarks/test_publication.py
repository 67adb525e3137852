"""A publication goes on for as long as it was told, and knows what the overlay has promised."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import trio
from pyroaring import BitMap
from trio.testing import MockClock

from p2psub.bench.content import EventLoad
from p2psub.bench.orders import PublishForOrder
from p2psub.bench.publication import Publication
from p2psub.model.content import Draft
from p2psub.model.ids import EventId
from p2psub.model.outcomes import PublishOutcome
from p2psub.model.reasons import Reason
from tests.unit.bench import node_at

LOAD = EventLoad(200, ("a", "b"))
CALLS = 3


class FakeOverlay:
    """Acknowledges every call after some time; refuses the events of one topic, and forgets those of another."""

    def __init__(self, takes_s: float, refuses: str = "", forgets: str = "") -> None:
        self._takes_s = takes_s
        self._refuses = refuses
        self._forgets = forgets
        self._numbers = itertools.count(1)
        self.under_way_max = 0
        self._under_way = 0
        self.began_s: list[float] = []
        self.sizes: set[int] = set()

    async def publish_many(self, drafts: Sequence[Draft]) -> list[PublishOutcome]:
        """As a peer does."""
        ids = [EventId(node_at(1), 1, next(self._numbers)) for _ in drafts]
        self.began_s.append(trio.current_time())
        self.sizes.add(len(drafts))
        self._under_way += 1
        self.under_way_max = max(self.under_way_max, self._under_way)
        await (trio.sleep_forever() if drafts[0].topic == self._forgets else trio.sleep(self._takes_s))
        self._under_way -= 1
        return [
            PublishOutcome(id_, 3, 1, Reason.ABOVE_RATE if draft.topic == self._refuses else None)
            for id_, draft in zip(ids, drafts, strict=True)
        ]


async def test_it_does_not_wait_for_one_call_before_the_next(autojump_clock: MockClock) -> None:
    """Several calls are under way at any time, until the time is over."""
    overlay = FakeOverlay(takes_s=1.0)
    publication = Publication(overlay.publish_many, PublishForOrder(LOAD, 3.0, 5.0, CALLS, 10))
    published = await publication.run()
    assert (published.acknowledged, published.unacknowledged) == (3 * CALLS * 10, 0)
    assert (overlay.under_way_max, overlay.sizes) == (CALLS, {10})
    assert BitMap.union(*publication.acknowledged.values()) == BitMap(range(1, 3 * CALLS * 10 + 1))
    assert published.began_ns <= published.ended_ns


async def test_a_rate_does_not_depend_on_acknowledgements(autojump_clock: MockClock) -> None:
    """Every event has its own call at its own time, though each takes longer than the next is away."""
    overlay, began_s = FakeOverlay(takes_s=1.0), trio.current_time()
    published = await Publication(overlay.publish_many, PublishForOrder(LOAD, 2.0, 5.0, CALLS, 10, 8.0)).run()
    assert [round(at_s - began_s, 3) for at_s in overlay.began_s] == [number / 8 for number in range(16)]
    assert (published.acknowledged, overlay.sizes, overlay.under_way_max) == (16, {1}, 8)


async def test_what_is_refused_is_not_promised(autojump_clock: MockClock) -> None:
    """Nobody has to deliver it."""
    publication = Publication(
        FakeOverlay(takes_s=0.5, refuses="b").publish_many, PublishForOrder(LOAD, 1.0, 5.0, CALLS, 10)
    )
    published = await publication.run()
    assert published.acknowledged == published.unacknowledged == 2 * CALLS * 5
    assert (len(publication.acknowledged["a"]), len(publication.acknowledged["b"])) == (2 * CALLS * 5, 0)


async def test_patience_with_acknowledgements_ends(autojump_clock: MockClock) -> None:
    """What was not acknowledged by then is told."""
    overlay, began_s = FakeOverlay(takes_s=0.1, forgets="a"), trio.current_time()
    published = await Publication(overlay.publish_many, PublishForOrder(LOAD, 2.0, 7.0, CALLS, 1, 2.0)).run()
    assert trio.current_time() - began_s == 9.0
    assert (published.acknowledged, published.unacknowledged) == (2, 2)
