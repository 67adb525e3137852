"""From drafts to parcels: what was published in a step for one owner gets numbers in a row and one signature.

What many events share is done once for all of them: the signature, the look at the table, the message. Also decides
what is not published at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
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
from p2psub.model.ways import PartBytes
from p2psub.parcels.sealer import Sealer
from p2psub.parcels.shipment import by_topic
from p2psub.parcels.trace_sampler import TraceSampler
from p2psub.publisher.advertisements import Advertisements

PARCEL_BYTES_MAX: Final = 128 * 1024
"""With one more event, the largest, it is well below what a frame takes."""


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
        part_bytes: PartBytes,
    ) -> None:
        self._step = step
        self._owner_of = owner_of
        self._permits = permits
        self._advertisements = advertisements
        self._sealer = sealer
        self._sampler = sampler
        self._part_bytes = part_bytes
        self._sequence = 0
        self._number = 0
        self._drafts: list[Draft] = []
        self._commands: list[int] = []
        """By which command an application asked for each of the drafts."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits to be packed."""
        return not self._drafts

    def add(self, command: PublishCommand) -> None:
        """Take events to be packed at the end of the step."""
        self._drafts += command.drafts
        self._commands += range(command.number, command.number + len(command.drafts))

    def pack(self, room: int) -> list[Packed]:
        """All that was added, in parcels; refuses what may not be published, and promises beyond `room`."""
        drafts, commands = self._drafts, self._commands
        self._drafts, self._commands = [], []
        refused = self._refusals(drafts, room)
        packed: list[Packed] = []
        for indexes in _alike(drafts, refused):
            for owner, some in self._by_owner(drafts, indexes):
                packed += self._cut(owner, [drafts[index] for index in some], [commands[index] for index in some])
        if refused:
            self._refuse([(commands[index], drafts[index], reason) for index, reason in refused.items()])
        return packed

    def _refusals(self, drafts: list[Draft], room: int) -> dict[int, Reason]:
        """Which of them are not published, and why; mostly there is nothing to look for in each."""
        rights = self._permits.of(self._step.me.id)
        topics = dict.fromkeys([draft.topic for draft in drafts])
        forbidden = {topic for topic in topics if not rights.may_publish(topic)}
        refused: dict[int, Reason] = {}
        if len(drafts) <= room and not forbidden and self._advertisements.is_free:
            return refused
        for index, draft in enumerate(drafts):
            is_promised = draft.guarantee is Guarantee.EFFECTIVELY_ONCE
            refusal = Reason.OUTBOX_FULL if is_promised and room <= 0 else self._refusal(draft, forbidden)
            if refusal is None:
                room -= is_promised
            else:
                refused[index] = refusal
        return refused

    def _refusal(self, draft: Draft, forbidden: set[str]) -> Reason | None:
        if draft.topic in forbidden:
            return Reason.NOT_AUTHORIZED
        return None if self._advertisements.keeps_rate(draft) else Reason.ABOVE_RATE

    def _refuse(self, refused: list[tuple[int, Draft, Reason]]) -> None:
        outcomes: list[tuple[int, PublishOutcome]] = []
        unpromised: Counter[Reason] = Counter()
        for command, draft, reason in refused:
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

    def _by_owner(self, drafts: list[Draft], indexes: list[int]) -> list[tuple[Contact | None, list[int]]]:
        """For every owner the indexes of its events.

        Those of one topic are in the order of publishing, and together: most of what becomes of them they share.
        """
        owners: dict[NodeId | None, tuple[Contact | None, list[int]]] = {}
        for topic, places in by_topic([drafts[index] for index in indexes]).items():
            owner = self._owner_of(key_of_topic(topic))
            of_owner = owners.setdefault(None if owner is None else owner.id, (owner, []))
            of_owner[1].extend([indexes[place] for place in places])
        return list(owners.values())

    def _cut(self, owner: Contact | None, drafts: list[Draft], commands: list[int]) -> list[Packed]:
        """Into parcels, by count and by size. Those of one have one timeout, which one word then says of all."""
        events = [self._event(draft) for draft in drafts]
        contents = [content_bytes(event) for event in events]
        leaves = [leaf_of(content) for content in contents]
        bytes_max = PARCEL_BYTES_MAX if owner is None else min(PARCEL_BYTES_MAX, self._part_bytes(owner.id, None))
        ends: list[int] = []
        first = size = 0
        for index, content in enumerate(contents):
            is_full = size >= bytes_max or index - first == BATCH_MAX
            if is_full or events[index].timeout_us != events[first].timeout_us:
                ends.append(index)
                first, size = index, 0
            size += len(content)
        return [
            self._seal(owner, events[begin:end], leaves[begin:end], commands[begin:end])
            for begin, end in pairwise([0, *ends, len(events)])
        ]

    def _event(self, draft: Draft) -> Event:
        """A draft gets its id, for good."""
        self._sequence += 1
        id_ = EventId(self._step.me.id, self._step.incarnation, self._sequence)
        retain_us = int(draft.retain_s * SECOND_US) if draft.retain_s else 0
        return Event(id_, draft.topic, draft.attributes, draft.body, retain_us, draft.guarantee, draft.timeout_us)

    def _seal(self, owner: Contact | None, events: list[Event], leaves: list[Leaf], commands: list[int]) -> Packed:
        self._number += 1
        self._record(events, leaves)
        return Packed(owner, self._sealer.seal(self._number, events, leaves), tuple(leaves), commands)

    def _record(self, events: list[Event], leaves: list[Leaf]) -> None:
        """Say in the trace what was published."""
        for index in self._sampler.sample(Kind.PUBLISH, events):
            event = events[index]
            self._step.record(Kind.PUBLISH, event=event.id, digest=leaves[index], published=event)


def _alike(drafts: list[Draft], refused: dict[int, Reason]) -> list[list[int]]:
    """The indexes of those that are published, in groups that promise the same; mostly that is one of all."""
    guarantees = {draft.guarantee for draft in drafts}
    if len(guarantees) == 1 and not refused:
        return [list(range(len(drafts)))]
    return [
        [index for index, draft in enumerate(drafts) if draft.guarantee is guarantee and index not in refused]
        for guarantee in Guarantee
    ]
