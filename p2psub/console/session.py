"""What the console holds between two commands: subscriptions, advertisements, topics seen, what to show."""

from __future__ import annotations

from rich.console import Console, RenderableType
from rich.text import Text

from p2psub.api.schemas import AdvertiseRequest, StreamLine, SubscribeRequest
from p2psub.cli.client import ControlClient
from p2psub.cli.exits import problem_in, problem_text
from p2psub.cli.texts import event_text, gap_text, verdict_text
from p2psub.console.stream_reader import StreamReader
from p2psub.errors import P2psubError

TOPICS_MAX = 1_000
"""Topics remembered for completion."""


class ConsoleSession:
    """One run of the console. Notifications are shown from the threads of their readers."""

    def __init__(self, client: ControlClient, console: Console) -> None:
        self.client = client
        self.is_watching = True
        self.is_over = False
        self.readers: dict[int, StreamReader] = {}
        """Subscriptions."""
        self.offers: dict[int, StreamReader] = {}
        """Advertisements; numbered together with the subscriptions."""
        self.topics: dict[str, None] = {}
        self._console = console
        self._numbered = 0

    def show(self, what: RenderableType) -> None:
        """Print; text is shown as it is, not read as markup."""
        self._console.print(Text(what) if isinstance(what, str) else what)

    def complain(self, error: P2psubError) -> None:
        """Say what went wrong and what to do next."""
        self._console.print(Text(problem_text(problem_in(error)), style="red"))

    def hold(self, request: SubscribeRequest | AdvertiseRequest) -> StreamReader:
        """Hold a subscription, whose notifications are shown from now on, or an advertisement."""
        reader = StreamReader(self._numbered + 1, request, self.client)
        self._numbered += 1
        held = self.readers if isinstance(request, SubscribeRequest) else self.offers
        held[reader.number] = reader
        reader.start(self._told, self._lost)
        return reader

    def end(self, held: dict[int, StreamReader], number: int) -> None:
        """End one that is held, unless its peer went away this very moment."""
        reader = held.pop(number, None)
        if reader is not None:
            reader.end()

    def remember(self, topic: str) -> None:
        """Offer the topic when one is typed."""
        if len(self.topics) < TOPICS_MAX:
            self.topics[topic] = None

    def close(self) -> None:
        """Hold nothing any more."""
        for held in (self.readers, self.offers):
            for number in list(held):
                self.end(held, number)

    def _told(self, reader: StreamReader, line: StreamLine) -> None:
        if line.event is not None:
            self.remember(line.event.topic)
        if line.error is not None:
            self.show(f"[{reader.number}] {problem_text(line.error)}")
        elif line.judged is not None:
            self.show(f"[{reader.number}] {verdict_text(line.judged)}")
        elif self.is_watching and line.event is not None:
            self.show(f"[{reader.number}] {event_text(line.event)}")
        elif self.is_watching and line.gap is not None:
            self.show(f"[{reader.number}] {gap_text(line.gap)}")

    def _lost(self, reader: StreamReader, error: P2psubError) -> None:
        is_offer = self.offers.pop(reader.number, None) is not None
        self.readers.pop(reader.number, None)
        self.show(f"[{reader.number}] {'advertisement' if is_offer else 'subscription'} lost")
        self.complain(error)
