"""A subscription or advertisement that the console holds: opened at once, then read in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack

from p2psub.api.schemas import AdvertisedItem, AdvertiseRequest, StreamLine, SubscribeRequest, VerdictItem
from p2psub.cli.client import ControlClient
from p2psub.cli.endpoint import NoPeer
from p2psub.errors import P2psubError

JOIN_S = 2.0
"""How long the end of a reader is waited for; one that was hung up ends at once."""


class StreamReader:
    """Reads one answer until it is ended, or the peer goes away.

    `tell` gets every line after the first verdict, and `lose` why it ended unless the console ended it. Both are called
    in the reader's thread.
    """

    def __init__(self, number: int, request: SubscribeRequest | AdvertiseRequest, client: ControlClient) -> None:
        self.number = number
        self.request = request
        self.events = 0
        self.missed = 0
        self._is_ended = False
        self._thread: threading.Thread | None = None
        with ExitStack() as opening:
            self._answer = opening.enter_context(client.hold(request))
            self._lines = iter(self._answer)
            self.verdict = _first_verdict(next(self._lines, None))
            self._held = opening.pop_all()

    def start(
        self, tell: Callable[[StreamReader, StreamLine], None], lose: Callable[[StreamReader, P2psubError], None]
    ) -> None:
        """Read on."""
        self._thread = threading.Thread(target=self._read, args=(tell, lose), daemon=True, name=f"sub {self.number}")
        self._thread.start()

    def end(self) -> None:
        """Hold it no more; returns when nothing more will be told."""
        self._is_ended = True
        self._answer.end()
        if self._thread is None:
            self._held.close()
        else:
            self._thread.join(JOIN_S)

    def _read(
        self, tell: Callable[[StreamReader, StreamLine], None], lose: Callable[[StreamReader, P2psubError], None]
    ) -> None:
        try:
            with self._held:
                for line in self._lines:
                    self._count(line)
                    tell(self, line)
                raise NoPeer("the peer has ended it", "ask for it again")
        except P2psubError as error:
            if not self._is_ended:
                lose(self, error)

    def _count(self, line: StreamLine) -> None:
        if line.event is not None:
            self.events += 1
        if line.gap is not None:
            self.missed += line.gap.count
        self.verdict = line.judged or self.verdict


def _first_verdict(line: StreamLine | None) -> VerdictItem | AdvertisedItem:
    verdict = None if line is None else line.judged
    if verdict is None:
        raise NoPeer("the peer has given no verdict", "see its log, and ask again")
    return verdict
