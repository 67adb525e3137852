"""What a super-node does not number, whoever asks: a record that no honest peer makes."""

from __future__ import annotations

import msgspec
import pytest

from p2psub.admission.permits import Permits
from p2psub.errors import PeerFault
from p2psub.model.bids import DEADLINE_US_MAX, PRICE_MAX, Bid
from p2psub.model.instants import Stamp
from p2psub.model.messages.declarations import Declare
from p2psub.model.reasons import Reason
from p2psub.model.rights import Rights
from p2psub.wire.codec import decode_batch, encode_batch
from tests.unit.bench import at, node_at, on_topic, subscription_of

RECORD = subscription_of(on_topic("x"), subscriber=64)
WRONG = [Bid(-1), Bid(DEADLINE_US_MAX + 1), Bid(0, -1), Bid(0, PRICE_MAX + 1), Bid(0, 1, -1), Bid(0, 1, PRICE_MAX + 1)]


@pytest.mark.parametrize("bid", WRONG)
def test_bid_beyond_the_caps_is_refused(bid: Bid) -> None:
    """By the super-node, with a reason of its own, and by the codec."""
    permits, record = Permits(node_at(1), Rights()), msgspec.structs.replace(RECORD, bid=bid)
    permits.link_up(at(64).id, Rights())
    assert permits.refusal(at(64).id, record) is Reason.BAD_BID
    with pytest.raises(PeerFault):
        decode_batch(encode_batch([Declare(record)], Stamp(1, 1)))


def test_bid_within_the_caps_is_taken() -> None:
    """The largest, too."""
    permits = Permits(node_at(1), Rights())
    permits.link_up(at(64).id, Rights())
    for bid in (Bid(), Bid(DEADLINE_US_MAX, PRICE_MAX, PRICE_MAX)):
        assert permits.refusal(at(64).id, msgspec.structs.replace(RECORD, bid=bid)) is None
