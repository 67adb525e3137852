"""What other members ask about events that both of us hold, or one of us."""

from __future__ import annotations

from collections.abc import Callable

from p2psub.model.ids import Contact, EventId, NodeId
from p2psub.model.messages.pubsub import (
    CopyLost,
    CopyStored,
    Discharged,
    GiveBackRequest,
    GivenBack,
    OwedPlaces,
    StillOwed,
)
from p2psub.model.place_sets import to_bitmap, union_of
from p2psub.model.step import Step
from p2psub.overlay.election import Election
from p2psub.owner.arc_lease import ArcLease
from p2psub.owner.holders import Holders
from p2psub.owner.owed_parcels import OwedParcels


class Inquiries:
    """Answers from what we hold and what we discharged; changes neither."""

    def __init__(
        self,
        step: Step,
        arc_lease: ArcLease,
        election: Election,
        holders: Holders,
        owed_parcels: OwedParcels,
        has_in_outbox: Callable[[NodeId], bool],
    ) -> None:
        self._step = step
        self._arc_lease = arc_lease
        self._election = election
        self._holders = holders
        self._owed_parcels = owed_parcels
        self._has_in_outbox = has_in_outbox

    def on_still_owed(self, peer: Contact, asked: StillOwed) -> None:
        """A holder has long heard nothing of these events: we hold them, discharged them, or want them back."""
        if asked.cluster != self._election.cluster:
            return
        held, ended, unknown = list[OwedPlaces](), list[OwedPlaces](), list[OwedPlaces]()
        for id_, sequence, bitmap in asked.asked:
            places, first = int.from_bytes(bitmap, "little"), EventId(id_.parcel.node, id_.parcel.incarnation, sequence)
            pieces = self._owed_parcels.log.pieces_at(id_, places)
            here = places & union_of(piece.places for piece in pieces)
            durable = places & union_of(piece.places for piece in pieces if piece.is_held_by(self._step.me.id))
            gone = self._owed_parcels.discharges.places(first, places & ~here, id_.matches)
            for some, said in ((durable, held), (gone, ended), (places & ~here & ~gone, unknown)):
                if some:
                    said.append((id_, to_bitmap(some)))
        if held:
            self._step.send(peer, CopyStored(asked.cluster, tuple(held), self._arc_lease.version))
        if ended:
            self._step.send(peer, Discharged(asked.cluster, tuple(ended)))
        if unknown:
            self._step.send(peer, CopyLost(asked.cluster, tuple(unknown)))

    def on_give_back_request(self, peer: Contact, asked: GiveBackRequest) -> None:
        """Say that an owner holds all that we hold for it, or published before our table.

        While that is not so it hears nothing, and asks on.
        """
        parcels = self._owed_parcels
        if asked.cluster == self._election.cluster and asked.table == self._arc_lease.version == parcels.table:
            is_us = peer.id == self._step.me.id
            has_all_held = is_us or all(self._holders.have_given_back(held, peer.id) for held in parcels.log)
            if has_all_held and not self._has_in_outbox(peer.id):
                self._step.send(peer, GivenBack(asked.cluster, asked.table))
