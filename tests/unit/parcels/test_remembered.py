"""Remembering costs little: the bytes that a process grows by, measured in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

EVENTS = 1_000_000
GROWTH = f"""
import gc, random, resource
from p2psub.model.ids import EventId, NodeId
from p2psub.parcels.remembered import Remembered

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()

def note(first, last, share):
    for number in range(first, last):
        if rng.random() < share:
            memory.note(EventId(node, 1, number), 1, "label", number * 100)

node, rng = NodeId(bytes(20)), random.Random(0)
memory = Remembered(3_600_000_000)
note(0, 100_000, 1.0)
gc.collect()
before = resident()
note(100_000, {EVENTS} + 100_000, SHARE)
gc.collect()
print(resident() - before)
"""
"""A publisher of 10,000 events a second: how much its memory grows, after the allocator has got its first pages."""


@pytest.mark.parametrize(("share", "bytes_max"), [("1.0", 1.0), ("0.01", 16.0)])
def test_a_stream_is_remembered_in_few_bytes(share: str, bytes_max: float) -> None:
    """Less than one for each event of a steady stream, at most 16 where one in a hundred concerns us."""
    code = GROWTH.replace("SHARE", share)
    grown = int(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)
    assert grown / (EVENTS * float(share)) < bytes_max, grown
