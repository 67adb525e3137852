"""The desk: where newcomers and nodes ask the authority for certificates, one at a time.

The authority waits for its disk, and for the operator who makes a token meanwhile; so it works in a thread, and a
queue at the desk keeps no node from the rendezvous.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import trio

from bootstrap.authority import Authority
from p2psub.errors import PeerFault
from p2psub.identity.certificates import Passport
from p2psub.identity.enrolment import (
    EnrolGrant,
    EnrolmentMessage,
    EnrolmentRefused,
    EnrolRefused,
    EnrolRequest,
    RenewRequest,
)
from p2psub.model.ids import Contact
from p2psub.runtime.enrolment_client import Dialogue
from p2psub.runtime.tls import Credentials, passport_of

REQUEST_BYTES_MAX = 4096

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Desk:
    """Answers who asks for a certificate."""

    def __init__(self, authority: Authority, bootstrap: Contact) -> None:
        self._authority = authority
        self._bootstrap = bootstrap
        self._turn = trio.Lock()
        self.counters: Counter[str] = Counter()

    async def serve(self, stream: trio.SSLStream[trio.SocketStream], credentials: Credentials) -> None:
        """Hear one request and answer it; PeerFault if it is not a request."""
        dialogue = Dialogue(stream, REQUEST_BYTES_MAX)
        asked = await dialogue.hear()
        passport = passport_of(stream, credentials) if isinstance(asked, RenewRequest) else None
        await dialogue.say(await self._answer(asked, passport))

    async def consult(self, work: Callable[[], T]) -> T:
        """Have the authority do something, in its turn and in a thread."""
        async with self._turn:
            return await trio.to_thread.run_sync(work)

    async def _answer(self, asked: EnrolmentMessage, passport: Passport | None) -> EnrolGrant | EnrolRefused:
        try:
            grant = await self.consult(partial(self._grant, asked, passport))
        except EnrolmentRefused as error:
            self.counters["enrolments_refused"] += 1
            return EnrolRefused(error.reason, error.advice)
        except sqlite3.Error as error:
            self.counters["enrolments_failed"] += 1
            logger.warning("the ledger takes nothing: %s", error)
            return EnrolRefused("no_ledger", "the bootstrap cannot write its ledger; try again in a minute")
        self.counters["enrolments"] += 1
        return grant

    def _grant(self, asked: EnrolmentMessage, passport: Passport | None) -> EnrolGrant:
        authority, now_s = self._authority, time.time()
        if isinstance(asked, EnrolRequest):
            issued = authority.enrol(asked.token, asked.csr, now_s)
        elif isinstance(asked, RenewRequest) and passport is not None:
            issued = authority.renew(passport, asked.csr, now_s)
        else:
            raise PeerFault(f"a newcomer said {type(asked).__name__}")
        return EnrolGrant(issued.certificate_der, authority.ca_der, self._bootstrap, authority.deny_list())
