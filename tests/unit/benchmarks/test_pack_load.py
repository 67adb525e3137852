"""The packs that the store is measured with are those that a peer would make of such a stream."""

from __future__ import annotations

import pytest

from p2psub.bench.pack_load import CODEC, PackBody, PackHead, PackLoad, events_per_pack


@pytest.mark.parametrize(("publishers", "expected"), [(1, 256), (4, 256), (64, 16), (1000, 1), (5000, 1)])
def test_many_publishers_make_small_packs(publishers: int, expected: int) -> None:
    """One signature covers 256 events of one publisher at most, and a publisher's pack has one at least."""
    assert events_per_pack(publishers, 1024) == expected


def test_a_load_has_all_its_events_in_numbered_packs() -> None:
    """Steps bring as many as asked for, the last one the rest; sequence numbers have no gap."""
    steps = list(PackLoad(25, 4, 10, 0).steps())
    packs = [pack for step in steps for pack in step]
    heads = [pack.head for pack in packs if isinstance(pack.head, PackHead)]
    assert [sum(head.count for head in heads[at : at + 3]) for at in (0, 3, 6)] == [10, 10, 5]
    assert [len(step) for step in steps] == [3, 3, 2]
    assert [pack.number for pack in packs] == list(range(1, 9))
    assert [head.first for head in heads] == [1, 5, 9, 11, 15, 19, 21, 25]


def test_packs_survive_the_disk() -> None:
    """Head and body come back as they were."""
    (pack,) = next(PackLoad(9, 9, 9, 10).steps())
    ((_, (head, body)),) = CODEC.rows_of([pack])
    assert (CODEC.head_of(head), CODEC.body_of(body)) == (pack.head, pack.body)
    assert isinstance(pack.body, PackBody)
