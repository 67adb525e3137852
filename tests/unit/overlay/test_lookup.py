"""Look-ups: they end at the member before the key, are answered once, and never run for ever."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from p2psub.model.ids import ClusterId, Key, NodeId
from p2psub.model.messages.ring import Found, Lookup, Stabilise
from p2psub.model.records import Kind
from tests.unit.bench import CLUSTER, CONFIG, at, node_at, records_of, sent, sent_of
from tests.unit.overlay.rings import Exchange, Peer

PLACES = st.lists(st.integers(0, 255), min_size=1, max_size=20, unique=True)


def key_at(place: int) -> Key:
    """The key at a place of the circle."""
    return Key(node_at(place))


def member(place: int, others: list[int]) -> Peer:
    """One member of an ideal ring."""
    return Exchange([place, *others]).peers[node_at(place)]


@given(PLACES, st.integers(0, 255), st.booleans())
def test_look_up_finds_the_successor_of_the_key_from_everywhere(places: list[int], key: int, fingers: bool) -> None:
    """The first member at or after the key, with fingers or without."""
    exchange = Exchange(places)
    if fingers:
        exchange.fill_fingers()
    owner = min(places, key=lambda place: (place - key) % 256)
    for place in places:
        found = exchange.look_up(at(place), key_at(key))
        assert found.successors[0] == at(owner)


def test_look_up_walks_on_to_the_next_hop_with_its_origin() -> None:
    """And counts its hops."""
    peer = member(10, [20, 30, 40])
    peer.lookups.on_lookup(at(30), Lookup(CLUSTER, 7, key_at(35), at(99), 2))
    assert sent(peer.step) == [(at(30), Lookup(CLUSTER, 7, key_at(35), at(99), 3))]
    peer.lookups.on_lookup(at(40), Lookup(CLUSTER, 7, key_at(15), at(99), 2))
    assert sent(peer.step) == [(at(99), Found(CLUSTER, 7, at(10), (at(20), at(30), at(40)), 2))]


def test_wandering_look_up_is_dropped_with_a_record() -> None:
    """Lists that disagree may send it in circles; its origin asks again."""
    peer = member(10, [20, 30])
    peer.lookups.on_lookup(at(30), Lookup(CLUSTER, 7, key_at(35), at(99), CONFIG.ring.lookup_hops_max + 1))
    assert sent(peer.step) == []
    assert [record.reason for record in records_of(peer.step, Kind.DROP)] == ["lookup_hops"]


def test_who_is_in_no_ring_or_another_one_says_nothing() -> None:
    """A wrong owner would be worse than none."""
    peer = member(10, [20, 30])
    peer.lookups.on_lookup(at(30), Lookup(ClusterId("other"), 7, key_at(15), at(99), 0))
    peer.ring.leave()
    peer.lookups.on_lookup(at(30), Lookup(CLUSTER, 7, key_at(15), at(99), 0))
    assert sent(peer.step) == []


def test_answer_is_used_once_and_only_for_its_question() -> None:
    """A repeated or foreign answer calls nobody; an unanswered question is forgotten."""
    peer = member(10, [20, 30])
    answers: list[Found] = []
    for _ in range(2):
        peer.lookups.start(key_at(25), answers.append)
    (_, first), (_, second) = sent(peer.step)
    assert isinstance(first, Lookup)
    assert isinstance(second, Lookup)
    found = Found(CLUSTER, first.number, at(20), (at(30),), 1)
    peer.lookups.on_found(at(20), found)
    peer.lookups.on_found(at(20), found)
    assert answers == [found]
    for _ in range(6):
        peer.step.tick += 1
        peer.lookups.tick()
    peer.lookups.on_found(at(20), Found(CLUSTER, second.number, at(20), (at(30),), 1))
    assert answers == [found]


def test_answer_without_successors_is_ignored() -> None:
    """It names no owner, so nobody is called and nobody is remembered."""
    peer = member(10, [20, 30])
    answers: list[Found] = []
    peer.lookups.start(key_at(25), answers.append)
    ((_, lookup),) = sent_of(peer.step, Lookup)
    peer.lookups.on_found(at(20), Found(CLUSTER, lookup.number, at(99), (), 1))
    assert answers == []
    assert node_at(99) not in peer.ring.remembered


def test_fingers_are_refreshed_one_after_the_other() -> None:
    """Each points at the successor of a place a power of two away; ourselves are no finger."""
    exchange = Exchange([0, 64, 128, 130, 192])
    peer = exchange.peers[node_at(0)]
    for _ in range(CONFIG.ring.fingers * CONFIG.ring.finger_every_ticks):
        peer.step.tick += 1
        peer.lookups.tick()
        exchange.deliver()
    fingers = {n: contact.id[0] for n, contact in peer.ring.fingers.items()}
    assert fingers == {1: 128, **dict.fromkeys(range(2, 9), 64)}


def test_look_up_goes_round_a_finger_that_cannot_be_reached() -> None:
    """A finger is watched by nobody, and refreshed rarely: until then everything behind it could not be found."""
    peer = member(10, [20, 30, 40])
    peer.ring.fingers = {1: at(138), 2: at(74)}
    peer.ring.link_lost(node_at(138))
    peer.lookups.start(key_at(200), lambda found: None)
    ((to, _),) = sent_of(peer.step, Lookup)
    assert to == at(74)
    assert peer.ring.successors == [at(20), at(30), at(40)]


def test_probe_asks_remembered_contacts_in_turn() -> None:
    """After a cut, whoever is remembered may be on the other side: everybody's turn comes."""
    peer = member(10, [20, 30, 40])
    probed: list[NodeId] = []
    for _ in range(3 * CONFIG.ring.merge_every_ticks):
        peer.step.tick += 1
        peer.lookups.tick()
        probed += [to.id for to, message in sent_of(peer.step, Lookup) if message.key == key_at(10)]
    assert sorted(probed) == [node_at(20), node_at(30), node_at(40)]


def test_probe_that_finds_somebody_closer_asks_him() -> None:
    """The answer names a member of the other ring between us and our successor; it must speak for itself."""
    peer = member(10, [20, 30, 40])
    for _ in range(CONFIG.ring.merge_every_ticks):
        peer.step.tick += 1
        peer.lookups.tick()
    ((to, probe),) = sent_of(peer.step, Lookup)
    peer.lookups.on_found(to, Found(CLUSTER, probe.number, at(5), (at(12), at(20)), 1))
    assert sent(peer.step) == [(at(12), Stabilise(CLUSTER, notifies=False))]
