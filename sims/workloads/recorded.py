"""A workload from a file: lines `{"sub": id, "filter": text}`, then `{"event": {…}}`.

Events are read as by `p2psub check-filter`: a list is a set, null is a missing attribute, and a text is a date for the
filters that compare the attribute with one, and a text for others. So such filters look at a copy of the attribute.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from p2psub.api.errors import BadContent, Refusal
from p2psub.api.values import moment_from_text, values_from_json
from p2psub.errors import ConfigError
from p2psub.matching.language import FilterError, parse_filter
from p2psub.model.content import TOPIC, Event, Filter, Moment, Predicate, Subscription, Value
from p2psub.model.ids import EventId
from sims.workloads.matching import NODE, subscription_of

DATED = "\0date"
"""Ends the name of the copy of an attribute that is compared with dates; no name that can be written has it."""


@dataclass(slots=True)
class Recorded:
    """Subscriptions, what the file calls them, and events."""

    names: list[str] = field(default_factory=list)
    subscriptions: list[Subscription] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)


def read_workload(path: Path) -> Recorded:
    """Read a file; a line that cannot be read is named."""
    recorded = Recorded()
    dated: set[str] = set()
    happened: list[tuple[int, object]] = []
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    try:
                        given = json.loads(line)
                        if "sub" in given:
                            _subscribe(given, recorded, dated)
                        else:
                            happened.append((number, given["event"]))
                    except (ValueError, KeyError, TypeError, FilterError, Refusal) as error:
                        raise ConfigError("workload", f"line {number} of {path}: {error}") from error
    except OSError as error:
        raise ConfigError("workload", str(error)) from error
    for number, event in happened:
        try:
            recorded.events.append(_event(len(recorded.events), event, dated))
        except (ValueError, Refusal) as error:
            raise ConfigError("workload", f"line {number} of {path}: {error}") from error
    return recorded


def _subscribe(given: dict[str, object], recorded: Recorded, dated: set[str]) -> None:
    wanted = _with_copies(parse_filter(str(given["filter"])), dated)
    recorded.subscriptions.append(subscription_of(len(recorded.names), wanted))
    recorded.names.append(json.dumps(given["sub"]))


def _with_copies(wanted: Filter, dated: set[str]) -> Filter:
    compared = {
        p.attribute for conjunction in wanted.conjunctions for p in conjunction if isinstance(p.constant, Moment)
    } - {TOPIC}
    dated |= compared
    return Filter(
        tuple(
            tuple(
                Predicate(p.attribute + DATED, p.operator, p.constant) if p.attribute in compared else p
                for p in conjunction
            )
            for conjunction in wanted.conjunctions
        )
    )


def _event(number: int, given: object, dated: set[str]) -> Event:
    if not isinstance(given, dict):
        raise ValueError("an event is an object")
    plain = {
        name: {"$set": value} if isinstance(value, list) else value
        for name, value in given.items()
        if value is not None
    }
    topic = plain.pop(TOPIC, "")
    if not isinstance(topic, str):
        raise ValueError("the topic is not text")
    attributes = values_from_json(plain)
    copies: dict[str, Value] = {name + DATED: _as_date(value) for name, value in attributes.items() if name in dated}
    return Event(EventId(NODE, 1, number), topic, {**attributes, **copies})


def _as_date(value: Value) -> Value:
    if isinstance(value, str):
        try:
            return moment_from_text("", value)
        except BadContent:
            return value
    return value
