"""What Tab offers: commands, topics seen, numbers of subscriptions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from p2psub.console.commands import COMMANDS
from p2psub.console.session import ConsoleSession

_TOPIC_IN_FILTER: Final = re.compile(r"topic\s*(?:=|<>|IN\s*\(.*)\s*'(?P<start>[^']*)$", re.IGNORECASE)


class ConsoleCompleter(Completer):
    """Completes the word before the cursor."""

    def __init__(self, session: ConsoleSession) -> None:
        self._session = session

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """Whatever may stand where the cursor is."""
        command, space, rest = document.text_before_cursor.lstrip().partition(" ")
        if not space:
            return _beginning(command, (f"{name} " if COMMANDS[name].usage else name for name in COMMANDS))
        if command in {"subscribe", "advertise"} and (topic := _TOPIC_IN_FILTER.search(rest)):
            return _beginning(topic["start"], self._session.topics)
        return _beginning(rest, self._arguments_of(command))

    def _arguments_of(self, command: str) -> Iterable[str]:
        match command:
            case "publish":
                return self._session.topics
            case "subscribe":
                return ("topic = '", "--replay ", "--ordered ", "--deadline ", "--price ", "--penalty ")
            case "unsubscribe":
                return (*map(str, self._session.readers), "all")
            case "withdraw":
                return (*map(str, self._session.offers), "all")
            case "watch":
                return ("on", "off")
            case "help":
                return COMMANDS
            case _:
                return ()


def _beginning(start: str, words: Iterable[str]) -> Iterator[Completion]:
    return (Completion(word, -len(start)) for word in sorted(words) if word.startswith(start))
