"""Seals, with real keys: an event is taken only as its publisher made it, and on a topic that it may publish."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

import msgspec
import pytest

from p2psub.admission.policy import AdmitAll
from p2psub.model.content import Draft, Event, Guarantee, Moment, Timed, Value
from p2psub.model.effects import Notify, NotifyGap, PublishCommand, SubscribeCommand
from p2psub.model.ids import ClusterId, Contact, EventId, NodeId, SubscriptionId
from p2psub.model.instants import Micros, Stamp
from p2psub.model.messages import Message
from p2psub.model.messages.pubsub import (
    Acknowledge,
    Deliver,
    Delivered,
    Parcel,
    ParcelToOwner,
    ParcelToSubscriber,
    Publish,
    Route,
    Verdict,
)
from p2psub.model.outcomes import Missed, Outcome, PublishOutcome, VerdictStatus
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.rights import Rights
from p2psub.model.seals import BATCH_MAX, Signature
from p2psub.model.step import Step
from p2psub.node.cores import Cores, assemble
from p2psub.node.security_context import SecurityContext
from p2psub.parcels.sealer import Sealer
from p2psub.parcels.shipment import Shipment
from p2psub.wire.codec import decode_batch, encode_batch
from tests.unit.bench import (
    CONFIG,
    at,
    change_of,
    effects_of,
    forget,
    make_durable,
    member_at,
    node_at,
    on_topic,
    records_of,
    sent,
    sent_of,
    subscription_of,
    table_of,
)
from tests.unit.notaries import Enrolled, Office, sealed, stream_of

DAY_S = 86_400.0
TOPIC = "quotes/ACME"
ONCE, FREE = Guarantee.EFFECTIVELY_ONCE, Guarantee.AT_MOST_ONCE

OFFICE = Office()
ANN, MALLORY = OFFICE.enrol(), OFFICE.enrol()
SEALING = Sealer(OFFICE.enrol().notary)
"""What anybody else of the overlay makes of a seal."""

ALONE = table_of(32)
OWNER, PEER = at(32), at(64)


def event_by(publisher: Enrolled | NodeId, sequence: int = 1, topic: str = TOPIC, guarantee: Guarantee = ONCE) -> Event:
    """An event that says who published it."""
    node = publisher.id if isinstance(publisher, Enrolled) else publisher
    attributes: dict[str, Value] = {"price": 12.5, "tags": frozenset({"a", "b"}), "at": Moment(5), "count": 1}
    return Event(EventId(node, 1, sequence), topic, attributes, b"body", 0, guarantee)


def sealed_by(publisher: Enrolled, sequence: int = 1, **fields: Any) -> Event:
    """One event of a batch of three."""
    events = [event_by(publisher, n, **fields) for n in (sequence, sequence + 1, sequence + 2)]
    return sealed(publisher.notary, *events)[0]


def shipment_of(signer: Enrolled, *events: Event) -> Shipment:
    """Events in one parcel."""
    stream = stream_of(signer.notary, *events)
    return Shipment(stream.parcel, stream.leaves)


def free_events(count: int, publisher: Enrolled = ANN) -> list[Event]:
    """Events that promise nothing."""
    return [event_by(publisher, n, guarantee=FREE) for n in range(1, count + 1)]


def changed(event: Event, **fields: Any) -> Event:
    """The same under the same seal, but for some fields."""
    return msgspec.structs.replace(event, **fields)


def resealed(event: Event, **fields: Any) -> Event:
    """The same under a seal with some fields changed."""
    assert event.seal is not None
    return changed(event, seal=msgspec.structs.replace(event.seal, **fields))


# Single events


@pytest.mark.parametrize("count", [1, 2, 3, 5, BATCH_MAX])
def test_every_event_of_a_batch_is_genuine_alone(count: int) -> None:
    """Also when it has crossed the wire, whatever became of the order of its attributes."""
    for event in sealed(ANN.notary, *(event_by(ANN, n) for n in range(count))):
        (message,), _ = decode_batch(encode_batch([Publish(Timed(event, Micros(0)))], Stamp(0, 0)))
        assert isinstance(message, Publish)
        assert SEALING.is_genuine(message.timed.event)
        assert SEALING.is_genuine(changed(event, attributes=dict(reversed(event.attributes.items()))))


ALTERED: dict[str, dict[str, Any]] = {
    "another body": {"body": b"Body"},
    "no body": {"body": b""},
    "another topic": {"topic": "quotes/ACNE"},
    "another value": {"attributes": {**event_by(ANN).attributes, "price": 12.6}},
    "the value as another type": {"attributes": {**event_by(ANN).attributes, "count": 1.0}},
    "the value as text": {"attributes": {**event_by(ANN).attributes, "count": "1"}},
    "another member of a set": {"attributes": {**event_by(ANN).attributes, "tags": frozenset({"a", "c"})}},
    "another date": {"attributes": {**event_by(ANN).attributes, "at": Moment(6)}},
    "one attribute more": {"attributes": {**event_by(ANN).attributes, "x": 0}},
    "one attribute less": {"attributes": {"price": 12.5}},
    "another number": {"id": EventId(ANN.id, 1, 2)},
    "another start": {"id": EventId(ANN.id, 2, 1)},
    "another publisher": {"id": EventId(MALLORY.id, 1, 1)},
    "a publisher that nobody knows": {"id": EventId(node_at(9), 1, 1)},
}


@pytest.mark.parametrize("fields", ALTERED.values(), ids=ALTERED)
@pytest.mark.parametrize("size", [1, 3])
def test_altered_event_is_refused(fields: dict[str, Any], size: int) -> None:
    """Whatever of it an application would see: alone in its batch or not."""
    event, *_ = sealed(ANN.notary, *(event_by(ANN, n) for n in range(1, size + 1)))
    assert SEALING.is_genuine(event)
    assert not SEALING.is_genuine(changed(event, **fields))


def test_event_with_a_mixed_set_is_sealed_as_well() -> None:
    """Of numbers and texts, which have no common order: whole, and with all that is beside the set."""
    (event,) = sealed(ANN.notary, changed(event_by(ANN), attributes={"tags": frozenset({"a", 1, "1", 2}), "n": 1}))
    assert SEALING.is_genuine(changed(event, attributes={"n": 1, "tags": frozenset({2, "1", 1, "a"})}))
    for attributes in ({"tags": frozenset({"a", 1, 2}), "n": 1}, {"tags": frozenset({"a", 1, "1", 2}), "n": 2}):
        assert not SEALING.is_genuine(changed(event, attributes=attributes))
    assert not SEALING.is_genuine(changed(event, body=b"altered"))


def test_seal_is_of_one_event() -> None:
    """That of another event of the batch, or of another batch, does not do."""
    one, two, _ = sealed(ANN.notary, *(event_by(ANN, n) for n in (1, 2, 3)))
    other = sealed_by(ANN, 7)
    for seal in (two.seal, other.seal):
        assert not SEALING.is_genuine(changed(one, seal=seal))


def test_seal_that_makes_no_sense_is_refused() -> None:
    """Whatever a liar writes into it: no error comes of it."""
    event = sealed_by(ANN)
    assert event.seal is not None
    proof, certificate = event.seal.proof, event.seal.signature.certificate
    for fields in (
        {"size": 0},
        {"size": -1},
        {"size": BATCH_MAX + 1},
        {"size": 2**63},
        {"place": 1},
        {"place": -1},
        {"place": 3},
        {"place": 2**63},
        {"proof": ()},
        {"proof": proof[::-1]},
        {"proof": proof + proof},
        {"proof": proof * 1000},
        {"signature": Signature(b"", b"")},
        {"signature": Signature(b"", certificate)},
        {"signature": Signature(bytes(64), certificate)},
        {"signature": Signature(event.seal.signature.value, b"")},
    ):
        assert not SEALING.is_genuine(resealed(event, **fields)), fields


def test_nobody_signs_for_another() -> None:
    """A node with a good certificate that writes another's name onto its own event, under whichever certificate."""
    forged, *_ = sealed(MALLORY.notary, event_by(ANN), event_by(MALLORY, 2))
    assert not SEALING.is_genuine(forged)
    assert forged.seal is not None
    borrowed = Signature(forged.seal.signature.value, ANN.certificate)
    assert not SEALING.is_genuine(resealed(forged, signature=borrowed))


def test_publisher_that_our_authority_does_not_know_is_refused() -> None:
    """Of a foreign CA, with the same key and id; or of another overlay of our own CA."""
    stranger, elsewhere = Office().enrol(key=ANN.key), OFFICE.enrol(overlay="other", key=ANN.key)
    assert stranger.id == ANN.id
    assert not SEALING.is_genuine(sealed_by(stranger))
    assert not SEALING.is_genuine(sealed_by(elsewhere))
    assert not SEALING.is_genuine(sealed(elsewhere.notary, event_by(ANN))[0])


def test_event_on_a_topic_without_the_right_to_it_is_refused() -> None:
    """Whoever passed it on: the certificate that came with it says what its publisher may publish."""
    quoter = OFFICE.enrol(Rights(publish=("quotes/*",)))
    assert SEALING.is_genuine(sealed_by(quoter, topic="quotes/ACME"))
    assert not SEALING.is_genuine(sealed_by(quoter, topic="news"))
    assert not SEALING.is_genuine(sealed_by(OFFICE.enrol(Rights(publish=()))))


@pytest.mark.parametrize("age_s", [8 * DAY_S, 100 * DAY_S])
def test_event_outlives_the_certificate_of_its_publisher(age_s: float) -> None:
    """It may have been stored, and handed over a week later."""
    assert SEALING.is_genuine(sealed_by(OFFICE.enrol(age_s=age_s)))


def test_event_without_a_seal_is_refused() -> None:
    """If there is anybody who could tell."""
    assert not SEALING.is_genuine(event_by(ANN))


def test_without_a_notary_nothing_is_sealed_and_everything_believed() -> None:
    """So the simulator runs."""
    plain = Sealer(None)
    assert plain.sign(plain.tree([b"content"])) is None
    assert plain.is_genuine(event_by(ANN))
    assert plain.is_genuine(changed(sealed_by(ANN), body=b"altered"))
    assert plain.is_genuine_parcel(Parcel(1, tuple(free_events(2)), 2))


# Parcels


@pytest.mark.parametrize("count", [1, 2, 3, 7, BATCH_MAX])
def test_parcel_is_genuine_whole_and_in_parts(count: int) -> None:
    """Any part, as an owner makes it; and any of its events alone."""
    shipment = shipment_of(ANN, *free_events(count))
    assert SEALING.is_genuine_parcel(shipment.parcel)
    rng = Random(count)
    for _ in range(20):
        part = rng.sample(range(count), rng.randint(1, count))
        assert SEALING.is_genuine_parcel(shipment.part(part))
    assert all(SEALING.is_genuine(shipment.event(index)) for index in range(count))


def test_part_of_a_part_is_genuine() -> None:
    """A shard's owner gets some of the events, and passes some of those on."""
    whole = shipment_of(ANN, *free_events(9))
    part = Shipment(whole.part([1, 4, 6, 8]), whole.leaves)
    parcel = part.part([0, 2])
    assert [event.id.sequence for event in parcel.events] == [2, 7]
    assert SEALING.is_genuine_parcel(parcel)
    assert SEALING.is_genuine(part.event(3))
    assert part.event(3).id.sequence == 9


@pytest.mark.parametrize("fields", ALTERED.values(), ids=ALTERED)
def test_parcel_with_one_altered_event_is_refused(fields: dict[str, Any]) -> None:
    """Whole or in part, and whichever event it is."""
    shipment = shipment_of(ANN, *free_events(5))
    for parcel in (shipment.parcel, shipment.part([1, 3])):
        for index, event in enumerate(parcel.events):
            altered = (*parcel.events[:index], changed(event, **fields), *parcel.events[index + 1 :])
            if altered != parcel.events:
                assert not SEALING.is_genuine_parcel(msgspec.structs.replace(parcel, events=altered))


def test_parcel_is_refused_if_one_topic_is_not_allowed() -> None:
    """Its publisher knew."""
    quoter = OFFICE.enrol(Rights(publish=("quotes/*",)))
    allowed, forbidden = event_by(quoter, 1, guarantee=FREE), event_by(quoter, 2, "news", FREE)
    shipment = shipment_of(quoter, allowed, forbidden)
    assert not SEALING.is_genuine_parcel(shipment.parcel)
    assert not SEALING.is_genuine_parcel(shipment.part([1]))
    assert SEALING.is_genuine_parcel(shipment.part([0]))


def test_parcel_of_somebody_else_is_refused() -> None:
    """Signed by a good node, of our authority, that is not the one it names; or by none."""
    for parcel in (
        shipment_of(MALLORY, *free_events(3)).parcel,
        shipment_of(Office().enrol(key=ANN.key), *free_events(3)).parcel,
        Parcel(1, tuple(free_events(3)), 3),
        Parcel(1, (), 0, signature=ANN.notary.sign(b"")),
    ):
        assert not SEALING.is_genuine_parcel(parcel)


# Those who ask


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

    def deliver(self, event: Event, *missed: Missed) -> list[tuple[SubscriptionId, Outcome]]:
        """The owner delivers a promised event; what it is told."""
        self.cores.subscriber.on_deliver(OWNER, Deliver(Timed(event, Micros(0)), (HERE.id,), missed))
        return [outcome for _, answer in sent_of(self.step, Delivered) for outcome in answer.outcomes]

    def stream(self, parcel: Parcel) -> None:
        self.cores.subscriber.on_parcel_to_subscriber(OWNER, ParcelToSubscriber(parcel, ((HERE.id, ()),)))

    def handed_over(self) -> list[tuple[int, bytes]]:
        """Numbers and bodies of what the application got."""
        notified = effects_of(self.step, Notify)
        return [(event.id.sequence, event.body) for notify in notified for event in notify.events]

    def drops(self) -> list[tuple[str | None, NodeId | None]]:
        return [(drop.reason, drop.peer) for drop in records_of(self.step, Kind.DROP)]


def test_publisher_seals_what_it_promises() -> None:
    """All events of a step in as few batches as may be; each of them is genuine, and says what was drafted."""
    sends = published(ANN, (Draft(TOPIC, {"n": n}, b"body") for n in range(600)))
    events = [message.timed.event for _, message in sends if isinstance(message, Publish)]
    assert [event.attributes["n"] for event in events] == [*range(600)]
    assert all(SEALING.is_genuine(event) for event in events)
    signatures = dict.fromkeys(event.seal.signature.value for event in events if event.seal is not None)
    assert len(signatures) == 3


def test_what_is_tried_again_has_the_same_seal() -> None:
    """It was signed once, under an id that is for good."""
    cores = node(ANN)
    cores.publisher.publish(PublishCommand(1, [Draft(TOPIC)]))
    cores.publisher.flush()
    ((_, first),) = sent_of(cores.step, Publish)
    cores.publisher._send(cores.publisher._outbox[first.timed.event.id], OWNER)
    ((_, again),) = sent_of(cores.step, Publish)
    assert again.timed.event == first.timed.event
    assert SEALING.is_genuine(again.timed.event)


def test_publisher_signs_each_parcel_once() -> None:
    """Its events have no seals of their own."""
    sends = published(ANN, (Draft(TOPIC, {"n": n}, guarantee=FREE) for n in range(300)))
    parcels = [message.parcel for _, message in sends if isinstance(message, ParcelToOwner)]
    assert [len(parcel.events) for parcel in parcels] == [256, 44]
    assert all(SEALING.is_genuine_parcel(parcel) for parcel in parcels)
    assert all(event.seal is None for parcel in parcels for event in parcel.events)


def test_owner_promises_only_what_is_genuine() -> None:
    """Anything else is refused, by name, and neither stored nor delivered; its publisher may try again."""
    cores, event = owner(), sealed_by(ANN)
    bad = [changed(event, body=b"altered"), changed(event, seal=None), sealed(MALLORY.notary, event_by(ANN))[0]]
    for refused in bad:
        cores.owner.on_publish(ANN.contact, Publish(Timed(refused, Micros(0))))
        outcome = PublishOutcome(event.id, refused=Reason.BAD_SIGNATURE)
        assert sent(cores.step) == [(ANN.contact, Acknowledge(outcome))]
        (drop,) = records_of(cores.step, Kind.DROP)
        assert (drop.reason, drop.event, drop.peer) == ("bad_signature", event.id, ANN.id)
    assert cores.owner.owed_events.held == {}
    cores.owner.on_publish(ANN.contact, Publish(Timed(event, Micros(0))))
    make_durable(cores.step)
    assert [type(message) for _, message in sent(cores.step)] == [Acknowledge, Deliver, Route]


def test_promised_event_reaches_everybody_with_its_seal() -> None:
    """Its subscriber here, and through the super-node those of other clusters."""
    cores, event, subscriber = owner(), sealed_by(ANN), Subscriber()
    cores.owner.on_publish(ANN.contact, Publish(Timed(event, Micros(0))))
    make_durable(cores.step)
    said = [message for _, message in sent(cores.step)]
    (deliver,) = [message for message in said if isinstance(message, Deliver)]
    (route,) = [message for message in said if isinstance(message, Route)]
    assert deliver.timed.event == route.timed.event == event
    assert subscriber.deliver(deliver.timed.event) == [(HERE.id, Outcome.DELIVERED)]
    assert subscriber.handed_over() == [(1, b"body")]


def test_streamed_event_reaches_other_clusters_with_a_seal_of_its_own() -> None:
    """Made of the parcel's signature, by an owner that has no key of the publisher."""
    cores, shipment = owner(), shipment_of(ANN, *free_events(3))
    cores.owner.parcels.on_parcel_to_owner(ANN.contact, ParcelToOwner(shipment.parcel, shipment.leaves))
    events = [route.timed.event for _, route in sent_of(cores.step, Route)]
    assert [event.id.sequence for event in events] == [1, 2, 3]
    assert all(SEALING.is_genuine(event) for event in events)
    assert not any(SEALING.is_genuine(changed(event, body=b"altered")) for event in events)


FORGED: dict[str, Event] = {
    "an altered body": changed(sealed_by(ANN), body=b"altered"),
    "an altered attribute": changed(sealed_by(ANN), attributes={}),
    "no seal": event_by(ANN),
    "the seal of another": sealed(MALLORY.notary, event_by(ANN))[0],
    "the seal of another event": changed(event_by(ANN), seal=sealed_by(ANN, 7).seal),
    "a topic without the right to it": sealed_by(OFFICE.enrol(Rights(publish=("news",)))),
    "a stranger's": sealed_by(Office().enrol()),
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
def test_subscriber_drops_a_forged_event_and_says_nothing(forged: Event) -> None:
    """An outcome would discharge the genuine one, which is still owed, and is taken when it comes."""
    subscriber = Subscriber()
    assert subscriber.deliver(forged, Missed(HERE.id, OWNER.id, 1, 5)) == []
    assert subscriber.drops() == [("bad_signature", OWNER.id)]
    assert subscriber.handed_over() == []
    assert effects_of(subscriber.step, NotifyGap) == [], "nor is anything else of the message believed"
    assert subscriber.deliver(sealed_by(ANN)) == [(HERE.id, Outcome.DELIVERED)]
    assert subscriber.handed_over() == [(1, b"body")]


def test_subscriber_drops_a_forged_parcel() -> None:
    """Altered, somebody else's, or with another's event among its own; the genuine one is taken afterwards."""
    subscriber, genuine = Subscriber(), shipment_of(ANN, *free_events(2)).parcel
    altered = (genuine.events[0], changed(genuine.events[1], body=b"altered"))
    among_own = shipment_of(MALLORY, event_by(MALLORY, 1, guarantee=FREE), event_by(ANN, 2, guarantee=FREE)).parcel
    for forged in (
        msgspec.structs.replace(genuine, events=altered),
        msgspec.structs.replace(genuine, signature=None),
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
