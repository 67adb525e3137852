"""What a publisher seals and everybody else checks: that an event is its publisher's, unaltered, and was allowed.

Keys and certificates are a notary's business, which the driver hands in. Without one nothing is sealed and everything
is believed: so the simulator runs, where nobody lies unless a test makes him.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from p2psub.model.content import Event, content_hash
from p2psub.model.ids import NodeId
from p2psub.model.messages.pubsub import Parcel
from p2psub.model.rights import Rights
from p2psub.model.seals import Signature, Tree, leaf_of, root_of


class Notary(Protocol):
    """Signs for us, and tells whether others did."""

    def sign(self, root: bytes) -> Signature:
        """Our signature over a root."""
        ...

    def rights_of(self, publisher: NodeId, root: bytes, signature: Signature) -> Rights | None:
        """What the publisher may do, as its certificate says; None if it did not sign this root."""
        ...


class Sealing:
    """Seals of events and parcels."""

    def __init__(self, notary: Notary | None) -> None:
        self._notary = notary

    # Sealing

    def tree(self, contents: Iterable[bytes]) -> Tree | None:
        """The hashes over a batch of our own; None if nobody signs."""
        return None if self._notary is None else Tree([leaf_of(content) for content in contents])

    def sign(self, tree: Tree | None) -> Signature | None:
        """Our signature over a batch."""
        return None if self._notary is None or tree is None else self._notary.sign(tree.root)

    # Checking

    def is_genuine(self, event: Event) -> bool:
        """Whether an event is what its publisher made of it, on a topic that it may publish."""
        if self._notary is None:
            return True
        seal = event.seal
        if seal is None:
            return False
        root = root_of(seal.size, {seal.place: content_hash(event)}, seal.proof)
        return self._is_signed((event,), root, seal.signature)

    def is_genuine_parcel(self, parcel: Parcel) -> bool:
        """The same for all events of a parcel, which must be of one publisher."""
        if self._notary is None:
            return True
        places: Sequence[int] = parcel.places or range(parcel.size)
        if parcel.signature is None or len(places) != len(parcel.events):
            return False
        hashes = map(content_hash, parcel.events)
        root = root_of(parcel.size, dict(zip(places, hashes, strict=True)), parcel.proof)
        return self._is_signed(parcel.events, root, parcel.signature)

    def _is_signed(self, events: Sequence[Event], root: bytes | None, signature: Signature) -> bool:
        assert self._notary is not None
        if root is None or not events:
            return False
        rights = self._notary.rights_of(events[0].id.node, root, signature)
        return rights is not None and all(rights.may_publish(topic) for topic in {event.topic for event in events})
