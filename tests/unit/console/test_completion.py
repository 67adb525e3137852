"""What Tab offers."""

from __future__ import annotations

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from p2psub.console.commands import perform
from p2psub.console.completion import ConsoleCompleter
from p2psub.console.session import TOPICS_MAX, ConsoleSession


def offered(session: ConsoleSession, text: str) -> list[str]:
    """The whole lines that Tab would make of a text."""
    completions = ConsoleCompleter(session).get_completions(Document(text), CompleteEvent())
    return [text[: len(text) + one.start_position] + one.text for one in completions]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("sub", ["subscribe ", "subscriptions"]),
        ("stat", ["status"]),
        ("publish ", ["publish news", "publish weather/today"]),
        ("publish we", ["publish weather/today"]),
        ("publish news n=", []),
        (
            "subscribe ",
            [
                f"subscribe {word}"
                for word in ("--deadline ", "--ordered ", "--penalty ", "--price ", "--replay ", "topic = '")
            ],
        ),
        ("subscribe price > 1 AND topic = 'w", ["subscribe price > 1 AND topic = 'weather/today"]),
        ("unsubscribe ", ["unsubscribe 1", "unsubscribe all"]),
        ("watch o", ["watch off", "watch on"]),
        ("help pub", ["help publish"]),
        ("ring ", []),
        ("nonsense ", []),
    ],
)
def test_tab_offers_what_may_follow(session: ConsoleSession, text: str, lines: list[str]) -> None:
    """Commands, topics seen, numbers held."""
    perform(session, "subscribe topic = 'nothing'")
    perform(session, "publish news")
    perform(session, "publish weather/today")
    assert offered(session, text) == lines


def test_only_so_many_topics_are_remembered(session: ConsoleSession) -> None:
    """A flood of topics fills no memory."""
    for number in range(TOPICS_MAX + 5):
        session.remember(str(number))
    assert len(session.topics) == TOPICS_MAX
