"""The bootstrap as a process: the rendezvous and the authority behind one address.

Nodes with a certificate talk to the rendezvous as to any peer. Who asks for the authority by name sees the
authority's own certificate, and is led to its desk. The overlay lives without this process; only newcomers wait for it.
"""

from __future__ import annotations

import logging
import sqlite3
import ssl
import time
from collections import Counter
from functools import partial
from random import Random

import trio

from bootstrap.authority import Authority
from bootstrap.desk import Desk
from bootstrap.registry import RegistryCore
from bootstrap.settings import ServiceConfig
from p2psub.identity.enrolment import EnrolGrant
from p2psub.model.effects import DenyCommand
from p2psub.model.ids import Contact
from p2psub.model.instants import Micros
from p2psub.model.rights import Rights
from p2psub.runtime.driver import Driver, steady_us
from p2psub.runtime.handshake import Self
from p2psub.runtime.inbox import Inbox
from p2psub.runtime.links import LinkTable
from p2psub.runtime.state import Enrolment, State
from p2psub.runtime.strangers import Strangers
from p2psub.runtime.tls import (
    ENROL_PROTOCOL,
    HANDSHAKE_S_MAX,
    NEWCOMER_HOST,
    TlsTransport,
    authority_context,
    bind_tcp,
    give_up_soon,
    passport_of,
    server_context,
)
from p2psub.runtime.transport import Session

__all__ = ["Service", "ServiceConfig"]

LISTENING_FOR_S = 10.0
"""After a restart no peer may found before the super-nodes that live on have had time to report."""
ENROL_S_MAX = 10.0
LOOK_EVERY_S = 3.0
"""How soon a denial by the operator is heeded, and told to all who have a link.

The operator's command is another process, which writes the ledger and tells no other process.
"""
REISSUE_EVERY_S = 24 * 3600.0
"""How often the bootstrap gives itself a new certificate."""

logger = logging.getLogger(__name__)


class Service:
    """A running bootstrap."""

    def __init__(self, config: ServiceConfig, authority: Authority, *, is_new: bool) -> None:
        self._config = config
        self._authority = authority
        self._is_new = is_new
        self._state = State(config.data)
        self._newcomers = authority_context(authority.ca_files, authority.ca_der)
        self._strangers = Strangers()

    async def run(self, task_status: trio.TaskStatus[Contact] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve until cancelled; `started` gives where and as whom."""
        listeners, self._address = await bind_tcp(self._config.listen, self._config.public_address)
        enrolment = self._appoint_myself(self._address)
        me = enrolment.grant.bootstrap
        self._show(enrolment)
        self._desk = Desk(self._authority, me)
        inbox = self._inbox = Inbox()
        self._transport = TlsTransport(self._config.listen, self._credentials)
        denied = frozenset(enrolment.grant.deny_list.ids)
        self._links = LinkTable(Self(self._authority.overlay, me, 1), self._transport, inbox, denied)
        founding_from = steady_us() if self._is_new else Micros(steady_us() + int(LISTENING_FOR_S * 1e6))
        denials = enrolment.grant.deny_list.as_message()
        self.core = RegistryCore(
            me, 1, self._config.node, Random(), founding_from_us=founding_from, denials=denials if denials.ids else None
        )
        driver = Driver(self.core, inbox, self._links, *[_nothing] * 5)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._links.run)
            nursery.start_soon(driver.run)
            nursery.start_soon(self._keep_up)
            nursery.start_soon(trio.serve_listeners, self._take, listeners)
            task_status.started(me)

    @property
    def counters(self) -> Counter[str]:
        """What has happened so far."""
        return Counter(refused=self._strangers.refused) + self._desk.counters + self._links.counters

    def _appoint_myself(self, address: str) -> Enrolment:
        """The bootstrap is a node too, one without rights."""
        authority = self._authority
        issued = authority.appoint(self._state.key().csr(), Rights((), (), may_lead=False), time.time())
        me = Contact(issued.passport.id, address)
        return Enrolment(
            authority.overlay, EnrolGrant(issued.certificate_der, authority.ca_der, me, authority.deny_list())
        )

    def _show(self, enrolment: Enrolment) -> None:
        """Use a certificate from now on."""
        self._shown_s = trio.current_time()
        self._credentials = self._state.credentials(enrolment)
        self._context = server_context(self._credentials, takes_newcomers=True)
        self._context.sni_callback = self._show_authority

    def _show_authority(self, tls: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        """A newcomer knows the authority by its certificate alone."""
        if name == NEWCOMER_HOST:
            tls.context = self._newcomers

    async def _keep_up(self) -> None:
        """Heed what the operator denies, and show a certificate that lives."""
        while True:
            await trio.sleep(LOOK_EVERY_S)
            try:
                denied = await self._desk.consult(self._authority.deny_list)
                if denied.ids:
                    self._inbox.put_nowait(DenyCommand(denied.as_message()))
                if trio.current_time() >= self._shown_s + REISSUE_EVERY_S:
                    self._show(await self._desk.consult(partial(self._appoint_myself, self._address)))
                    self._transport.renew(self._credentials)
            except (sqlite3.Error, OSError) as error:
                logger.warning("the ledger cannot be used now: %s", error)

    async def _take(self, tcp: trio.SocketStream) -> None:
        session = await self._receive(tcp)
        if session is not None:
            await self._links.accept(session)

    async def _receive(self, tcp: trio.SocketStream) -> Session | None:
        """The session of a node; a newcomer that comes for a certificate is served, and has none."""
        stream, session = trio.SSLStream(tcp, self._context, server_side=True), None
        try:
            with self._strangers.admit(ENROL_S_MAX):
                give_up_soon(tcp)
                with trio.fail_after(HANDSHAKE_S_MAX):
                    await stream.do_handshake()
                if stream.selected_alpn_protocol() == ENROL_PROTOCOL:
                    await self._desk.serve(stream, self._credentials)
                else:
                    session = Session(stream, passport_of(stream, self._credentials))
        finally:
            if session is None:
                await trio.aclose_forcefully(stream)
        return session


def _nothing(_: object) -> None:
    """The registry asks for no such effect."""
