"""What owes nothing any more: remembered, so that a late copy or a repeated publish is not taken for new."""

from __future__ import annotations

from p2psub.config import PubSubConfig
from p2psub.model.ids import EventId
from p2psub.model.messages.pubsub import Acknowledged
from p2psub.model.place_sets import event_runs, to_bitmap
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.owner.held_parcel import HeldParcel
from p2psub.owner.retention import Recent
from p2psub.parcels.remembered import Remembered


class Discharges:
    """Events that this owner discharged, and what their publishers were told."""

    def __init__(self, step: Step, config: PubSubConfig) -> None:
        self._step = step
        self._by_matches: Remembered[bytes] = Remembered(config.remembered_us)
        self._outcomes: Remembered[tuple[int | None, int | None]] = Remembered(config.remembered_us)
        """By copies and matches."""
        self.recent = Recent(config.recent_events_max)

    def note(self, held: HeldParcel) -> None:
        """These events have paid what they owed."""
        self._by_matches.note(held.first, held.places, held.id.matches, self._step.now)
        for matched, places in held.matched:
            self.conclude(held.first, places, held.copies, matched)

    def conclude(self, first: EventId, places: int, copies: int, matched: int) -> None:
        """These events owe nothing, or nothing any more: remember what their publisher is told."""
        for event, run in event_runs(first, places):
            self._step.record(Kind.DISCHARGE, event=event, run=run, matched=matched)
        self._outcomes.note(first, places, (copies, matched), self._step.now)

    def places(self, first: EventId, places: int, matches: bytes) -> int:
        """Those of some events that were discharged with these matches."""
        return self._by_matches.has(first, places, matches)

    def outcomes_of(self, first: EventId, places: int) -> list[Acknowledged]:
        """What the publisher of those of some events that owe nothing was told, while it is remembered."""
        outcomes: list[Acknowledged] = []
        for (copies, matched), of_label in reversed(self._outcomes.labels_of(first, places)):
            if of_label & places:
                outcomes.append(Acknowledged(to_bitmap(of_label & places), copies, matched))
                places &= ~of_label
        return outcomes

    def tick(self) -> None:
        """Forget what was discharged long ago."""
        self._by_matches.forget(self._step.now)
        self._outcomes.forget(self._step.now)
