"""What one can type into the console, and what it answers."""

from __future__ import annotations

import pytest

from p2psub.api.errors import BadContent, NotReady
from p2psub.api.items import Gap
from p2psub.cli.client import PeerRefused
from p2psub.cli.endpoint import BadUsage
from p2psub.console.commands import COMMANDS, perform
from p2psub.console.session import ConsoleSession
from p2psub.model.content import Draft, Moment
from p2psub.model.outcomes import SubscribeVerdict, VerdictStatus
from p2psub.model.reasons import Reason
from tests.unit.console.screens import Screen
from tests.unit.runtime.control.fakes import NODE, node_id
from tests.unit.runtime.control.served import Served


def test_publish_takes_typed_attributes_and_a_body(session: ConsoleSession, screen: Screen, peer: Served) -> None:
    """Quotes and braces keep words together; what follows -- is the body as it stands."""
    perform(session, "publish quotes/ACME price=12.5 note='at noon' tags={red, 'x y'} at=@1970-01-01 -- it's  \"so\" ")
    attributes = {"price": 12.5, "note": "at noon", "tags": frozenset(["red", "x y"]), "at": Moment(0)}
    assert peer.peer.published == [Draft("quotes/ACME", attributes, b'it\'s  "so"')]  # type: ignore[arg-type]
    assert f"{NODE.id.hex()}.5.1: 3 copies" in screen.getvalue()


def test_notifications_appear_as_they_arrive(session: ConsoleSession, screen: Screen, peer: Served) -> None:
    """With the number of their subscription; verdicts and gaps too."""
    perform(session, "subscribe --replay topic = 'a'")
    assert "[1] subscribed as" in screen.getvalue()
    subscription = peer.subscription(0)
    assert subscription.replay
    perform(session, "publish a n=1")
    screen.wait_for("[1] a n=1\n")
    peer.call(subscription.put, Gap(2, Reason.SPOOL_FULL))
    screen.wait_for("[1] 2 events are missing here: spool_full\n")
    peer.call(subscription.put, SubscribeVerdict(subscription.id, VerdictStatus.STABLE))
    screen.wait_for("in every cluster\n")
    perform(session, "subscriptions")
    assert "stable" in screen.getvalue()
    assert "1 more" not in screen.getvalue()


def test_markup_and_escapes_of_others_are_only_text(session: ConsoleSession, screen: Screen, peer: Served) -> None:
    """What somebody publishes does not colour or move anything."""
    perform(session, "subscribe topic = 'a'")
    peer.wait(peer.peer.publish_many, [Draft("a", {"x": "[red]y[/red]\x1b[2J"})])
    screen.wait_for('x="[red]y[/red]\\u001b[2J"')


def test_watch_off_counts_without_showing(session: ConsoleSession, screen: Screen, peer: Served) -> None:
    """And watch on shows what comes after it."""
    perform(session, "subscribe topic = 'a'")
    perform(session, "watch off")
    perform(session, "publish a n=1")
    peer.call(peer.subscription(0).put, SubscribeVerdict(peer.subscription(0).id, VerdictStatus.STABLE))
    screen.wait_for("in every cluster")
    assert "n=1" not in screen.getvalue()
    assert session.readers[1].events == 1
    perform(session, "watch on")
    perform(session, "publish a n=2")
    screen.wait_for("[1] a n=2")


def test_unsubscribe_ends_one_or_all(session: ConsoleSession, peer: Served) -> None:
    """The peer notices."""
    for topic in ("a", "b", "c"):
        perform(session, f"subscribe topic = '{topic}'")
    perform(session, "unsubscribe 2")
    peer.wait(peer.subscription(1).ended.wait)
    assert list(session.readers) == [1, 3]
    perform(session, "unsubscribe all")
    for number in (0, 2):
        peer.wait(peer.subscription(number).ended.wait)
    assert not session.readers


def test_an_error_of_the_stream_ends_its_subscription(session: ConsoleSession, screen: Screen, peer: Served) -> None:
    """With the peer's advice."""
    perform(session, "subscribe topic = 'a'")
    peer.call(peer.subscription(0).put, NotReady("the peer is leaving", "start it again"))
    screen.wait_for("start it again")
    screen.wait_for("[1] subscription lost")
    assert not session.readers


def test_an_advertisement_stands_until_it_is_withdrawn(session: ConsoleSession, screen: Screen, peer: Served) -> None:
    """Its better verdict is shown; it has a number beside the subscriptions'."""
    perform(session, "subscribe topic = 'a'")
    perform(session, "advertise 2.5 topic = 'a' AND n > 1")
    (offer,) = peer.peer.advertisements
    assert (offer.offered, offer.rate) == ("topic = 'a' AND n > 1", 2.5)
    assert "[2] advertised as" in screen.getvalue()
    assert "not yet known in red" in screen.getvalue()
    peer.call(offer.judge, VerdictStatus.STABLE)
    screen.wait_for("100, in every cluster\n")
    with pytest.raises(BadUsage, match=r"held \(2\)"):
        perform(session, "withdraw 1")
    perform(session, "withdraw 2")
    peer.wait(offer.ended.wait)
    assert (list(session.readers), list(session.offers)) == ([1], [])


def test_leaving_the_console_withdraws_everything(session: ConsoleSession, peer: Served) -> None:
    """As it unsubscribes from everything."""
    perform(session, "advertise 1 topic = 'a'")
    session.close()
    peer.wait(peer.peer.advertisements[0].ended.wait)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("status", ["peer ann", "in the ring"]),
        ("ring", ["cluster blue", "successor 1"]),
        ("cube", ["red", "ours"]),
        ("candidates", ["this peer", node_id("bob").hex(), "candidate 1, with score 0.750"]),
        ("queues", ["undischarged", "bob.test:7400"]),
        ("subscriptions", ["1 more at this peer"]),
        ("advertisements", ["ours", "2.5", "topic = 'b'"]),
        ("help", [*COMMANDS]),
    ],
)
def test_looks_show_what_they_say(session: ConsoleSession, screen: Screen, line: str, words: list[str]) -> None:
    """Tables, and a word on this peer."""
    perform(session, line)
    assert not [word for word in words if word not in screen.getvalue()]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(session: ConsoleSession, screen: Screen, name: str) -> None:
    """And the example is of that command."""
    perform(session, f"help {name}")
    assert f"example: {name}" in screen.getvalue()
    assert COMMANDS[name].summary in screen.getvalue()


@pytest.mark.parametrize(
    ("line", "wanted"),
    [("subscribe", ""), ("subscribe quotes/ACME", "topic = 'quotes/ACME'"), ("subscribe a > 1", "a > 1")],
)
def test_a_topic_will_do_for_a_filter(session: ConsoleSession, line: str, wanted: str) -> None:
    """As on the command line; nothing means all events."""
    perform(session, line)
    assert [reader.request.filter for reader in session.readers.values()] == [wanted]


def test_the_examples_work(session: ConsoleSession, peer: Served) -> None:
    """What help shows can be typed as it is."""
    for command in COMMANDS.values():
        perform(session, command.example)
    assert session.is_over
    assert [draft.topic for draft in peer.peer.published] == ["quotes/ACME"]


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("pubilsh a", "did you mean publish"),
        ("xyzzy", "help lists all"),
        ("help xyzzy", "help lists all"),
        ("publish", "publish quotes/ACME"),
        ("advertise", "how many events per second"),
        ("advertise topic = 'a'", "how many events per second"),
        ("withdraw", "give the number of one that is held (none)"),
        ("publish t x='a", "close the quotes"),
        ("publish t x={a", "close the quotes"),
        ("subscribe quotes/*", "topic LIKE 'quotes/%'"),
        ("advertise 5 quotes/*", "topic LIKE 'quotes/%'"),
        ("unsubscribe", "held (none)"),
        ("unsubscribe 7", "held (none)"),
        ("unsubscribe " + "7" * 5_000, "held (none)"),
        ("watch", "watch on, or watch off"),
    ],
)
def test_bad_lines_are_told_what_to_type(session: ConsoleSession, line: str, advice: str) -> None:
    """Nothing happens but advice."""
    with pytest.raises(BadUsage) as told:
        perform(session, line)
    assert advice in told.value.advice


def test_bad_content_and_refusals_come_with_advice(session: ConsoleSession) -> None:
    """Whether the console or the peer found them."""
    with pytest.raises(BadContent, match=r"price=12\.5"):
        perform(session, "publish t nonsense")
    with pytest.raises(BadContent, match="rate must be above 0"):
        perform(session, "advertise 0 a = 1")
    with pytest.raises(PeerRefused, match="ask for a token"):
        perform(session, "publish secret")
    with pytest.raises(PeerRefused, match="write one"):
        perform(session, "subscribe price >")


@pytest.mark.parametrize("line", ["", "   ", "# publish t"])
def test_blank_lines_and_comments_are_nothing(session: ConsoleSession, screen: Screen, line: str) -> None:
    """For scripts."""
    perform(session, line)
    assert not screen.getvalue()
