"""Rows found by a hash, at a sixth of what a dict takes: what they are found by is known of the row, and not held again.

A page holds some entries in order, each a part of the hash and a row. When pages get too full on average, one of them
is split in two, and the next time the next one (linear hashing, Litwin 1980): growing never makes anybody wait.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from typing import Final

from p2psub.matching.buckets import RowNumber

PAGE: Final = 48
"""Entries of a page on average, at most: more take less room each, and longer to move aside."""
_TAG: Final = (1 << 31) - 1
"""The bits of a hash that are kept. What they tell apart wrongly, whoever asks finds out by looking at the row."""
_ROW: Final = (1 << 32) - 1


class Pages:
    """Rows by hash; one hash may have several, and a row several hashes."""

    __slots__ = ("_count", "_pages", "_split", "_width")

    def __init__(self) -> None:
        self._pages = [array("q")]
        self._width = 1
        """Pages before the current round of splitting, a power of two."""
        self._split = 0
        """Pages that this round has split."""
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def rows(self, hash_: int) -> list[RowNumber]:
        """The rows that may have been put under this hash: all that were, and rarely another one."""
        tag = hash_ & _TAG
        page = self._page(tag)
        at = bisect_left(page, tag << 32)
        found: list[RowNumber] = []
        while at < len(page) and page[at] >> 32 == tag:
            found.append(page[at] & _ROW)
            at += 1
        return found

    def put(self, hash_: int, row: RowNumber) -> None:
        """Let a row be found by a hash."""
        tag = hash_ & _TAG
        insort(self._page(tag), tag << 32 | row)
        self._count += 1
        if self._count > PAGE * len(self._pages):
            self._split_one()

    def take_out(self, hash_: int, row: RowNumber) -> None:
        """Undo `put`. Pages stay; what is put in later fills them."""
        tag = hash_ & _TAG
        page = self._page(tag)
        del page[bisect_left(page, tag << 32 | row)]
        self._count -= 1

    def _page(self, tag: int) -> array[int]:
        number = tag & (self._width - 1)
        return self._pages[tag & (2 * self._width - 1) if number < self._split else number]

    def _split_one(self) -> None:
        entries = self._pages[self._split]
        bit = self._width << 32
        self._pages[self._split] = array("q", [entry for entry in entries if not entry & bit])
        self._pages.append(array("q", [entry for entry in entries if entry & bit]))
        self._split += 1
        if self._split == self._width:
            self._width, self._split = 2 * self._width, 0
