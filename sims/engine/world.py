"""The simulated world: machines, their network, and one virtual time. Same seed, same trace, byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Final

from p2psub.model.effects import (
    CancelTimer,
    Command,
    Connect,
    Disconnect,
    DiskState,
    FromDisk,
    Notify,
    NotifyGap,
    PacksRead,
    Persist,
    PublishReply,
    ReadPacks,
    Reply,
    SetTimer,
    Stored,
    TimerFired,
    Transmit,
)
from p2psub.model.ids import ClusterId, Contact, NodeId
from p2psub.model.messages import Message
from p2psub.model.records import Record
from p2psub.model.status import NodeStatus
from sims.engine.clockwork import GRAIN_US, Agenda
from sims.engine.host import Birth, CoreFault, Host, Power
from sims.engine.network import LinkShape, Network
from sims.engine.placement import LinkShapes
from sims.engine.trace import Trace

STEADY_ORIGIN_MS_MAX: Final = 1_000_000_000
"""Each process start has its own origin of the steady clock: an instant that leaks to another node shows at once."""

WALL_ORIGIN_US: Final = 1_700_000_000_000_000
SKEW_US_MAX: Final = 5_000_000
"""Wall clocks are that far off, each for the whole run."""
DRIFT_PPM_MAX: Final = 20_000
"""Steady clocks that drift run up to 2 % fast or slow, each for the whole run."""

_FIRED: Final = TimerFired()

OnNotify = Callable[[Host, Notify | NotifyGap], None]
OnReply = Callable[[Host, Reply | PublishReply], None]


class World:
    """Machines under one virtual time.

    `clock_seed` alone decides the clocks' offsets, so that one seed can be run under different clocks (S14).
    """

    def __init__(
        self,
        seed: int,
        *,
        shape_of: Callable[[Host, Host], LinkShape] | None = None,
        clock_seed: int | None = None,
        drift: bool = False,
        recode: Callable[[list[Message]], list[Message]] | None = None,
        recode_every: int = 0,
        keep_trace: bool = True,
    ) -> None:
        self.seed = seed
        self.hosts: list[Host] = []
        self.agenda = Agenda()
        self.trace = Trace(keep=keep_trace)
        self.steps = 0
        self.on_notify: list[OnNotify] = []
        self.on_reply: list[OnReply] = []
        self._touched: list[Host] = []
        self._clock_rng = Random(f"{seed if clock_seed is None else clock_seed}/clocks")
        self._drift_rng = Random(f"{seed}/drift") if drift else None
        self._disk_rng = Random(f"{seed}/disks")
        self._read_rng = Random(f"{seed}/reads")
        self._rot_rng = Random(f"{seed}/rot")
        self.network = Network(
            self.agenda,
            Random(f"{seed}/network"),
            shape_of or LinkShapes(seed).between,
            self._touched,
            recode=recode,
            recode_every=recode_every,
        )
        self._cuts: dict[int, frozenset[tuple[int, int]]] = {}
        self._cut_count = 0
        self._perform: dict[type, Callable[[Host, object], None]] = {  # effects by frequency
            Transmit: self.network.transmit,  # type: ignore[dict-item]
            Record: self._write,  # type: ignore[dict-item]
            SetTimer: self._set_timer,  # type: ignore[dict-item]
            Persist: self._persist,  # type: ignore[dict-item]
            ReadPacks: self._read,  # type: ignore[dict-item]
            Notify: self._notify,  # type: ignore[dict-item]
            NotifyGap: self._notify,  # type: ignore[dict-item]
            Reply: self._reply,  # type: ignore[dict-item]
            PublishReply: self._reply,  # type: ignore[dict-item]
            Connect: self.network.connect,  # type: ignore[dict-item]
            Disconnect: self.network.disconnect,  # type: ignore[dict-item]
            CancelTimer: self._cancel_timer,
        }

    @property
    def now(self) -> int:
        """The true time, in microseconds since the world began."""
        return self.agenda.now

    # Machines

    def add_host(self, contact: Contact, cluster: ClusterId | None, birth: Birth) -> Host:
        """A new machine, switched off."""
        host = Host(len(self.hosts), contact, cluster, birth)
        host.skew_us = self._clock_rng.randint(-SKEW_US_MAX, SKEW_US_MAX)
        host.drift_ppm = 0 if self._drift_rng is None else self._drift_rng.randint(-DRIFT_PPM_MAX, DRIFT_PPM_MAX)
        self.hosts.append(host)
        self.network.attach(host)
        return host

    def start(self, host: Host, contacts: tuple[Contact, ...] = ()) -> None:
        """Start the process: a new incarnation on what the disk holds."""
        assert host.core is None, f"{host.contact.address} runs already"
        host.incarnation += 1
        host.started_us = self.agenda.now
        host.steady_us = self._clock_rng.randrange(STEADY_ORIGIN_MS_MAX) * GRAIN_US
        host.wall_offset_us = WALL_ORIGIN_US + host.skew_us + host.started_us - host.steady_us
        host.power = Power.ON
        host.stored_due = 0
        host.knows_full = False
        rng = Random(f"{self.seed}/{host.index}/{host.incarnation}")
        host.core = host.birth(host, rng, host.disk.contents(), contacts)
        self.agenda.after(0, self._first_step, host, host.incarnation)

    def crash(self, host: Host, *, silent: bool = False, wipe: bool = False) -> None:
        """End the process at once: killed, or with `silent` the whole machine gone; with `wipe` its disk too."""
        if host.core is None:
            return
        host.core = None
        host.power = Power.GONE if silent else Power.PROCESS_DOWN
        host.inbox = []
        host.timer_at = -1
        host.paused = False
        self.network.drop_all(host, tell=not silent)
        host.disk.crash(self._disk_rng)
        if wipe:
            host.disk.wipe()

    def pause(self, host: Host, span_us: int) -> None:
        """Freeze the process; what reaches it meanwhile is waiting when it goes on."""
        if host.core is not None and not host.paused:
            host.paused = True
            self.agenda.after(span_us, self._resume, host, host.incarnation)

    def fill_disk(self, host: Host) -> None:
        """From now on nothing becomes durable."""
        host.disk.full = True

    def free_disk(self, host: Host) -> None:
        """The disk takes writes again, those that waited first."""
        host.disk.full = False
        last = host.disk.last_pending
        if last is not None:
            self.agenda.after(GRAIN_US, self._stored, host, host.incarnation, last)

    def rot_disk(self, host: Host) -> None:
        """Damage the body of a pack on the disk; whoever reads it is told that it cannot be read."""
        host.disk.rot(self._rot_rng)

    # Cuts

    def cut(self, pairs: Iterable[tuple[Host, Host]], *, both_ways: bool = True) -> int:
        """Lose every message between these pairs until `heal`; sessions live on. Returns the cut's number."""
        directed = {(one.index, other.index) for one, other in pairs}
        if both_ways:
            directed |= {(other, one) for one, other in directed}
        self._cut_count += 1
        self._cuts[self._cut_count] = frozenset(directed)
        self.network.cuts = frozenset().union(*self._cuts.values())
        return self._cut_count

    def heal(self, cut: int | None = None) -> None:
        """End one cut, or all of them."""
        if cut is None:
            self._cuts.clear()
        else:
            self._cuts.pop(cut, None)
        self.network.cuts = frozenset().union(*self._cuts.values())

    @property
    def is_cut(self) -> bool:
        """Whether any cut lasts."""
        return bool(self._cuts)

    # Running

    def command(self, host: Host, command: Command) -> None:
        """An application on that machine asks its node for something."""
        if host.core is not None:
            self._put(host, command)

    def run_until(self, end: int) -> None:
        """Go on to the instant `end`, and do everything due up to it."""
        advance, touched = self.agenda.advance, self._touched
        while (actions := advance(end)) is not None:
            for action, arguments in actions:
                action(*arguments)
            if touched:
                for host in touched:
                    if host.core is not None and host.inbox and not host.paused:
                        self._step(host)
                touched.clear()

    def run_for(self, span_us: int) -> None:
        """Go on for a while."""
        self.run_until(self.agenda.now + span_us)

    def _step(self, host: Host) -> None:
        core, inputs, perform = host.core, host.inbox, self._perform
        assert core is not None
        host.inbox = []
        self.steps += 1
        try:
            effects = core.step(inputs, host.steady(self.agenda.now))
        except Exception as error:
            raise CoreFault(host, self.agenda.now, error) from error
        for effect in effects:
            perform[type(effect)](host, effect)

    def _first_step(self, host: Host, incarnation: int) -> None:
        if host.incarnation == incarnation and host.core is not None:
            self._step(host)

    def _resume(self, host: Host, incarnation: int) -> None:
        if host.incarnation == incarnation and host.core is not None:
            host.paused = False
            if host.inbox:
                self._touched.append(host)

    def _put(self, host: Host, item: Command | TimerFired | FromDisk) -> None:
        if not host.inbox:
            self._touched.append(host)
        host.inbox.append(item)

    # Effects

    def _write(self, _host: Host, record: Record) -> None:
        self.trace.add(self.agenda.now, record)

    def _set_timer(self, host: Host, effect: SetTimer) -> None:
        at = host.true_time(effect.at)
        if at != host.timer_at:
            host.timer_at = at
            self.agenda.at(at, self._fire, host, at)

    def _cancel_timer(self, host: Host, _effect: object) -> None:
        host.timer_at = -1

    def _fire(self, host: Host, at: int) -> None:
        if host.timer_at == at and host.core is not None:
            host.timer_at = -1
            self._put(host, _FIRED)

    def _persist(self, host: Host, effect: Persist) -> None:
        host.disk.accept(effect)
        due = self.agenda.now + self._disk_rng.randint(1, 5) * GRAIN_US
        host.stored_due = max(host.stored_due, due)
        self.agenda.at(host.stored_due, self._stored, host, host.incarnation, effect.number)

    def _stored(self, host: Host, incarnation: int, number: int) -> None:
        if host.incarnation != incarnation or host.core is None:
            return
        is_settled = host.disk.settle(number)
        if host.knows_full == is_settled:
            host.knows_full = not is_settled
            self._put(host, DiskState(host.knows_full))
        if is_settled:
            self._put(host, Stored(number))

    def _read(self, host: Host, effect: ReadPacks) -> None:
        after_us = self._read_rng.randint(1, 5) * GRAIN_US
        self.agenda.after(after_us, self._answer, host, host.incarnation, effect)

    def _answer(self, host: Host, incarnation: int, ask: ReadPacks) -> None:
        if host.incarnation != incarnation or host.core is None:
            return
        page = host.disk.read(ask.packs)
        self._put(host, PacksRead(ask.number, page))
        if len(page) < len(ask.packs):
            self._read(host, ReadPacks(ask.number, ask.packs[len(page) :]))

    def _notify(self, host: Host, effect: Notify | NotifyGap) -> None:
        for observe in self.on_notify:
            observe(host, effect)

    def _reply(self, host: Host, effect: Reply | PublishReply) -> None:
        for observe in self.on_reply:
            observe(host, effect)


def status_of(host: Host) -> NodeStatus | None:
    """What a running node says of itself; None for a machine that is down or runs something else."""
    tell = getattr(host.core, "status", None)
    return tell() if tell is not None else None


def host_named(world: World, node: NodeId) -> Host:
    """The machine with that id."""
    host = world.network.host_of(node)
    assert host is not None, f"no host {node.hex()}"
    return host
