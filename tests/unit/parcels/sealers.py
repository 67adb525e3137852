"""Publishers with real keys, what they seal, and what another node makes of it."""

from __future__ import annotations

from typing import Any

import msgspec

from p2psub.model.content import Event, Guarantee, Moment, Value
from p2psub.model.digests import content_hash
from p2psub.model.ids import EventId, NodeId
from p2psub.model.parcel_parts import is_sound
from p2psub.model.parcels import Parcel
from p2psub.parcels.sealer import Sealer
from p2psub.parcels.shipment import Shipment
from tests.unit.bench import (
    at,
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


def sealed_by(publisher: Enrolled, sequence: int = 1, **fields: Any) -> Parcel:
    """One event of a parcel of three."""
    events = [event_by(publisher, n, **fields) for n in (sequence, sequence + 1, sequence + 2)]
    return sealed(publisher.notary, *events).part(0b001)


def shipment_of(signer: Enrolled, *events: Event) -> Shipment:
    """Events in one parcel."""
    stream = stream_of(signer.notary, *events)
    return Shipment(stream.parcel, stream.leaves)


def free_events(count: int, publisher: Enrolled = ANN) -> list[Event]:
    """Events that promise nothing."""
    return [event_by(publisher, n, guarantee=FREE) for n in range(1, count + 1)]


def changed(parcel: Parcel, **fields: Any) -> Parcel:
    """The same under the same signature, but for some fields of its events."""
    events = tuple(msgspec.structs.replace(event, **fields) for event in parcel.events)
    return resealed(parcel, events=events)


def resealed(parcel: Parcel, **fields: Any) -> Parcel:
    """The same, but for some fields of what shows that it is genuine."""
    return msgspec.structs.replace(parcel, **fields)


def leaves_of(parcel: Parcel) -> list[bytes]:
    """The hashes of its events."""
    return [content_hash(event) for event in parcel.events]


def is_genuine(parcel: Parcel, sealer: Sealer = SEALING) -> bool:
    """Whether a node would take a parcel: sound, as its publisher made it, on topics that it may publish."""
    return is_sound(parcel) and sealer.is_genuine(parcel, leaves_of(parcel))
