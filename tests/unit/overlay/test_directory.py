"""The directory: news merge to the same picture in any order, and old news bring nothing back."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from p2psub.model.graycode import Prefix, label_of
from p2psub.model.ids import ClusterId
from p2psub.model.places import Entry, Standing
from p2psub.overlay.directory import Directory
from tests.unit.bench import at, epoch

CLUSTERS = st.sampled_from(["a", "b"]).map(ClusterId)


def entry(
    cluster: str, prefix: str, version: int = 1, term: int = 1, standing: Standing = Standing.PRESENT, members: int = 1
) -> Entry:
    """One cluster as a node may have heard of it; a term names its super-node."""
    return Entry(ClusterId(cluster), Prefix(prefix), version, at(term), epoch(term, term), members, Standing(standing))


ENTRIES = st.builds(
    entry,
    CLUSTERS,
    st.sampled_from(["", "0", "1", "01"]),
    st.integers(1, 3),
    st.integers(1, 3),
    st.sampled_from(list(Standing)),
    st.integers(1, 3),
)
NEWS = st.lists(ENTRIES, max_size=5)


def directory_of(*several: Iterable[Entry]) -> Directory:
    """A directory that heard these news, in this order."""
    directory = Directory()
    for entries in several:
        directory.merge(entries)
    return directory


def known(directory: Directory) -> list[Entry]:
    """What it knows; sizes do not count, the latest word on them stands."""
    return [msgspec.structs.replace(entry, members=0) for entry in directory.entries()]


@given(NEWS, NEWS)
def test_order_of_news_does_not_matter(one: list[Entry], other: list[Entry]) -> None:
    """Commutative: two nodes that told each other everything know the same, and their digests say so."""
    left, right = directory_of(one, other), directory_of(other, one)
    assert known(left) == known(right)
    assert left.digest == right.digest


@given(NEWS, NEWS, NEWS)
def test_news_may_be_passed_on_merged_or_not(one: list[Entry], two: list[Entry], three: list[Entry]) -> None:
    """Associative: what a third node merged before passing it on is as good as the news themselves."""
    passed_on = directory_of(two, three).entries()
    assert known(directory_of(one, passed_on)) == known(directory_of(directory_of(one, two).entries(), three))


@given(NEWS)
def test_news_heard_twice_change_nothing(news: list[Entry]) -> None:
    """Idempotent: what a directory knows already is no change."""
    directory = directory_of(news)
    before = directory.entries()
    assert directory.merge(before) == []
    assert directory.entries() == before


@given(NEWS, NEWS)
def test_digests_differ_where_knowledge_does(one: list[Entry], other: list[Entry]) -> None:
    """Otherwise nobody would start the exchange."""
    left, right = directory_of(one), directory_of(other)
    assert (left.digest == right.digest) == (known(left) == known(right))


def test_place_and_super_node_move_apart() -> None:
    """A takeover and a split happen at once: the newer half of each stands."""
    directory = directory_of([entry("a", "", version=1, term=2)], [entry("a", "0", version=2, term=1)])
    assert known(directory) == [entry("a", "0", version=2, term=2, members=0)]


def test_cluster_that_is_lost_stays_lost() -> None:
    """Late news of its life are older; only a higher version places it again."""
    lost = entry("a", "1", version=3, standing=Standing.LOST)
    directory = directory_of([lost], [entry("a", "1", version=2, term=3)])
    assert directory.present() == []
    directory.merge([entry("a", "01", version=4)])
    assert [found.prefix for found in directory.present()] == ["01"]


def test_neighbours_in_a_complete_cube_are_those_one_bit_away() -> None:
    """Hyper 2.1: n neighbours, one per dimension; and the answer follows the news."""
    labels = [label_of(position, 3) for position in range(8)]
    directory = directory_of([entry(label, label, term=n + 1) for n, label in enumerate(labels)])
    for own in labels:
        near = {label for label in labels if sum(a != b for a, b in zip(own, label, strict=True)) == 1}
        leaders = {directory.by_prefix()[label].id for label in near}
        assert {contact.id for contact in directory.neighbours(own)} == leaders
    assert len(directory.neighbours(labels[0])) == 3
    directory.merge([entry(labels[1], labels[1], term=99)])
    assert at(99) in directory.neighbours(labels[0])


def test_newcomer_splits_a_shortest_prefix() -> None:
    """So that the cube stays flat; a lost cluster has nothing to give."""
    lost = entry("c", "1", standing=Standing.LOST)
    directory = directory_of([entry("b", "01"), entry("a", "00"), lost, entry("d", "10"), entry("e", "11")])
    directory.merge([entry("f", "110", version=2)])
    chosen = {newcomer: directory.shortest(ClusterId(newcomer)) for newcomer in "pqrstuvwxyz"}
    assert {found.cluster for found in chosen.values() if found is not None} == {"a", "b", "d", "e"}
    assert Directory().shortest(ClusterId("p")) is None


def test_vacant_is_what_no_present_cluster_holds() -> None:
    """Whatever became of its last holder: it was given up, moved away, or gave way to a cluster that holds less."""
    directory = directory_of([entry("a", "00"), entry("b", "1110"), entry("c", "1", standing=Standing.LOST)])
    assert directory.vacant() == ["01", "10", "110", "1111"]
    directory.merge([entry("c", "1", version=2)])
    assert directory.vacant() == ["01"]


def test_size_of_a_cluster_is_no_news() -> None:
    """It travels along; but two super-nodes that differ in it alone would tell each other for ever."""
    directory = directory_of([entry("a", "0")])
    told = msgspec.structs.replace(entry("a", "0"), members=7)
    assert directory.merge([told]) == []
    assert directory.get(ClusterId("a")) == told


def test_contacts_of_a_half_are_whoever_holds_labels_of_it() -> None:
    """Inside it or around it; those who are lost are nobody."""
    directory = directory_of([entry("a", "0", term=1), entry("b", "10", term=2), entry("c", "11", term=3)])
    assert directory.contacts_in(Prefix("1")) == [at(2), at(3)]
    assert directory.contacts_in(Prefix("110")) == [at(3)]
    directory.merge([entry("c", "11", version=2, term=3, standing=Standing.LOST)])
    assert directory.contacts_in(Prefix("1")) == [at(2)]


def test_spares_go_with_the_term_that_names_them_and_its_latest_word_stands() -> None:
    """In whatever order the words come."""
    first, second = (msgspec.structs.replace(entry("a", "0", term=2), spares=(at(n),), edition=n) for n in (7, 8))
    older = msgspec.structs.replace(entry("a", "0", term=1), spares=(at(9),), edition=9)
    for order in ([first, second, older], [older, second, first], [second, older, first]):
        (standing,) = directory_of(order).entries()
        assert (standing.spares, standing.super_node) == ((at(8),), at(2))
    assert directory_of([first]).digest != directory_of([second]).digest
