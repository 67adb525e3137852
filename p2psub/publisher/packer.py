"""From drafts to parcels: what was published in a step for one owner gets numbers in a row and one signature.

What many events share is done once for all of them: the signature, the look at the table, the message. Also decides
what is not published at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from p2psub.admission.permits import Permits
from p2psub.model.content import Draft, Event, Guarantee
from p2psub.model.digests import content_bytes, content_hash
from p2psub.model.effects import PublishCommand, PublishReply
from p2psub.model.ids import Contact, EventId, Key, NodeId, key_of_topic
from p2psub.model.instants import SECOND_US
from p2psub.model.merkle import leaf_of
from p2psub.model.outcomes import PublishOutcome
from p2psub.model.parcels import Parcel
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.seals import BATCH_MAX, Leaf
from p2psub.model.step import Step
from p2psub.parcels.sealer import Sealer
from p2psub.parcels.trace_sampler import TraceSampler
from p2psub.publisher.advertisements import Advertisements

PARCEL_BYTES_MAX: Final = 128 * 1024
"""With one more event, the largest, it is well below what a frame takes."""


_Order = tuple[int, Draft]
"""The number of a command, and the event that an application asked to publish by it."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A parcel of our own: for which owner, if we know one, with the hashes of its events and the commands by place."""

    owner: Contact | None
    parcel: Parcel
    leaves: tuple[Leaf, ...]
    commands: list[int]


class Packer:
    """Numbers everything that this process publishes."""

    def __init__(
        self,
        step: Step,
        owner_of: Callable[[Key], Contact | None],
        permits: Permits,
        advertisements: Advertisements,
        sealer: Sealer,
        sampler: TraceSampler,
    ) -> None:
        self._step = step
        self._owner_of = owner_of
        self._permits = permits
        self._advertisements = advertisements
        self._sealer = sealer
        self._sampler = sampler
        self._sequence = 0
        self._number = 0
        self._orders: list[_Order] = []

    def add(self, command: PublishCommand) -> None:
        """Take events to be packed at the end of the step."""
        self._orders += list(enumerate(command.drafts, command.number))

    def pack(self, room: int) -> list[Packed]:
        """All that was added, in parcels; refuses what may not be published, and promises beyond `room`."""
        if not self._orders:
            return []
        orders, self._orders = self._orders, []
        taken, refused = self._sort(orders, room)
        packed = [
            one
            for guarantee in Guarantee
            for one in self._pack_alike([order for order in taken if order[1].guarantee is guarantee])
        ]
        if refused:
            self._refuse(refused)
        return packed

    def _sort(self, orders: list[_Order], room: int) -> tuple[list[_Order], list[tuple[_Order, Reason]]]:
        """What is published, and what is not and why; mostly there is nothing to look for in each of them."""
        rights = self._permits.of(self._step.me.id)
        topics = dict.fromkeys([draft.topic for _, draft in orders])
        forbidden = {topic for topic in topics if not rights.may_publish(topic)}
        if len(orders) <= room and not forbidden and self._advertisements.is_free:
            return orders, []
        taken: list[_Order] = []
        refused: list[tuple[_Order, Reason]] = []
        for order in orders:
            draft = order[1]
            is_promised = draft.guarantee is Guarantee.EFFECTIVELY_ONCE
            refusal = Reason.OUTBOX_FULL if is_promised and room <= 0 else self._refusal(draft, forbidden)
            if refusal is None:
                taken.append(order)
                room -= is_promised
            else:
                refused.append((order, refusal))
        return taken, refused

    def _refusal(self, draft: Draft, forbidden: set[str]) -> Reason | None:
        if draft.topic in forbidden:
            return Reason.NOT_AUTHORIZED
        return None if self._advertisements.keeps_rate(draft) else Reason.ABOVE_RATE

    def _refuse(self, refused: list[tuple[_Order, Reason]]) -> None:
        outcomes: list[tuple[int, PublishOutcome]] = []
        unpromised: Counter[Reason] = Counter()
        for (command, draft), reason in refused:
            event = self._event(draft)
            self._record([event], [content_hash(event)])
            if event.guarantee is Guarantee.EFFECTIVELY_ONCE:
                self._step.record(Kind.DROP, event=event.id, reason=reason)
            else:
                unpromised[reason] += 1
            outcomes.append((command, PublishOutcome(event.id, refused=reason)))
        for reason, count in unpromised.items():
            self._step.record(Kind.DROP, reason=reason, count=count)
        self._step.effects.append(PublishReply(outcomes))

    def _pack_alike(self, orders: list[_Order]) -> Iterator[Packed]:
        """Events that promise the same: for every owner its own parcels.

        Those of one topic are in the order of publishing, and together: most of what becomes of them they share.
        """
        by_topic: dict[str, list[_Order]] = {}
        for order in orders:
            of_topic = by_topic.get(order[1].topic)
            if of_topic is None:
                by_topic[order[1].topic] = [order]
            else:
                of_topic.append(order)
        by_owner: dict[NodeId | None, tuple[Contact | None, list[_Order]]] = {}
        for topic, some in by_topic.items():
            owner = self._owner_of(key_of_topic(topic))
            by_owner.setdefault(None if owner is None else owner.id, (owner, []))[1].extend(some)
        for owner, some in by_owner.values():
            yield from self._cut(owner, some)

    def _cut(self, owner: Contact | None, orders: list[_Order]) -> Iterator[Packed]:
        """Into parcels, by count and by size."""
        first = size = 0
        events: list[Event] = []
        leaves: list[Leaf] = []
        for index, (_, draft) in enumerate(orders):
            if size >= PARCEL_BYTES_MAX or index - first == BATCH_MAX:
                yield self._seal(owner, events, leaves, orders[first:index])
                first, size, events, leaves = index, 0, [], []
            event = self._event(draft)
            content = content_bytes(event)
            events.append(event)
            leaves.append(leaf_of(content))
            size += len(content)
        yield self._seal(owner, events, leaves, orders[first:])

    def _event(self, draft: Draft) -> Event:
        """A draft gets its id, for good."""
        self._sequence += 1
        id_ = EventId(self._step.me.id, self._step.incarnation, self._sequence)
        retain_us = int(draft.retain_s * SECOND_US) if draft.retain_s else 0
        return Event(id_, draft.topic, draft.attributes, draft.body, retain_us, draft.guarantee)

    def _seal(self, owner: Contact | None, events: list[Event], leaves: list[Leaf], orders: list[_Order]) -> Packed:
        self._number += 1
        self._record(events, leaves)
        parcel = self._sealer.seal(self._number, events, leaves)
        return Packed(owner, parcel, tuple(leaves), [command for command, _ in orders])

    def _record(self, events: list[Event], leaves: list[Leaf]) -> None:
        """Say in the trace what was published."""
        for index in self._sampler.sample(Kind.PUBLISH, events):
            event = events[index]
            self._step.record(Kind.PUBLISH, event=event.id, digest=leaves[index], published=event)
