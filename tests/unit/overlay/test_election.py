"""Who leads: epochs are totally ordered, the highest stands, and a term is never numbered twice."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from p2psub.model.effects import Persist, Write
from p2psub.model.ids import ClusterId, Contact, Epoch
from p2psub.model.messages.cluster import Takeover
from p2psub.overlay.election import NO_EPOCH, Election
from tests.unit.bench import CLUSTER, CONFIG, at, epoch, make_durable, node_at, step_at

EPOCHS = st.builds(epoch, st.integers(1, 4), st.integers(0, 5), st.integers(1, 3))


def election_at(place: int) -> Election:
    """The opinion of a node that has heard nothing yet."""
    return Election(step_at(place), CONFIG.cluster)


def leader(term: Epoch) -> Contact:
    """Who leads in a term."""
    return at(term.node[0])


@given(st.lists(EPOCHS, min_size=1, max_size=6), st.data())
def test_highest_epoch_stands_in_whatever_order_terms_are_heard_of(terms: list[Epoch], data: st.DataObject) -> None:
    """All members that have heard of the same terms follow the same super-node."""
    opinions = []
    for order in (terms, data.draw(st.permutations(terms))):
        election = election_at(200)
        for term in order:
            election.follow(CLUSTER, term, leader(term))
        opinions.append((election.epoch, election.super_node))
    assert opinions[0] == opinions[1] == (max(terms), leader(max(terms)))


@given(st.lists(EPOCHS, unique=True, min_size=2, max_size=5))
def test_epochs_are_totally_ordered(terms: list[Epoch]) -> None:
    """Of two different terms exactly one is higher, and all are above none."""
    for one, other in permutations(terms, 2):
        assert (one < other) != (other < one)
        assert one > NO_EPOCH


@given(EPOCHS)
def test_new_term_is_above_every_epoch_heard_of(heard: Epoch) -> None:
    """Also above one that was only remembered from before a restart; and it names this very process."""
    election = election_at(3)
    election.recover(CLUSTER, heard)
    assert not election.is_super_node
    election.lead(CLUSTER)
    assert election.epoch > heard
    assert election.epoch == Epoch(heard.counter + 1, node_at(3), 1)
    assert election.is_super_node


def test_epoch_is_durable_before_the_next_step() -> None:
    """A restarted node must not number under an old epoch again."""
    election = election_at(3)
    election.lead(CLUSTER)
    (persist,) = [effect for effect in make_durable(election._step) if isinstance(effect, Persist)]
    assert persist.writes == [Write("membership", ("cluster",), (CLUSTER, epoch(1, 3)))]


def test_super_node_steps_down_for_a_higher_term_only() -> None:
    """A lower one, or one of another cluster, changes nothing."""
    election = election_at(3)
    election.recover(CLUSTER, epoch(4, 3))
    election.lead(CLUSTER)
    assert not election.follow(CLUSTER, epoch(4, 9), at(9))
    assert not election.follow(ClusterId("other"), epoch(9, 9), at(9))
    before = election.is_super_node
    assert election.follow(CLUSTER, epoch(5, 9), at(9))
    assert (before, election.is_super_node) == (True, False)
    assert election.announcement() == Takeover(CLUSTER, epoch(5, 9), at(9))


def test_same_term_heard_again_changes_nothing_but_ends_a_vacancy() -> None:
    """A super-node that was thought dead and speaks again is followed again."""
    election = election_at(3)
    assert election.follow(CLUSTER, epoch(1, 9), at(9))
    assert not election.follow(CLUSTER, epoch(1, 9), at(9))
    election.vacate(node_at(9))
    assert election.is_vacant
    assert election.follow(CLUSTER, epoch(1, 9), at(9))
    assert not election.is_vacant


def test_only_the_death_of_the_super_node_makes_a_vacancy() -> None:
    """Somebody else's does not, and nobody declares himself dead."""
    election = election_at(3)
    election.follow(CLUSTER, epoch(1, 9), at(9))
    election.vacate(node_at(8))
    assert not election.is_vacant
    election.lead(CLUSTER)
    election.vacate(node_at(3))
    assert election.is_super_node


def turn_of(place: int, *, hears_anybody: bool = True, ticks: int = 200) -> int:
    """After how many ticks of the vacancy a member takes over; candidates are 7 and 5, members 2 and 3 besides."""
    election = election_at(place)
    election.follow(CLUSTER, epoch(1, 9), at(9))
    election.candidates = (at(7), at(5))
    election.vacate(node_at(9))
    members = [at(n) for n in (2, 3, 5, 7)]
    return next(n for n in range(1, ticks) if election.is_my_turn(members, hears_anybody))


def test_candidates_take_over_in_their_order_and_then_everybody_else() -> None:
    """The first at once, each rank below a little later: usually one takes over."""
    wait = CONFIG.cluster.succession_ticks
    assert [turn_of(place) for place in (7, 5, 2, 3)] == [1, 1 + wait, 1 + 2 * wait, 1 + 3 * wait]


def test_candidates_are_in_sync_for_a_lease_after_they_were_named() -> None:
    """Longer than a failover takes. Later their super-node may go on beyond a cut, without them."""
    election = election_at(3)
    election.name((at(3),))
    election._step.tick += CONFIG.cluster.lease_ticks
    assert election.is_fresh
    election._step.tick += 1
    assert not election.is_fresh


def test_who_hears_nobody_waits_much_longer() -> None:
    """It was probably cut off itself; the others have their super-node or will elect one."""
    assert turn_of(7, hears_anybody=False) > turn_of(3) + CONFIG.cluster.lease_ticks


def test_two_who_take_over_at_once_agree_when_they_meet() -> None:
    """Both terms have the same counter; node ids decide, the same way at both."""
    low, high = election_at(3), election_at(5)
    for election in (low, high):
        election.follow(CLUSTER, epoch(1, 9), at(9))
        election.lead(CLUSTER)
    assert low.follow(CLUSTER, high.epoch, at(5))
    assert not high.follow(CLUSTER, Epoch(2, node_at(3), 1), at(3))
    assert (low.epoch, low.super_node) == (high.epoch, high.super_node)


def test_term_of_an_earlier_process_of_ours_is_over() -> None:
    """Whoever still follows it hears that there is no super-node, and the succession begins above it."""
    election = election_at(3)
    election.follow(CLUSTER, epoch(1, 7), at(7))
    election.outlive(epoch(2, 3, 1))
    assert election.is_vacant
    election.lead(CLUSTER)
    assert election.epoch > epoch(2, 3, 1)


def test_super_node_that_abdicates_leaves_a_vacancy() -> None:
    """Under its own epoch: only a higher one may follow."""
    election = election_at(3)
    election.lead(CLUSTER)
    term = election.epoch
    election.abdicate()
    assert election.is_vacant
    assert not election.is_super_node
    assert not election.follow(CLUSTER, epoch(0, 9), at(9))
    assert election.epoch == term
