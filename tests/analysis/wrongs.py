"""One planted trace in which every promise that an audit watches over is broken, beside others that are kept."""

from __future__ import annotations

from typing import Any, NamedTuple

from p2psub.model.changes import ChangeNumber, LogId
from p2psub.model.ids import EventId, SubscriptionId
from p2psub.model.records import Kind, Record
from tests.analysis.planted_trace import PlantedTrace, Process
from tests.analysis.rows import Numbers

S = 1_000
"""Milliseconds in a second."""
REMATCHED = "rematched"
"""Is found with `--rematch` alone."""
COUNTED = "counted"
"""Is found without it alone."""


class Wrong(NamedTuple):
    """A finding that an audit must make: the record that shows it, and whom it is about."""

    invariant: str
    shown: Record
    subscription: SubscriptionId | None = None
    if_cut: str = "violated"
    """The verdict where the processes of the trace were cut."""
    when: str | None = None

    def as_found(self, numbers: Numbers, *, is_cut: bool) -> tuple[Any, ...]:
        """What is compared of a row of violations."""
        shown = self.shown
        process = numbers.processes[shown.node, shown.incarnation]
        keys = (numbers.key(shown.event), numbers.key(self.subscription), numbers.key(shown.cast))
        verdict = self.if_cut if is_cut else ("unknown" if self.invariant == "outcome" else "violated")
        return (self.invariant, verdict, process, shown.sequence, *keys)


class Wrongs:
    """The trace. `is_cut`: nobody comes to write its `close`, and the spare falls silent before the load begins."""

    def __init__(self, *, is_cut: bool) -> None:
        self.trace = PlantedTrace()
        self.is_cut = is_cut
        self.wrongs: list[Wrong] = []
        self.alice, self.owner, self.bob, self.spare, self.third = (
            self.trace.process(name, at_ms=0) for name in ("alice", "owner", "bob", "spare", "third")
        )
        for process in (self.alice, self.owner, self.bob, self.spare, self.third):
            process.ring(at_ms=1)
        self.far = self.trace.process("far", cluster="c1", at_ms=2)
        self.far.ring()
        self.owner.role()
        self.far.role()
        self._terms()
        self._subscribed: dict[str, SubscriptionId] = {}
        self._numbered = 0
        for topic in ("clean", "lost", "untrue", "twice", "altered", "late", "given_up", "other", "full"):
            self._subscribe(topic)
        self._known = self._numbered
        self._subscribe("unheard")
        self._now_ms = 30.0 * S
        self._events()
        self._deliveries()
        self._copies()
        self._spreading()
        self._received()
        self._held_by_nobody()
        self._invented()
        for process in self.trace.processes:
            if not is_cut and process.records[-1].kind is not Kind.CLOSE:
                process.close(at_ms=220 * S)

    def found(self, *, is_rematched: bool) -> list[tuple[Any, ...]]:
        """What the audits must find, and nothing else."""
        numbers = Numbers.of(self.trace.records)
        unwanted = COUNTED if is_rematched else REMATCHED
        return sorted(
            (wrong.as_found(numbers, is_cut=self.is_cut) for wrong in self.wrongs if wrong.when != unwanted), key=repr
        )

    def _wrong(self, *args: Any, **fields: Any) -> None:
        self.wrongs.append(Wrong(*args, **fields))

    def _subscribe(self, topic: str) -> None:
        id_ = self.bob.subscribe(topic)
        self._numbered += 1
        self.owner.number(id_, self._numbered)
        self.bob.verdict(id_)
        self._subscribed[topic] = id_

    def _store(
        self, topic: str, owed: int = 1, copies: int = 3, kept: int = 2, retain_us: int = 0
    ) -> tuple[EventId, Record]:
        """Publish, store, keep and acknowledge; the record of the storing shows what becomes of it."""
        self._now_ms += 100
        event = self.alice.publish(topic, retain_us=retain_us, at_ms=self._now_ms)
        vector = self.owner.vector_to(self._known)
        stored = self.owner.store(event, owed=owed, vector=vector)
        for holder in (self.bob, self.third)[:kept]:
            holder.keep(event)
        self.alice.acknowledge(event, count=owed, copies=copies)
        return event, stored

    def _events(self) -> None:
        bob, owner, subscribed = self.bob, self.owner, self._subscribed
        for topic in ("clean", "twice", "altered", "late"):
            event, _ = self._store(topic)
            digest: dict[str, Any] = {"digest": b"another"} if topic == "altered" else {}
            when = {"at_ms": self._now_ms + 61 * S} if topic == "late" else {}
            given = bob.deliver(event, subscribed[topic], **digest, **when)
            if topic == "twice":
                self._wrong("S2", bob.deliver(event, subscribed[topic]), subscribed[topic])
            elif topic != "clean":
                self._wrong("S4" if topic == "altered" else "liveness", given, subscribed[topic])
            owner.outcome(event, subscribed[topic])
            owner.discharge(event)
        self._now_ms += 62 * S
        event, stored = self._store("lost")
        owner.discharge(event)
        lost = subscribed["lost"]
        for invariant in ("S1", "conservation"):
            self._wrong(invariant, stored, None, "unknown", COUNTED)
            self._wrong(invariant, stored, lost, "unknown", REMATCHED)
        self._wrong("liveness", stored, lost, "unknown", REMATCHED)
        event, stored = self._store("unheard", owed=0)
        owner.discharge(event, count=0)
        self._wrong("S1", stored, subscribed["unheard"], "unknown", REMATCHED)
        self._wrong("liveness", stored, subscribed["unheard"], "unknown", REMATCHED)
        event, stored = self._store("untrue")
        untrue = subscribed["untrue"]
        self._wrong("conservation", owner.outcome(event, untrue), untrue, "unknown")
        owner.discharge(event)
        self._wrong("S1", stored, None, "unknown", COUNTED)
        self._wrong("S1", stored, untrue, "unknown", REMATCHED)
        self._wrong("liveness", stored, untrue, "unknown", REMATCHED)
        event, _ = self._store("full")
        self._wrong("outcome", owner.outcome(event, subscribed["full"], "spool_full"), subscribed["full"], "unknown")
        owner.discharge(event)
        self._wrong("S13", bob.drop(""))

    def _deliveries(self) -> None:
        bob, owner, subscribed = self.bob, self.owner, self._subscribed
        event, _ = self._store("given_up")
        bob.deliver(event, subscribed["given_up"])
        owner.outcome(event, subscribed["given_up"])
        owner.discharge(event)
        bob.unsubscribe(subscribed["given_up"])
        event, _ = self._store("nobody", owed=0)
        owner.discharge(event, count=0)
        self._wrong("S3", bob.deliver(event, subscribed["given_up"]), subscribed["given_up"])
        self._wrong("S3", self.wrongs[-1].shown, subscribed["given_up"], "violated", REMATCHED)
        self._wrong("S3", bob.deliver(event, subscribed["other"]), subscribed["other"], "violated", REMATCHED)
        unasked = SubscriptionId(bob.node, bob.incarnation, 99)
        self._wrong("S3", bob.deliver(event, unasked), unasked)
        event, _ = self._store("clean")
        bob.deliver(event, subscribed["clean"])
        owner.outcome(event, subscribed["clean"])
        owner.discharge(event)
        self._wrong("S3", self.third.deliver(event, subscribed["other"]), subscribed["other"])
        self._wrong("S3", self.wrongs[-1].shown, subscribed["other"], "violated", REMATCHED)

    def _copies(self) -> None:
        unwanted, _ = self._store("nobody", owed=0, copies=0, kept=0)
        self.owner.discharge(unwanted, count=0)
        for copies, kept in ((3, 0), (2, 1)):
            event, _ = self._store("nobody", owed=0, copies=copies, kept=kept, retain_us=1)
            self._wrong("S5", self.alice.records[-1], None, "unknown")
            self.owner.discharge(event, count=0)
        event = self.alice.publish("nobody")
        self._wrong("S5", self.alice.acknowledge(event, count=0), None, "unknown")

    def _terms(self) -> None:
        one, other = (self.trace.process(name, cluster="c9", at_ms=1 * S) for name in ("one", "other"))
        one.role()
        self._wrong("S10", other.role(epoch=one.epoch))
        for process in (one, other):
            process.role("resigned", at_ms=2 * S)
        for process, owners in ((one, 2), (other, 3)):
            table = process.record(Kind.TABLE, epoch=one.epoch, version=1, owners=owners)
        self._wrong("S8", table)
        for process in (one, other):
            process.close()

    def _spreading(self) -> None:
        sound, costly = (self.owner.cast(at_ms=(150 + 10 * n) * S) for n in range(2))
        self.owner.forward(sound, self.far)
        shown = self.owner.records[-2]
        for prefix in ("1", "11"):
            self.owner.forward(costly, self.far, prefix)
        self._wrong("S11", shown, None, "unknown")
        number = ChangeNumber(LogId(self.far.cluster, self.far.epoch), 1)
        self.far.record(Kind.CHANGE, number=number, cluster=self.far.cluster)
        self._wrong("S11", self.far.record(Kind.CHANGE, number=number, cluster=self.far.cluster))
        self.owner.number(self._subscribed["clean"], 77)
        self.owner.number(self._subscribed["other"], 77)
        self._wrong("S11", self.owner.records[-1], self._subscribed["other"])

    def _received(self) -> None:
        # Late enough to leave the cube settled around the broadcasts.
        cast = self.owner.cast("EventPayload", at_ms=175 * S)
        for prefix in ("1", "1", "01"):
            again = self.far.receive(cast, self.owner, prefix)
            if prefix == "1":
                shown = again
        self._wrong("conservation", shown)
        never = self.far.duplicate("cast_repeated", cast=cast, prefix="11", peer=self.owner.node)
        self._wrong("conservation", never)
        self.far.role("resigned")
        self.far.role()
        self.far.receive(cast, self.owner, "01")

    def _held_by_nobody(self) -> None:
        before = self.trace.process("phoenix", cluster="c5", at_ms=180 * S)
        before.ring()
        event = self.alice.publish("nobody")
        stored = before.store(event, owed=1)
        self.alice.acknowledge(event, count=1)
        if not self.is_cut:
            before.close()
        self.trace.process("phoenix", 2, cluster="c5").ring()
        self._wrong("S9", stored, None, "unknown")
        if self.is_cut:
            # Where anybody was cut, what is still owed may have been handed over in silence.
            self._wrong("S1", stored, None, "unknown", COUNTED)

    def _invented(self) -> None:
        event = EventId(self.alice.node, self.alice.incarnation, 999)
        given = self.bob.deliver(event, self._subscribed["clean"], at_ms=210 * S)
        self._wrong("S3", given, self._subscribed["clean"], "unknown")


def peers(*processes: Process) -> list[str]:
    """How findings call processes."""
    return [f"{process.node.hex()[:8]}.{process.incarnation}" for process in processes]
