"""Records of traces for people and programs: ids in hex, times in UTC, one line each; and one event's way as a tree."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from p2psub.api.schemas import event_item
from p2psub.api.values import id_to_text
from p2psub.cli.assignments import spell_text
from p2psub.cli.texts import event_text
from p2psub.matching.printer import print_filter
from p2psub.model.content import Declaration
from p2psub.model.records import Kind, Record
from p2psub.traces.reader import Arrival, Journey

_HEX: Final = 10
"""Digits of a node's name by which people tell peers apart; segments are named by them too."""

Branch = tuple[str, list["Branch"]]


def record_to_json(record: Record) -> dict[str, Any]:
    """A record, ready for JSON: ids as texts like those that `p2psub pub` prints."""
    said: dict[str, Any] = {
        "kind": record.kind.value,
        "node": record.node.hex(),
        "incarnation": record.incarnation,
        "sequence": record.sequence,
        "wall_us": record.stamp.wall_us,
        "ticks": record.stamp.ticks,
        "cluster": record.cluster,
        "epoch": record.epoch and _epoch_text(record.epoch),
        "event": record.event and id_to_text(record.event),
        "subscription": record.subscription and id_to_text(record.subscription),
        "peer": record.peer and record.peer.hex(),
        "cast": record.cast and _epoch_text(record.cast),
        "number": record.number and _change_text(*record.number),
        "vector": record.vector and [_change_text(*stream) for stream in record.vector],
        "prefix": record.prefix,
        "reason": record.reason,
        "outcome": record.outcome,
        "count": record.count,
        "run": record.run,
        "guarantee": record.guarantee,
        "matched": record.matched,
        "copies": record.copies,
        "digest": record.digest and record.digest.hex(),
        "payload": record.payload,
        "hops": record.hops,
        "tries": record.tries,
        "status": record.status,
        "state": record.state,
        "unreached": record.unreached,
        "version": record.version,
        "owners": record.owners,
        "standing": record.standing,
        "heartbeat_us": record.heartbeat_us,
        "copies_required": record.copies_required,
        "published": record.published and msgspec.to_builtins(event_item(record.published)),
        "subscribed": record.subscribed and _declared(record.subscribed),
        "advertised": record.advertised and {**_declared(record.advertised), "rate": record.advertised.rate},
    }
    return {name: value for name, value in said.items() if value is not None}


def _declared(declaration: Declaration) -> dict[str, Any]:
    return {
        "id": id_to_text(declaration.id),
        "version": declaration.version,
        "state": declaration.state.value,
        "cluster": declaration.cluster,
        "filter": print_filter(declaration.filter),
    }


def record_text(record: Record) -> str:
    """A record in a line: when, who, what, and all that it holds."""
    said = record_to_json(record)
    published = said.pop("published", None) and record.published
    declared = said.pop("subscribed", None) or said.pop("advertised", None)
    head = ("kind", "node", "incarnation", "sequence", "wall_us", "ticks", "digest")
    words = [f"{name}={_shown(value)}" for name, value in said.items() if name not in head]
    if published is not None:
        words.append(f"content: {event_text(event_item(published))}")
    if declared is not None:
        words += [f"{name}={declared[name]}" for name in ("version", "state", "rate") if name in declared]
        words.append(f"filter: {declared['filter']}")
    who = f"{short(record)}.{record.incarnation}"
    return " ".join([time_text(record.stamp.wall_us), who, f"{record.kind:<11}", *words])


def journey_tree(journey: Journey) -> Iterator[str]:
    """One event's way, as lines of a tree. Times count from `publish`, or from the first that is known of it."""
    zero_us = (journey.published or journey.first).stamp.wall_us

    def at(record: Record, *words: str) -> str:
        return " ".join(
            [f"{record.kind} at {short(record)}", *words, f"+{(record.stamp.wall_us - zero_us) / 1e3:.3f} ms"]
        )

    content = journey.content
    yield f"event {id_to_text(journey.event)}"
    if content is not None:
        yield f"{event_text(event_item(content))} ({content.guarantee})"
    if journey.published is None:
        yield "publish: not in these traces, and with it the content"
    else:
        yield f"publish at {short(journey.published)}, {time_text(zero_us)}"
    branches: list[Branch] = []
    for stored in journey.stored:
        below: list[Branch] = [(at(copy), []) for copy in journey.copies if _is_nearest(copy, stored, journey.stored)]
        below += [(at(done, f"{done.matched} matches"), []) for done in journey.owners if done.node == stored.node]
        branches.append((at(stored, f"for {stored.matched} subscriptions in {stored.cluster}"), below))
    owners = {stored.node for stored in journey.stored}
    branches += [(at(done, f"{done.matched} matches"), []) for done in journey.owners if done.node not in owners]
    if not journey.stored:
        branches += [(at(copy), []) for copy in journey.copies]
    branches += [(at(done, f"{done.copies} copies, {done.matched} matches"), []) for done in journey.acknowledged]
    branches += [_arrival_branch(arrival, at) for arrival in journey.arrivals]
    branches += [(at(other, f"({other.reason})"), []) for other in journey.others]
    yield from _drawn(branches)


def journey_to_json(journey: Journey) -> dict[str, Any]:
    """One event's way, ready for JSON."""

    def several(records: list[Record]) -> list[dict[str, Any]]:
        return [record_to_json(record) for record in records]

    return {
        "event": id_to_text(journey.event),
        "content": journey.content and msgspec.to_builtins(event_item(journey.content)),
        "publish": journey.published and record_to_json(journey.published),
        "store": several(journey.stored),
        "match": several([record for record in journey.owners if record.kind is Kind.MATCH]),
        "copy": several(journey.copies),
        "acknowledge": several(journey.acknowledged),
        "discharge": several([record for record in journey.owners if record.kind is Kind.DISCHARGE]),
        "arrivals": [
            {
                "subscription": id_to_text(arrival.subscription),
                "deliver": several(arrival.delivered),
                "outcome": several(arrival.outcomes),
                "others": several(arrival.others),
            }
            for arrival in journey.arrivals
        ],
        "others": several(journey.others),
    }


def short(record: Record) -> str:
    """A peer's name as people tell it apart."""
    return record.node.hex()[:_HEX]


def time_text(wall_us: int) -> str:
    """An instant of the wall clock, in UTC; one that no calendar has as its microseconds."""
    try:
        instant = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=wall_us)
    except OverflowError:
        return f"{wall_us}us"
    return instant.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _arrival_branch(arrival: Arrival, at: Any) -> Branch:
    heard = [*arrival.delivered, *arrival.outcomes, *arrival.others]
    heard.sort(key=lambda record: record.stamp)
    name = f"subscription {id_to_text(arrival.subscription)}"
    return (
        name if arrival.delivered else f"{name}: not delivered, as far as these traces tell",
        [(at(record, *([f"({why})"] if (why := record.outcome or record.reason) else [])), []) for record in heard],
    )


def _is_nearest(copy: Record, stored: Record, several: list[Record]) -> bool:
    """Whether a copy belongs to this store: to the last one before it, else to the first."""
    before = [one for one in several if one.stamp <= copy.stamp]
    return stored is (before[-1] if before else several[0])


def _drawn(branches: list[Branch], margin: str = "") -> Iterator[str]:
    for place, (text, below) in enumerate(branches, 1):
        is_last = place == len(branches)
        yield f"{margin}{'└' if is_last else '├'}─ {text}"
        yield from _drawn(below, margin + ("   " if is_last else "│  "))


def _epoch_text(name: tuple[object, ...]) -> str:
    return ".".join(part.hex() if isinstance(part, bytes) else str(part) for part in name)


def _change_text(stream: tuple[Any, ...], n: int) -> str:
    return f"{stream[0]}/{_epoch_text(stream[1])}/{n}"


def _shown(value: object) -> str:
    return spell_text(value) if isinstance(value, str) else str(value)
