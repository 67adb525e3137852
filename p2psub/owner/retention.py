"""Discharged events that their retention class keeps for late subscribers (QoS 3.1): here, bounded and in memory."""

from __future__ import annotations

from collections.abc import Callable

from p2psub.model.content import Event
from p2psub.model.ids import EventId
from p2psub.model.instants import Micros


class Recent:
    """At most `most` events, each until its retention ends; the oldest make room."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._events: dict[EventId, tuple[Event, Micros, Micros]] = {}

    def __len__(self) -> int:
        return len(self._events)

    def retain(self, event: Event, born_us: Micros, now: Micros) -> None:
        """Keep an event if its class asks for it and its time is not over."""
        until = Micros(born_us + event.retain_us)
        if event.retain_us and until > now:
            self._events[event.id] = (event, born_us, until)
            if len(self._events) > self._most:
                self._events.pop(next(iter(self._events)))

    def wanted(self, wants: Callable[[Event], bool], now: Micros) -> list[tuple[Event, Micros]]:
        """What is still retained and wanted, oldest first, each with its age."""
        self._events = {id_: kept for id_, kept in self._events.items() if kept[2] > now}
        return [(event, Micros(now - born)) for event, born, _ in self._events.values() if wants(event)]
