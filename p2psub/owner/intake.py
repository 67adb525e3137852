"""What of a publisher's parcel is taken: events of its own, signed, allowed, under keys that we serve, and new."""

from __future__ import annotations

from p2psub.admission.permits import Permits
from p2psub.config import PubSubConfig
from p2psub.model.content import Guarantee
from p2psub.model.digests import content_hash
from p2psub.model.ids import Contact, EventId, NodeId
from p2psub.model.messages.pubsub import Acknowledge, Acknowledged, NotOwner, Publish
from p2psub.model.parcel_parts import is_sound
from p2psub.model.parcels import Parcel, ParcelId
from p2psub.model.place_sets import all_places, event_runs, from_bitmap, to_bitmap
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.owner.arc_lease import ArcLease
from p2psub.owner.held_parcel import HeldParcel
from p2psub.owner.matchmaker import Matchmaker
from p2psub.owner.owed_parcels import OwedParcels
from p2psub.parcels.remembered import Remembered
from p2psub.parcels.sealer import Sealer
from p2psub.parcels.shipment import by_topic, places_of_indexes


class Intake:
    """Sorts what publishers bring to an owner; of everything that is not taken they hear at once."""

    def __init__(
        self,
        step: Step,
        config: PubSubConfig,
        arc_lease: ArcLease,
        permits: Permits,
        sealer: Sealer,
        matchmaker: Matchmaker,
        owed_parcels: OwedParcels,
    ) -> None:
        self._step = step
        self._arc_lease = arc_lease
        self._permits = permits
        self._sealer = sealer
        self._matchmaker = matchmaker
        self._owed_parcels = owed_parcels
        self._refused: Remembered[Reason] = Remembered(config.remembered_us)
        """What publishers take for refused for good, though it might be taken now."""

    def sort(self, peer: Contact, publish: Publish) -> tuple[int, list[HeldParcel]]:
        """The places of the events to take, and what we hold of the others and must acknowledge again."""
        parcel = publish.parcel
        if not is_sound(parcel):
            self._refuse_unsound(peer, parcel)
            return 0, []
        refusal = self._refusal(peer, parcel)
        if refusal is not None:
            self._refuse(peer, parcel, parcel.places, refusal)
            return 0, []
        mine = self._places_of_ours(peer, parcel)
        known, again = self._places_known(peer, parcel, mine)
        fresh = mine & ~known & ~self._matchmaker.places_of(parcel.id)
        fresh &= ~self._refuse_again(peer, publish, fresh)
        reason = self._reason_against(publish) if fresh else None
        if reason is not None:
            self._refuse(peer, parcel, fresh, reason)
            if reason is Reason.DISK_FULL and not publish.is_repeated:
                self._refused.note(parcel.first, fresh, reason, self._step.now)
            fresh = 0
        if fresh and publish.after:
            fresh &= ~self._places_too_early(peer, publish)
        return fresh, again

    def _reason_against(self, publish: Publish) -> Reason | None:
        """Why nothing new is taken of it. On a full disk: before any member was asked for a copy, which it may keep."""
        if self._owed_parcels.is_too_old(publish.age_us):
            return Reason.OLDER_THAN_TTL
        return Reason.DISK_FULL if self._step.disk_is_full else None

    def _refuse_again(self, peer: Contact, publish: Publish, places: int) -> int:
        """The events that we refused because our disk was full, of a message that may have come twice.

        Its publisher has told the application so. One that has repeated the parcel has not, whatever we said.
        """
        refused = 0 if publish.is_repeated else self._refused.has(publish.parcel.first, places, Reason.DISK_FULL)
        if refused:
            self._refuse(peer, publish.parcel, refused, Reason.DISK_FULL)
        return refused

    def tick(self) -> None:
        """Forget what was refused long ago."""
        self._refused.forget(self._step.now)

    def _places_too_early(self, peer: Contact, publish: Publish) -> int:
        """The events that come after others which we do not know yet: their publisher repeats them, those before first.

        Stored now they would be ahead of them in every stream.
        """
        parcel, early = publish.parcel, 0
        topics = by_topic(parcel.events)
        for topic, number, sequence in publish.after:
            if topic in topics and not self._knows(parcel, number, sequence):
                early |= places_of_indexes(topics[topic], parcel)
        if early:
            self._step.record(Kind.DROP, peer=peer.id, reason=Reason.TOO_EARLY, count=early.bit_count())
        return early

    def _knows(self, parcel: Parcel, number: int, sequence: int) -> bool:
        """Whether an event of the same publisher is being matched, is held, or owes nothing any more."""
        node, incarnation, _ = parcel.id
        event = EventId(node, incarnation, sequence)
        for held in self._owed_parcels.log.pieces_of(ParcelId(node, incarnation, number)):
            place = sequence - held.first.sequence
            if place >= 0 and held.places >> place & 1:
                return True
        return self._matchmaker.has(event) or bool(self._owed_parcels.discharges.outcomes_of(event, 1))

    def _refusal(self, peer: Contact, parcel: Parcel) -> Reason | None:
        """Why a parcel is not taken from a peer at all.

        What its publisher did not sign no subscriber would take, so we do not promise it either.
        """
        if parcel.events[0].id.node != peer.id:
            return Reason.FOREIGN_EVENT
        if parcel.guarantee is not Guarantee.EFFECTIVELY_ONCE:
            return Reason.NO_PROMISE
        rights = self._sealer.rights_in(parcel, [content_hash(event) for event in parcel.events])
        return Reason.BAD_SIGNATURE if rights is None else None

    def _refuse_unsound(self, peer: Contact, parcel: Parcel) -> None:
        """No publisher makes such a parcel: its places name no events."""
        self._step.record(Kind.DROP, peer=peer.id, reason=Reason.FOREIGN_EVENT, count=len(parcel.events))
        said = Acknowledged(to_bitmap(all_places(parcel.size)), refused=Reason.FOREIGN_EVENT)
        self._step.send(peer, Acknowledge(parcel.id, (said,)))

    def _refuse(self, peer: Contact, parcel: Parcel, places: int, reason: Reason) -> None:
        for event, run in event_runs(parcel.first, places):
            self._step.record(Kind.DROP, event=event, run=run, peer=peer.id, reason=reason)
        self._step.send(peer, Acknowledge(parcel.id, (Acknowledged(to_bitmap(places), refused=reason),)))

    def _places_of_ours(self, peer: Contact, parcel: Parcel) -> int:
        """The events that the peer may publish and whose keys we serve; for the others it hears why, or who does."""
        mine = unauthorized = 0
        elsewhere: dict[NodeId | None, tuple[Contact | None, int]] = {}
        rights = self._permits.of(peer.id)
        for topic, indexes in by_topic(parcel.events).items():
            places, key = places_of_indexes(indexes, parcel), parcel.events[indexes[0]].key
            if not rights.may_publish(topic):
                unauthorized |= places
            elif self._arc_lease.serves(key):
                mine |= places
            else:
                owner = self._arc_lease.owner_of(key)
                if owner is not None and owner.id == self._step.me.id:
                    owner = None
                name = None if owner is None else owner.id
                elsewhere[name] = (owner, elsewhere.get(name, (owner, 0))[1] | places)
        if unauthorized:
            self._refuse(peer, parcel, unauthorized, Reason.NOT_AUTHORIZED)
        if elsewhere:
            owners = tuple([(to_bitmap(places), owner) for owner, places in elsewhere.values()])
            self._step.send(peer, NotOwner(parcel.id, owners))
        return mine

    def _places_known(self, peer: Contact, parcel: Parcel, places: int) -> tuple[int, list[HeldParcel]]:
        """The events that we hold or discharged; says again what became of the latter."""
        first, known = parcel.first, 0
        outcomes = self._owed_parcels.discharges.outcomes_of(first, places)
        for outcome in outcomes:
            known |= from_bitmap(outcome.bitmap, places)
        if outcomes:
            self._step.send(peer, Acknowledge(parcel.id, tuple(outcomes)))
        again: list[HeldParcel] = []
        for held in self._owed_parcels.log.pieces_of(parcel.id):
            repeated = held.places & places & ~known
            if repeated:
                known |= repeated
                held.asked_places |= repeated
                again.append(held)
        for event, run in event_runs(first, known):
            self._step.record(Kind.DUPLICATE, event=event, run=run, peer=peer.id, reason=Reason.PUBLISH_REPEATED)
        return known, again
