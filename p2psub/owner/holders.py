"""Which members should hold owed events by our table, and which of them have said that they do."""

from __future__ import annotations

from p2psub.config import PubSubConfig
from p2psub.model.ids import Contact, NodeId
from p2psub.owner.arc_lease import ArcLease
from p2psub.owner.held_parcel import HeldParcel


class Holders:
    """The owner of a key and the members after it, `count` in all."""

    def __init__(self, me: NodeId, config: PubSubConfig, arc_lease: ArcLease, count: int) -> None:
        self._me = me
        self._config = config
        self._arc_lease = arc_lease
        self._count = count

    @property
    def copies_required(self) -> int:
        """How many copies an acknowledgement needs."""
        return self._arc_lease.required_copies(self._config.copies)

    def of(self, held: HeldParcel) -> list[Contact]:
        """The members that should hold it, its owner first."""
        table = self._arc_lease.table
        return [] if table is None else table.holders_of(held.key, self._count)

    def missing(self, held: HeldParcel) -> list[Contact]:
        """Those that have not said that they hold it, nor that they have no room."""
        missing = [c for c in self.of(held) if c.id != self._me and not self._holds_now(held, c.id)]
        return [contact for contact in missing if contact.id not in held.refused_by]

    def have_copies_of(self, held: HeldParcel) -> bool:
        """Whether it is durable here and at as many members as an acknowledgement needs."""
        return held.is_held_by(self._me) and held.copies >= self.copies_required

    def have_given_back(self, held: HeldParcel, owner: NodeId) -> bool:
        """Whether it is another's, or that owner said by our table that it holds it, or told us of it."""
        of_key = self._arc_lease.owner_of(held.key)
        return of_key is None or of_key.id != owner or held.told_by == owner or self._holds_now(held, owner)

    def lacking(self, held: HeldParcel) -> int | None:
        """How many holders must yet state a copy before ours is not needed; None if we are a holder ourselves."""
        holders = self.of(held)
        if any(contact.id == self._me for contact in holders):
            return None
        stated = sum(self._holds_now(held, contact.id) for contact in holders)
        has_owner = bool(holders) and self._holds_now(held, holders[0].id)
        return max(self.copies_required - stated, 0 if has_owner else 1)

    def _holds_now(self, held: HeldParcel, node: NodeId) -> bool:
        """Whether a member said so by our table or a newer one: by an older one it may have let go since."""
        stated, _ = held.held_by.get(node, (None, 0))
        ours = self._arc_lease.version
        return held.is_held_by(node) and stated is not None and ours is not None and stated >= ours
