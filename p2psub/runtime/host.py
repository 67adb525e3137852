"""A whole peer: identity, links, store, traces and the core between them, from one configuration."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from random import Random

import trio

from p2psub.api.join_stages import stage_of
from p2psub.api.settings import PeerConfig
from p2psub.api.status import LinkStatus, PeerStatus, Trouble
from p2psub.errors import ConfigError
from p2psub.identity.enrolment import DenyList
from p2psub.identity.notary import NodeNotary
from p2psub.model.effects import Deny, DenyCommand, LeaveCommand, MeasuredCommand
from p2psub.model.ids import ClusterId, Contact
from p2psub.model.records import Record
from p2psub.node.core import Disk, NodeCore
from p2psub.node.security_context import SecurityContext
from p2psub.runtime.capability import MEASURE_EVERY_S, UNFIT, CapabilityMeter
from p2psub.runtime.driver import Driver, wall_offset_us
from p2psub.runtime.handshake import Self
from p2psub.runtime.inbox import Inbox
from p2psub.runtime.links import LinkTable
from p2psub.runtime.node_identity import Identity, identify, stay_enrolled
from p2psub.runtime.peer import Peer
from p2psub.runtime.pulse import Pulse
from p2psub.runtime.record_counter import RecordCounter
from p2psub.runtime.state import State
from p2psub.runtime.store import Store
from p2psub.runtime.tls import TlsTransport
from p2psub.runtime.trace_writer import TraceWriter

logger = logging.getLogger(__name__)

CLOSING_S_MAX = 20.0
LEAVE_S_MAX = 10.0


@asynccontextmanager
async def open_peer(config: PeerConfig, inbox: Inbox | None = None) -> AsyncIterator[Peer]:
    """Run a peer while the block runs; an inbox of one's own sees first what its links bring.

    ConfigError, EnrolmentFailed and StoreError say why it cannot be begun, and what to do.
    """
    state = State.of_peer(config.data)
    identity = await identify(state, config.bootstrap, config.token)
    with state.usable():
        store = Store.open(state.store)
    failure: Exception | None = None
    with ExitStack() as stack:
        stack.callback(store.close)
        with state.usable():
            transport = TlsTransport(config.listen, state.credentials(identity.enrolment), config.public_address)
            stack.callback(transport.close)
            host = PeerHost(config, state, identity, store, transport, await transport.bind(), inbox)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(host.run)
            try:
                yield host.peer
            except Exception as error:  # noqa: BLE001  raised again behind the nursery, which would make a group of it
                failure = error
            finally:
                with trio.CancelScope(shield=True, deadline=trio.current_time() + CLOSING_S_MAX):
                    await host.close()
                host.peer.end()
                nursery.cancel_scope.cancel()
        if failure is not None:
            raise failure


class PeerHost:
    """The parts of one running peer."""

    def __init__(
        self,
        config: PeerConfig,
        state: State,
        identity: Identity,
        store: Store,
        transport: TlsTransport,
        address: str,
        inbox: Inbox | None = None,
    ) -> None:
        self._config = config
        self._state = state
        self._identity = identity
        self._store = store
        self._transport = transport
        self._driving = trio.CancelScope()
        self._started_s = trio.current_time()
        self._meter = CapabilityMeter(config.data)
        self._capability = self._meter.measure(0.0)
        self._address = address
        me = Contact(identity.passport.id, address)
        inbox = self._inbox = Inbox() if inbox is None else inbox
        self._links = LinkTable(
            Self(identity.enrolment.overlay, me, store.incarnation), transport, inbox, identity.denied
        )
        self._pulse = Pulse()
        self.peer = Peer(inbox, self.status, lambda: self._core.backlog, self._pulse)
        grant = identity.enrolment.grant
        self._notary = NodeNotary(identity.key, grant.certificate, grant.ca, identity.enrolment.overlay)
        disk = store.load()
        _check_cluster(config, disk)
        self._core = NodeCore(
            me,
            store.incarnation,
            config.node,
            Random(),
            disk,
            (grant.bootstrap,),
            None if config.wanted_cluster is None else ClusterId(config.wanted_cluster),
            wall_offset_us(),
            self._score,
            security=SecurityContext(
                identity.passport.rights,
                self._notary,
                self._deny_list.as_message() if self._deny_list.ids else None,
                lambda said: DenyList.of(said).verify(identity.enrolment.grant.ca),
            ),
            packs=store.load_packs(),
        )
        self._traces = TraceWriter(state.traces, me.id, self._core.record)
        self._recorded = RecordCounter(self._traces.write if config.traces else _leave_out)
        self._driver = Driver(
            self._core,
            inbox,
            self._links,
            store.put,
            store.read,
            self._recorded.take,
            self.peer.notified,
            self.peer.replied,
            self._deny,
            pulse=self._pulse,
        )

    @property
    def _score(self) -> float:
        may_lead = self._config.super_node and self._identity.passport.rights.may_lead
        return self._capability.score if may_lead else UNFIT

    async def _measure(self) -> None:
        """Measure the machine and its links now and then; a peer that may not lead shows it too, and is not ranked."""
        while True:
            await trio.sleep(MEASURE_EVERY_S)
            figures = [link.figures for link in self._links.open]
            online_s = trio.current_time() - self._started_s
            self._capability = self._meter.measure(online_s, [seen for seen in figures if seen is not None])
            self._inbox.put_nowait(MeasuredCommand(self._score))

    async def run(self) -> None:
        """Run all parts until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._store.run, self._inbox.put_nowait)
            nursery.start_soon(self._traces.run)
            nursery.start_soon(self._links.run)
            nursery.start_soon(self._transport.serve, self._links.accept)
            nursery.start_soon(self._drive)
            nursery.start_soon(self._measure)
            nursery.start_soon(stay_enrolled, self._state, self._identity, self._config.bootstrap, self._use)

    async def _drive(self) -> None:
        with self._driving:
            # One that is closed as soon as it was opened takes no first step: its trace has ended.
            await trio.lowlevel.checkpoint()
            await self._driver.run()

    async def _leave(self) -> None:
        """Give away what we hold; a peer that cannot do so in time goes as if it had crashed."""
        self._inbox.put_nowait(LeaveCommand())
        with trio.move_on_after(LEAVE_S_MAX):
            while not self._core.has_left:
                await self._pulse.wait_step()

    async def close(self) -> None:
        """Leave, then step no more; make durable and send what is under way."""
        if self._config.leaves:
            await self._leave()
        self._driving.cancel()
        await self._links.flush()
        await self._store.drain()
        if self._config.traces:
            await self._traces.close()

    def _use(self, identity: Identity) -> None:
        """Be the same with another certificate, and refuse whom it came with word to refuse."""
        known, told = self._deny_list, identity.enrolment.grant.deny_list
        self._identity = identity
        self._notary.certificate = identity.enrolment.grant.certificate
        self._transport.renew(self._state.credentials(identity.enrolment))
        if known.issued_s > told.issued_s:
            self._keep_deny_list(known)
        elif told.ids:
            self._inbox.put_nowait(DenyCommand(told.as_message()))

    @property
    def _deny_list(self) -> DenyList:
        return self._identity.enrolment.grant.deny_list

    def _deny(self, effect: Deny) -> None:
        """A newer list has come, from the bootstrap or from a peer; verified."""
        ids = frozenset(effect.denials.ids)
        logger.info("deny list of %d, with %d nodes", effect.denials.issued_s, len(ids))
        self._links.deny(ids)
        self._keep_deny_list(DenyList.of(effect.denials))

    def _keep_deny_list(self, deny_list: DenyList) -> None:
        """Remember it with the certificate it will be renewed with; that file is small, and this is rare."""
        self._identity = self._identity.with_deny_list(deny_list)
        try:
            self._state.keep(self._identity.enrolment)
        except OSError as error:
            logger.warning("the deny list cannot be kept for the next start: %s", error)

    def status(self) -> PeerStatus:
        """How the peer is."""
        node, links = self._core.status(), self._links.open
        uptime_s = round(trio.current_time() - self._started_s, 3)
        stage = stage_of(node, len(links), uptime_s)
        missing = self._store.trouble or stage.missing
        ids = [contact.id for contact in node.candidates]
        return PeerStatus(
            name=self._config.name,
            address=self._address,
            overlay=self._identity.enrolment.overlay,
            stage=stage.name,
            missing=missing,
            ready=missing is None,
            uptime_s=uptime_s,
            node=node,
            links=tuple(
                LinkStatus(
                    peer=link.peer.id.hex(),
                    address=link.peer.address,
                    up=True,
                    bytes_in=link.bytes_in,
                    bytes_out=link.bytes_out,
                    committed_bytes=link.committed,
                    queue=node.link_queues.get(link.peer.id),
                )
                for link in links
            ),
            certificate_days_left=round(self._identity.left_s(time.time()) / 86_400, 2),
            rank=ids.index(node.id) + 1 if node.id in ids else None,
            score=self._score,
            capability=self._capability,
            counters=dict(self._counters()),
            recorded=dict(self._recorded.counts),
            deny_list_issued_s=self._deny_list.issued_s,
            troubles=self._troubles(),
        )

    def _troubles(self) -> dict[Trouble, str]:
        """What is wrong, part by part."""
        told = {Trouble.STORE: self._store.trouble, Trouble.DAMAGE: self._damage, Trouble.TRACE: self._traces.trouble}
        return {part: text for part, text in told.items() if text is not None}

    @property
    def _damage(self) -> str | None:
        found = {
            "rows of the store that were damaged and are set aside": len(self._store.damaged),
            "bodies of packs that could not be read": self._store.bodies_lost,
        }
        texts = [f"{what}: {count}" for what, count in found.items() if count]
        return "; ".join([*texts, "check the disk"]) if texts else None

    def _counters(self) -> Counter[str]:
        kept = Counter(
            sessions_refused=self._transport.strangers.refused,
            store_commits=self._store.commits,
            store_rows=self._store.rows_stored,
            store_bodies_lost=self._store.bodies_lost,
        )
        return kept + self._links.counters + self._driver.counters


def _check_cluster(config: PeerConfig, disk: Disk) -> None:
    """A peer that comes back belongs to the cluster whose events it holds; ConfigError if another is asked for."""
    stands = disk.get("membership", {}).get(("cluster",))
    if config.wanted_cluster is not None and isinstance(stands, tuple) and stands[0] != config.wanted_cluster:
        advice = "leave the cluster out, or start with a new data directory"
        raise ConfigError("cluster", f"{config.data} belongs to the cluster {stands[0]!r}; {advice}")


def _leave_out(_: Record) -> None:
    """Traces are off."""
