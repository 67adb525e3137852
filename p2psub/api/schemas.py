"""What goes over the control API as JSON, for both of its ends."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Any, Final

import msgspec

from p2psub.api.bids import Span, timeout_us_of
from p2psub.api.errors import BadContent
from p2psub.api.items import Gap, Item, Notification
from p2psub.api.problems import Problem
from p2psub.api.validation import check_draft
from p2psub.api.values import Json, id_to_text, values_from_json, values_to_json
from p2psub.model.bids import PRICE_MAX, PRICE_ONE
from p2psub.model.content import EVENT_BYTES_MAX, RATE_MAX, Draft, Event, Guarantee, Order
from p2psub.model.ids import ClusterId
from p2psub.model.instants import SECOND_US
from p2psub.model.outcomes import AdvertiseVerdict, PublishOutcome, SubscribeVerdict, VerdictStatus
from p2psub.model.rates import RATE_ONE, Demand
from p2psub.model.reasons import Reason

NDJSON: Final = "application/x-ndjson"
"""Lines of JSON."""

REQUEST_BYTES_MAX: Final = 8 * EVENT_BYTES_MAX
"""One request: the largest event still fits if JSON escapes each of its characters."""

MANY_BYTES_MAX: Final = 16 * 1024 * 1024
"""One request of many events."""

WINDOW_MAX: Final = 65_536
"""Items that may wait for the reader of one subscription."""

Values = Annotated[
    dict[str, Any],
    msgspec.Meta(
        description="By name; see Value.",
        extra_json_schema={"additionalProperties": {"$ref": "#/components/schemas/Value"}},
    ),
]
"""Content as `p2psub.api.values` writes it."""

Timeout = Annotated[Span, msgspec.Meta(description="How old it may be when it is handed over: seconds, or as 40s.")]
Deadline = Annotated[Span, msgspec.Meta(description="How old an event may be when it comes: seconds, or as 40s.")]


class PublishRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """An event to publish; its body as text, or as base64 if it is not text."""

    topic: str
    attributes: Values = {}
    body: str | None = None
    body_base64: str | None = None
    retain_s: float = 0.0
    guarantee: Guarantee = Guarantee.EFFECTIVELY_ONCE
    timeout: Timeout | None = None


class PublishResponse(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a publish; of an `at_most_once` event neither copies nor matches are known."""

    event: str
    copies: int | None
    matched: int | None


class PublishLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the answer to many events: an outcome, or a problem."""

    event: str = ""
    copies: int | None = None
    matched: int | None = None
    error: Problem | None = None


class SubscribeRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A subscription to hold while its answer is being read."""

    filter: str
    params: Values = {}
    replay: bool = False
    window: Annotated[int, msgspec.Meta(ge=1, le=WINDOW_MAX)] = 1024
    order: Order = Order.NONE
    deadline: Deadline | None = None
    price: Annotated[float, msgspec.Meta(ge=0, le=PRICE_MAX // PRICE_ONE, description="Of what comes in time.")] = 1.0
    penalty: Annotated[float, msgspec.Meta(ge=0, le=PRICE_MAX // PRICE_ONE, description="Of what does not.")] = 0.0


class AdvertiseRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """An advertisement to hold while its answer is being read."""

    filter: str
    rate: Annotated[float, msgspec.Meta(gt=0, le=RATE_MAX, description="Events per second, at most.")]
    params: Values = {}


class AdvertisedItem(msgspec.Struct, frozen=True, kw_only=True):
    """Where an advertisement stands."""

    advertisement: str
    status: VerdictStatus
    unreached: tuple[ClusterId, ...] = ()
    reason: Reason | None = None
    """Why it is refused."""


class DemandItem(msgspec.Struct, frozen=True, kw_only=True):
    """What publishers advertise of a subscription, and how many they are: at least, and at most."""

    rate_min: float
    """Events per second."""
    rate_max: float
    publishers_min: int
    publishers_max: int


class VerdictItem(msgspec.Struct, frozen=True, kw_only=True):
    """Where a subscription stands."""

    subscription: str
    status: VerdictStatus
    unreached: tuple[ClusterId, ...] = ()
    reason: Reason | None = None
    """Why it is refused."""
    demand: DemandItem | None = None


class EventItem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An event that was wanted."""

    id: str
    topic: str
    attributes: Values
    body: str | None = None
    body_base64: str | None = None
    retain_s: float
    guarantee: Guarantee
    age_s: float | None = None
    """When it was handed over."""
    remaining_s: float | None = None
    """From then until its deadline or timeout."""


class GapItem(msgspec.Struct, frozen=True, kw_only=True):
    """Events that are missing here, and why."""

    count: int
    reason: str


class StreamLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of the answer to a subscription or an advertisement: exactly one of these."""

    verdict: VerdictItem | None = None
    advertised: AdvertisedItem | None = None
    event: EventItem | None = None
    gap: GapItem | None = None
    error: Problem | None = None

    @property
    def judged(self) -> VerdictItem | AdvertisedItem | None:
        """The verdict, whatever it is on."""
        return self.verdict or self.advertised


def draft_of(request: PublishRequest) -> Draft:
    """The draft that is asked to be published; BadContent or TooLarge if no peer would take it."""
    if request.body is not None and request.body_base64 is not None:
        raise BadContent("the event has two bodies", "give body or body_base64, not both")
    body = _body_of(request)
    attributes, timeout_us = values_from_json(request.attributes), timeout_us_of(request.timeout)
    draft = Draft(request.topic, attributes, body, request.retain_s, request.guarantee, timeout_us)
    check_draft(draft)
    return draft


def _body_of(request: PublishRequest) -> bytes:
    if request.body_base64 is None:
        return (request.body or "").encode()
    try:
        return base64.b64decode(request.body_base64, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadContent(
            "body_base64 is not valid base64", "encode the body, with padding and without line breaks"
        ) from error


def request_of(draft: Draft) -> PublishRequest:
    """The inverse of `draft_of`."""
    body, body_base64 = _split_body(draft.body)
    attributes: dict[str, Json] = values_to_json(draft.attributes)
    return PublishRequest(
        topic=draft.topic,
        attributes=attributes,
        body=body,
        body_base64=body_base64,
        retain_s=draft.retain_s,
        guarantee=draft.guarantee,
        timeout=draft.timeout_us / SECOND_US if draft.timeout_us else None,
    )


def _split_body(body: bytes) -> tuple[str | None, str | None]:
    """The body as text and as base64: one of them, none of them if it is empty."""
    if not body:
        return None, None
    try:
        return body.decode(), None
    except UnicodeDecodeError:
        return None, base64.b64encode(body).decode()


def publish_response(outcome: PublishOutcome) -> PublishResponse:
    """An outcome, ready for JSON."""
    return PublishResponse(event=id_to_text(outcome.event), copies=outcome.copies, matched=outcome.matched)


def publish_answer(line: bytes) -> PublishResponse | Problem:
    """What became of one of many events, by its line."""
    said = msgspec.json.decode(line, type=PublishLine)
    return said.error or PublishResponse(event=said.event, copies=said.copies, matched=said.matched)


def event_item(event: Event) -> EventItem:
    """An event, ready for JSON."""
    body, body_base64 = _split_body(event.body)
    return EventItem(
        id=id_to_text(event.id),
        topic=event.topic,
        attributes=values_to_json(event.attributes),
        body=body,
        body_base64=body_base64,
        retain_s=event.retain_us / 1e6,
        guarantee=event.guarantee,
    )


def notified_item(notification: Notification) -> EventItem:
    """An event as it is handed over, ready for JSON."""
    remaining_s = notification.remaining_s
    return msgspec.structs.replace(
        event_item(notification.event),
        age_s=round(notification.age_s, 3),
        remaining_s=None if remaining_s is None else round(remaining_s, 3),
    )


def _demand_item(demand: Demand) -> DemandItem:
    return DemandItem(
        rate_min=demand.rate_min / RATE_ONE,
        rate_max=demand.rate_max / RATE_ONE,
        publishers_min=demand.publishers_min,
        publishers_max=demand.publishers_max,
    )


def verdict_item(verdict: SubscribeVerdict) -> VerdictItem:
    """A verdict, ready for JSON."""
    return VerdictItem(
        subscription=id_to_text(verdict.subscription),
        status=verdict.status,
        unreached=verdict.unreached,
        reason=verdict.reason,
        demand=None if verdict.demand is None else _demand_item(verdict.demand),
    )


def advertised_line(verdict: AdvertiseVerdict) -> StreamLine:
    """A verdict on an advertisement, ready for JSON."""
    return StreamLine(
        advertised=AdvertisedItem(
            advertisement=id_to_text(verdict.advertisement),
            status=verdict.status,
            unreached=verdict.unreached,
            reason=verdict.reason,
        )
    )


def line_of(item: Item) -> StreamLine:
    """An item of a subscription, ready for JSON."""
    match item:
        case Notification():
            return StreamLine(event=notified_item(item))
        case Gap():
            return StreamLine(gap=GapItem(count=item.count, reason=item.reason))
        case SubscribeVerdict():
            return StreamLine(verdict=verdict_item(item))
