"""What a publisher seals and every other node checks: that events are their publisher's, unaltered, and were allowed.

Keys and certificates are a notary's business, which the driver hands in. Without one nothing is sealed and everything
is believed: so the simulator runs, where no node lies unless a test makes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from p2psub.model.content import Event, Guarantee
from p2psub.model.ids import NodeId
from p2psub.model.merkle import Tree, root_of, statement_of
from p2psub.model.parcels import Parcel
from p2psub.model.place_sets import places_in
from p2psub.model.rights import Rights
from p2psub.model.seals import Leaf, Signature

_EVERYTHING: Final = Rights()


class Notary(Protocol):
    """Signs for us, and tells whether others did."""

    def sign(self, statement: bytes) -> Signature:
        """Our signature."""
        ...

    def rights_of(self, publisher: NodeId, statement: bytes, signature: Signature) -> Rights | None:
        """What the publisher may do, as its certificate says; None if it did not sign this."""
        ...


class Sealer:
    """Seals of parcels."""

    def __init__(self, notary: Notary | None) -> None:
        self._notary = notary

    def seal(self, number: int, events: Sequence[Event], leaves: Sequence[Leaf]) -> Parcel:
        """A parcel of our own; the leaves are the hashes of its events."""
        size, signature = len(events), None
        if self._notary is not None:
            is_promised = events[0].guarantee is Guarantee.EFFECTIVELY_ONCE
            signature = self._notary.sign(statement_of(Tree(leaves).root, size, number, is_promised))
        return Parcel(number, size, tuple(events), signature=signature)

    def rights_in(self, parcel: Parcel, leaves: Sequence[Leaf]) -> Rights | None:
        """What the publisher of a sound parcel may do; None if these hashes of its events are not what it signed."""
        if self._notary is None:
            return _EVERYTHING
        if parcel.signature is None:
            return None
        root = root_of(parcel.size, dict(zip(places_in(parcel.places), leaves, strict=True)), parcel.proof)
        if root is None:
            return None
        is_promised = parcel.guarantee is Guarantee.EFFECTIVELY_ONCE
        statement = statement_of(root, parcel.size, parcel.number, is_promised)
        return self._notary.rights_of(parcel.events[0].id.node, statement, parcel.signature)

    def is_genuine(self, parcel: Parcel, leaves: Sequence[Leaf]) -> bool:
        """Whether the events are what their publisher made of them, on topics that it may publish."""
        rights = self.rights_in(parcel, leaves)
        return rights is not None and rights.may_publish_all([event.topic for event in parcel.events])
