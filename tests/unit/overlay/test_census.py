"""The census: how many members there were lately, as far as a new super-node can know."""

from __future__ import annotations

import msgspec

from p2psub.model.places import Table
from p2psub.overlay.census import Census
from tests.unit.bench import CONFIG, at, epoch, node_at, report_of, step_at, table_of

TERM = epoch(2, 100)
SIX = 2 * CONFIG.pubsub.copies


def census_of(*known: int, met: Table | None = None, assumed_min: int = 0) -> Census:
    """The census of the node at 100 as its term begins."""
    return Census(step_at(100), CONFIG.cluster, TERM, [at(place) for place in known], met, assumed_min)


def tell(census: Census, place: int, met: Table | None, *, lately: bool = False) -> None:
    """A member reports whom it met in the term before."""
    contact, heartbeat = report_of(place)
    census.note(contact, msgspec.structs.replace(heartbeat, met=met, met_lately=lately))


def test_absent_members_that_others_counted_count_though_no_table_names_them() -> None:
    """One that joined beyond a cut, and fell there, holds no keys; but it was seen."""
    census = census_of(20, 100, met=table_of(20, 100))
    tell(census, 20, table_of(20, seen=4))
    assert census.count == 4


def test_node_with_an_old_word_assumes_more_than_it_knows() -> None:
    """Members may have joined beyond the cut that kept the word away."""
    assert census_of(20, 100, met=table_of(20, 100), assumed_min=SIX).count == SIX


def test_fresh_word_of_one_member_ends_the_assumption() -> None:
    """It names all members but those that joined a moment ago."""
    census = census_of(20, 30, 100, met=table_of(20, 30, 100), assumed_min=SIX)
    tell(census, 20, table_of(20, 30, 40))
    assert census.count == SIX
    tell(census, 40, table_of(20, 30, 40), lately=True)
    assert census.count == 4


def test_words_of_all_that_were_ever_named_end_the_assumption() -> None:
    """A newcomer was let in by one of them, or by another newcomer, who is named and must tell too."""
    census = census_of(20, 100, met=table_of(20, 100), assumed_min=SIX)
    tell(census, 20, table_of(20, 40))
    assert census.count == SIX
    tell(census, 40, table_of(20, 40))
    assert census.count == 3


def test_member_that_has_forgotten_ends_no_assumption() -> None:
    """Nor when it leaves: it may have let in another, which is still there."""
    census = census_of(20, 30, 100, met=table_of(20, 30, 100), assumed_min=SIX)
    tell(census, 20, None)
    census.dismiss(node_at(20))
    tell(census, 30, table_of(20, 30, 100))
    assert census.count == SIX - 1


def test_super_node_that_has_forgotten_is_no_witness_itself() -> None:
    """It may have let in others in the term before."""
    census = census_of(20, 100, assumed_min=SIX)
    tell(census, 20, table_of(20, 100))
    assert census.count == SIX


def test_newcomer_need_not_remember() -> None:
    """No member that met it before waits for its word."""
    census = census_of(20, 100, met=table_of(20, 100), assumed_min=SIX)
    tell(census, 50, None)
    tell(census, 20, table_of(20, 100))
    assert census.count == 3


def part(census: Census, *heard: int, ticks: int = CONFIG.cluster.lease_ticks + 1) -> None:
    """Let a super-node hear these members alone for longer than a lease."""
    for _ in range(ticks):
        census._step.tick += 1
        census.review([node_at(place) for place in heard], SIX)


def test_super_node_without_a_majority_for_a_lease_doubts_its_count() -> None:
    """The others may have elected another, and let in members that it does not meet."""
    census = census_of(20, 30, 100, met=table_of(20, 30, 100))
    part(census, 20)
    assert census.count == 3
    part(census, ticks=CONFIG.cluster.lease_ticks)
    assert census.count == 3
    part(census, ticks=1)
    assert census.count == SIX


def test_doubts_end_when_all_are_back_that_remember_only_this_term() -> None:
    """In the same process, or in a new one with its disk; a process without its disk may have met others before."""
    census = census_of(20, 30, 100, met=table_of(20, 30, 100))
    tell(census, 20, None)
    tell(census, 30, None)
    part(census)
    tell(census, 20, None)
    contact, forgetful = report_of(30, incarnation=2)
    census.note(contact, forgetful)
    census.note(contact, forgetful)
    assert census.count == SIX
    census.note(contact, msgspec.structs.replace(forgetful, incarnation=3, met=table_of(20, 30, 100, term=TERM)))
    assert census.count == 3
