"""The roster: who may hold keys, who would succeed, and how many copies the cluster could bear."""

from __future__ import annotations

import msgspec

from p2psub.model.places import Table
from p2psub.overlay.census import Census
from p2psub.overlay.roster import Roster
from tests.unit.bench import CONFIG, at, epoch, node_at, report_of, step_at, table_of


def roster_of(*places: int, scores: dict[int, float] | None = None) -> Roster:
    """A roster of the node at 100 whose members have reported, ranked once."""
    roster = roster_knowing()
    for place in places:
        roster.note(*report_of(place, score=(scores or {}).get(place, 1.0)))
    rank(roster)
    return roster


def roster_knowing(*places: int, met: Table | None = None) -> Roster:
    """The roster of the node at 100 as its term begins."""
    step = step_at(100)
    census = Census(step, CONFIG.cluster, epoch(2, 100), [at(place) for place in places], met)
    return Roster(step, CONFIG.cluster, CONFIG.pubsub.copies, census)


def rank(roster: Roster) -> None:
    """Let the ranking take place."""
    for _ in range(4):
        roster._step.tick += 1
        roster.tick()


def test_member_is_new_when_it_first_reports_and_in_every_new_incarnation() -> None:
    """Only then must what it had be forgotten."""
    roster = roster_knowing()
    incarnations = (1, 1, 2, 2)
    assert [roster.note(*report_of(5, incarnation=n)) for n in incarnations] == [True, False, True, False]


def test_owners_are_the_members_in_the_ring_and_ourselves_clockwise() -> None:
    """A member that is not in the ring yet could not be found there by anybody."""
    roster = roster_of(200, 50)
    roster.note(*report_of(150, in_ring=False))
    assert roster.owners() == [at(50), at(100), at(200)]
    roster.note(*report_of(150))
    assert roster.owners() == [at(50), at(100), at(150), at(200)]


def test_candidates_are_the_most_capable_in_the_ring() -> None:
    """Who is out of the ring does not succeed, however capable."""
    roster = roster_of(10, 20, 30, scores={10: 0.5, 20: 2.0, 30: 1.5})
    assert roster.candidates == [at(20), at(30)]
    roster.note(*report_of(20, score=2.0, in_ring=False))
    rank(roster)
    assert roster.candidates == [at(30), at(10)]


def test_equals_do_not_displace_candidates() -> None:
    """Candidates hold the state: an equal newcomer would only have to be filled."""
    roster = roster_of(20, 30)
    roster.note(*report_of(10))
    rank(roster)
    assert roster.candidates == [at(20), at(30)]


def test_candidates_keep_their_rank_while_scores_waver() -> None:
    """Neither among themselves nor towards others does a little more count: each change would cost a transfer."""
    roster = roster_of(20, 30, 40, scores={20: 2.0, 30: 1.9, 40: 1.8})
    for scores in ((1.9, 2.2, 2.25), (2.0, 1.7, 2.0), (1.9, 2.2, 2.25)):
        for place, score in zip((20, 30, 40), scores, strict=True):
            roster.note(*report_of(place, score=score))
        rank(roster)
        assert roster.candidates == [at(20), at(30)]


def test_a_far_better_member_takes_the_rank_it_deserves() -> None:
    """By more than a fifth, over whomever it surpasses by that much."""
    roster = roster_of(20, 30, 40, scores={20: 2.0, 30: 1.5, 40: 1.0})
    roster.note(*report_of(40, score=1.9))
    rank(roster)
    assert roster.candidates == [at(20), at(40)]
    roster.note(*report_of(40, score=2.5))
    rank(roster)
    assert roster.candidates == [at(40), at(20)]


def test_dead_member_is_no_candidate_at_once() -> None:
    """And no owner; but it was seen, so the bar for copies stays."""
    roster = roster_of(20, 30, 40)
    roster.drop(node_at(20))
    assert roster.candidates == [at(30)]
    assert at(20) not in roster.owners()
    assert roster.seen == 4


def test_members_count_as_seen_for_a_while_and_not_for_ever() -> None:
    """Ten minutes; then the cluster may acknowledge with fewer copies."""
    roster = roster_of(20, 30)
    roster.drop(node_at(20))
    for _ in range(CONFIG.cluster.seen_ticks - 10):
        roster._step.tick += 1
        roster.tick()
    assert roster.seen == 3
    roster.note(*report_of(30))
    for _ in range(200):
        roster._step.tick += 1
        roster.tick()
    assert roster.seen == 2


def test_new_term_counts_those_it_knew_of_as_seen() -> None:
    """They may be on the other side of a cut; nobody is a member before it reports."""
    roster = roster_knowing(1, 2, 3, 100)
    assert roster.seen == 4
    assert roster.owners() == [at(100)]


def test_small_ring_is_handed_out_up_to_one_more_than_the_successors() -> None:
    """Zave's rules need r + 1 principals: the last list handed out makes them."""
    assert roster_of(20, 200).small_ring(3) == (at(20), at(100), at(200))
    assert roster_of(20, 30, 200).small_ring(3) == (at(20), at(30), at(100), at(200))
    assert roster_of(20, 30, 40, 200).small_ring(3) == ()


def test_unfit_member_is_never_a_candidate() -> None:
    """A score below zero says that it may not lead."""
    roster = roster_of(10, 20, scores={10: -1.0, 20: 0.0})
    assert roster.candidates == [at(20)]


def test_member_that_left_is_not_counted_on() -> None:
    """Unlike one that died: the bar for copies falls with it."""
    roster = roster_of(20, 30, 40)
    roster.drop(node_at(20))
    assert roster.seen == 4
    roster.dismiss(node_at(30))
    assert roster.seen == 3
    assert roster.owners() == [at(40), at(100)]


def test_super_node_that_hears_none_of_its_members_knows_it() -> None:
    """Not while they may not have heard of its term yet, and not if there is nobody to hear."""
    roster = roster_knowing(20, 100)
    heard = []
    for _ in range(10):
        roster._step.tick += 1
        roster.tick()
        heard.append(roster.hears_no_member)
    assert heard == [False] * 8 + [True] * 2
    roster.note(*report_of(20))
    reporting = roster.hears_no_member
    roster.drop(node_at(20))
    dropped = roster.hears_no_member
    roster.dismiss(node_at(20))
    assert (reporting, dropped, roster.hears_no_member) == (False, True, False)


def test_leavers_hold_no_keys_and_no_copy_is_expected_of_them() -> None:
    """As long as those that stay are enough for the copies that the budget asks for."""
    roster = roster_of(20, 30, 40, 50)
    roster.note(*report_of(20, leaving=True))
    roster.note(*report_of(50, leaving=True))
    assert roster.owners() == [at(30), at(40), at(100)]
    assert roster.seen == 3


def test_leavers_hold_keys_while_the_others_are_too_few() -> None:
    """Of three that leave at once one goes first: the other two may not, for one of three may fail any time."""
    roster = roster_of(20, 30)
    roster.note(*report_of(20, leaving=True))
    roster.note(*report_of(30, leaving=True))
    assert (roster.owners(), roster.seen) == ([at(20), at(100)], 2)
    roster.dismiss(node_at(30))
    assert (roster.owners(), roster.seen) == ([at(100)], 1)


def test_leaver_that_dies_counts_as_seen_again() -> None:
    """It has not given away what it held."""
    roster = roster_of(20, 30)
    roster.note(*report_of(20, leaving=True))
    assert roster.seen == 2
    roster.drop(node_at(20))
    assert roster.seen == 3


def test_leavers_are_the_last_candidates() -> None:
    """They lead only if no other can, however capable they are."""
    roster = roster_of(20, 30, scores={20: 9.0, 30: 1.0})
    roster.note(*report_of(20, score=9.0, leaving=True))
    rank(roster)
    assert roster.candidates == [at(30), at(20)]


def test_member_that_was_known_from_the_beginning_takes_its_count_with_it() -> None:
    """A newcomer was not among those that a new super-node must assume."""
    roster = roster_knowing(20, 100, met=table_of(20, 100, seen=4))
    roster.note(*report_of(30))
    roster.dismiss(node_at(30))
    assert roster.seen == 4
    roster.dismiss(node_at(20))
    assert roster.seen == 3


def test_super_node_is_the_last_when_nobody_else_is_seen_or_heard() -> None:
    """Not while members may not have heard of its term yet."""
    assert roster_knowing(100).is_last
    roster = roster_knowing(20, 100)
    early = roster.is_last
    roster._step.tick += 9
    late = roster.is_last
    roster.note(*report_of(20, leaving=True))
    assert (early, late, roster.is_last) == (False, True, False)


def test_members_that_others_met_in_the_term_before_count_as_seen() -> None:
    """One that joined beyond a cut may still be there, though the new super-node never heard of it."""
    roster = roster_of(20)
    contact, heartbeat = report_of(30)
    roster.note(contact, msgspec.structs.replace(heartbeat, met=table_of(30, 40)))
    assert roster.seen == 4
    assert roster.owners() == [at(20), at(30), at(100)]
