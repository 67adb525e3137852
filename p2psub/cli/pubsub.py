"""`p2psub pub`, `sub` and `advertise`: publish, subscribe, say what will be published, through a running peer."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Final, cast

import msgspec
import typer

from p2psub.api.bids import bid_of, timeout_us_of
from p2psub.api.errors import TooLarge
from p2psub.api.problems import Problem, ProblemResponse
from p2psub.api.schemas import (
    REQUEST_BYTES_MAX,
    AdvertiseRequest,
    StreamLine,
    SubscribeRequest,
    request_of,
)
from p2psub.api.validation import check_draft, check_rate
from p2psub.api.values import Json, values_to_json
from p2psub.cli.assignments import SYNTAX, read_assignments
from p2psub.cli.client import ControlClient, LineStream, PeerRefused
from p2psub.cli.endpoint import BadUsage, NoPeer, find_peer
from p2psub.cli.exits import EXIT_REFUSED, explained, problem_text
from p2psub.cli.options import AsJson, Data
from p2psub.cli.texts import event_text, gap_text, outcome_text, verdict_text
from p2psub.cli.wanted import filter_of
from p2psub.model.content import Draft, Guarantee, Order
from p2psub.model.outcomes import VerdictStatus

Params = Annotated[
    list[str] | None, typer.Option("--param", metavar="KEY=VALUE", help="Value of a :key in the filter. " + SYNTAX)
]

CHUNK_BYTES: Final = 1 << 20
"""Lines of stdin that have arrived go out together, up to this many bytes."""


def pub(
    topic: Annotated[str, typer.Argument(help="The topic; - reads events from stdin, one JSON object a line.")],
    assignments: Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE...", help=SYNTAX)] = None,
    body: Annotated[str | None, typer.Option(help="The body, as text.")] = None,
    body_file: Annotated[Path | None, typer.Option(help="A file whose bytes are the body.")] = None,
    retain: Annotated[float, typer.Option(help="Seconds for which later subscribers can have it replayed.")] = 0.0,
    guarantee: Annotated[
        Guarantee, typer.Option(help="at_most_once is faster and may lose.")
    ] = Guarantee.EFFECTIVELY_ONCE,
    timeout: Annotated[
        str | None, typer.Option(metavar="SPAN", help="How old it may be when it is handed over: 40s, 200ms, 2m.")
    ] = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Publish an event, or a stream of events from stdin.

    p2psub pub quotes/ACME price=12.5 open=true --body hello --timeout 40s

    Each line of stdin is an object as in POST /v1/publish: {"topic": "t", "attributes": {"price": 12.5}}.
    """
    with explained(as_json):
        if topic == "-":
            if assignments or body is not None or body_file is not None:
                raise BadUsage("stdin holds whole events", "put attributes and body into the lines of JSON")
            with ControlClient(find_peer(data)) as client:
                is_sound = _publish_stdin(client, as_json)
            if not is_sound:
                raise typer.Exit(EXIT_REFUSED)
            return
        draft = Draft(topic, read_assignments(assignments or []), _read_body(body, body_file), retain, guarantee)
        request = request_of(_checked(msgspec.structs.replace(draft, timeout_us=timeout_us_of(timeout))))
        with ControlClient(find_peer(data)) as client:
            outcome = client.publish(request)
        _print(msgspec.to_builtins(outcome) if as_json else outcome_text(outcome))


def _checked(draft: Draft) -> Draft:
    check_draft(draft)
    return draft


def _read_body(body: str | None, file: Path | None) -> bytes:
    if body is not None and file is not None:
        raise BadUsage("two bodies are given", "give --body or --body-file, not both")
    if file is None:
        return b"" if body is None else body.encode(errors="surrogateescape")
    try:
        return file.read_bytes()
    except OSError as error:
        raise BadUsage(f"cannot read {file}: {error.strerror}", "name a file that is there") from error


def _publish_stdin(client: ControlClient, as_json: bool) -> bool:
    """Publish what comes as it comes; tells whether all of it was taken."""
    is_sound, number = True, 0
    for lines in _batches_of_stdin():
        for said in client.publish_lines(lines):
            number += 1
            is_sound = is_sound and not isinstance(said, Problem)
            if as_json:
                _print(msgspec.to_builtins(ProblemResponse(said) if isinstance(said, Problem) else said))
            elif isinstance(said, Problem):
                print(f"p2psub: event {number}: {problem_text(said)}", file=sys.stderr)
            else:
                _print(outcome_text(said))
    return is_sound


def _batches_of_stdin() -> Iterator[list[bytes]]:
    """Lines that have arrived together; blank ones count for nothing."""
    stdin, rest = cast(io.BufferedReader, sys.stdin.buffer), b""
    while chunk := stdin.read1(CHUNK_BYTES):
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > REQUEST_BYTES_MAX:
            raise TooLarge(f"a line of stdin has more than {REQUEST_BYTES_MAX:,} bytes", "give one event a line")
        if sound := [line for line in lines if line.strip()]:
            yield sound
    if rest.strip():
        yield [rest]


def sub(
    wanted: Annotated[
        str, typer.Argument(metavar="TOPIC|FILTER", help="Which events: a topic, or a filter. Nothing: all.")
    ] = "",
    filter_: Annotated[
        str, typer.Option("--filter", "-f", help="The filter: topic = 'quotes/ACME' AND price > 10.")
    ] = "",
    params: Params = None,
    replay: Annotated[bool, typer.Option("--replay", help="Also events that were retained before.")] = False,
    order: Annotated[
        Order, typer.Option(help="publisher: each publisher's events on a topic in the order of publishing.")
    ] = Order.NONE,
    deadline: Annotated[
        str | None, typer.Option(metavar="SPAN", help="How old an event may be when it comes: 40s, 200ms, 2m.")
    ] = None,
    price: Annotated[float, typer.Option(help="What an event that comes in time is worth.")] = 1.0,
    penalty: Annotated[float, typer.Option(help="What one costs that does not.")] = 0.0,
    count: Annotated[int | None, typer.Option(min=1, help="End after so many events (default: Ctrl-C).")] = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Subscribe, and print events as they arrive, until Ctrl-C.

    p2psub sub quotes/ACME

    p2psub sub "topic = 'quotes/ACME' AND price > :least" --param least=10

    p2psub sub quotes/ACME --deadline 40s --price 1.5 --penalty 0.15

    A word without blanks, quotes, parentheses and < = > is a topic, anything else a filter.

    Events go to stdout; verdicts and gaps to stderr. With --json all of them go to stdout.
    """
    with explained(as_json):
        chosen = _chosen_filter(wanted, filter_)
        bid_of(deadline, price, penalty)
        request = SubscribeRequest(
            filter=chosen,
            params=_read_params(params),
            replay=replay,
            order=order,
            deadline=deadline,
            price=price,
            penalty=penalty,
        )
        _hold(request, data, count, as_json)


def _chosen_filter(argument: str, option: str) -> str:
    if argument and option:
        raise BadUsage("two filters are given", "give the topic or filter, or --filter, not both")
    return option or filter_of(argument)


def _read_params(params: list[str] | None) -> dict[str, Json]:
    return values_to_json(read_assignments(params or []))


def _hold(request: SubscribeRequest | AdvertiseRequest, data: Path | None, count: int | None, as_json: bool) -> None:
    """Show what comes until there is enough of it, or a person has."""
    try:
        with ControlClient(find_peer(data)) as client, client.hold(request) as lines:
            _show_lines(lines, count, as_json)
    except KeyboardInterrupt:
        return


def _show_lines(lines: LineStream, count: int | None, as_json: bool) -> None:
    events = 0
    for line in lines:
        if line.error is not None:
            raise PeerRefused(HTTPStatus.FORBIDDEN, line.error)
        if as_json:
            _print(msgspec.to_builtins(line))
        else:
            _show_line(line)
        if line.judged is not None and line.judged.status is VerdictStatus.REFUSED:
            raise typer.Exit(EXIT_REFUSED)
        events += line.event is not None
        if events == count:
            return
    raise NoPeer("the peer has ended it", "see its log, and run the command again")


def advertise(
    rate: Annotated[float, typer.Option(help="How many of them per second, at most.")],
    offered: Annotated[
        str,
        typer.Argument(metavar="TOPIC|FILTER", help="Which events come: a topic, or a filter. Nothing: all."),
    ] = "",
    filter_: Annotated[str, typer.Option("--filter", "-f", help="The filter: topic = 'quotes/ACME'.")] = "",
    params: Params = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Say what the peer will publish, and how much of it at most, until Ctrl-C.

    p2psub advertise quotes/ACME --rate 50

    Every cluster learns of it. The peer is held to it: what the filter takes and comes faster is refused as above_rate
    (a second's worth may come at once); what no advertisement of the peer speaks of is free.
    """
    with explained(as_json):
        check_rate(rate)
        chosen = _chosen_filter(offered, filter_)
        _hold(AdvertiseRequest(filter=chosen, rate=rate, params=_read_params(params)), data, None, as_json)


def _show_line(line: StreamLine) -> None:
    if line.event is not None:
        _print(event_text(line.event))
    if line.judged is not None:
        print(verdict_text(line.judged), file=sys.stderr)
    if line.gap is not None:
        print(gap_text(line.gap), file=sys.stderr)


def _print(said: object) -> None:
    print(said if isinstance(said, str) else json.dumps(said, ensure_ascii=False), flush=True)
