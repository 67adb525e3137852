"""Packs of the store's log as rows, and back: a head and a body, each with a checksum of its own.

    head row = number · head · CRC32 of both          body row = number · body · CRC32 of both

Heads and bodies are MessagePack. A body that was damaged on the disk costs that body alone: its head still says what it
held, and other peers hold copies.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from p2psub.model.effects import Pack
from p2psub.model.messages.pubsub import OwedHead
from p2psub.model.parcels import Parcel
from p2psub.runtime.namespaces import RowDamaged

PackRow = tuple[int, bytes, int]
PackRows = tuple[PackRow, PackRow]
"""Head and body."""

_SEED: Final = 0xFFFFFFFF
"""A checksum begins with the number, as far as it fits: a part that lies under another number has another one."""


class PackCodec:
    """Writes packs, and reads heads and bodies of these types."""

    __slots__ = ("_body", "_encoder", "_head")

    def __init__(self, head: Any, body: Any) -> None:
        self._encoder = msgspec.msgpack.Encoder()
        self._head: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(head)
        self._body: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(body)

    def rows_of(self, packs: Iterable[Pack]) -> Iterator[tuple[int, PackRows]]:
        """Packs, ready to be stored, by their numbers."""
        # Nothing is called for each but what is needed: a pack may be as small as one event.
        encode, checksum = self._encoder.encode, zlib.crc32
        for pack in packs:
            number, head, body = pack.number, encode(pack.head), encode(pack.body)
            seed = number & _SEED
            yield number, ((number, head, checksum(head, seed)), (number, body, checksum(body, seed)))

    def head_of(self, row: tuple[Any, ...]) -> object:
        """The head in a row that SQLite found; RowDamaged if it is not as written."""
        return _decoded(self._head, row)

    def body_of(self, row: tuple[Any, ...]) -> object:
        """The body in a row that SQLite found; RowDamaged if it is not as written."""
        return _decoded(self._body, row)


OWED_PACKS: Final = PackCodec(OwedHead, Parcel)
"""What owners and holders put into the log."""


def _decoded(decoder: msgspec.msgpack.Decoder[Any], row: tuple[Any, ...]) -> object:
    number, part, checksum = row
    if not isinstance(part, bytes):
        raise RowDamaged("columns of other types")
    if checksum != zlib.crc32(part, number & _SEED):
        raise RowDamaged("checksum differs")
    try:
        return decoder.decode(part)
    except msgspec.MsgspecError as error:
        raise RowDamaged(f"no part of a pack: {error}") from error
