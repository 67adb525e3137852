"""The publisher's side of parcels: events that promise nothing leave in parcels, one signature for each.

What many events share is done once for all of them: the signature, the look at rights and table, the message. The
publisher keeps no parcel and repeats none; what it cannot send it says in the trace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from p2psub.admission.permits import Permits
from p2psub.model.content import Event
from p2psub.model.digests import content_bytes, content_hash
from p2psub.model.ids import Contact, Key, NodeId
from p2psub.model.messages.pubsub import Parcel, ParcelToOwner
from p2psub.model.outcomes import PublishOutcome
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.seals import BATCH_MAX
from p2psub.model.step import Step
from p2psub.parcels.sealer import Sealer
from p2psub.parcels.shipment import by_topic
from p2psub.parcels.trace_sampler import TraceSampler
from p2psub.publisher.advertisements import Advertisements

PARCEL_BYTES_MAX: Final = 128 * 1024
"""With one more event, the largest, it is well below what a frame takes."""


class ParcelSender:
    """Events of this step on their way into parcels."""

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
        self._number = 0
        self._fresh: list[Event] = []

    def publish(self, events: list[Event]) -> tuple[PublishOutcome, ...]:
        """Take events of our own; they leave at the end of the step."""
        rights = self._permits.of(self._step.me.id)
        topics = dict.fromkeys(event.topic for event in events)
        unauthorized = {topic for topic in topics if not rights.may_publish(topic)}
        for event in self._sampler.sample(Kind.PUBLISH, events):
            self._step.record(Kind.PUBLISH, event=event.id, digest=content_hash(event), published=event)
        if not unauthorized and self._advertisements.is_free:
            self._fresh += events
            return tuple([PublishOutcome(event.id) for event in events])
        outcomes = tuple([PublishOutcome(event.id, refused=self._refusal(event, unauthorized)) for event in events])
        self._fresh += [event for event, outcome in zip(events, outcomes, strict=True) if outcome.refused is None]
        for reason, count in Counter([outcome.refused for outcome in outcomes if outcome.refused]).items():
            self._step.record(Kind.DROP, reason=reason, count=count)
        return outcomes

    def _refusal(self, event: Event, unauthorized: set[str]) -> Reason | None:
        if event.topic in unauthorized:
            return Reason.NOT_AUTHORIZED
        return None if self._advertisements.keeps_rate(event) else Reason.ABOVE_RATE

    def flush(self) -> None:
        """Send what was published in this step: to every owner its parcels."""
        if not self._fresh:
            return
        events, self._fresh = self._fresh, []
        by_owner: dict[NodeId, tuple[Contact, list[Event]]] = {}
        for indexes in by_topic(events).values():
            owner = self._owner_of(events[indexes[0]].key)
            if owner is None:
                self._step.record(Kind.DROP, reason=Reason.NO_OWNER, count=len(indexes))
                continue
            by_owner.setdefault(owner.id, (owner, []))[1].extend([events[index] for index in indexes])
        for owner, owned in by_owner.values():
            contents = [content_bytes(event) for event in owned]
            for some in _cut(contents):
                self._send(owner, owned[some], contents[some])

    def _send(self, owner: Contact, events: list[Event], contents: list[bytes]) -> None:
        self._number += 1
        tree = self._sealer.tree(contents)
        parcel = Parcel(self._number, tuple(events), len(events), signature=self._sealer.sign(tree, self._number))
        self._step.send(owner, ParcelToOwner(parcel, () if tree is None else tree.leaves))


def _cut(contents: list[bytes]) -> list[slice]:
    """Into parcels, by count and by size."""
    parcels: list[slice] = []
    first = size = 0
    for index, content in enumerate(contents):
        if size >= PARCEL_BYTES_MAX or index - first == BATCH_MAX:
            parcels.append(slice(first, index))
            first, size = index, 0
        size += len(content)
    return [*parcels, slice(first, len(contents))]
