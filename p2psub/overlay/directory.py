"""Which cluster owns which prefix, and which node speaks for it. Spread by anti-entropy; merging is idempotent.

An entry has two halves that move apart: the place (prefix, standing) is ordered by its version, the voice (super-node,
spares) by its epoch and edition. The order in which news arrives does not matter.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

import msgspec

from p2psub.model.graycode import WHOLE, Prefix, overlaps, owns_label, padded_flip, uncovered
from p2psub.model.ids import ClusterId, Contact, digest_of
from p2psub.model.places import Entry, Standing

_encoder: Final = msgspec.msgpack.Encoder()


class Directory:
    """Everything one node knows about the clusters."""

    def __init__(self) -> None:
        self._entries: dict[ClusterId, Entry] = {}
        self._digest: bytes | None = None
        self._present: list[Entry] | None = None
        self._neighbours: dict[Prefix, list[Contact]] = {}
        self._by_prefix: dict[Prefix, Contact] | None = None
        self._vacant: list[Prefix] | None = None

    def get(self, cluster: ClusterId) -> Entry | None:
        return self._entries.get(cluster)

    def entries(self) -> tuple[Entry, ...]:
        """All entries, also of clusters that are lost: without them, old news would bring those back."""
        return tuple(self._entries[cluster] for cluster in sorted(self._entries))

    def present(self) -> list[Entry]:
        """The clusters that hold a prefix, in the order of their labels."""
        if self._present is None:
            present = [entry for entry in self._entries.values() if entry.standing is Standing.PRESENT]
            self._present = sorted(present, key=lambda entry: (entry.prefix, entry.cluster))
        return self._present

    def by_prefix(self) -> dict[Prefix, Contact]:
        """The super-nodes of the cube by what they own."""
        if self._by_prefix is None:
            self._by_prefix = {entry.prefix: entry.super_node for entry in self.present()}
        return self._by_prefix

    def vacant(self) -> list[Prefix]:
        """The subcubes that no cluster holds."""
        if self._vacant is None:
            self._vacant = uncovered([entry.prefix for entry in self.present()], WHOLE)
        return self._vacant

    @property
    def digest(self) -> bytes:
        """Short hash by which two nodes see that they know different things; sizes do not count."""
        if self._digest is None:
            spelled = bytearray()
            for entry in self.entries():
                _encoder.encode_into(msgspec.structs.replace(entry, members=0), spelled, -1)
            self._digest = hashlib.blake2b(spelled, digest_size=8).digest()
        return self._digest

    def merge(self, entries: Iterable[Entry]) -> list[Entry]:
        """Take what is newer; return the entries that changed."""
        changed: list[Entry] = []
        for told in entries:
            known = self._entries.get(told.cluster)
            if told == known:
                # As mostly.
                continue
            merged = told if known is None else _newer_halves(known, told)
            if merged != known:
                self._entries[told.cluster] = merged
                self._present = None
                # Sizes travel along but are not news: two nodes that differ in one alone would exchange it for ever.
                if known is None or merged != msgspec.structs.replace(known, members=merged.members):
                    self._forget_derived()
                    changed.append(merged)
        return changed

    def _forget_derived(self) -> None:
        self._digest = self._present = self._by_prefix = self._vacant = None
        self._neighbours.clear()

    def contacts_in(self, half: Prefix) -> list[Contact]:
        """Super-nodes that could take a cast for `half`."""
        return [entry.super_node for entry in self.present() if overlaps(entry.prefix, half)]

    def neighbours(self, own: Prefix) -> list[Contact]:
        """The super-nodes across every dimension of our prefix, and those that count us among theirs."""
        if own not in self._neighbours:
            self._neighbours[own] = [
                entry.super_node
                for entry in self.present()
                if entry.prefix != own and (_borders(own, entry.prefix) or _borders(entry.prefix, own))
            ]
        return self._neighbours[own]

    def shortest(self, newcomer: ClusterId) -> Entry | None:
        """The cluster whose prefix a newcomer should split: a shortest one, so that depth stays near log2 N.

        Newcomers choose different ones of equal length, so that their splits need not wait for each other.
        """

        def order(entry: Entry) -> tuple[int, bytes]:
            return len(entry.prefix), digest_of(newcomer.encode(), entry.prefix.encode())

        return min(self.present(), key=order, default=None)


def _borders(own: Prefix, other: Prefix) -> bool:
    return any(owns_label(other, padded_flip(own, dimension)) for dimension in range(len(own)))


def _newer_halves(known: Entry, told: Entry) -> Entry:
    is_placed_anew = (told.version, told.standing, told.prefix) > (known.version, known.standing, known.prefix)
    is_spoken_anew = (told.epoch, told.edition) > (known.epoch, known.edition)
    place, voice = told if is_placed_anew else known, told if is_spoken_anew else known
    return Entry(
        known.cluster,
        place.prefix,
        place.version,
        voice.super_node,
        voice.epoch,
        told.members,
        place.standing,
        voice.spares,
        voice.edition,
    )
