"""How long events take to a cluster: links add up along the walk of a cast, and only what moved is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from p2psub.casts.ways import Ways
from p2psub.model.graycode import Prefix
from p2psub.model.ids import ClusterId, Contact, NodeId
from p2psub.model.instants import Stamp
from p2psub.model.messages.cube import WayNews
from p2psub.model.places import Entry
from p2psub.model.ways import NO_WAY, WAYS_TOLD_MAX, Way
from p2psub.overlay.directory import Directory
from p2psub.wire.codec import decode_batch, encode_batch
from tests.unit.bench import CONFIG, at, epoch, sent, step_at

SLOW = Way(60_000, 400, 5_000)
FOUR = {"a": ("00", 1), "b": ("01", 64), "c": ("11", 128), "d": ("10", 192)}
"""Clusters of a square: a and c are opposite each other."""


class Station:
    """The super-node of one of the four clusters, and the links that it found slow."""

    def __init__(self, name: str, paths: Literal["neighbour", "load"] = "neighbour") -> None:
        prefix, place = FOUR[name]
        self.name, self.prefix, self.contact = ClusterId(name), Prefix(prefix), at(place)
        self.step = step_at(place)
        directory = Directory()
        directory.merge([Entry(ClusterId(n), Prefix(p), 1, at(x), epoch(1, x), 4) for n, (p, x) in FOUR.items()])
        self.ways = Ways(self.step, replace(CONFIG.cube, paths=paths), directory)
        self.slow: dict[NodeId, Way] = {}

    def tell(self, *members: Contact) -> dict[NodeId, dict[str, Way]]:
        """What it says at a beat, by hearer."""
        self.step.tick += 2
        self.ways.tell(self.prefix, self.name, lambda peer: self.slow.get(peer, NO_WAY), members)
        said: dict[NodeId, dict[str, Way]] = {}
        for hearer, message in sent(self.step):
            assert isinstance(message, WayNews)
            assert hearer.id not in said
            said[hearer.id] = {str(cluster): way for cluster, way in message.ways}
        return said

    def hear(self, teller: Station, said: dict[NodeId, dict[str, Way]]) -> None:
        told = said.get(self.contact.id, {})
        self.ways.on_way_news(teller.contact, WayNews(tuple((ClusterId(c), way) for c, way in told.items())))


def test_an_idle_cube_says_nothing() -> None:
    """Of links that were never full nothing is known."""
    assert Station("a").tell(at(5), at(6)) == {}


def test_figures_add_up_along_the_walk() -> None:
    """From a to c: over the link to its neighbour in the first dimension, and on from there as that one says."""
    a, d = Station("a"), Station("d")
    member, c = at(5), Station("c").contact
    a.slow[d.contact.id] = SLOW
    d.slow[c.id] = Way(20_000, 900, 1_000)
    a.hear(d, d.tell())
    assert a.ways.beyond(d.contact.id, ClusterId("c")) == d.slow[c.id]
    said = a.tell(member)
    assert said[member.id] == {"c": Way(80_000, 1_300, 6_000), "d": SLOW}
    assert said[member.id] == said[d.contact.id]


def test_where_multicasts_enter_by_load_a_link_to_the_cluster_itself_counts_too() -> None:
    """The quicker of it and of the walk is told; what was never full takes no time, as far as anybody knows."""
    a, d, c = Station("a", "load"), Station("d"), Station("c")
    a.slow[d.contact.id] = SLOW
    d.slow[c.contact.id] = Way(20_000, 900, 1_000)
    a.hear(d, d.tell())
    assert a.tell()[d.contact.id] == {"d": SLOW}
    a.slow[c.contact.id] = Way(70_000, 0, 0)
    assert a.tell()[d.contact.id] == {"c": Way(70_000, 0, 0)}
    a.slow[c.contact.id] = Way(90_000, 0, 0)
    assert a.tell()[d.contact.id] == {"c": Way(80_000, 1_300, 6_000)}


def test_a_cluster_names_the_way_to_its_own_subscribers() -> None:
    """The mean over its members: whose subscription it is, a neighbour cannot know."""
    c, d = Station("c"), Station("d")
    near, far = at(140), at(150)
    c.slow[far.id] = SLOW
    d.hear(c, c.tell(near, far))
    assert d.ways.beyond(c.contact.id, ClusterId("c")) == Way(30_000, 200, 2_500)


def test_only_what_moved_by_a_tenth_is_told_and_all_of_it_again_after_a_while() -> None:
    """A figure that trembles costs nothing; one that was lost on its way comes again."""
    a = Station("a")
    link = at(192).id
    a.slow[link] = SLOW
    assert a.tell() != {}
    assert a.tell() == {}
    a.slow[link] = Way(63_000, 400, 5_900)
    assert a.tell() == {}
    a.slow[link] = Way(80_000, 400, 5_000)
    assert a.tell()[link] == {"c": a.slow[link], "d": a.slow[link]}
    assert any(a.tell() for _ in range(20))


def test_what_is_known_no_more_is_taken_back() -> None:
    """Else a link that was slow once would be shunned for ever."""
    a, d = Station("a"), Station("d")
    d.slow[Station("c").contact.id] = SLOW
    a.hear(d, d.tell())
    d.slow.clear()
    a.hear(d, d.tell())
    assert a.ways.beyond(d.contact.id, ClusterId("c")) == NO_WAY
    assert d.tell() == {}


def test_what_is_known_no_more_is_taken_back_also_where_all_is_told_again() -> None:
    """Whatever the beat at which it is forgotten."""
    a, d = Station("a"), Station("d")
    for beats in range(1, 25):
        d.slow[Station("c").contact.id] = SLOW
        for _ in range(beats):
            a.hear(d, d.tell())
        d.slow.clear()
        a.hear(d, d.tell())
        assert a.ways.beyond(d.contact.id, ClusterId("c")) == NO_WAY


def test_a_lost_link_is_forgotten_and_told_anew() -> None:
    """Another process may come over the next one."""
    a, d = Station("a"), Station("d")
    d.slow[Station("c").contact.id] = SLOW
    a.hear(d, d.tell())
    a.ways.link_lost(d.contact.id)
    assert a.ways.beyond(d.contact.id, ClusterId("c")) == NO_WAY
    d.ways.link_lost(a.contact.id)
    a.hear(d, d.tell())
    assert a.ways.beyond(d.contact.id, ClusterId("c")) == SLOW


def test_of_clusters_that_nobody_knows_nothing_is_kept() -> None:
    """A liar fills no memory with names."""
    a = Station("a")
    a.ways.on_way_news(at(192), WayNews(((ClusterId("nowhere"), SLOW),)))
    assert a.ways.beyond(at(192).id, ClusterId("nowhere")) == NO_WAY


def test_a_message_tells_no_more_than_so_many_and_the_next_the_rest() -> None:
    """However many clusters there are."""
    station = Station("a")
    many = [f"m{n:02}" for n in range(2 * WAYS_TOLD_MAX)]
    directory = Directory()
    names = ["a", *many]
    length = len(names).bit_length()
    entries = [
        Entry(ClusterId(name), Prefix(f"{n:0{length}b}"), 1, at(100 + n), epoch(1, n), 1)
        for n, name in enumerate(names)
    ]
    directory.merge(entries)
    station.ways, station.prefix = (
        Ways(station.step, replace(CONFIG.cube, paths="neighbour"), directory),
        entries[0].prefix,
    )
    neighbour = directory.neighbours(station.prefix)[0]
    for other in directory.neighbours(station.prefix):
        station.slow[other.id] = SLOW
    first, second = station.tell()[neighbour.id], station.tell()[neighbour.id]
    assert len(first) == WAYS_TOLD_MAX
    assert first.keys().isdisjoint(second)
    heard: set[str] = set()
    for faster in range(1, 5):
        for other in directory.neighbours(station.prefix):
            station.slow[other.id] = Way(SLOW.mean_us_per_kb >> faster, 400, 5_000)
        heard |= station.tell()[neighbour.id].keys()
    assert len(heard) > WAYS_TOLD_MAX


def test_the_largest_figure_that_a_liar_can_say_is_told_on_so_that_it_can_be_read() -> None:
    """Else those who are honest would be taken for faulty by their neighbours, and lose their links."""
    a, d = Station("a"), Station("d")
    a.slow[d.contact.id] = SLOW
    most = 1 << 62
    a.hear(d, {a.contact.id: {"c": Way(most, most, most)}})
    said = a.tell(at(5))[at(5).id]
    assert said["c"] == Way(most, most, most)
    news = WayNews(tuple((ClusterId(name), way) for name, way in said.items()))
    assert decode_batch(encode_batch([news], Stamp(1, 0)))[0] == [news]
