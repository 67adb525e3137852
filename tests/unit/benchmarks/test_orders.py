"""Orders survive the pipe."""

from __future__ import annotations

import msgspec
import pytest

from p2psub.bench.bid_load import BidLoad
from p2psub.bench.content import EventLoad
from p2psub.bench.orders import (
    AnyWorkerOrder,
    BidderNotes,
    BidOrder,
    Consumed,
    ConsumeOrder,
    CubeOrder,
    EnterOrder,
    EventRoll,
    FollowOrder,
    HandOver,
    LinkNotes,
    LookOrder,
    NoteOrder,
    NotesOrder,
    OfferOrder,
    PrepareOrder,
    ProfileOrder,
    PublishForOrder,
    PublishOrder,
    RollOrder,
    SubscribeOrder,
    decode_order,
    encode_line,
)
from p2psub.model.content import Guarantee


@pytest.mark.parametrize(
    "order",
    [
        EnterOrder("data", "name", "127.0.0.1:1", "token", "cluster", False),
        EnterOrder("data", "name", "127.0.0.1:1", "token", "cluster", True, "127.0.0.1:2", "127.0.0.1:3", "lrt"),
        PrepareOrder(EventLoad(3, ("a", "b"), 7, Guarantee.EFFECTIVELY_ONCE)),
        PublishOrder(1, 200.0),
        ConsumeOrder(10, 1.5, one_by_one=True, is_timed=True),
        CubeOrder(3),
        BidOrder(BidLoad(1, 55.7, 25.0, 64, 1_500), (0, 2, 4)),
        OfferOrder(BidLoad(1, 55.7, 25.0, 64, 1_500)),
        NoteOrder(),
        NotesOrder(),
        SubscribeOrder(("topic = 'a'", "price < 0")),
        FollowOrder(),
        PublishForOrder(EventLoad(3, ("a",)), 1.5, 5.0, 4, 10),
        RollOrder(),
        ProfileOrder(True),
        LookOrder(),
    ],
)
def test_an_order_is_one_line_and_comes_back(order: AnyWorkerOrder) -> None:
    """Whatever it carries."""
    line = encode_line(order)
    assert (line.count(b"\n"), line[-1:]) == (1, b"\n")
    assert decode_order(line) == order


def test_an_answer_is_known_by_whoever_asked() -> None:
    """Its line does not name it."""
    consumed = Consumed(3, 0, 5, [1, 2, 3])
    assert msgspec.json.decode(encode_line(consumed), type=Consumed) == consumed
    roll = EventRoll({"a": b"\0\1\n\xff"}, {"p": b"\n"}, 1, {5: 2})
    assert msgspec.json.decode(encode_line(roll), type=EventRoll) == roll
    link = LinkNotes(committed=[5], beats_us=[-7], paces=[(9, 15_625.5)], silence_us_max=1, bodies=2, distinct_bodies=1)
    notes = BidderNotes((HandOver(1, 2, 3),), {"p": link}, -4)
    assert msgspec.json.decode(encode_line(notes), type=BidderNotes) == notes
