"""The ring: Zave's corrected rules, one by one, and that joins in any order end in the ideal ring."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from p2psub.model.ids import ClusterId, Contact, NodeId
from p2psub.model.messages.ring import Found, Neighbourhood, Stabilise
from p2psub.overlay.liveness import Liveness
from p2psub.overlay.ring import Ring
from tests.unit.bench import CLUSTER, CONFIG, at, node_at, sent, step_at
from tests.unit.overlay.rings import Exchange, elected

R = CONFIG.ring.successors


class Member:
    """One member's ring, and the liveness it believes."""

    def __init__(self, place: int, *successors: int, predecessor: int | None = None) -> None:
        self.step = step_at(place)
        self.liveness = Liveness(self.step, CONFIG.liveness)
        self.ring = Ring(self.step, CONFIG.ring, self.liveness, elected(self.step))
        if successors:
            self.ring.join(Found(CLUSTER, 1, at(successors[0]), contacts(*successors), 1))
        if predecessor is not None:
            self.ring.on_stabilise(at(predecessor), Stabilise(CLUSTER, notifies=True))
        sent(self.step)

    def kill(self, *places: int) -> None:
        """Pronounce members dead."""
        self.liveness.watch_only(contacts(*places))
        for _ in range(CONFIG.liveness.unreachable_after_ticks):
            self.step.tick += 1
            self.liveness.tick([])
        sent(self.step)

    def told(self, by: int, predecessor: int | None, *successors: int) -> None:
        """A member tells its neighbourhood."""
        before = None if predecessor is None else at(predecessor)
        self.ring.on_neighbourhood(at(by), Neighbourhood(CLUSTER, before, contacts(*successors)))

    @property
    def successors(self) -> list[int]:
        return [contact.id[0] for contact in self.ring.successors]

    @property
    def predecessor(self) -> int | None:
        return None if self.ring.predecessor is None else self.ring.predecessor.id[0]


def contacts(*places: int) -> tuple[Contact, ...]:
    """Contacts at these places."""
    return tuple(map(at, places))


def test_joiner_copies_the_whole_list_of_the_member_before_it() -> None:
    """Not only its first: a joiner must survive the death of its successor at once."""
    assert Member(10, 20, 30, 40).successors == [20, 30, 40]


def test_lists_are_never_padded_and_never_come_round_to_ourselves() -> None:
    """A short list says that the ring is small."""
    member = Member(10, 20, 30)
    member.told(20, 10, 30, 10, 40)
    assert member.successors == [20, 30]


def test_list_is_the_successor_and_its_list_at_most_r_long() -> None:
    """First step of a stabilisation."""
    member = Member(10, 20, 90)
    member.told(20, 10, 30, 40, 50, 60)
    assert member.successors == [20, 30, 40][:R]


def test_closer_successor_is_adopted_only_when_it_answers() -> None:
    """Second step: what the successor knows may be dead; its own word makes it ours."""
    member = Member(10, 20, 30, 40)
    member.told(20, 15, 30, 40)
    assert member.successors == [20, 30, 40]
    assert sent(member.step) == [(at(15), Stabilise(CLUSTER, notifies=False))]
    member.told(15, 12, 20, 30)
    assert member.successors == [15, 20, 30]


def test_strangers_do_not_change_the_list() -> None:
    """Only the successor, or the closer one we asked, has a say; another ring's has none."""
    member = Member(10, 20, 30)
    member.told(15, None, 16, 17)
    member.ring.on_neighbourhood(at(20), Neighbourhood(ClusterId("other"), None, contacts(50)))
    assert member.successors == [20, 30]


def test_every_completed_stabilisation_notifies() -> None:
    """The successor learns its predecessor from that, and only after the list was adopted."""
    member = Member(10, 20, 30)
    member.ring.stabilise()
    assert sent(member.step) == [(at(20), Stabilise(CLUSTER, notifies=False))]
    member.told(20, 10, 30)
    member.ring.stabilise()
    assert sent(member.step) == [(at(20), Stabilise(CLUSTER, notifies=True))]


def test_rectify_replaces_only_a_worse_or_dead_predecessor() -> None:
    """A notification from farther away changes nothing while the predecessor lives."""
    member = Member(50, 60, predecessor=40)
    notify = Stabilise(CLUSTER, notifies=True)
    member.ring.on_stabilise(at(30), notify)
    assert member.predecessor == 40
    member.ring.on_stabilise(at(45), Stabilise(CLUSTER, notifies=False))
    assert member.predecessor == 40
    member.ring.on_stabilise(at(45), notify)
    assert member.predecessor == 45
    member.kill(45)
    member.ring.on_stabilise(at(30), notify)
    assert member.predecessor == 30


def test_neighbourhood_is_told_to_members_of_the_ring() -> None:
    """Nobody outside the ring answers, and nobody answers for another cluster."""
    member = Member(50, 60, 70, predecessor=40)
    ask = Stabilise(CLUSTER, notifies=False)
    member.ring.on_stabilise(at(40), ask)
    assert sent(member.step) == [(at(40), Neighbourhood(CLUSTER, at(40), contacts(60, 70)))]
    member.ring.on_stabilise(at(40), Stabilise(ClusterId("other"), notifies=True))
    Member(50).ring.on_stabilise(at(40), ask)
    assert sent(member.step) == []


def test_dead_members_are_cut_out_and_not_taken_back_from_others_lists() -> None:
    """The gap closes at once; hearsay does not revive the dead."""
    member = Member(10, 20, 30, 40)
    member.kill(20)
    member.ring.forget(node_at(20))
    assert member.successors == [30, 40]
    member.told(30, 20, 20, 40, 50)
    assert member.successors == [30, 40, 50]
    assert sent(member.step) == []


def test_member_whose_successors_all_died_comes_back_through_whom_it_remembers() -> None:
    """The nearest clockwise of those it knew."""
    member = Member(10, 20)
    member.ring.remember(at(200), at(90))
    member.kill(20)
    member.ring.forget(node_at(20))
    assert member.successors == [90, 200]


def test_small_ring_is_the_super_nodes_list() -> None:
    """In it nobody stabilises: the lists handed out are ideal; outgrown, the rules keep them so."""
    member = Member(50)
    member.ring.take_small_list(contacts(20, 50, 90))
    assert (member.successors, member.predecessor) == ([90, 20], 20)
    member.ring.stabilise()
    member.told(90, 70, 20, 50)
    assert sent(member.step) == []
    assert member.successors == [90, 20]
    member.ring.outgrow_small()
    member.ring.stabilise()
    assert sent(member.step) == [(at(90), Stabilise(CLUSTER, notifies=False))]


def test_ring_that_shrinks_to_a_small_one_keeps_no_fingers() -> None:
    """One of them may point to a member that is gone, and every look-up would be handed to it."""
    member = Member(50)
    member.ring.fingers = {7: at(80)}
    member.ring.take_small_list(contacts(20, 50, 70))
    assert member.ring.next_hop(node_at(90)) == at(70)


def test_list_that_names_only_the_joiner_is_no_ring() -> None:
    """A member that came back finds its own old place: it is of no use to join oneself."""
    member = Member(10)
    member.ring.join(Found(CLUSTER, 1, at(10), contacts(10), 1))
    assert not member.ring.is_joined
    member.ring.join(Found(CLUSTER, 1, at(90), contacts(10), 1))
    assert member.successors == [90]


def test_member_before_a_key_answers_for_it() -> None:
    """Its successor owns the keys up to itself, included."""
    member = Member(10, 20, 30)
    assert [place for place in (11, 20, 21, 10, 5) if member.ring.answers_for(node_at(place))] == [11, 20]


def test_next_hop_is_the_closest_live_member_before_the_key_and_never_beyond() -> None:
    """Fingers are for speed only: a dead or overshooting one is not taken."""
    member = Member(10, 20, 30, 40)
    member.ring.fingers = {1: at(140), 2: at(75)}
    hop = member.ring.next_hop
    assert [hop(NodeId(node_at(key))).id[0] for key in (25, 60, 76, 75, 200)] == [20, 40, 75, 40, 140]
    member.kill(140)
    assert hop(NodeId(node_at(200))).id[0] == 75


def test_remembered_contacts_are_bounded() -> None:
    """The oldest are forgotten first; we do not remember ourselves."""
    member = Member(0)
    member.ring.remember(*map(at, range(150)))
    assert list(member.ring.remembered) == [node_at(n) for n in range(22, 150)]


@settings(max_examples=25)
@given(st.lists(st.integers(1, 255), min_size=R + 2, max_size=12, unique=True))
def test_joins_in_any_order_end_in_the_ideal_ring(places: list[int]) -> None:
    """After joins one by one through any member, stabilising makes every list and predecessor right (S8)."""
    exchange = Exchange(places[: R + 1])
    for n, place in enumerate(places[R + 1 :]):
        exchange.join(place, via=places[n % (R + 1)])
        exchange.beat(2)
    exchange.beat(2 * len(places))
    exchange.check_ideal(places)
