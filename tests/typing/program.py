"""A program that uses the whole public API and says which types it expects. It is checked, never run.

A line that must not pass carries `type: ignore` with its error; where the API loses a type, the comment is unused,
which `mypy --strict` reports.
"""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

import p2psub
from p2psub import (
    AdmissionRefused,
    AdvertisementHandle,
    AdvertisementRefused,
    AdvertiseVerdict,
    AlreadyEnded,
    BadContent,
    ConfigError,
    Draft,
    EnrolmentFailed,
    Event,
    Filter,
    FilterError,
    Gap,
    Guarantee,
    Moment,
    NotAuthorized,
    Notification,
    NotTaken,
    Operator,
    Order,
    P2psubError,
    Peer,
    PeerConfig,
    PeerStatus,
    Predicate,
    PublishOutcome,
    Reason,
    Refusal,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreUnusable,
    SubscribeVerdict,
    SubscriptionRefused,
    SubscriptionStream,
    TooLarge,
    Value,
    VerdictStatus,
    open_peer,
)


async def run() -> None:
    """Open a peer, publish, subscribe."""
    config = PeerConfig(data=Path("data"), bootstrap="127.0.0.1:7400", token=None, name="example")
    async with open_peer(config) as peer:
        assert_type(peer, Peer)
        assert_type(peer.status(), PeerStatus)
        assert_type(peer.status().ready, bool)
        await peer.wait_ready()
        await publish(peer)
        await subscribe(peer)
        await advertise(peer)
    PeerConfig(data="data")  # type: ignore[arg-type]
    p2psub.Broker  # type: ignore[attr-defined] # noqa: B018


async def publish(peer: Peer) -> None:
    """One event, and many."""
    outcome = await peer.publish({"price": 12.5, "at": Moment(0)}, topic="quotes", guarantee=Guarantee.AT_MOST_ONCE)
    assert_type(outcome, PublishOutcome)
    assert_type((outcome.copies, outcome.matched), tuple[int | None, int | None])
    assert_type(outcome.refused, Reason | None)
    attributes: dict[str, Value] = {"price": 3.0}
    assert_type(await peer.publish_many([Draft("quotes", attributes)]), list[PublishOutcome])
    await peer.publish({"price": object()}, topic="quotes")  # type: ignore[dict-item]
    await peer.publish({})  # type: ignore[call-arg]
    await peer.publish_many(["quotes"])  # type: ignore[list-item]


async def subscribe(peer: Peer) -> None:
    """By text and by filter; item by item, and by batches."""
    async with peer.subscribe("price > :least", params={"least": 10}) as quotes:
        assert_type(quotes, SubscriptionStream)
        assert_type(quotes.verdict, SubscribeVerdict)
        async for item in quotes:
            assert_type(item, Notification | Gap)
            if isinstance(item, Gap):
                assert_type((item.count, item.reason), tuple[int, Reason])
            else:
                assert_type(item.event, Event)
        async for batch in quotes.batches():
            assert_type(batch, list[Notification | Gap])
    dear = Filter(((Predicate("price", Operator.GREATER, 10),),))
    async with peer.subscribe(dear, replay=True, window=16, order=Order.PUBLISHER) as everything:
        assert_type(everything, SubscriptionStream)
        assert_type(await everything.wait_verdict(), SubscribeVerdict)
        assert_type(await everything.wait_stable(), SubscribeVerdict)
    peer.subscribe(3)  # type: ignore[arg-type]


async def advertise(peer: Peer) -> None:
    """As a subscription, but with a rate."""
    async with peer.advertise("topic = 'quotes'", rate=10) as offer:
        assert_type(offer, AdvertisementHandle)
        assert_type(await offer.wait_verdict(), AdvertiseVerdict)
        assert_type((await offer.wait_stable()).status, VerdictStatus)
    peer.advertise("topic = 'quotes'")  # type: ignore[call-arg]


def explain(error: P2psubError) -> str:
    """What to do next; every error has the same root."""
    if isinstance(error, ConfigError):
        return f"{error.field}: {error.advice}"
    if isinstance(error, FilterError):
        return f"{error.line}\n{error.caret}\n{error.hint}"
    if isinstance(error, Refusal):
        return error.advice
    return str(error)


REFUSALS: list[type[Refusal]] = [
    AdmissionRefused,
    AdvertisementRefused,
    AlreadyEnded,
    BadContent,
    NotAuthorized,
    NotTaken,
    SubscriptionRefused,
    TooLarge,
]
OTHERS: list[type[P2psubError]] = [EnrolmentFailed, StoreBusy, StoreDamaged, StoreError, StoreUnusable]
