"""Rows found by a tag, against a plain list of what was put in."""

from __future__ import annotations

from random import Random

from p2psub.matching.pages import PAGE, Pages


def test_every_row_is_found_by_its_tag_while_pages_split() -> None:
    """Whatever was put in and not taken out is found, at every size; equal tags too."""
    random, pages = Random(5), Pages(int.__eq__)
    held: list[tuple[int, int]] = []
    for row in range(20 * PAGE):
        tag = random.choice([random.getrandbits(32), random.randrange(50), 2**32 - 1 - random.randrange(50)])
        pages.put(tag, row)
        held.append((tag, row))
        if row % 3 == 0:
            pages.take_out(*held.pop(random.randrange(len(held))))
        if row % PAGE == 0:
            assert all(pages.find(tag, row) == row for tag, row in held)
    assert len(pages) == len(held)
    for tag, row in held:
        assert pages.pop(tag, row) == row
    assert not len(pages)
    assert not any(pages.find(tag, row) for tag, row in held)


def test_a_tag_leads_to_few_others() -> None:
    """Rows of other tags are hardly ever looked at."""
    looked_at: list[int] = []

    def is_of(row: int, _: None) -> bool:
        looked_at.append(row)
        return False

    random, pages = Random(6), Pages(is_of)
    for row in range(20 * PAGE):
        pages.put(random.getrandbits(32), row)
    for _ in range(1_000):
        assert pages.find(random.getrandbits(32), None) is None
    assert len(looked_at) <= 2
