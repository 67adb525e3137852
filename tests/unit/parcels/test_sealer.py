"""Seals, with real keys: an event is taken only as its publisher made it, and on a topic that it may publish."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest

from p2psub.model.content import Guarantee, Moment, Value
from p2psub.model.digests import content_hash
from p2psub.model.ids import EventId
from p2psub.model.instants import Micros, Stamp
from p2psub.model.messages.pubsub import Publish
from p2psub.model.place_sets import places_at
from p2psub.model.rights import Rights
from p2psub.model.seals import BATCH_MAX, Signature
from p2psub.parcels.sealer import Sealer
from p2psub.parcels.shipment import Shipment
from p2psub.wire.codec import decode_batch, encode_batch
from tests.unit.bench import (
    bits,
    node_at,
    parcel_of,
)
from tests.unit.notaries import Office, sealed
from tests.unit.parcels.sealers import (
    ANN,
    DAY_S,
    FREE,
    MALLORY,
    OFFICE,
    ONCE,
    changed,
    event_by,
    free_events,
    is_genuine,
    resealed,
    sealed_by,
    shipment_of,
)

# Single events


@pytest.mark.parametrize("count", [1, 2, 3, 5, BATCH_MAX])
def test_every_event_of_a_batch_is_genuine_alone(count: int) -> None:
    """Also when it has crossed the wire, whatever became of the order of its attributes."""
    parcel = sealed(ANN.notary, *(event_by(ANN, n) for n in range(count)))
    for place, event in enumerate(parcel.events):
        alone = parcel.part(1 << place)
        (message,), _, _ = decode_batch(encode_batch([Publish(alone, Micros(0))], Stamp(0, 0)))
        assert isinstance(message, Publish)
        assert message.parcel.events == (event,)
        assert is_genuine(message.parcel)
        assert is_genuine(changed(alone, attributes=dict(reversed(event.attributes.items()))))


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
    alone = sealed(ANN.notary, *(event_by(ANN, n) for n in range(1, size + 1))).part(0b001)
    assert is_genuine(alone)
    assert not is_genuine(changed(alone, **fields))


def test_event_with_a_mixed_set_is_sealed_as_well() -> None:
    """Of numbers and texts, which have no common order: whole, and with all that is beside the set."""
    mixed: dict[str, Value] = {"tags": frozenset({"a", 1, "1", 2}), "n": 1}
    parcel = sealed(ANN.notary, msgspec.structs.replace(event_by(ANN), attributes=mixed))
    assert is_genuine(changed(parcel, attributes={"n": 1, "tags": frozenset({2, "1", 1, "a"})}))
    for attributes in ({"tags": frozenset({"a", 1, 2}), "n": 1}, {"tags": frozenset({"a", 1, "1", 2}), "n": 2}):
        assert not is_genuine(changed(parcel, attributes=attributes))
    assert not is_genuine(changed(parcel, body=b"altered"))


def test_proof_is_of_one_event() -> None:
    """That of another event of the parcel, or of another parcel, does not do."""
    whole, other = sealed(ANN.notary, *(event_by(ANN, n) for n in (1, 2, 3))), sealed_by(ANN, 7)
    one, two = whole.part(0b001), whole.part(0b010)
    assert not is_genuine(resealed(one, bitmap=two.bitmap))
    assert not is_genuine(resealed(one, proof=two.proof))
    assert not is_genuine(resealed(one, bitmap=two.bitmap, proof=two.proof))
    assert not is_genuine(resealed(one, signature=other.signature))
    assert not is_genuine(resealed(one, signature=other.signature, proof=other.proof))


def test_seal_that_makes_no_sense_is_refused() -> None:
    """Whatever a liar writes into it: no error comes of it."""
    parcel = sealed_by(ANN)
    assert parcel.signature is not None
    proof, certificate = parcel.proof, parcel.signature.certificate
    for fields in (
        {"size": 1},
        {"size": 2},
        {"size": 4},
        {"size": BATCH_MAX},
        {"number": 0},
        {"number": 2},
        {"number": 2**63 - 1},
        {"bitmap": b""},
        {"bitmap": bits(1)},
        {"bitmap": bits(3)},
        {"bitmap": bits(0, 1)},
        {"bitmap": bits(BATCH_MAX - 1)},
        {"bitmap": bytes(32)},
        {"signature": None},
        {"proof": ()},
        {"proof": proof[::-1]},
        {"proof": proof + proof},
        {"proof": proof * 1000},
        {"signature": Signature(b"", b"")},
        {"signature": Signature(b"", certificate)},
        {"signature": Signature(bytes(64), certificate)},
        {"signature": Signature(parcel.signature.value, b"")},
    ):
        assert not is_genuine(resealed(parcel, **fields)), fields


@pytest.mark.parametrize("guarantee", [ONCE, FREE])
def test_promise_is_signed(guarantee: Guarantee) -> None:
    """None is made of what promised nothing, and none is taken away: each way events would be handed over twice."""
    parcel = sealed(ANN.notary, *(event_by(ANN, n, guarantee=guarantee) for n in (1, 2, 3)))
    other = FREE if guarantee is ONCE else ONCE
    for part in (parcel, parcel.part(0b101)):
        assert is_genuine(part)
        assert not is_genuine(changed(part, guarantee=other))


def test_nobody_signs_for_another() -> None:
    """A node with a good certificate that writes another's name onto its own event, under whichever certificate."""
    forged = sealed(MALLORY.notary, event_by(ANN), event_by(ANN, 2)).part(0b01)
    assert not is_genuine(forged)
    assert forged.signature is not None
    borrowed = Signature(forged.signature.value, ANN.certificate)
    assert not is_genuine(resealed(forged, signature=borrowed))


def test_publisher_that_our_authority_does_not_know_is_refused() -> None:
    """Of a foreign CA, with the same key and id; or of another overlay of our own CA."""
    stranger, elsewhere = Office().enrol(key=ANN.key), OFFICE.enrol(overlay="other", key=ANN.key)
    assert stranger.id == ANN.id
    assert not is_genuine(sealed_by(stranger))
    assert not is_genuine(sealed_by(elsewhere))
    assert not is_genuine(sealed(elsewhere.notary, event_by(ANN)))


def test_event_on_a_topic_without_the_right_to_it_is_refused() -> None:
    """Whoever passed it on: the certificate that came with it says what its publisher may publish."""
    quoter = OFFICE.enrol(Rights(publish=("quotes/*",)))
    assert is_genuine(sealed_by(quoter, topic="quotes/ACME"))
    assert not is_genuine(sealed_by(quoter, topic="news"))
    assert not is_genuine(sealed_by(OFFICE.enrol(Rights(publish=()))))


@pytest.mark.parametrize("age_s", [8 * DAY_S, 100 * DAY_S])
def test_event_outlives_the_certificate_of_its_publisher(age_s: float) -> None:
    """It may have been stored, and handed over a week later."""
    assert is_genuine(sealed_by(OFFICE.enrol(age_s=age_s)))


def test_parcel_without_a_signature_is_refused() -> None:
    """If there is anybody who could tell."""
    assert not is_genuine(parcel_of(event_by(ANN)))


def test_without_a_notary_nothing_is_sealed_and_everything_believed() -> None:
    """So the simulator runs."""
    plain, events = Sealer(None), free_events(2)
    parcel = plain.seal(7, events, [content_hash(event) for event in events])
    assert parcel == parcel_of(*events, number=7)
    assert is_genuine(parcel, plain)
    assert is_genuine(changed(sealed_by(ANN), body=b"altered"), plain)


# Parcels


@pytest.mark.parametrize("count", [1, 2, 3, 7, BATCH_MAX])
def test_parcel_is_genuine_whole_and_in_parts(count: int) -> None:
    """Any part, as an owner makes it; and any of its events alone."""
    shipment = shipment_of(ANN, *free_events(count))
    assert is_genuine(shipment.parcel)
    rng = Random(count)
    for _ in range(20):
        places = places_at(rng.sample(range(count), rng.randint(1, count)))
        assert is_genuine(shipment.part(places))
        assert shipment.part(places) == shipment.parcel.part(places), "with leaves or without"
    assert all(is_genuine(shipment.part(1 << place)) for place in range(count))


def test_part_of_a_part_is_genuine() -> None:
    """A shard's owner gets some of the events, and passes some of those on."""
    whole = shipment_of(ANN, *free_events(9))
    with_leaves = Shipment(whole.part(0b101010010), whole.leaves)
    without = Shipment(with_leaves.parcel)
    for part in (with_leaves, without):
        parcel = part.part(0b001000010)
        assert [event.id.sequence for event in parcel.events] == [2, 7]
        assert is_genuine(parcel)
        assert [event.id.sequence for event in part.part(1 << 8).events] == [9]
        assert is_genuine(part.part(1 << 8))


@pytest.mark.parametrize("fields", ALTERED.values(), ids=ALTERED)
def test_parcel_with_one_altered_event_is_refused(fields: dict[str, Any]) -> None:
    """Whole or in part, and whichever event it is."""
    shipment = shipment_of(ANN, *free_events(5))
    for parcel in (shipment.parcel, shipment.part(0b01010)):
        for index, event in enumerate(parcel.events):
            other = msgspec.structs.replace(event, **fields)
            altered = (*parcel.events[:index], other, *parcel.events[index + 1 :])
            if altered != parcel.events:
                assert not is_genuine(resealed(parcel, events=altered))


def test_parcel_is_refused_if_one_topic_is_not_allowed() -> None:
    """Its publisher knew."""
    quoter = OFFICE.enrol(Rights(publish=("quotes/*",)))
    allowed, forbidden = event_by(quoter, 1, guarantee=FREE), event_by(quoter, 2, "news", FREE)
    shipment = shipment_of(quoter, allowed, forbidden)
    assert not is_genuine(shipment.parcel)
    assert not is_genuine(shipment.part(0b10))
    assert is_genuine(shipment.part(0b01))


def test_parcel_of_somebody_else_is_refused() -> None:
    """Signed by a good node, of our authority, that is not the one it names; or by none."""
    for parcel in (
        shipment_of(MALLORY, *free_events(3)).parcel,
        shipment_of(Office().enrol(key=ANN.key), *free_events(3)).parcel,
        parcel_of(*free_events(3)),
        resealed(parcel_of(*free_events(3)), signature=ANN.notary.sign(b"")),
    ):
        assert not is_genuine(parcel)
