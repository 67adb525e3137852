"""Rows found by a hash, at a sixth of what a dict takes: what they are found by is known of the row, not held again.

A page holds some entries in order, each a part of the hash and a row. When pages get too full on average, one of them
is split in two, and the next time the next one (linear hashing, Litwin 1980): growing never makes anybody wait.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from p2psub.matching.buckets import RowNumber

PAGE: Final = 128
"""Entries of a page on average, at most: more take less room each, and longer to move aside."""
_TAG: Final = (1 << 31) - 1
"""The bits of a hash that are kept. What they tell apart wrongly, whoever asks finds out by looking at the row."""
_ROW_BITS: Final = 32
_ROW: Final = (1 << _ROW_BITS) - 1


class Pages:
    """Rows by hash; one hash may have several, and a row several hashes."""

    __slots__ = ("_count", "_mask", "_pages", "_room", "_split")

    def __init__(self) -> None:
        self._pages = [array("q")]
        self._mask = 0
        """The bits of a hash that tell the page of an entry, before the current round of splitting."""
        self._split = 0
        """Pages that this round has split: one bit more tells their entries apart."""
        self._room = PAGE
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def rows(self, hash_: int) -> Sequence[RowNumber]:
        """The rows that may have been put under this hash: all that were, and rarely another one."""
        tag = hash_ & _TAG
        number = tag & self._mask
        page = self._pages[number if number >= self._split else tag & (2 * self._mask + 1)]
        at = bisect_left(page, tag << _ROW_BITS)
        if at == len(page) or page[at] >> _ROW_BITS != tag:
            return ()
        found: list[RowNumber] = []
        while at < len(page) and page[at] >> _ROW_BITS == tag:
            found.append(page[at] & _ROW)
            at += 1
        return found

    def put(self, hash_: int, row: RowNumber) -> None:
        """Let a row be found by a hash."""
        tag = hash_ & _TAG
        page, entry = self._page(tag), tag << _ROW_BITS | row
        page.insert(bisect_left(page, entry), entry)
        self._count += 1
        if self._count > self._room:
            self._split_one()

    def take_out(self, hash_: int, row: RowNumber) -> None:
        """Undo `put`. Pages stay; what is put in later fills them."""
        tag = hash_ & _TAG
        page = self._page(tag)
        del page[bisect_left(page, tag << _ROW_BITS | row)]
        self._count -= 1

    def _page(self, tag: int) -> array[int]:
        number = tag & self._mask
        return self._pages[number if number >= self._split else tag & (2 * self._mask + 1)]

    def _split_one(self) -> None:
        entries = self._pages[self._split]
        bit = (self._mask + 1) << _ROW_BITS
        self._pages[self._split] = array("q", [entry for entry in entries if not entry & bit])
        self._pages.append(array("q", [entry for entry in entries if entry & bit]))
        self._room += PAGE
        self._split += 1
        if self._split > self._mask:
            self._mask, self._split = 2 * self._mask + 1, 0
