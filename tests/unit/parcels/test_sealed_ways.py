"""Seals on the way of an event, with real keys: publisher, owner and subscriber each do their part."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import msgspec
import pytest

from p2psub.admission.policy import AdmitAll
from p2psub.model.content import Draft
from p2psub.model.effects import Notify, NotifyGap, PublishCommand, SubscribeCommand
from p2psub.model.ids import ClusterId, Contact, NodeId
from p2psub.model.instants import Micros
from p2psub.model.messages import Message
from p2psub.model.messages.declarations import Verdict
from p2psub.model.messages.pubsub import (
    Acknowledge,
    Acknowledged,
    Deliver,
    Delivered,
    NotOwner,
    OutcomeOf,
    ParcelToOwner,
    Publish,
    Route,
    Want,
)
from p2psub.model.outcomes import Missed, Outcome, VerdictStatus
from p2psub.model.parcels import Parcel
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.rights import Rights
from p2psub.model.step import Step
from p2psub.node.cores import Cores, assemble
from p2psub.node.security_context import SecurityContext
from tests.unit.bench import (
    CONFIG,
    at,
    bits,
    change_of,
    effects_of,
    forget,
    make_durable,
    member_at,
    on_topic,
    parcel_of,
    records_of,
    sent,
    sent_of,
    subscription_of,
    table_of,
)
from tests.unit.notaries import Enrolled, Office, sealed
from tests.unit.parcels.sealers import (
    ALONE,
    ANN,
    FREE,
    MALLORY,
    OFFICE,
    OWNER,
    PEER,
    TOPIC,
    changed,
    event_by,
    free_events,
    is_genuine,
    resealed,
    sealed_by,
    shipment_of,
)


def node(who: Enrolled) -> Cores:
    """A publisher with a real name, and a table by which the member at 32 owns everything."""
    cores = assemble(Step(who.contact, 1, Random(1)), CONFIG, AdmitAll(), SecurityContext(notary=who.notary))
    cores.arc_lease.adopt(ALONE)
    return cores


def published(who: Enrolled, drafts: Iterable[Draft]) -> list[tuple[Contact, Message]]:
    """What a publisher sends in one step."""
    cores = node(who)
    cores.publisher.publish(PublishCommand(1, list(drafts)))
    cores.publisher.flush()
    return sent(cores.step)


HERE = subscription_of(on_topic(TOPIC), 1, 64)
THERE = subscription_of(on_topic(TOPIC), 2, 7, cluster=ClusterId("c2"))


def owner() -> Cores:
    """The owner of all topics, with a subscription of its cluster and one of another."""
    cores = member_at(32, ALONE, [change_of(HERE, 1), change_of(THERE, 2)], notary=OFFICE.enrol().notary)
    for publisher in (ANN, MALLORY):
        cores.permits.link_up(publisher.id, Rights())
    cores.ring.remember(PEER)
    forget(cores.step)
    return cores


class Subscriber:
    """A member with one stable subscription, and what it makes of what it hears."""

    def __init__(self) -> None:
        self.cores = member_at(64, table_of(32, 64), notary=OFFICE.enrol().notary)
        self.step = self.cores.step
        self.cores.subscriber.subscribe(SubscribeCommand(1, on_topic(TOPIC)))
        stable = Verdict(HERE.id, 1, VerdictStatus.STABLE, ())
        assert self.cores.declarations.on_verdict(at(1), stable)
        self.cores.subscriber.judged(stable)
        forget(self.step)

    def deliver(self, parcel: Parcel, *missed: Missed) -> list[OutcomeOf]:
        """The owner delivers promised events; what it is told."""
        self.hear(Deliver(parcel, Micros(0), (Want(HERE.id),), missed))
        return [outcome for _, answer in sent_of(self.step, Delivered) for outcome in answer.outcomes]

    def stream(self, parcel: Parcel) -> None:
        """The owner delivers events that promise nothing."""
        self.hear(Deliver(parcel, Micros(0), (Want(HERE.id),)))

    def hear(self, message: Deliver) -> None:
        self.cores.subscriber.on_deliver(OWNER, message)

    def handed_over(self) -> list[tuple[int, bytes]]:
        """Numbers and bodies of what the application got."""
        notified = effects_of(self.step, Notify)
        return [(event.id.sequence, event.body) for notify in notified for event in notify.events]

    def drops(self) -> list[tuple[str | None, NodeId | None]]:
        return [(drop.reason, drop.peer) for drop in records_of(self.step, Kind.DROP)]


def test_publisher_seals_what_it_promises() -> None:
    """All events of a step in as few parcels as may be; each of them is genuine, and says what was drafted."""
    sends = published(ANN, (Draft(TOPIC, {"n": n}, b"body") for n in range(600)))
    parcels = [message.parcel for _, message in sends if isinstance(message, Publish)]
    assert [event.attributes["n"] for parcel in parcels for event in parcel.events] == [*range(600)]
    assert [len(parcel.events) for parcel in parcels] == [256, 256, 88]
    assert all(map(is_genuine, parcels))


def test_what_is_tried_again_has_the_same_seal() -> None:
    """It was signed once, under an id that is for good."""
    cores = node(ANN)
    cores.publisher.publish(PublishCommand(1, [Draft(TOPIC)]))
    cores.publisher.flush()
    ((_, first),) = sent_of(cores.step, Publish)
    cores.publisher.on_not_owner(PEER, NotOwner(first.parcel.id, ((b"", OWNER),)))
    ((_, again),) = sent_of(cores.step, Publish)
    assert again.parcel == first.parcel
    assert is_genuine(again.parcel)


def test_publisher_signs_each_parcel_once() -> None:
    """However many events it has."""
    sends = published(ANN, (Draft(TOPIC, {"n": n}, guarantee=FREE) for n in range(300)))
    parcels = [message.parcel for _, message in sends if isinstance(message, ParcelToOwner)]
    assert [len(parcel.events) for parcel in parcels] == [256, 44]
    assert all(map(is_genuine, parcels))


def test_owner_promises_only_what_is_genuine() -> None:
    """Anything else is refused, by name, and neither stored nor delivered; its publisher may try again."""
    cores, parcel = owner(), sealed_by(ANN)
    unsigned = resealed(parcel, signature=None)
    for bad in (changed(parcel, body=b"altered"), unsigned, sealed(MALLORY.notary, event_by(ANN))):
        cores.owner.on_publish(ANN.contact, Publish(bad, Micros(0)))
        refused = Acknowledged(bits(0), refused=Reason.BAD_SIGNATURE)
        assert sent(cores.step) == [(ANN.contact, Acknowledge(parcel.id, (refused,)))]
        (drop,) = records_of(cores.step, Kind.DROP)
        assert (drop.reason, drop.event, drop.peer) == ("bad_signature", parcel.first, ANN.id)
    assert cores.owner.owed_parcels.log.count == 0
    cores.owner.on_publish(ANN.contact, Publish(parcel, Micros(0)))
    make_durable(cores.step)
    assert [type(message) for _, message in sent(cores.step)] == [Acknowledge, Deliver, Route]


def test_promised_event_reaches_everybody_with_its_seal() -> None:
    """Its subscriber here, and through the super-node those of other clusters."""
    cores, parcel, subscriber = owner(), sealed_by(ANN), Subscriber()
    cores.owner.on_publish(ANN.contact, Publish(parcel, Micros(0)))
    make_durable(cores.step)
    said = [message for _, message in sent(cores.step)]
    (deliver,) = [message for message in said if isinstance(message, Deliver)]
    (route,) = [message for message in said if isinstance(message, Route)]
    assert deliver.parcel == route.parcel == parcel
    assert subscriber.deliver(deliver.parcel) == [OutcomeOf(HERE.id, Outcome.DELIVERED, bits(0))]
    assert subscriber.handed_over() == [(1, b"body")]


def test_streamed_events_reach_other_clusters_genuine() -> None:
    """By the parcel's signature, through an owner that has no key of the publisher."""
    cores, shipment = owner(), shipment_of(ANN, *free_events(3))
    cores.owner.parcels.on_parcel_to_owner(ANN.contact, ParcelToOwner(shipment.parcel, shipment.leaves))
    ((_, route),) = sent_of(cores.step, Route)
    assert [event.id.sequence for event in route.parcel.events] == [1, 2, 3]
    assert is_genuine(route.parcel)
    assert not is_genuine(changed(route.parcel, body=b"altered"))


FORGED: dict[str, Parcel] = {
    "an altered body": changed(sealed_by(ANN), body=b"altered"),
    "an altered attribute": changed(sealed_by(ANN), attributes={}),
    "no signature": parcel_of(event_by(ANN)),
    "the signature of another": sealed(MALLORY.notary, event_by(ANN)),
    "the signature of another parcel": resealed(sealed_by(ANN), signature=sealed_by(ANN, 7).signature),
    "a topic without the right to it": sealed_by(OFFICE.enrol(Rights(publish=("news",)))),
    "a stranger's": sealed_by(Office().enrol()),
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
def test_subscriber_drops_a_forged_event_and_says_nothing(forged: Parcel) -> None:
    """An outcome would discharge the genuine one, which is still owed, and is taken when it comes."""
    subscriber = Subscriber()
    assert subscriber.deliver(forged, Missed(HERE.id, OWNER.id, 1, 5)) == []
    assert subscriber.drops() == [("bad_signature", OWNER.id)]
    assert subscriber.handed_over() == []
    assert effects_of(subscriber.step, NotifyGap) == [], "nor is anything else of the message believed"
    assert subscriber.deliver(sealed_by(ANN)) == [OutcomeOf(HERE.id, Outcome.DELIVERED, bits(0))]
    assert subscriber.handed_over() == [(1, b"body")]


def test_subscriber_drops_a_forged_parcel() -> None:
    """Altered, somebody else's, or with another's event among its own; the genuine one is taken afterwards."""
    subscriber, genuine = Subscriber(), shipment_of(ANN, *free_events(2)).parcel
    altered = (genuine.events[0], msgspec.structs.replace(genuine.events[1], body=b"altered"))
    among_own = shipment_of(MALLORY, event_by(MALLORY, 1, guarantee=FREE), event_by(ANN, 2, guarantee=FREE)).parcel
    for forged in (
        resealed(genuine, events=altered),
        resealed(genuine, signature=None),
        shipment_of(MALLORY, *free_events(2)).parcel,
        among_own,
        shipment_of(Office().enrol(), *free_events(2)).parcel,
    ):
        subscriber.stream(forged)
        assert subscriber.drops() == [("bad_signature", OWNER.id)]
    assert subscriber.handed_over() == []
    subscriber.stream(genuine)
    assert subscriber.handed_over() == [(1, b"body"), (2, b"body")]
    assert sent(subscriber.step) == []
