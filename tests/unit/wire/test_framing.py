"""Frames survive any splitting of the stream, and nothing else does."""

from __future__ import annotations

import struct
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2psub.errors import FrameError, OversizedFrame
from p2psub.wire.framing import HEADER_BYTES, MAGIC, MAGIC_MORE, PAYLOAD_BYTES_MAX, FrameReader, frame, frames

KIB = 1024


@given(st.lists(st.binary(max_size=200), max_size=6), st.data())
def test_splitting_does_not_matter(payloads: list[bytes], data: st.DataObject) -> None:
    """However a stream is cut into pieces, the reader gives back the payloads in order."""
    stream = b"".join(map(frame, payloads))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))
    reader = FrameReader()
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert [payload for piece in pieces for payload in reader.feed(piece)] == payloads
    assert reader.pending_bytes == 0


def test_byte_by_byte() -> None:
    """A frame is complete with its last byte and not before."""
    reader = FrameReader()
    whole = frame(b"payload")
    assert [reader.feed(bytes([byte])) for byte in whole] == [[]] * (len(whole) - 1) + [[b"payload"]]


def test_coalesced_frames_come_out_together() -> None:
    """One piece may complete many frames and begin another."""
    reader = FrameReader()
    assert reader.feed(frame(b"a") + frame(b"") + frame(b"b") + frame(b"c")[:5]) == [b"a", b"", b"b"]
    assert reader.pending_bytes == 5
    assert reader.feed(frame(b"c")[5:]) == [b"c"]


def test_every_corrupted_byte_is_noticed() -> None:
    """Whichever bit flips, no wrong payload comes out, and at latest one cap further down the stream breaks."""
    cap = KIB
    good = frame(b"some payload", cap)
    behind = frame(bytes(cap), cap) * 2
    for place in range(len(good)):
        for bit in range(8):
            bad = bytearray(good)
            bad[place] ^= 1 << bit
            with pytest.raises(FrameError):
                FrameReader(cap).feed(bytes(bad) + behind)


def test_a_broken_stream_stays_broken() -> None:
    """After an error not even a good frame is taken: its place in the stream is unknown."""
    reader = FrameReader()
    with pytest.raises(FrameError):
        reader.feed(b"GET / HTTP/1.1\r\n")
    with pytest.raises(FrameError):
        reader.feed(frame(b"good"))


def test_wrong_magic_is_noticed_at_its_first_byte() -> None:
    """A stranger is shown the door before it sent a whole header."""
    with pytest.raises(FrameError):
        FrameReader().feed(b"\x16")


@pytest.mark.parametrize("length", [PAYLOAD_BYTES_MAX + 1, 2**31, 2**32 - 1])
def test_oversized_length_allocates_nothing(length: int) -> None:
    """A length above the cap is refused on sight of the header, without memory for the payload."""
    reader = FrameReader()
    header = struct.pack(">2sII", MAGIC, length, 0)
    tracemalloc.start()
    try:
        with pytest.raises(OversizedFrame):
            reader.feed(header)
        assert tracemalloc.get_traced_memory()[1] < 16 * KIB
    finally:
        tracemalloc.stop()


def test_the_cap_itself_is_taken() -> None:
    """A payload of exactly the cap passes, one byte more does not."""
    assert FrameReader(10).feed(frame(bytes(10))) == [bytes(10)]
    with pytest.raises(OversizedFrame):
        FrameReader(10).feed(frame(bytes(11)))


def test_an_unfinished_frame_holds_no_more_than_itself() -> None:
    """A slow sender costs the bytes it sent, not the bytes it announced."""
    reader = FrameReader()
    whole = frame(bytes(PAYLOAD_BYTES_MAX))
    tracemalloc.start()
    try:
        reader.feed(whole[: HEADER_BYTES + KIB])
        assert tracemalloc.get_traced_memory()[1] < 16 * KIB
    finally:
        tracemalloc.stop()
    assert reader.feed(whole[HEADER_BYTES + KIB :]) == [bytes(PAYLOAD_BYTES_MAX)]


def test_framing_too_much_is_our_own_bug() -> None:
    """We do not send what nobody would take."""
    with pytest.raises(AssertionError):
        frame(bytes(11), 10)


@given(st.lists(st.binary(max_size=100), max_size=4), st.data())
def test_payloads_in_several_frames_come_out_whole(payloads: list[bytes], data: st.DataObject) -> None:
    """However long they are, whatever follows them, and however the stream is cut."""
    stream = b"".join(part for payload in payloads for part in frames(payload, 16))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))
    reader = FrameReader(16, 100)
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert [payload for piece in pieces for payload in reader.feed(piece)] == payloads
    assert reader.pending_bytes == reader.begun_bytes == 0


def test_a_payload_in_several_frames_has_its_bound() -> None:
    """It is refused with the header that would exceed it; by whoever wants none such, with the first."""
    stream = frames(bytes(40), 16)
    reader = FrameReader(16, 39)
    assert [reader.feed(part) for part in stream[:2]] == [[], []]
    assert reader.pending_bytes == reader.begun_bytes == 32
    with pytest.raises(OversizedFrame):
        reader.feed(stream[2][:HEADER_BYTES])
    with pytest.raises(OversizedFrame):
        FrameReader(16).feed(stream[0][:HEADER_BYTES])


@pytest.mark.parametrize("length", [0, 1, 15])
def test_only_a_full_frame_goes_on(length: int) -> None:
    """Else a sender could keep us busy with frames that bring nothing."""
    with pytest.raises(FrameError):
        FrameReader(16, 100).feed(struct.pack(">2sII", MAGIC_MORE, length, 0))
