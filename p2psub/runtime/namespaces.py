"""Rows of the store as bytes, and back to what the cores wrote: each namespace has one type of name and one of value.

    row = namespace · name · value · CRC32 of the three

Names and values are MessagePack. A row that was damaged on the disk, or written by a version that knew other
namespaces, is told apart from a good one here, and nowhere else.
"""

from __future__ import annotations

import zlib
from typing import Any, Final

import msgspec

from p2psub.errors import P2psubError
from p2psub.model.changes import Change, ChangeNumber
from p2psub.model.effects import Write
from p2psub.model.ids import ClusterId, Contact, Epoch
from p2psub.model.places import Entry, Table
from p2psub.overlay.hypercube import DIRECTORY_NAMESPACE
from p2psub.super_node.change_set import CHANGE_NAMESPACE

Name = tuple[object, ...]
Row = tuple[str, bytes, bytes, int]

MEMBERSHIP_NAMESPACE: Final = "membership"

_encoder: Final = msgspec.msgpack.Encoder()
_names: Final[dict[str, msgspec.msgpack.Decoder[Any]]] = {
    MEMBERSHIP_NAMESPACE: msgspec.msgpack.Decoder(tuple[str]),
    DIRECTORY_NAMESPACE: msgspec.msgpack.Decoder(tuple[ClusterId]),
    CHANGE_NAMESPACE: msgspec.msgpack.Decoder(ChangeNumber),
}
_values: Final[dict[str, msgspec.msgpack.Decoder[Any]]] = {
    DIRECTORY_NAMESPACE: msgspec.msgpack.Decoder(Entry),
    CHANGE_NAMESPACE: msgspec.msgpack.Decoder(Change),
}
_memberships: Final[dict[Name, msgspec.msgpack.Decoder[Any]]] = {
    ("cluster",): msgspec.msgpack.Decoder(tuple[ClusterId, Epoch]),
    ("contacts",): msgspec.msgpack.Decoder(tuple[Contact, ...]),
    ("table",): msgspec.msgpack.Decoder(Table),
}
"""The one namespace whose rows differ in type."""


class RowDamaged(P2psubError):
    """A row that is not what a core wrote."""


def encode_name(name: Name) -> bytes:
    """A row's name, as the store finds it."""
    return _encoder.encode(name)


def encode_row(write: Write) -> Row:
    """A row ready to be stored."""
    name, value = encode_name(write.name), _encoder.encode(write.value)
    return write.namespace, name, value, _checksum(write.namespace.encode(), name, value)


def decode_row(row: tuple[object, ...]) -> tuple[str, Name, object]:
    """Namespace, name and value of a stored row, whose namespace is bytes; RowDamaged if any is not as written."""
    match row:
        case (bytes(namespace), bytes(name), bytes(value), int(checksum)):
            if checksum != _checksum(namespace, name, value):
                raise RowDamaged("checksum differs")
            return _typed(namespace.decode(), name, value)
        case _:
            raise RowDamaged("columns of other types")


def _typed(namespace: str, name: bytes, value: bytes) -> tuple[str, Name, object]:
    try:
        where: Name = _names[namespace].decode(name)
        decoder = _memberships[where] if namespace == MEMBERSHIP_NAMESPACE else _values[namespace]
        return namespace, where, decoder.decode(value)
    except KeyError as error:
        raise RowDamaged(f"nothing is known of {error} in the namespace {namespace!r}") from error
    except msgspec.MsgspecError as error:
        raise RowDamaged(f"no value of the namespace {namespace!r}: {error}") from error


def _checksum(namespace: bytes, name: bytes, value: bytes) -> int:
    return zlib.crc32(value, zlib.crc32(name, zlib.crc32(namespace)))
