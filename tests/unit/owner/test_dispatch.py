"""How many subscriptions one multicast carries events to: no more than one answer can speak for."""

from __future__ import annotations

from p2psub.model.ids import ClusterId, SubscriptionId
from p2psub.model.instants import Micros, Stamp
from p2psub.model.messages.pubsub import Delivered, OutcomeOf, Route, StreamAck
from p2psub.model.outcomes import Outcome
from p2psub.model.parcels import Parcel
from p2psub.model.place_sets import to_bitmap
from p2psub.model.ways import UNCUT_BYTES
from p2psub.overlay.election import Election
from p2psub.owner.dispatch import Debt, Dispatch
from p2psub.owner.spool import Spool
from p2psub.parcels.shipment import Shipment
from p2psub.wire.codec import encode_batch
from p2psub.wire.framing import MESSAGE_BYTES_MAX
from tests.unit.bench import CLUSTER, CONFIG, at, epoch, event_of, node_at, parcel_of, sent_of, step_at

NUMBER = 1 << 40
"""Of streams and acknowledgements: higher than they get."""
STAMP = Stamp(0, 0)


def routed(parcel: Parcel, debts: list[Debt]) -> list[Route]:
    """What an owner that reaches no subscriber itself asks of its super-node."""
    step = step_at(32)
    election = Election(step, CONFIG.cluster)
    election.follow(CLUSTER, epoch(1, 1), at(1))
    dispatch = Dispatch(
        step, election, lambda _: None, Spool(step.me.id, step.incarnation, 1), lambda _hop, _cluster: UNCUT_BYTES
    )
    dispatch.send(Shipment(parcel), Micros(0), debts)
    return [message for _, message in sent_of(step, Route)]


def answer_to(route: Route) -> Delivered:
    """The most that the peer of all these subscriptions has to say."""
    ids, places = [want.subscription for _, wants, _ in route.wants for want in wants], route.parcel.places
    outcomes = [OutcomeOf(id_, Outcome.UNSUBSCRIBED, to_bitmap(places)) for id_ in ids]
    acks = [StreamAck(id_, NUMBER, NUMBER, bytes([255]) * 32, NUMBER) for id_ in ids]
    return Delivered(route.parcel.id, tuple(outcomes), route.owner, tuple(acks))


def test_every_multicast_can_be_answered_in_one_message() -> None:
    """A peer with 40,000 subscriptions that all want a whole parcel speaks for every one of them."""
    parcel = parcel_of(*(event_of("x", n) for n in range(1, 257)))
    debts: list[Debt] = [
        (ClusterId("elsewhere"), (SubscriptionId(node_at(8), 1, n), parcel.places, NUMBER, NUMBER - 1, None))
        for n in range(40_000)
    ]
    routes = routed(parcel, debts)
    asked = [want.subscription for route in routes for _, wants, _ in route.wants for want in wants]
    assert asked == [subscription for _, (subscription, *_) in debts]
    sizes = [len(encode_batch([message], STAMP)) for route in routes for message in (route, answer_to(route))]
    assert max(sizes) <= MESSAGE_BYTES_MAX
