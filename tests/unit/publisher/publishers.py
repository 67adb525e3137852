"""A publisher whose owners and look-ups a test answers for."""

from __future__ import annotations

from collections.abc import Mapping

from p2psub.admission.declarations import Declarations
from p2psub.admission.permits import Permits
from p2psub.config import PubSubConfig
from p2psub.model.content import Draft, Event, Guarantee
from p2psub.model.effects import PublishCommand, PublishReply
from p2psub.model.ids import Contact, EventId, Key, key_of_topic
from p2psub.model.instants import SECOND_US, Micros
from p2psub.model.messages.pubsub import Acknowledge, Acknowledged, NotOwner, ParcelToOwner, Publish
from p2psub.model.messages.ring import Found, Lookup
from p2psub.model.outcomes import PublishOutcome
from p2psub.model.parcels import Parcel, ParcelId
from p2psub.model.rights import Rights
from p2psub.model.ways import UNCUT_BYTES
from p2psub.overlay.election import Election
from p2psub.parcels.sealer import Sealer
from p2psub.parcels.trace_sampler import TraceSampler
from p2psub.publisher.publisher import Publisher
from tests.unit.bench import (
    CLUSTER,
    CONFIG,
    at,
    bits,
    effects_of,
    node_at,
    sent_of,
)
from tests.unit.overlay.rings import Exchange

OWNER, NEW_OWNER = at(64), at(128)
ONCE, FREE = Guarantee.EFFECTIVELY_ONCE, Guarantee.AT_MOST_ONCE


class PublishingPeer:
    """A member of a ring; its table names `owner` for every key, `owners` for some topics, or it has none."""

    def __init__(
        self,
        config: PubSubConfig = CONFIG.pubsub,
        owner: Contact | None = None,
        owners: Mapping[str, Contact] | None = None,
    ) -> None:
        peer = Exchange([1, 64, 128]).peers[node_at(1)]
        self.step, self.lookups = peer.step, peer.lookups
        declarations = Declarations(self.step, config, Election(self.step, CONFIG.cluster))
        permits, sampler = Permits(node_at(1), Rights()), TraceSampler(self.step, 1)
        self.lookups_sent: dict[Key, int] = {}
        self.owners = {key_of_topic(topic): of_topic for topic, of_topic in (owners or {}).items()}

        def owner_of(key: Key) -> Contact | None:
            return self.owners.get(key, owner)

        self.part_bytes = UNCUT_BYTES
        self.core = Publisher(
            self.step,
            config,
            owner_of,
            self.lookups,
            declarations,
            permits,
            Sealer(None),
            sampler,
            lambda _owner, _cluster: self.part_bytes,
        )

    @property
    def outbox(self) -> int:
        """How many events wait for an acknowledgement."""
        return self.core.status().outbox

    def publish(self, number: int = 1, *guarantees: Guarantee) -> None:
        """A step with one command: one promised event, or as many as guarantees are given."""
        # A key that lies behind 64, so that somebody must be asked for its owner.
        drafts = [Draft(TOPIC, {"x": 1}, b"body", 5.0, guarantee) for guarantee in guarantees or (ONCE,)]
        self.core.publish(PublishCommand(number, drafts))
        self.core.flush()

    def publish_on(self, *topics: str, number: int = 1) -> None:
        """A step with one command: a promised event on each of these topics."""
        self.core.publish(PublishCommand(number, [Draft(topic) for topic in topics]))
        self.core.flush()

    def hear_not_owner(self, number: int, *owners: tuple[bytes, Contact | None]) -> None:
        """A member says that others own events of a parcel."""
        self.core.on_not_owner(OWNER, NotOwner(ParcelId(node_at(1), 1, number), owners))

    def find(self, owner: Contact) -> None:
        """Every look-up under way is answered."""
        for _, lookup in sent_of(self.step, Lookup):
            self.lookups.on_found(OWNER, Found(CLUSTER, lookup.number, at(1), (owner,), 1))

    def looked_up(self) -> list[Key]:
        """The keys of the look-ups that were started since the last look."""
        self.lookups_sent = {lookup.key: lookup.number for _, lookup in sent_of(self.step, Lookup)}
        return list(self.lookups_sent)

    def found(self, key: Key, owner: Contact) -> None:
        """One of them is answered."""
        self.lookups.on_found(OWNER, Found(CLUSTER, self.lookups_sent[key], at(1), (owner,), 1))

    def replies(self) -> list[tuple[int, PublishOutcome]]:
        """What applications were told of their events, each by the number of its command."""
        return [told for reply in effects_of(self.step, PublishReply) for told in reply.outcomes]


def far_topic() -> str:
    """A topic whose owner the member at 1 must look up: its key does not follow 1 directly."""
    places = Exchange([1, 64, 128]).peers[node_at(1)].ring
    events = (Event(EventId(node_at(1), 1, 1), str(n), {}) for n in range(100))
    return next(event.topic for event in events if not places.answers_for(event.key))


TOPIC = far_topic()


def event(sequence: int = 1, guarantee: Guarantee = ONCE) -> Event:
    """The event that the n-th draft becomes."""
    return Event(EventId(node_at(1), 1, sequence), TOPIC, {"x": 1}, b"body", 5 * SECOND_US, guarantee)


def sent_event(
    to: Contact, *sequences: int, age_us: int = 0, number: int = 1, is_repeated: bool = False
) -> tuple[Contact, Publish]:
    """A parcel of these events, or of the first, on its way to an owner."""
    events = tuple(event(sequence) for sequence in sequences or (1,))
    return to, Publish(Parcel(number, len(events), events), Micros(age_us), is_repeated=is_repeated)


def sent_parcel(to: Contact, *sequences: int, number: int = 1) -> tuple[Contact, ParcelToOwner]:
    """A parcel of these events, which promise nothing, on its way to an owner."""
    events = tuple(event(sequence, FREE) for sequence in sequences)
    return to, ParcelToOwner(Parcel(number, len(events), events))


def acknowledge(
    publisher: PublishingPeer, *places: int, copies: int = 3, number: int = 1, incarnation: int = 1
) -> None:
    """The owner acknowledges events at these places of a parcel, or all of it."""
    said = Acknowledged(bits(*places), copies, 2)
    parcel = ParcelId(node_at(1), incarnation, number)
    publisher.core.on_acknowledge(OWNER, Acknowledge(parcel, (said,)))


def outcome_of(sequence: int = 1, copies: int = 3) -> PublishOutcome:
    """What the application is told of an event that was acknowledged."""
    return PublishOutcome(event(sequence).id, copies, 2)
