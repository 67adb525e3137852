"""What a frame carries: one MessagePack array [hybrid stamp, steady instant, [message, …]].

Decoding is typed: what is not a message of ours is refused while it is read, before it takes memory. Fields that a
newer node appended to a message are skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, cast

import msgspec

from p2psub.errors import MalformedMessage
from p2psub.model.content import EVENT_BYTES_MAX, Event, Filter
from p2psub.model.instants import Micros, Stamp
from p2psub.model.messages import AnyMessage, Message

START: Final = Micros(0)
"""When the steady clock of a node begins."""
STAMP_MAX: Final = 1 << 62
"""Bound of a stamp's numbers: what a clock adds to them still fits into the 64 bits of the wire."""

CONTENT_BYTES_MAX: Final = 2 * EVENT_BYTES_MAX + 8192
"""What the largest event that applications may publish can take on the wire: one byte of text in a set takes two."""

_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(tuple[Stamp, Micros, list[AnyMessage]])


def encode_batch(messages: Sequence[Message], stamp: Stamp, sent_us: Micros = START) -> bytes:
    """The payload of one frame. Integers must fit into 64 bits and text be valid Unicode: checked where it comes in."""
    return _encoder.encode((stamp, sent_us, messages))


def decode_batch(payload: bytes) -> tuple[list[Message], Stamp, Micros]:
    """The messages of a payload, in the order they were sent, and the sender's two clocks; else MalformedMessage."""
    try:
        stamp, sent_us, messages = _decoder.decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise MalformedMessage(str(error)) from error
    except RecursionError:
        # Our types are a few levels deep; only a skipped field of a newer node can nest further. No cause: it is huge.
        raise MalformedMessage("nested too deeply") from None
    if len(payload) > CONTENT_BYTES_MAX:
        _check_contents(messages)
    if not (0 <= stamp.wall_us < STAMP_MAX and 0 <= stamp.ticks < STAMP_MAX and 0 <= sent_us < STAMP_MAX):
        raise MalformedMessage(f"no clock shows {stamp} or {sent_us}")
    return cast("list[Message]", messages), stamp, sent_us


def _check_contents(parts: Iterable[object]) -> None:
    """No event or filter may be larger than an application can make it: others would have to store and carry it."""
    for part in parts:
        if isinstance(part, Event | Filter):
            if len(_encoder.encode(part)) > CONTENT_BYTES_MAX:
                raise MalformedMessage(f"{type(part).__name__} of more than {CONTENT_BYTES_MAX} bytes")
        elif isinstance(part, msgspec.Struct):
            _check_contents([getattr(part, name) for name in part.__struct_fields__])
        elif isinstance(part, tuple):
            _check_contents(part)
