"""`/openapi.json`: the API described. Paths are kept by hand, schemas come from the structs that are sent."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import msgspec

from p2psub.api.pages import (
    AdvertisementsPage,
    CubePage,
    QueuesPage,
    ReadyPage,
    RingPage,
    StatusPage,
    SubscriptionsPage,
)
from p2psub.api.problems import ProblemResponse
from p2psub.api.schemas import (
    MANY_BYTES_MAX,
    NDJSON,
    REQUEST_BYTES_MAX,
    AdvertiseRequest,
    PublishRequest,
    PublishResponse,
    StreamLine,
    SubscribeRequest,
)
from p2psub.runtime.control.guard import OPEN_PATHS

Schema = dict[str, Any]

JSON: Final = "application/json"
TEXT: Final = "text/plain"
REF: Final = "#/components/schemas/{name}"

STRUCTS: Final = (
    PublishRequest,
    PublishResponse,
    ProblemResponse,
    SubscribeRequest,
    AdvertiseRequest,
    StreamLine,
    StatusPage,
    ReadyPage,
    RingPage,
    CubePage,
    QueuesPage,
    SubscriptionsPage,
    AdvertisementsPage,
)

VALUE: Final[Schema] = {
    "description": "A content value. 1 is an int, 1.0 a float; a date without zone is UTC.",
    "oneOf": [
        {"type": ["boolean", "number", "string"]},
        {
            "type": "object",
            "properties": {"$date": {"type": ["string", "integer"], "examples": ["2026-01-31T12:00:00Z"]}},
            "required": ["$date"],
        },
        {
            "type": "object",
            "properties": {"$set": {"type": "array", "items": {"type": ["integer", "string"]}}},
            "required": ["$set"],
        },
        {
            "type": "object",
            "properties": {"$float": {"enum": ["nan", "inf", "-inf"]}},
            "required": ["$float"],
        },
    ],
}


@cache
def description() -> Schema:
    """The API in OpenAPI 3.1."""
    _, schemas = msgspec.json.schema_components(STRUCTS, ref_template=REF)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "p2psub control API",
            "version": "1",
            "description": "One peer, on loopback. Its data directory holds URL and token: control.url, control.token.",
        },
        "servers": [{"url": "http://127.0.0.1:{port}", "variables": {"port": {"default": "0"}}}],
        "security": [{"token": []}],
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Value": VALUE, **schemas},
            "responses": {
                "Problem": {
                    "description": "What went wrong, and what to do next.",
                    "content": {JSON: _of(ProblemResponse)},
                }
            },
        },
        "paths": {path: _with_security(path, operations) for path, operations in PATHS.items()},
    }


def _of(struct: type[msgspec.Struct]) -> Schema:
    return {"schema": {"$ref": REF.format(name=struct.__name__)}}


def _with_security(path: str, operations: Schema) -> Schema:
    if path not in OPEN_PATHS:
        return operations
    return {method: {**operation, "security": []} for method, operation in operations.items()}


def _look(name: str, summary: str, content: Schema, *problems: int) -> Schema:
    """A path that only looks."""
    answers = {"200": {"description": summary, "content": content}, **_problems(*problems)}
    return {"get": {"operationId": name, "summary": summary, "responses": answers}}


def _problems(*codes: int) -> Schema:
    return {str(code): {"$ref": "#/components/responses/Problem"} for code in (*codes, 421)}


def _page(struct: type[msgspec.Struct]) -> Schema:
    return {JSON: _of(struct), TEXT: {"schema": {"type": "string"}}}


def _flag(name: str) -> Schema:
    return {JSON: {"schema": {"type": "object", "properties": {name: {"const": True}}, "required": [name]}}}


PATHS: Final[Schema] = {
    "/v1/publish": {
        "post": {
            "operationId": "publish",
            "summary": "Publish an event, or many.",
            "description": (
                "One event as JSON is answered once the overlay is responsible for it. Many as lines of JSON are "
                "answered by one line each, in order: an outcome, or an object with `error`. An event has at most "
                f"{REQUEST_BYTES_MAX:,} bytes of JSON, a request of many {MANY_BYTES_MAX:,}."
            ),
            "requestBody": {"required": True, "content": {JSON: _of(PublishRequest), NDJSON: _of(PublishRequest)}},
            "responses": {
                "200": {
                    "description": "Acknowledged.",
                    "content": {
                        JSON: _of(PublishResponse),
                        NDJSON: {"schema": {"oneOf": [_of(PublishResponse)["schema"], _of(ProblemResponse)["schema"]]}},
                    },
                },
                **_problems(400, 401, 403, 413, 503),
            },
        }
    },
    "/v1/subscriptions": {
        "post": {
            "operationId": "subscribe",
            "summary": "Subscribe, and read notifications.",
            "description": (
                "Answered by lines of JSON without end: first the verdict, then events, gaps and better verdicts. "
                "Closing the connection ends the subscription."
            ),
            "requestBody": {"required": True, "content": {JSON: _of(SubscribeRequest)}},
            "responses": {
                "200": {"description": "Subscribed.", "content": {NDJSON: _of(StreamLine)}},
                **_problems(400, 401, 403, 413, 503),
            },
        }
    },
    "/v1/advertisements": {
        "post": {
            "operationId": "advertise",
            "summary": "Say what will be published, and how many events per second at most.",
            "description": (
                "Answered by lines of JSON: the verdict, then better ones. The peer is held to it: events that the "
                "filter takes are refused above the rate. Closing the connection ends the advertisement."
            ),
            "requestBody": {"required": True, "content": {JSON: _of(AdvertiseRequest)}},
            "responses": {
                "200": {"description": "Advertised.", "content": {NDJSON: _of(StreamLine)}},
                **_problems(400, 401, 403, 413, 503),
            },
        }
    },
    "/v1/status": _look("status", "The peer, its node and its links.", {JSON: _of(StatusPage)}, 401),
    "/healthz": _look("health", "The process answers.", _flag("alive")),
    "/readyz": _look(
        "ready", "The peer stands in its ring; else 503 and what is missing.", {JSON: _of(ReadyPage)}, 503
    ),
    "/metrics": _look("metrics", "Counters and gauges for Prometheus.", {TEXT: {"schema": {"type": "string"}}}, 401),
    "/ringz": _look("ring", "The peer's place in its cluster.", _page(RingPage), 401),
    "/cubez": _look("cube", "The hypercube as the peer knows it.", _page(CubePage), 401),
    "/queuez": _look("queues", "What waits where.", _page(QueuesPage), 401),
    "/subsz": _look("subscriptions", "The peer's subscriptions.", _page(SubscriptionsPage), 401),
    "/adsz": _look("advertisements", "What is advertised, here and elsewhere.", _page(AdvertisementsPage), 401),
    "/openapi.json": _look("openapi", "This description.", {JSON: {"schema": {"type": "object"}}}),
}
