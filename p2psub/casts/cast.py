"""Casts at one super-node: requests go down, answers merge on the way up, custody bridges the wait for them.

A cast knows no content: what it must know of its payload it asks the payload, and what the payload means to our own
cluster is handed in. A repeated request is answered from memory or joined to the open one, so repeating is harmless.
Every half has one slot: the first answer fills it. A quick answer needs no custody before it: only what is still open
at the next tick is acknowledged so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Final

from p2psub.casts import spread
from p2psub.casts.custodians import Custodians
from p2psub.casts.entrance import Entrances
from p2psub.casts.half import Half
from p2psub.casts.payload import Local, Payload
from p2psub.config import CubeConfig
from p2psub.model.graycode import WHOLE, Prefix
from p2psub.model.ids import CastId, Contact, NodeId
from p2psub.model.messages.casts import Answer, CastRefused, CastRequest, Custody, CustodyRequest, Summary
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.step import Step
from p2psub.model.transmission import Transmission
from p2psub.overlay.directory import Directory
from p2psub.overlay.hypercube import Hypercube
from p2psub.overlay.liveness import Liveness


class _OpenCast:
    """A cast that is not answered everywhere yet."""

    __slots__ = (
        "done",
        "halves",
        "hops",
        "id",
        "is_in_custody",
        "local",
        "opened_tick",
        "opened_us",
        "parents",
        "payload",
        "subcube",
        "waits_until_tick",
    )

    def __init__(self, id_: CastId, subcube: Prefix, payload: Payload, hops: int, step: Step) -> None:
        self.id = id_
        self.subcube = subcube
        self.payload = payload
        self.hops = hops
        self.opened_tick = step.tick
        self.opened_us = step.now
        self.waits_until_tick = step.tick
        """Until then a request of it waited for its link: only from then on is it slow."""
        self.parents: dict[NodeId, Contact] = {}
        self.is_in_custody = False
        """Whether its parents know that we have it."""
        self.done: Callable[[Summary, bool], None] | None = None
        self.halves: dict[Prefix, Half] = {}
        self.local: Summary | None = None


_Name = tuple[CastId, Prefix]

_RENEW_TICKS: Final = 6
"""Custody is renewed after this time, then after twice that, and so on."""
_DOUBLED_MAX: Final = 16


class Casts:
    """All casts that pass through a super-node in one term; `sequence` numbers its own, over all its terms."""

    def __init__(
        self,
        step: Step,
        config: CubeConfig,
        cube: Hypercube,
        directory: Directory,
        liveness: Liveness,
        local: Local,
        sequence: Iterator[int],
        entrances: Entrances,
    ) -> None:
        self._step = step
        self._config = config
        self._cube = cube
        self._directory = directory
        self._liveness = liveness
        self._local = local
        self._sequence = sequence
        self._entrances = entrances
        self.custodians = Custodians(step, liveness)
        self._open: dict[_Name, _OpenCast] = {}
        self._with_half: dict[_Name, list[_OpenCast]] = {}
        self._waiting_locally: dict[CastId, list[_OpenCast]] = {}
        self._answered: dict[_Name, tuple[int, Summary]] = {}
        self._seen: dict[_Name, int] = {}
        self._said: dict[tuple[_Name, NodeId], Transmission] = {}
        """The last words to those who asked; forgotten once they have left."""

    # Starting and answering

    def start(self, payload: Payload, done: Callable[[Summary, bool], None]) -> CastId:
        """Cast to the whole cube; `done` gets the merged summary, and whether it is complete."""
        id_ = CastId(self._step.me.id, self._step.incarnation, next(self._sequence))
        self._step.record(Kind.CAST, cast=id_, payload=type(payload).__name__)
        own = self._cube.place
        if own is None:
            done(payload.merge(()), False)
        else:
            cast = _OpenCast(id_, WHOLE, payload, 0, self._step)
            cast.done = done
            self._launch(cast, own)
        return id_

    def answer_locally(self, cast: CastId, summary: Summary) -> None:
        """Our own cluster's part is done."""
        for open_cast in self._waiting_locally.pop(cast, ()):
            open_cast.local = summary
            self._note_answer(open_cast, summary)

    def progress(self, cast: CastId) -> Summary | None:
        """What is known so far of a cast that we started; None if it is over."""
        open_cast = self._open.get((cast, WHOLE))
        return None if open_cast is None else self._summary(open_cast)

    def is_open(self, cast: CastId) -> bool:
        """Whether a cast that we started goes on."""
        return (cast, WHOLE) in self._open

    def abandon(self) -> None:
        """The term ends: super-nodes that wait for us must ask our successor."""
        for cast in self._open.values():
            for parent in cast.parents.values():
                self._step.send(parent, CastRefused(cast.id, cast.subcube, self._directory.entries()))
        self._waiting_locally.clear()

    def on_cast(self, peer: Contact, asked: CastRequest) -> None:
        name = (asked.id, asked.subcube)
        own = self._cube.place
        if own is None or not spread.is_mine(own, asked.subcube):
            self._step.send(peer, CastRefused(asked.id, asked.subcube, self._directory.entries()))
            return
        is_new = name not in self._seen and name not in self._open
        kind, reason = (Kind.RECEIVE, None) if is_new else (Kind.DUPLICATE, Reason.CAST_REPEATED)
        self._step.record(kind, cast=asked.id, peer=peer.id, prefix=asked.subcube, hops=asked.hops, reason=reason)
        self._note_seen(name)
        if self._is_here(peer, name):
            self._say_again(peer, name)
        elif is_new or asked.payload.wants_answer:
            # An old request that we could not complete then is tried again.
            cast = _OpenCast(asked.id, asked.subcube, asked.payload, asked.hops, self._step)
            cast.parents[peer.id] = peer
            self._launch(cast, own)

    def _note_seen(self, name: _Name) -> None:
        """The last that was seen is the last."""
        self._seen.pop(name, None)
        self._seen[name] = self._step.tick

    def on_custody_request(self, peer: Contact, asked: CustodyRequest) -> None:
        """A parent has not heard of its half: say how it is with it, or that it is not here."""
        name = (asked.id, asked.subcube)
        if self._is_here(peer, name):
            self._say_again(peer, name)
        else:
            self._step.send(peer, CastRefused(asked.id, asked.subcube, ()))

    def _is_here(self, peer: Contact, name: _Name) -> bool:
        """Whether a parent will have, or has had, an answer of ours."""
        cast = self._open.get(name)
        if cast is not None:
            cast.parents[peer.id] = peer
        return cast is not None or name in self._answered

    def _say_again(self, peer: Contact, name: _Name) -> None:
        """Unless it was said already, and only waits for its link."""
        before = self._said.get((name, peer.id))
        if before is None or not before.is_waiting:
            answered = self._answered.get(name)
            self._say(peer, name, Custody(*name) if answered is None else Answer(*name, answered[1]))

    def _say(self, peer: Contact, name: _Name, word: Custody | Answer) -> None:
        self._said[name, peer.id] = self._step.send_followed(peer, word)

    # Walking down

    def _launch(self, cast: _OpenCast, own: Prefix) -> None:
        self._open[cast.id, cast.subcube] = cast
        for _, half in spread.halves(own, cast.subcube):
            self._hand_on(cast, half)
        filling = self._cube.filling
        if filling is not None:
            # The founder of our other half cannot answer yet for itself: we hand on, and answer for both.
            self._hand_on(cast, filling.prefix)
        part = own if own.startswith(cast.subcube) else cast.subcube
        if cast.payload.has_part_in(part):
            self._waiting_locally.setdefault(cast.id, []).append(cast)
            self._local.take(cast.id, cast.payload, part)
        else:
            cast.local = cast.payload.merge(())
        self._finish_if_whole(cast)

    def _hand_on(self, cast: _OpenCast, half: Prefix) -> None:
        others = self._with_half.get((cast.id, half))
        if others is not None:
            # We were asked for a subcube, and then for one that it lies in: one walk below serves both.
            cast.halves[half] = others[0].halves[half]
            others.append(cast)
            return
        payload = cast.payload.restrict(half)
        if payload is not None:
            slot = cast.halves[half] = Half(payload, self._step.now, cast.hops + 1)
            self._with_half[cast.id, half] = [cast]
            self._send_half(cast.id, half, slot)

    def _send_half(self, cast: CastId, half: Prefix, slot: Half) -> None:
        if slot.tries:
            slot.payload = slot.payload.repeated()
        waited_us = self._step.now - slot.since_us
        payload = slot.payload.aged(waited_us) if waited_us else slot.payload
        request = payload.request(cast, half, slot.hops)
        before = slot.transmission
        receiver = self._entrances.receiver(half, slot.payload.stops, request, slot.tries, slot.first)
        is_there = before is not None and before.is_waiting and receiver == slot.holder
        slot.holder, slot.sent_tick, slot.in_custody = receiver, self._step.tick, False
        slot.is_asked_after = False
        slot.first = slot.first or receiver
        slot.tries += 1
        if receiver is None or is_there:
            return
        self.custodians.expect(receiver)
        self._step.record(Kind.FORWARD, cast=cast, peer=receiver.id, prefix=half, tries=slot.tries)
        if slot.payload.wants_answer:
            slot.transmission = self._step.send_followed(receiver, request)
        else:
            self._step.send(receiver, request)
            slot.summary = slot.payload.merge(())

    def _ask_after(self, cast: CastId, half: Prefix, slot: Half) -> None:
        """Its holder may have it, and what that says be held up: only one that has not is passed by."""
        assert slot.holder is not None, "only a holder can have it"
        slot.is_asked_after, slot.in_custody = True, False
        slot.transmission = self._step.send_followed(slot.holder, CustodyRequest(cast, half))

    # Walking up

    def on_custody(self, peer: Contact, custody: Custody) -> None:
        slot = self._slot(custody.id, custody.subcube)
        if slot is not None and slot.holder is not None and slot.holder.id == peer.id:
            slot.in_custody, slot.is_asked_after = True, False
            if slot.transmission is not None:
                slot.transmission.confirm(self._step.tick)

    def on_answer(self, peer: Contact, answer: Answer) -> None:
        slot = self._slot(answer.id, answer.subcube)
        if slot is None or slot.summary is not None:
            self._step.record(
                Kind.DUPLICATE, cast=answer.id, peer=peer.id, prefix=answer.subcube, reason=Reason.LATE_ANSWER
            )
            return
        slot.summary = answer.summary
        for cast in tuple(self._with_half[answer.id, answer.subcube]):
            self._note_answer(cast, answer.summary)

    def on_cast_refused(self, peer: Contact, refused: CastRefused) -> None:
        """Whoever holds a half does not have it: learn who owns it now, and let the next tick try again."""
        self._directory.merge(refused.entries)
        slot = self._slot(refused.id, refused.subcube)
        if slot is not None and slot.holder is not None and slot.holder.id == peer.id:
            slot.in_custody = False
            if slot.transmission is not None:
                slot.transmission.lose(self._step.tick)

    def _slot(self, cast: CastId, half: Prefix) -> Half | None:
        found = self._with_half.get((cast, half))
        return None if found is None else found[0].halves[half]

    def _note_answer(self, cast: _OpenCast, part: Summary) -> None:
        """Answer when all parts have, or at once if this one decides."""
        if cast.payload.is_decided_by(part):
            self._close(cast, is_whole=True)
        else:
            self._finish_if_whole(cast)

    def _finish_if_whole(self, cast: _OpenCast) -> None:
        if cast.local is None:
            return
        for half in cast.halves.values():
            if half.summary is None:
                return
        self._close(cast, is_whole=True)

    def _close(self, cast: _OpenCast, is_whole: bool) -> None:
        if self._open.pop((cast.id, cast.subcube), None) is None:
            return
        for half in cast.halves:
            others = [other for other in self._with_half.pop((cast.id, half)) if other is not cast]
            if others:
                self._with_half[cast.id, half] = others
        if cast.local is None:
            others = [other for other in self._waiting_locally.pop(cast.id, ()) if other is not cast]
            self._waiting_locally.update({cast.id: others} if others else {})
        if cast.parents:
            # However long it was open: what comes again of it is a repetition.
            self._note_seen((cast.id, cast.subcube))
        summary = self._summary(cast)
        if is_whole and cast.payload.wants_answer:
            self._answered[cast.id, cast.subcube] = (self._step.tick, summary)
            for parent in cast.parents.values():
                self._say(parent, (cast.id, cast.subcube), Answer(cast.id, cast.subcube, summary))
        if cast.done is not None:
            cast.done(summary, is_whole)

    def _summary(self, cast: _OpenCast) -> Summary:
        if cast.local is not None and not cast.halves:
            return cast.local
        parts = [cast.local, *[half.summary for half in cast.halves.values()]]
        return cast.payload.merge([part for part in parts if part is not None])

    # Time

    def tick(self) -> None:
        """See to halves without custodian, or whose custodian is silent; never because an answer is slow."""
        self._said = {name: word for name, word in self._said.items() if word.is_waiting}
        for cast in list(self._open.values()):
            open_ticks = self._step.tick - cast.opened_tick
            if any(half.is_waiting for half in cast.halves.values()):
                cast.waits_until_tick = self._step.tick
            slow_ticks = self._step.tick - cast.waits_until_tick
            if not self._local.has_time(cast.payload, slow_ticks, self._step.now - cast.opened_us):
                self._close(cast, is_whole=False)
                continue
            if not cast.is_in_custody or is_doubled(open_ticks, _RENEW_TICKS):
                self._take_custody(cast)
            for half, slot in cast.halves.items():
                if slot.summary is None:
                    self._look_after(cast, half, slot)
            self._finish_if_whole(cast)
        self.custodians.tick()
        if self._step.tick % 20 == 0:
            self._forget_old()

    def _look_after(self, cast: _OpenCast, half: Prefix, slot: Half) -> None:
        tick = self._step.tick
        if not self._local.has_time(slot.payload, tick - cast.waits_until_tick, self._step.now - slot.since_us):
            # Nobody answers for it any more, though other halves have time: its subscriptions are not named.
            slot.summary = slot.payload.merge(())
            return
        if slot.is_stuck(tick, self._config.custody_ticks, self._liveness):
            if slot.may_be_there(self._liveness):
                self._ask_after(cast.id, half, slot)
            else:
                self._send_half(cast.id, half, slot)
        if slot.holder is not None:
            self.custodians.expect(slot.holder)

    def _forget_old(self) -> None:
        """Both memories are in the order of their ticks."""
        oldest = self._step.tick - self._config.remember_ticks
        for name in [*takewhile(lambda name: self._answered[name][0] < oldest, self._answered)]:
            del self._answered[name]
        for name in [*takewhile(lambda name: self._seen[name] < oldest, self._seen)]:
            del self._seen[name]

    def _take_custody(self, cast: _OpenCast) -> None:
        cast.is_in_custody = True
        if cast.payload.wants_answer:
            for parent in cast.parents.values():
                self._say_again(parent, (cast.id, cast.subcube))


def is_doubled(ticks: int, first: int) -> bool:
    """Whether so many ticks are a time, then twice that, and so on up to sixteen times, and then as often."""
    times = ticks // first
    return (
        ticks > 0
        and ticks % first == 0
        and (times % _DOUBLED_MAX == 0 or (times < _DOUBLED_MAX and times.bit_count() == 1))
    )
