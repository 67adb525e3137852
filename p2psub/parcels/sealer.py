"""What a publisher seals and every other node checks: that an event is its publisher's, unaltered, and was allowed.

Keys and certificates are a notary's business, which the driver hands in. Without one nothing is sealed and everything
is believed: so the simulator runs, where no node lies unless a test makes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from p2psub.model.content import Event, Guarantee
from p2psub.model.digests import content_hash
from p2psub.model.ids import NodeId
from p2psub.model.merkle import Tree, leaf_of, root_of, statement_of
from p2psub.model.messages.pubsub import Parcel
from p2psub.model.rights import Rights
from p2psub.model.seals import Signature


class Notary(Protocol):
    """Signs for us, and tells whether others did."""

    def sign(self, statement: bytes) -> Signature:
        """Our signature."""
        ...

    def rights_of(self, publisher: NodeId, statement: bytes, signature: Signature) -> Rights | None:
        """What the publisher may do, as its certificate says; None if it did not sign this."""
        ...


class Sealer:
    """Seals of events and parcels."""

    def __init__(self, notary: Notary | None) -> None:
        self._notary = notary

    # Sealing

    def tree(self, contents: Iterable[bytes]) -> Tree | None:
        """The hashes over a batch of our own; None without a notary."""
        return None if self._notary is None else Tree([leaf_of(content) for content in contents])

    def sign(self, tree: Tree | None, parcel: int | None = None) -> Signature | None:
        """Our signature over a batch, or over the parcel of this number."""
        if self._notary is None or tree is None:
            return None
        return self._notary.sign(statement_of(tree.root, len(tree.leaves), parcel))

    # Checking

    def is_genuine(self, event: Event) -> bool:
        """Whether an event is what its publisher made of it, on a topic that it may publish."""
        if self._notary is None:
            return True
        seal = event.seal
        if seal is None or (seal.parcel is None) is not (event.guarantee is Guarantee.EFFECTIVELY_ONCE):
            return False
        root = root_of(seal.size, {seal.place: content_hash(event)}, seal.proof)
        statement = None if root is None else statement_of(root, seal.size, seal.parcel)
        return self._is_signed((event,), statement, seal.signature)

    def is_genuine_parcel(self, parcel: Parcel) -> bool:
        """The same for all events of a parcel, which must be of one publisher."""
        if self._notary is None:
            return True
        places: Sequence[int] = parcel.places or range(parcel.size)
        if parcel.signature is None or len(places) != len(parcel.events):
            return False
        hashes = [content_hash(event) for event in parcel.events]
        root = root_of(parcel.size, dict(zip(places, hashes, strict=True)), parcel.proof)
        statement = None if root is None else statement_of(root, parcel.size, parcel.number)
        return self._is_signed(parcel.events, statement, parcel.signature)

    def _is_signed(self, events: Sequence[Event], statement: bytes | None, signature: Signature) -> bool:
        assert self._notary is not None
        if statement is None or not events:
            return False
        rights = self._notary.rights_of(events[0].id.node, statement, signature)
        topics = dict.fromkeys(event.topic for event in events)
        return rights is not None and all(rights.may_publish(topic) for topic in topics)
