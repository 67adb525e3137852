"""What the sender of a delivery is told."""

from __future__ import annotations

from p2psub.model.ids import Contact, Process, SubscriptionId
from p2psub.model.messages.pubsub import Delivered, OutcomeOf, StreamAck
from p2psub.model.outcomes import Outcome
from p2psub.model.parcels import ParcelId
from p2psub.model.place_sets import to_bitmap


class DeliveryAnswer:
    """How events ended here, and how far the streams are that brought them."""

    __slots__ = ("acks", "outcomes", "owner", "parcel", "peer")

    def __init__(self, peer: Contact, parcel: ParcelId, owner: Process | None) -> None:
        self.peer = peer
        self.parcel = parcel
        self.owner = owner
        self.outcomes: list[OutcomeOf] = []
        self.acks: list[StreamAck] = []

    def add(self, id_: SubscriptionId, ended: dict[Outcome, int]) -> None:
        self.outcomes += [OutcomeOf(id_, outcome, to_bitmap(some)) for outcome, some in ended.items() if some]

    def as_message(self) -> Delivered:
        return Delivered(self.parcel, tuple(self.outcomes), self.owner, tuple(self.acks))
