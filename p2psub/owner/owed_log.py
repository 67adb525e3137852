"""Owed events on the store's log: what a member holds, by heads; the events themselves leave memory after a while.

A pack of the log is what one step brought of one parcel. It is erased when nothing of it is held any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final

import msgspec

from p2psub.model.ages import older
from p2psub.model.ids import NodeId
from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import OwedHead, OwedParcel, OwedParcelId, OwedPlaces
from p2psub.model.parcel_parts import places_of
from p2psub.model.parcels import Parcel, ParcelId
from p2psub.model.place_sets import from_bitmap
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.step import Body, Step
from p2psub.owner.arc_lease import ArcLease
from p2psub.owner.held_parcel import HeldPack, HeldParcel, HeldTurn, head_of
from p2psub.owner.spool import Spool

HeldEvents = tuple[HeldParcel, Parcel | None]
"""What we hold, and the parcel that its pack holds; none if the store cannot read it any more."""

_PUT_AWAY_TICKS: Final = 4
"""After this time owed events are in the store alone. A guess: two heartbeats; most are discharged before."""


class OwedLog:
    """All owed events that this member holds, cut so that those held together have one owner."""

    def __init__(self, step: Step, arc_lease: ArcLease, spool: Spool) -> None:
        self._step = step
        self._arc_lease = arc_lease
        self._spool = spool
        self._held: dict[ParcelId, list[HeldParcel]] = {}

    def __iter__(self) -> Iterator[HeldParcel]:
        return iter([held for pieces in self._held.values() for held in pieces])

    @property
    def count(self) -> int:
        """How many events are held."""
        return sum(held.places.bit_count() for held in self)

    def pieces_of(self, parcel: ParcelId) -> list[HeldParcel]:
        """What we hold of a parcel: usually one piece."""
        return self._held.get(parcel, [])

    def pieces_at(self, id_: OwedParcelId, places: int) -> list[HeldParcel]:
        """What we hold of some events with these matches."""
        return [held for held in self._held.get(id_.parcel, ()) if held.id == id_ and held.places & places]

    def pieces_in(self, named: Iterable[OwedPlaces]) -> Iterator[tuple[HeldParcel, int]]:
        """What we hold of what another member names, and which events of it those are; it may be let go on the way."""
        for id_, bitmap in named:
            for held in list(self.pieces_of(id_.parcel)):
                places = from_bitmap(bitmap, held.places)
                if held.id == id_ and places:
                    yield held, places

    def places_held(self, id_: OwedParcelId) -> int:
        """The events of a parcel that we hold, with these matches."""
        places = 0
        for held in self._held.get(id_.parcel, ()):
            if held.id.matches == id_.matches:
                places |= held.places
        return places

    def in_packs_of(self, pieces: Iterable[HeldParcel]) -> Iterator[HeldParcel]:
        """What we still hold of the packs of these pieces: a table may have cut them since they were appended."""
        packs = {held.pack.number: held.id.parcel for held in pieces}
        for number, parcel in packs.items():
            for held in list(self.pieces_of(parcel)):
                if held.pack.number == number and held.is_held:
                    yield held

    # Holding

    def recover(self, number: int, head: OwedHead, age_us: Micros, places: int) -> list[HeldParcel]:
        """Hold what a pack of our last incarnation holds, or those events of it that no other pack does."""
        return self._hold(head, HeldPack(number, places), age_us, None)

    def append(self, owed_parcel: OwedParcel, places: int) -> list[HeldParcel]:
        """Hold some events of a parcel that we do not hold yet; none if a part of it cannot prove that it is one."""
        head, age = head_of(owed_parcel, self._step.wall_us), owed_parcel.age_us
        if places != places_of(owed_parcel.parcel):
            part = HeldParcel(head, places, HeldPack(0, 0), self._born(age), 0)
            told = part.as_owed(owed_parcel.parcel, self._step.now)
            if places_of(told.parcel) != places:
                self._step.record(Kind.DROP, reason=Reason.BAD_SIGNATURE, count=places.bit_count())
                return []
            return self.append(told, places)
        number = self._step.append(head, owed_parcel.parcel)
        return self._hold(head, HeldPack(number, places), age, owed_parcel.parcel)

    def _born(self, age_us: Micros) -> Micros:
        return Micros(self._step.now - age_us)

    def _hold(self, head: OwedHead, pack: HeldPack, age_us: Micros, parcel: Parcel | None) -> list[HeldParcel]:
        held = HeldParcel(head, pack.places, pack, self._born(age_us), self._step.tick, parcel)
        self._held.setdefault(held.id.parcel, []).append(held)
        return self.cut_by_owner(held)

    def cut_by_owner(self, held: HeldParcel) -> list[HeldParcel]:
        """By our table: events whose keys it gives to several owners are held apart from now on."""
        if len(held.keys) == 1:
            return [held]
        by_owner: dict[NodeId | None, int] = {}
        for key, places in held.keys:
            owner = self._arc_lease.owner_of(key)
            name = None if owner is None else owner.id
            by_owner[name] = by_owner.get(name, 0) | places
        _, *of_others = by_owner.values()
        return [held, *[self.split(held, places) for places in of_others]]

    def split(self, held: HeldParcel, places: int) -> HeldParcel:
        """Hold some of the events apart."""
        is_spooled = bool(held.spooled)
        self._spool.release(held)
        piece = held.split(places)
        self._held[held.id.parcel].append(piece)
        for part in (held, piece) if is_spooled else ():
            self._spool.add(part)
        return piece

    def let_go(self, held: HeldParcel, turn: HeldTurn = HeldTurn.LET_GO) -> None:
        """Hold it no more."""
        held.turn(turn)
        self._spool.release(held)
        pieces, pack = self._held[held.id.parcel], held.pack
        pieces.remove(held)
        if not pieces:
            del self._held[held.id.parcel]
        pack.places &= ~held.places
        if not pack.places:
            self._step.erase_pack(pack.number)

    # The events themselves

    def read(self, several: Iterable[HeldParcel], then: Callable[[list[HeldEvents]], None]) -> None:
        """Do something with the events: at once, or page by page when they were read from the store."""
        here: list[HeldEvents] = []
        away: dict[int, list[HeldParcel]] = {}
        for held in several:
            if held.parcel is not None:
                here.append((held, held.parcel))
            else:
                away.setdefault(held.pack.number, []).append(held)
        if here:
            then(here)
        if away:
            self._step.read(sorted(away), partial(self._have_read, away, then))

    def _have_read(
        self, away: dict[int, list[HeldParcel]], then: Callable[[list[HeldEvents]], None], bodies: list[Body]
    ) -> None:
        found: list[HeldEvents] = []
        for number, body in bodies:
            parcel = body if isinstance(body, Parcel) else None
            found += [(held, parcel) for held in away[number] if held.is_held]
        if found:
            then(found)

    def put_away(self, held: HeldParcel) -> None:
        """What is owed for long need not be in memory: the store has it."""
        if self._step.tick - held.taken_tick >= _PUT_AWAY_TICKS and held.is_held_by(self._step.me.id):
            held.parcel = None


def age_of(head: OwedHead, wall_us: int) -> Micros:
    """How old events are that a pack holds, at this instant of the wall clock by which it was written."""
    return older(head.age_us, max(0, wall_us - head.written_us))


def bytes_of_owed(held: tuple[HeldParcel, OwedParcel]) -> int:
    """To the byte: its attributes may be nearly all of it, and a message that is too large ends its link."""
    return len(msgspec.msgpack.encode(held[1]))
