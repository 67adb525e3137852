"""Rows found by a hash, against a plain list of what was put in."""

from __future__ import annotations

from random import Random

from p2psub.matching.pages import PAGE, Pages


def test_every_row_is_found_by_its_hash_while_pages_split() -> None:
    """Whatever was put in and not taken out is found, at every size; negative and equal hashes too."""
    random, pages = Random(5), Pages()
    held: list[tuple[int, int]] = []
    for row in range(20 * PAGE):
        hash_ = random.choice([random.getrandbits(64) - 2**63, random.randrange(-50, 50)])
        pages.put(hash_, row)
        held.append((hash_, row))
        if row % 3 == 0:
            pages.take_out(*held.pop(random.randrange(len(held))))
        if row % PAGE == 0:
            assert all(row in pages.rows(hash_) for hash_, row in held)
    assert len(pages) == len(held)
    for hash_, row in held:
        pages.take_out(hash_, row)
    assert not len(pages)
    assert not any(pages.rows(hash_) for hash_, _ in held)


def test_a_hash_leads_to_few_others() -> None:
    """Rows of other hashes are hardly ever looked at."""
    random, pages = Random(6), Pages()
    for row in range(20 * PAGE):
        pages.put(random.getrandbits(60), row)
    assert sum(len(pages.rows(random.getrandbits(60))) for _ in range(1_000)) <= 2
