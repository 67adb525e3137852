"""A cluster's place in the cube: splits that lose no change, and prefixes that always partition the labels."""

from __future__ import annotations

import msgspec

from p2psub.model.changes import LogId, Vector
from p2psub.model.effects import Persist
from p2psub.model.graycode import Prefix
from p2psub.model.ids import ClusterId, Contact
from p2psub.model.messages import Message
from p2psub.model.messages.cube import CubeHeartbeat, DirectoryResponse, Filled, SplitGrant, SplitRefused, SplitRequest
from p2psub.model.places import Entry, Standing
from p2psub.model.reasons import SplitRefusal
from p2psub.overlay.directory import Directory
from p2psub.overlay.election import Election
from p2psub.overlay.hypercube import DIRECTORY_NAMESPACE, Hypercube
from p2psub.overlay.liveness import Liveness
from tests.oracles.cube import is_partition
from tests.unit.bench import CONFIG, at, epoch, hold_up, sent, step_at, tick

VECTOR: Vector = ((LogId(ClusterId("a"), epoch(1, 1)), 7),)
NEW, FOUNDER = ClusterId("new"), at(240)


class Seat:
    """The super-node at `place`, leading a cluster of that name."""

    def __init__(self, name: str, place: int) -> None:
        self.step, self.cluster = step_at(place), ClusterId(name)
        self.directory = Directory()
        self.liveness = Liveness(self.step, CONFIG.liveness)
        self.election = Election(self.step, CONFIG.cluster)
        self.election.lead(self.cluster)
        self.cube = Hypercube(
            self.step, CONFIG.cube, self.directory, self.election, self.liveness, vector=lambda: VECTOR
        )
        self.cube.take_seat(is_founding=False)

    def know(self, *entries: Entry) -> None:
        """Hear of other clusters."""
        self.cube.on_directory_response(at(1), DirectoryResponse(entries))

    def kill(self, place: int) -> None:
        """Pronounce another super-node dead."""
        self.liveness.watch_only([at(place)])
        for _ in range(CONFIG.liveness.unreachable_after_ticks):
            self.step.tick += 1
            self.liveness.tick([])

    def prefixes(self) -> dict[str, str]:
        """Who holds which prefix."""
        return {entry.cluster: entry.prefix for entry in self.directory.present()}

    def replies(self) -> list[Message]:
        return [message for _, message in sent(self.step)]


def entry(name: str, prefix: str, place: int, version: int = 1, standing: Standing = Standing.PRESENT) -> Entry:
    """A cluster in its first term."""
    return Entry(ClusterId(name), Prefix(prefix), version, at(place), epoch(1, place), 4, standing)


def seat(name: str, prefix: str, place: int, *others: Entry) -> Seat:
    """A super-node whose cluster stands in the cube."""
    seated = Seat(name, place)
    seated.know(entry(name, prefix, place), *others)
    sent(seated.step)
    return seated


def ask(seated: Seat, cluster: ClusterId = NEW, founder: Contact = FOUNDER) -> Message:
    """A founder asks for half of our prefix; the answer."""
    seated.cube.on_split_request(founder, SplitRequest(cluster, founder))
    (answer,) = seated.replies()
    return answer


def refusal(seated: Seat, cluster: ClusterId = NEW, founder: Contact = FOUNDER) -> str:
    """Why a founder is refused."""
    answer = ask(seated, cluster, founder)
    assert isinstance(answer, SplitRefused)
    return answer.reason


def test_first_cluster_owns_the_whole_cube() -> None:
    """And only while it leads does a node answer for its cluster's place."""
    first = Seat("a", 10)
    places = [first.cube.place]
    first.cube.found_overlay(first.cluster)
    places.append(first.cube.place)
    first.cube.leave_seat()
    assert [*places, first.cube.place] == [None, "", None]


def test_split_promises_half_and_keeps_the_whole() -> None:
    """Until the founder is filled nothing has moved; the vector that it must hold is fixed in the grant."""
    giver = seat("a", "", 10)
    assert ask(giver) == SplitGrant(NEW, Prefix("1"), 2, VECTOR, giver.directory.entries())
    assert giver.cube.place == ""
    assert giver.cube.filling is not None
    assert (giver.cube.filling.prefix, giver.cube.filling.founder) == ("1", FOUNDER)
    assert isinstance(ask(giver), SplitGrant), "asking again is harmless"


def test_filled_founder_gets_its_half_and_the_giver_keeps_the_other() -> None:
    """The labels stay partitioned, and the founder hears of it."""
    giver = seat("a", "", 10)
    ask(giver)
    placed = Entry(NEW, Prefix("1"), 2, FOUNDER, epoch(1, 240), 1)
    giver.cube.on_filled(FOUNDER, Filled(NEW, placed, VECTOR))
    assert giver.prefixes() == {"a": "0", "new": "1"}
    assert sent(giver.step) == [(FOUNDER, DirectoryResponse(giver.directory.entries()))]
    assert giver.cube.filling is None


def test_founder_that_was_not_promised_anything_is_not_placed() -> None:
    """What was cast since an older promise never reached it."""
    giver = seat("a", "", 10)
    giver.cube.on_filled(FOUNDER, Filled(NEW, Entry(NEW, Prefix("1"), 2, FOUNDER, epoch(1, 240), 1), VECTOR))
    assert giver.replies() == [SplitRefused(SplitRefusal.NOT_PROMISED, giver.directory.entries())]
    assert giver.prefixes() == {"a": ""}


def test_deposed_super_node_places_no_founder() -> None:
    """Its promise ended with its term."""
    giver = seat("a", "", 10)
    ask(giver)
    giver.cube.leave_seat()
    giver.cube.on_filled(FOUNDER, Filled(NEW, Entry(NEW, Prefix("1"), 2, FOUNDER, epoch(1, 240), 1), VECTOR))
    assert giver.prefixes() == {"a": ""}


def test_promise_of_an_earlier_term_is_void() -> None:
    """Also of the same node's: casts of the term between went past the founder."""
    giver = seat("a", "", 10)
    ask(giver)
    giver.cube.leave_seat()
    giver.election.lead(giver.cluster)
    giver.cube.take_seat(is_founding=False)
    giver.cube.on_filled(FOUNDER, Filled(NEW, Entry(NEW, Prefix("1"), 2, FOUNDER, epoch(1, 240), 1), VECTOR))
    assert giver.prefixes() == {"a": ""}


def test_filled_for_another_half_than_promised_is_refused() -> None:
    """A founder gets the labels it was promised, not those of another cluster."""
    giver = seat("a", "0", 10, entry("b", "1", 20))
    ask(giver)
    giver.cube.on_filled(FOUNDER, Filled(NEW, Entry(NEW, Prefix("1"), 2, FOUNDER, epoch(1, 240), 1), VECTOR))
    assert giver.prefixes() == {"a": "0", "b": "1"}


def test_filled_by_an_older_vector_is_refused() -> None:
    """What was filled under an earlier promise lacks the casts that were not handed on since."""
    giver = seat("a", "", 10)
    ask(giver)
    placed = Entry(NEW, Prefix("1"), 2, FOUNDER, epoch(1, 240), 1)
    giver.cube.on_filled(FOUNDER, Filled(NEW, placed, ()))
    assert giver.prefixes() == {"a": ""}


def test_renewed_promise_fixes_the_vector_anew() -> None:
    """The founder must hold what the last grant names, though the prefix is the same."""
    founder = Seat("new", 240)
    founder.know(entry("a", "0", 10))
    later: Vector = ((VECTOR[0][0], 9),)
    for vector in (VECTOR, later):
        founder.cube.on_split_grant(at(10), SplitGrant(NEW, Prefix("01"), 5, vector, ()))
    assert founder.cube.granted is not None
    assert founder.cube.granted.vector == later


def test_one_half_is_promised_to_one_founder() -> None:
    """Also two founders of the same cluster are two; and a cluster with a place gets no second one."""
    giver = seat("a", "0", 10, entry("b", "1", 20))
    ask(giver)
    assert refusal(giver, ClusterId("late"), at(241)) == "busy"
    assert refusal(giver, NEW, at(241)) == "promised_to_another"
    assert refusal(seat("a", "0", 10, entry("b", "1", 20)), ClusterId("b"), at(20)) == "present"


def test_only_a_shortest_prefix_is_split() -> None:
    """Whoever has a longer one says where to ask; so does whoever leads nothing."""
    assert refusal(seat("a", "10", 10, entry("b", "0", 20), entry("c", "11", 30))) == "not_the_shortest"
    deposed = seat("a", "", 10)
    deposed.cube.leave_seat()
    assert refusal(deposed) == "not_the_shortest"


def test_promise_lapses_when_the_founder_falls_silent() -> None:
    """Its half is free again for another."""
    giver = seat("a", "", 10)
    ask(giver)
    tick(giver.step, giver.cube.tick, 41)
    assert giver.cube.filling is None
    assert isinstance(ask(giver, ClusterId("late"), at(241)), SplitGrant)


def test_founder_asks_the_owner_of_a_shortest_prefix_and_reports_to_the_giver() -> None:
    """With the prefix and version it was granted; a refusal ends the grant."""
    founder = Seat("new", 240)
    founder.know(entry("a", "0", 10), entry("b", "10", 20), entry("c", "11", 30))
    founder.cube.ask_for_split(founder.cluster)
    assert sent(founder.step) == [(at(10), SplitRequest(NEW, FOUNDER))]
    founder.cube.on_split_grant(at(10), SplitGrant(NEW, Prefix("01"), 5, VECTOR, ()))
    assert founder.cube.place == "01"
    assert founder.cube.giver() == at(10)
    founder.cube.report_filled(at(10))
    told = Filled(NEW, Entry(NEW, Prefix("01"), 5, FOUNDER, founder.election.epoch, 1), VECTOR)
    assert sent(founder.step) == [(at(10), told)]
    founder.cube.on_split_refused(at(10), SplitRefused(SplitRefusal.NOT_PROMISED, ()))
    assert founder.cube.place is None


def test_neighbours_are_told_what_we_know_and_answer_if_they_know_otherwise() -> None:
    """Equal digests cost one small message and no answer."""
    seated = seat("a", "00", 10, entry("b", "01", 20), entry("c", "10", 30), entry("d", "11", 40))
    seated.cube.beat(b"changes", True, ())
    report = CubeHeartbeat(seated.cluster, seated.directory.digest, b"changes", True)
    assert sorted(sent(seated.step), key=lambda send: send[0].id) == [(at(20), report), (at(30), report)]
    seated.cube.on_cube_heartbeat(at(20), report)
    assert sent(seated.step) == []
    seated.cube.on_cube_heartbeat(at(20), CubeHeartbeat(ClusterId("b"), b"else", b"", True))
    assert sent(seated.step) == [(at(20), DirectoryResponse(seated.directory.entries()))]


def test_a_directory_that_waits_for_its_link_is_not_told_again() -> None:
    """However often a neighbour shows that it knows less; the next time after it left, it is."""
    seated = seat("a", "00", 10, entry("b", "01", 20), entry("c", "10", 30))
    other = CubeHeartbeat(ClusterId("b"), b"else", b"", True)
    seated.cube.on_cube_heartbeat(at(20), other)
    (waiting,) = hold_up(seated.step)
    sent(seated.step)
    tick(seated.step, lambda: seated.cube.on_cube_heartbeat(at(20), other), 9)
    assert sent(seated.step) == []
    waiting.leave(seated.step.tick, 0)
    seated.cube.on_cube_heartbeat(at(20), other)
    assert sent(seated.step) == [(at(20), DirectoryResponse(seated.directory.entries()))]


def test_takeover_is_spoken_into_the_directory_once() -> None:
    """A new term replaces the old super-node, who may be back as a member; a deposed one cannot."""
    seated = Seat("a", 10)
    seated.know(Entry(seated.cluster, Prefix(""), 3, at(9), epoch(0, 9), 4))
    seated.cube.speak(5, [])
    assert seated.directory.get(seated.cluster) == Entry(
        seated.cluster, Prefix(""), 3, at(10), seated.election.epoch, 5, spares=(at(9),)
    )
    late = Seat("a", 10)
    late.know(Entry(late.cluster, Prefix(""), 3, at(9), epoch(7, 9), 4))
    late.cube.speak(5, [])
    assert [e.super_node for e in late.directory.entries()] == [at(9)]


def test_lost_cluster_is_given_up_only_after_long_silence() -> None:
    """Long enough for its succession; a sign of life starts the count anew."""
    seated = seat("a", "0", 10, entry("b", "1", 20))
    seated.kill(20)
    tick(seated.step, seated.cube.tick, CONFIG.cube.lost_after_ticks)
    seated.liveness.heard(at(20).id)
    tick(seated.step, seated.cube.tick)
    seated.kill(20)
    tick(seated.step, seated.cube.tick, CONFIG.cube.lost_after_ticks)
    assert seated.prefixes() == {"a": "0", "b": "1"}
    tick(seated.step, seated.cube.tick)
    assert seated.prefixes() == {"a": ""}


def test_single_sibling_takes_over_a_vacancy_and_nobody_else_does() -> None:
    """The labels are partitioned again."""
    lost = entry("d", "11", 40, version=2, standing=Standing.LOST)
    others = [entry("a", "0", 10), entry("c", "10", 30), lost]
    bystander = seat("a", "0", 10, *others)
    tick(bystander.step, bystander.cube.tick)
    assert bystander.prefixes() == {"a": "0", "c": "10"}
    sibling = seat("c", "10", 30, *others)
    tick(sibling.step, sibling.cube.tick)
    assert sibling.prefixes() == {"a": "0", "c": "1"}


def test_deeper_sibling_half_parts_its_deepest_pair() -> None:
    """One moves to the vacancy, its twin absorbs what it left: after both have acted, a partition."""
    lost = entry("a", "0", 10, version=2, standing=Standing.LOST)
    entries = [lost, entry("b", "10", 20), entry("c", "110", 30), entry("d", "111", 40)]
    mover, twin = seat("d", "111", 40, *entries), seat("c", "110", 30, *entries)
    tick(mover.step, mover.cube.tick)
    twin.know(*mover.directory.entries())
    tick(twin.step, twin.cube.tick)
    assert twin.prefixes() == {"d": "0", "b": "10", "c": "11"}
    assert is_partition([Prefix(prefix) for prefix in twin.prefixes().values()])


def test_of_two_claims_the_weaker_gives_way() -> None:
    """After a heal two clusters claim the same labels: the same one yields, whoever of them looks."""
    strong, weak = entry("a", "1", 10, version=5), entry("b", "1", 20, version=4)
    loser, winner = seat("b", "1", 20, weak, strong), seat("a", "1", 10, weak, strong)
    for seated in (loser, winner):
        tick(seated.step, seated.cube.tick)
    assert loser.cube.entry is None
    assert winner.cube.entry is not None
    assert loser.prefixes() == {"a": "1"}


def test_claim_that_gave_way_to_a_smaller_one_leaves_nothing_vacant() -> None:
    """Two sides absorbed each other's clusters: the loser held more than the winner does."""
    winner = seat("a", "0", 10, entry("b", "1111", 20, version=7), entry("c", "111", 30, version=6))
    other = seat("d", "110", 40, *winner.directory.entries(), entry("e", "10", 50))
    loser, sibling = Seat("c", 30), Seat("b", 20)
    for seated in (loser, sibling):
        seated.know(*other.directory.entries())
        tick(seated.step, seated.cube.tick)
        sibling.know(*seated.directory.entries())
    assert loser.cube.entry is None
    tick(sibling.step, sibling.cube.tick)
    assert sibling.prefixes() == {"a": "0", "b": "111", "d": "110", "e": "10"}


def test_promise_of_half_a_prefix_ends_with_the_prefix() -> None:
    """The founder would be placed inside what we hold since."""
    giver = seat("a", "10", 10, entry("b", "0", 20), entry("c", "11", 30))
    ask(giver)
    giver.know(entry("c", "11", 30, version=2, standing=Standing.LOST))
    tick(giver.step, giver.cube.tick)
    assert giver.cube.place == "1"
    assert giver.cube.filling is None


def test_super_node_says_back_what_the_other_does_not_know() -> None:
    """Who tells an old directory may be the only neighbour that has not heard of our term; and it ends there."""
    seated = seat("a", "0", 10, entry("b", "1", 20))
    sent(seated.step)
    stale = [entry("b", "1", 20)]
    seated.cube.on_directory_response(at(20), DirectoryResponse(tuple(stale)))
    whole = DirectoryResponse(seated.directory.entries())
    assert sent(seated.step) == [(at(20), whole)]
    seated.cube.on_directory_response(at(20), whole)
    assert sent(seated.step) == []


# On disk


def written(seated: Seat) -> list[tuple[object, ...]]:
    """Names of the directory's rows that were written since the last look."""
    persisted = [effect for effect in seated.step.close() if isinstance(effect, Persist)]
    return [write.name for effect in persisted for write in effect.writes if write.namespace == DIRECTORY_NAMESPACE]


def test_news_of_the_cube_are_durable_and_sizes_are_no_news() -> None:
    """A row for each entry that changed; what is heard again, and how many a cluster has, costs no write."""
    seated = seat("a", "0", 10, entry("b", "1", 20))
    assert written(seated) == [("a",), ("b",)]
    seated.know(entry("b", "1", 20), msgspec.structs.replace(entry("b", "1", 20), members=9))
    seated.cube.speak(7, [])
    assert written(seated) == []
    assert seated.cube.learn([entry("b", "1", 20, version=2)])
    assert written(seated) == [("b",)]


def test_cluster_stands_where_the_disk_says_and_speaks_under_its_new_term() -> None:
    """As a takeover does; what is read back is not written again."""
    seated = Seat("a", 10)
    written(seated)
    seated.cube.recover([entry("a", "0", 9), entry("b", "1", 20)])
    assert written(seated) == []
    seated.election.recover(seated.cluster, epoch(4, 9))
    seated.election.lead(seated.cluster)
    seated.cube.speak(1, [])
    own = seated.directory.get(seated.cluster)
    assert own is not None
    assert (own.prefix, own.super_node, own.epoch.counter) == ("0", at(10), 5)


# Spares


def speak(seated: Seat, *able: int) -> tuple[Contact, ...]:
    """Let the time pass in which spares are looked at once; those that are named then."""
    for _ in range(20):
        tick(seated.step, seated.cube.tick)
        seated.cube.speak(len(able) + 1, [at(place) for place in able])
    own = seated.directory.get(seated.cluster)
    assert own is not None
    return own.spares


def test_entry_names_members_besides_the_super_node() -> None:
    """Those named stay named while they are there, since every change of them goes through the whole overlay."""
    seated = seat("a", "", 10)
    assert speak(seated) == ()
    assert speak(seated, 30, 40) == (at(30), at(40))
    assert speak(seated, 50, 40, 30) == (at(30), at(40))
    assert speak(seated, 50, 40) == (at(50), at(40))
    own = seated.directory.get(seated.cluster)
    assert own is not None
    assert own.edition == 2


# Given up by mistake


def test_cluster_that_nobody_replaced_takes_its_place_again() -> None:
    """Others gave it up, and it is alive; above what they say of it."""
    seated = seat("a", "0", 10, entry("b", "1", 20))
    seated.know(entry("a", "0", 10, version=4, standing=Standing.LOST))
    assert seated.cube.entry is None
    assert seated.cube.reclaim()
    assert seated.prefixes() == {"a": "0", "b": "1"}
    assert not seated.cube.reclaim()


def test_cluster_whose_place_was_taken_does_not_take_it_again() -> None:
    """Two would answer for one label: it asks for a split instead."""
    seated = seat("a", "0", 10, entry("b", "1", 20))
    seated.know(entry("a", "0", 10, version=4, standing=Standing.LOST), entry("b", "", 20, version=2))
    assert not seated.cube.reclaim()
    assert seated.prefixes() == {"b": ""}


def test_founder_does_not_take_the_place_of_a_cluster_of_its_name() -> None:
    """It has none of its changes."""
    seated = seat("a", "0", 10, entry("b", "1", 20))
    seated.know(entry("a", "0", 10, version=4, standing=Standing.LOST))
    seated.cube.take_seat(is_founding=True)
    assert not seated.cube.reclaim()
