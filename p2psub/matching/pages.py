"""Rows found by a hash, at a sixth of what a dict takes: what they are found by is known of the row, not held again.

A page holds some entries in order, each a part of the hash and a row. When pages get too full on average, one of them
is split in two, and the next time the next one (linear hashing, Litwin 1980): growing never makes an insertion wait.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from p2psub.matching.buckets import RowNumber

PAGE: Final = 128
"""Entries of a page on average, at most: more take less room each, and longer to search."""
Tag = int
"""The 32 bits of a hash that are kept. What they do not tell apart, a look at the row does."""
_ROW_BITS: Final = 32
_ROW: Final = (1 << _ROW_BITS) - 1
Sought = TypeVar("Sought")


class Pages(Generic[Sought]):
    """Rows by tag; one tag may have several, and a row several tags. `is_of` says whether a row is what is sought."""

    __slots__ = ("_count", "_half", "_is_of", "_mask", "_pages", "_room")

    def __init__(self, is_of: Callable[[RowNumber, Sought], bool]) -> None:
        self._is_of = is_of
        self._pages = [array("Q")]
        self._mask, self._half = 1, 0
        """The bits of a tag that tell the page of an entry; and one less, for where that page was not split yet."""
        self._room = PAGE
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def find(self, tag: Tag, sought: Sought) -> RowNumber | None:
        """The row that was put under this tag and is what is sought, if there is one."""
        place = self._place(tag, sought)
        return None if place is None else place[0][place[1]] & _ROW

    def pop(self, tag: Tag, sought: Sought) -> RowNumber | None:
        """The same, and it is found no more. Pages stay; what is put in later fills them."""
        place = self._place(tag, sought)
        if place is None:
            return None
        self._count -= 1
        return place[0].pop(place[1]) & _ROW

    def _place(self, tag: Tag, sought: Sought) -> tuple[array[int], int] | None:
        number = tag & self._mask
        page = self._pages[number if number < len(self._pages) else number & self._half]
        at = bisect_left(page, tag << _ROW_BITS)
        while at < len(page) and page[at] >> _ROW_BITS == tag:
            if self._is_of(page[at] & _ROW, sought):
                return page, at
            at += 1
        return None

    def put(self, tag: Tag, row: RowNumber) -> None:
        """Let a row be found by a tag."""
        number = tag & self._mask
        page = self._pages[number if number < len(self._pages) else number & self._half]
        entry = tag << _ROW_BITS | row
        page.insert(bisect_left(page, entry), entry)
        self._count += 1
        if self._count > self._room:
            self._split()

    def take_out(self, tag: Tag, row: RowNumber) -> None:
        """Undo `put`."""
        number = tag & self._mask
        page = self._pages[number if number < len(self._pages) else number & self._half]
        del page[bisect_left(page, tag << _ROW_BITS | row)]
        self._count -= 1

    def _split(self) -> None:
        """Split the page whose turn it is in two."""
        new = len(self._pages)
        old, bit = new & self._half, self._half + 1 << _ROW_BITS
        entries = self._pages[old]
        self._pages[old] = array("Q", [entry for entry in entries if not entry & bit])
        self._pages.append(array("Q", [entry for entry in entries if entry & bit]))
        self._room += PAGE
        if new == self._mask:
            self._half, self._mask = self._mask, 2 * self._mask + 1
