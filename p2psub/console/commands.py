"""What one can type into the console, each with its help."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from p2psub.api.bids import bid_of, timeout_us_of
from p2psub.api.schemas import AdvertisedItem, AdvertiseRequest, SubscribeRequest, request_of
from p2psub.api.tables import advertisement_rows
from p2psub.api.validation import check_draft, check_rate
from p2psub.cli.assignments import SYNTAX, read_assignments, spell_text
from p2psub.cli.endpoint import BadUsage
from p2psub.cli.status import cube_table, links_table, plain_table, queues_table, ring_table, score_text, status_table
from p2psub.cli.texts import outcome_text, verdict_text
from p2psub.cli.wanted import filter_of
from p2psub.console.session import ConsoleSession
from p2psub.console.stream_reader import StreamReader
from p2psub.console.words import split_body, split_words
from p2psub.model.content import Draft, Order

Run = Callable[[ConsoleSession, str], None]


@dataclass(frozen=True, slots=True)
class Command:
    """One command: what follows its name, what it does, and how it looks in use."""

    usage: str
    summary: str
    example: str
    run: Run
    more: str = ""


def perform(session: ConsoleSession, line: str) -> None:
    """Do what a line says; P2psubError with advice if it cannot be done."""
    name, _, rest = line.strip().partition(" ")
    if not name or name.startswith("#"):
        return
    command_named(name).run(session, rest.strip())


def command_named(name: str) -> Command:
    """The command of this name; BadUsage with the nearest ones if there is none."""
    command = COMMANDS.get(name)
    if command is None:
        near = difflib.get_close_matches(name, COMMANDS, n=2, cutoff=0.5)
        guess = f"did you mean {' or '.join(near)}? " if near else ""
        raise BadUsage(f"there is no command {name!r}", f"{guess}help lists all")
    return command


_SUBSCRIBE_FLAGS: Final = ("--replay", "--ordered")
_SUBSCRIBE_OPTIONS: Final = ("--deadline", "--price", "--penalty")
_PUBLISH_OPTIONS: Final = ("--timeout",)


def _subscribe(session: ConsoleSession, rest: str) -> None:
    said, wanted = _split_options(rest, _SUBSCRIBE_FLAGS, _SUBSCRIBE_OPTIONS)
    order = Order.PUBLISHER if "--ordered" in said else Order.NONE
    deadline, price, penalty = said.get("--deadline"), _number(said, "--price", 1.0), _number(said, "--penalty", 0.0)
    bid_of(deadline, price, penalty)
    request = SubscribeRequest(
        filter=filter_of(wanted),
        replay="--replay" in said,
        order=order,
        deadline=deadline,
        price=price,
        penalty=penalty,
    )
    reader = session.hold(request)
    session.show(f"[{reader.number}] {verdict_text(reader.verdict)}")


def _split_options(text: str, flags: tuple[str, ...], options: tuple[str, ...]) -> tuple[dict[str, str], str]:
    """The options that a text begins with, those of a value with it, and the rest."""
    said: dict[str, str] = {}
    while (name := text.partition(" ")[0]) in (*flags, *options):
        text = text.removeprefix(name).strip()
        value = text.partition(" ")[0] if name in options else ""
        said[name], text = value, text.removeprefix(value).strip()
    return said, text


def _number(said: dict[str, str], name: str, default: float) -> float:
    try:
        return float(said.get(name, default))
    except ValueError as error:
        raise BadUsage(f"{said[name]!r} is not a valid {name[2:]}", f"give a number: {name} 1.5") from error


def _unsubscribe(session: ConsoleSession, rest: str) -> None:
    for number in _end(session, session.readers, "subscription", rest):
        session.show(f"[{number}] unsubscribed")


def _end(session: ConsoleSession, held: dict[int, StreamReader], kind: str, rest: str) -> list[int]:
    """End the one of this number, or all that are held; the numbers of those that were."""
    number = next((n for n in held if str(n) == rest), None)
    if rest != "all" and number is None:
        known = ", ".join(map(str, held)) or "none"
        raise BadUsage(f"there is no {kind} {rest!r}", f"give the number of one that is held ({known}), or all")
    ended = [n for n in held if number in (None, n)]
    for n in ended:
        session.end(held, n)
    return ended


def _advertise(session: ConsoleSession, rest: str) -> None:
    rate, _, offered = rest.partition(" ")
    advice = "say how many events per second, and which: advertise 50 quotes/ACME"
    try:
        request = AdvertiseRequest(filter=filter_of(offered.strip()), rate=float(rate))
    except ValueError as error:
        raise BadUsage(f"{rate!r} is not a valid rate", advice) from error
    check_rate(request.rate)
    reader = session.hold(request)
    session.show(f"[{reader.number}] {verdict_text(reader.verdict)}")


def _withdraw(session: ConsoleSession, rest: str) -> None:
    for number in _end(session, session.offers, "advertisement", rest):
        session.show(f"[{number}] withdrawn")


def _advertisements(session: ConsoleSession, _: str) -> None:
    held = [(reader.verdict, number) for number, reader in session.offers.items()]
    numbers: dict[object, int] = {said.advertisement: n for said, n in held if isinstance(said, AdvertisedItem)}
    rows = [(numbers.get(row[0]), *row) for row in advertisement_rows(session.client.advertisements())]
    session.show(plain_table("advertisements", ("number", "advertisement", "cluster", "rate", "", "filter"), rows))


def _publish(session: ConsoleSession, rest: str) -> None:
    said, rest = _split_options(rest, (), _PUBLISH_OPTIONS)
    head, body = split_body(rest)
    words = split_words(head)
    if not words:
        raise BadUsage("a topic is missing", "write: publish quotes/ACME price=12.5")
    topic, *assignments = words
    timeout_us = timeout_us_of(said.get("--timeout"))
    draft = Draft(topic, read_assignments(assignments), (body or "").encode(), timeout_us=timeout_us)
    check_draft(draft)
    outcome = session.client.publish(request_of(draft))
    session.remember(topic)
    session.show(outcome_text(outcome))


def _subscriptions(session: ConsoleSession, _: str) -> None:
    rows = [
        (reader.number, reader.verdict.status.value, reader.events, reader.missed, reader.request.filter)
        for reader in list(session.readers.values())
    ]
    session.show(plain_table("subscriptions", ("number", "status", "events", "missed", "filter"), rows))
    others = len(session.client.subscriptions().active) - len(rows)
    if others > 0:
        session.show(f"{others} more at this peer, held by other programs")


def _status(session: ConsoleSession, _: str) -> None:
    session.show(status_table(session.client.status()))


def _ring(session: ConsoleSession, _: str) -> None:
    session.show(ring_table(session.client.ring()))


def _cube(session: ConsoleSession, _: str) -> None:
    session.show(cube_table(session.client.cube()))


def _candidates(session: ConsoleSession, _: str) -> None:
    page = session.client.status()
    rows = [
        (rank, candidate.id, candidate.address, "this peer" if candidate.id == page.ring.id else "")
        for rank, candidate in enumerate(page.ring.candidates, 1)
    ]
    session.show(plain_table("candidates for super-node", ("rank", "id", "address", ""), rows))
    rank = "" if page.rank is None else f" {page.rank}"
    session.show(f"this peer is {page.ring.role.value}{rank}, with score {score_text(page)}")


def _queues(session: ConsoleSession, _: str) -> None:
    page = session.client.queues()
    session.show(queues_table(page))
    session.show(links_table(page))


def _watch(session: ConsoleSession, rest: str) -> None:
    if rest not in {"on", "off"}:
        state = "on" if session.is_watching else "off"
        raise BadUsage(f"watch is {state}", "write: watch on, or watch off")
    session.is_watching = rest == "on"
    session.show("notifications are shown" if session.is_watching else "notifications are counted, not shown")


def _help(session: ConsoleSession, rest: str) -> None:
    if not rest:
        rows = [(f"{name} {command.usage}".strip(), command.summary) for name, command in COMMANDS.items()]
        session.show(plain_table("commands", ("", ""), rows))
        session.show("help COMMAND tells more; Tab completes; Ctrl-D quits")
        return
    command = command_named(rest)
    session.show(f"{rest} {command.usage}".strip())
    session.show(f"  {command.summary}")
    if command.more:
        session.show(f"  {command.more}")
    session.show(f"  example: {command.example}")


def _quit(session: ConsoleSession, _: str) -> None:
    session.is_over = True


COMMANDS: Final[dict[str, Command]] = {
    "subscribe": Command(
        "[--replay] [--ordered] [--deadline SPAN] [--price P] [--penalty P] [TOPIC|FILTER]",
        "Subscribe; notifications appear as they arrive.",
        "subscribe topic = 'quotes/ACME' AND price > 10",
        _subscribe,
        "Without topic and filter, all events. With --replay also events that were retained before; "
        "with --ordered each publisher's events on a topic in the order of publishing; "
        "with --deadline 40s none that is older, and busy links carry first what has the higher price.",
    ),
    "unsubscribe": Command("NUMBER|all", "End a subscription.", "unsubscribe 1", _unsubscribe),
    "advertise": Command(
        "RATE [TOPIC|FILTER]",
        "Say what will be published, RATE events per second at most; the peer is held to it.",
        "advertise 50 quotes/ACME",
        _advertise,
        "Every cluster learns of it. What comes faster is refused; a second's worth may come at once.",
    ),
    "withdraw": Command("NUMBER|all", "End an advertisement.", "withdraw 2", _withdraw),
    "advertisements": Command(
        "",
        "What this peer advertises; at a super-node, or a candidate, what every peer does.",
        "advertisements",
        _advertisements,
    ),
    "publish": Command(
        "[--timeout SPAN] TOPIC [KEY=VALUE ...] [-- BODY]",
        "Publish an event; says how many copies there are and how many it matched.",
        f"publish quotes/ACME price=12.5 note={spell_text('at noon')} tags={{red,7}} -- any text",
        _publish,
        SYNTAX.partition(" Quote")[0],
    ),
    "subscriptions": Command("", "What is subscribed here, and what came.", "subscriptions", _subscriptions),
    "watch": Command("on|off", "Show notifications as they arrive, or only count them.", "watch off", _watch),
    "status": Command("", "How the peer is.", "status", _status),
    "ring": Command("", "The peer's cluster: super-node, neighbours, owners of keys.", "ring", _ring),
    "cube": Command("", "The clusters and their places in the hypercube.", "cube", _cube),
    "candidates": Command("", "Who would succeed the super-node, and this peer's rank.", "candidates", _candidates),
    "queues": Command("", "What waits in the peer and on its links.", "queues", _queues),
    "help": Command("[COMMAND]", "This list, or more about one command.", "help publish", _help),
    "quit": Command("", "Leave; subscriptions and advertisements made here end.", "quit", _quit),
}
