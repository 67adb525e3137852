"""Gathering: an event is stored only when everybody who may want it was asked, and asked no longer than needed."""

from __future__ import annotations

import msgspec

from p2psub.model.changes import LogId
from p2psub.model.content import Order, Subscription
from p2psub.model.ids import Contact
from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import Obligation
from p2psub.model.messages.shards import MatchRequest, MatchResponse
from p2psub.model.parcels import Parcel, ParcelId
from p2psub.node.cores import Cores
from p2psub.owner.matchmaker import Gathering
from tests.unit.bench import (
    CLUSTER,
    CONFIG,
    TICK_US,
    at,
    bits,
    change_of,
    epoch,
    event_of,
    give_index,
    member_at,
    on_topic,
    parcel_of,
    place_off_the_shards,
    sent,
    sent_of,
    subscription_of,
    table_of,
    tick,
    topic_in,
    wildcard_in_shard,
)

PUBLISHER = at(9)
STREAM, OTHER = LogId(CLUSTER, epoch(1, 1)), LogId(CLUSTER, epoch(2, 2))


TABLE, TOPIC = place_off_the_shards()
SHARDS, OWNER = (contact.id[0] for contact in TABLE.owners)
PINNED = subscription_of(on_topic(TOPIC), 50)


class Asking:
    """The owner of a topic, and the events whose matches are all in."""

    def __init__(self, *more: Subscription) -> None:
        self.cores = member_at(OWNER, TABLE, [change_of(record, n) for n, record in enumerate((PINNED, *more), 1)])
        self.cores.arc_lease.renew(self.cores.step.now, ((STREAM, 4), (OTHER, 2)))
        self.step = self.cores.step
        self.done: list[Gathering] = []
        self.core = self.cores.owner.matchmaker
        self.numbers: dict[ParcelId, int] = {}
        """How the shards were asked for each parcel."""

    def gather(self, parcel: Parcel, publisher: Contact = PUBLISHER) -> list[int]:
        """Start, and say which shards were asked."""
        self.note(self.core.gather(parcel, Micros(0), publisher))
        self.numbers.update((parcel.id, ask.number) for _, ask in self.step.sends if isinstance(ask, MatchRequest))
        return self.asked()

    def note(self, matched: list[Gathering]) -> None:
        """Remember what is matched."""
        self.done += matched

    def tick(self) -> None:
        """Half a heartbeat, as the owner has it."""
        for gathering in self.core.tick():
            self.note(self.core.ask_again(gathering))

    def asked(self) -> list[int]:
        """The shards asked since the last look."""
        asks = sent_of(self.step, MatchRequest)
        assert all(to == at(SHARDS) for to, _ in asks)
        return [ask.shard for _, ask in asks]

    def say(self, parcel: Parcel, shard: int, *matches: Obligation, empty: bool = False) -> None:
        """The shard's owner answers."""
        said = MatchResponse(CLUSTER, shard, self.numbers[parcel.id], matches, ((STREAM, 3),), empty)
        self.note(self.core.on_match_response(at(SHARDS), said))


def test_event_is_matched_when_the_last_shard_has_answered() -> None:
    """Its own index and both shards: the union of their matches, none of them twice."""
    asking, parcel = Asking(), parcel_of(event_of(TOPIC))
    wild = Obligation(subscription_of(on_topic(TOPIC), 51).id, CLUSTER)
    assert asking.gather(parcel) == [0, 1]
    asking.say(parcel, 0, wild)
    asking.say(parcel, 0, wild)
    assert asking.done == []
    assert asking.core.places_of(parcel.id) == 1
    asking.say(parcel, 1, wild)
    (gathering,) = asking.done
    assert gathering.matches == {PINNED.id: (CLUSTER, 1), wild.subscription: (CLUSTER, 1)}
    assert asking.core.places_of(parcel.id) == 0
    asking.say(parcel, 1)
    assert len(asking.done) == 1


def test_matches_come_back_to_the_places_of_the_events() -> None:
    """The owner asks about the events of a part as they stand in it; the shard's answer counts them the same way."""
    asking = Asking()
    part = parcel_of(*(event_of(TOPIC, n) for n in range(1, 8))).part(0b1011000)
    asking.gather(part)
    one, other = (subscription_of(on_topic(TOPIC), n).id for n in (51, 52))
    asking.say(part, 0, Obligation(one, CLUSTER, bits(0, 2)), Obligation(other, CLUSTER))
    asking.say(part, 1, Obligation(one, CLUSTER, bits(1)), Obligation(other, CLUSTER, bits(9)))
    (gathering,) = asking.done
    assert gathering.matches == dict.fromkeys((PINNED.id, one, other), (CLUSTER, 88))


def test_two_parts_of_one_parcel_are_gathered_apart() -> None:
    """Each has its own shards to answer; the later is matched no sooner than the earlier, which came before it."""
    asking, whole = Asking(), parcel_of(*(event_of(TOPIC, n) for n in (1, 2, 3)))
    first, rest = whole.part(0b001), whole.part(0b110)
    asking.gather(first)
    number = asking.numbers[whole.id]
    asking.gather(rest)
    assert asking.core.places_of(whole.id) == 0b111
    for shard in (0, 1):
        asking.say(rest, shard)
    assert asking.done == []
    assert asking.core.places_of(whole.id) == 0b111
    for shard in (0, 1):
        asking.note(asking.core.on_match_response(at(SHARDS), MatchResponse(CLUSTER, shard, number, (), (), False)))
    assert [gathering.parcel for gathering in asking.done] == [first, rest]
    assert asking.core.places_of(whole.id) == 0


def test_events_of_a_publisher_are_matched_in_the_order_in_which_they_came() -> None:
    """An answer that is late holds up what came after, and only that; the first that is missing lets all go."""
    asking = Asking()
    parcels = [parcel_of(event_of(TOPIC, n)) for n in (1, 2, 3)]
    for parcel in parcels:
        asking.gather(parcel)
    for parcel in (parcels[2], parcels[0]):
        for shard in (0, 1):
            asking.say(parcel, shard)
    assert [gathering.parcel for gathering in asking.done] == [parcels[0]]
    assert [asking.core.has(parcel.first) for parcel in parcels] == [False, True, True]
    for shard in (0, 1):
        asking.say(parcels[1], shard)
    assert [gathering.parcel for gathering in asking.done] == parcels


def test_publishers_do_not_hold_each_other_up() -> None:
    """The order is that of each publisher; another's events go on when their own answers are in."""
    asking, slow, quick = Asking(), parcel_of(event_of(TOPIC, 1)), parcel_of(event_of(TOPIC, 1, publisher=10))
    asking.gather(slow)
    asking.gather(quick, at(10))
    for shard in (0, 1):
        asking.say(quick, shard)
    assert [gathering.parcel for gathering in asking.done] == [quick]


def test_repeated_question_lets_go_what_waited_behind_it() -> None:
    """The shard has become ours meanwhile: it is answered here, and the later events follow in their order."""
    asking, parcels = Asking(), [parcel_of(event_of(TOPIC, n)) for n in (1, 2)]
    for parcel in parcels:
        asking.gather(parcel)
    for shard in (0, 1):
        asking.say(parcels[1], shard)
    asking.say(parcels[0], 0)
    give_index(asking.cores, table_of(OWNER, n=2))
    tick(asking.step, asking.tick, 2)
    assert [gathering.parcel for gathering in asking.done] == parcels


def test_shard_is_asked_without_bodies() -> None:
    """No filter looks at them; the rest of an event is as it was published."""
    asking, event = Asking(), event_of(TOPIC, body=b"body")
    asking.core.gather(parcel_of(event), Micros(0), PUBLISHER)
    assert [request.events for _, request in sent_of(asking.step, MatchRequest)] == [(event_of(TOPIC),)] * 2


def test_vector_is_what_every_asked_index_held() -> None:
    """Not more: a change that one of them lacked may have been missed."""
    asking, parcel = Asking(), parcel_of(event_of(TOPIC))
    asking.gather(parcel)
    asking.say(parcel, 0)
    asking.say(parcel, 1)
    assert dict(asking.done[0].vector()) == {STREAM: 3}


def test_empty_shard_is_not_asked_while_its_lease_runs() -> None:
    """The lease is counted from the question, so it ends here before it ends at the shard's owner."""
    asking, first = Asking(), parcel_of(event_of(TOPIC, 1))
    asking.step.now = Micros(1)
    asking.gather(first)
    asking.step.now = Micros(300_000)
    asking.say(first, 0, empty=True)
    asking.say(first, 1)
    asking.step.now = CONFIG.pubsub.empty_lease_us
    assert asking.gather(parcel_of(event_of(TOPIC, 2))) == [1]
    asking.step.now = Micros(CONFIG.pubsub.empty_lease_us + 1)
    assert asking.gather(parcel_of(event_of(TOPIC, 3))) == [0, 1]


def test_lease_ends_with_the_table_it_was_given_under() -> None:
    """What the next table claims may have come to the shard after it was called empty."""
    asking, first = Asking(), parcel_of(event_of(TOPIC, 1))
    asking.gather(first)
    asking.say(first, 0, empty=True)
    asking.cores.owner.shards.forget()
    assert asking.gather(parcel_of(event_of(TOPIC, 2))) == [0, 1]


def test_unanswered_question_is_asked_again() -> None:
    """Questions and answers may be lost; who has answered is left alone."""
    asking, parcel = Asking(), parcel_of(event_of(TOPIC))
    asking.gather(parcel)
    asking.say(parcel, 1)
    tick(asking.step, asking.tick)
    assert asking.asked() == []
    tick(asking.step, asking.tick)
    assert asking.asked() == [0]


def test_event_is_given_up_when_the_key_is_no_longer_ours() -> None:
    """Its publisher will find the new owner; storing it here would be storing it with an old index."""
    asking, parcel = Asking(), parcel_of(event_of(TOPIC))
    asking.gather(parcel)
    asking.step.now = Micros(CONFIG.cluster.lease_ticks * TICK_US)
    asking.step.tick += 1
    asking.tick()
    assert asking.core.places_of(parcel.id) == 0
    asking.say(parcel, 0)
    asking.say(parcel, 1)
    assert asking.done == []


def test_answer_that_comes_after_the_lease_ends_nothing() -> None:
    """A process that stood still for long hears it before its tick: others may count on newer indexes by now."""
    asking, parcel = Asking(), parcel_of(event_of(TOPIC))
    asking.gather(parcel)
    asking.step.now = Micros(CONFIG.cluster.lease_ticks * TICK_US)
    asking.say(parcel, 0)
    asking.say(parcel, 1)
    assert asking.done == []
    asking.cores.arc_lease.renew(asking.step.now, None)
    tick(asking.step, asking.tick, 2)
    assert [gathering.parcel for gathering in asking.done] == [parcel]


def test_what_came_after_a_given_up_event_is_given_up_with_it() -> None:
    """One key is lost, the other is still ours: stored here, the later event would be ahead of the earlier."""
    cores = member_at(128, table_of(64, 128, 160))
    core, gone, ours = cores.owner.matchmaker, topic_in(64, 96), topic_in(96, 128)
    events = [event_of(ours, 1), event_of(gone, 2), event_of(ours, 3), event_of(ours, 1, publisher=10)]
    for event in events:
        assert core.gather(parcel_of(event), Micros(0), at(event.id.node[0])) == [], "shards were asked"
    give_index(cores, table_of(64, 96, 128, 160, n=2))
    core.tick()
    assert [core.has(event.id) for event in events] == [True, False, False, True]


def shard_owner() -> Cores:
    """The owner of both shards, with a wildcard subscription in the first."""
    cores = member_at(SHARDS, TABLE, [change_of(wildcard_in_shard(0), 1)])
    cores.arc_lease.renew(cores.step.now, ((STREAM, 1),))
    return cores


def test_shard_answers_with_its_matches_or_that_it_is_empty() -> None:
    """And with the changes it is known to hold."""
    cores, event = shard_owner(), event_of(TOPIC)
    for shard in (0, 1):
        cores.owner.matchmaker.on_match_request(at(OWNER), MatchRequest(CLUSTER, shard, 7, (event,)))
    matches = (Obligation(wildcard_in_shard(0).id, CLUSTER),)
    assert sent(cores.step) == [
        (at(OWNER), MatchResponse(CLUSTER, 0, 7, matches, ((STREAM, 1),), False)),
        (at(OWNER), MatchResponse(CLUSTER, 1, 7, (), ((STREAM, 1),), True)),
    ]


def test_order_that_a_subscription_asked_for_comes_with_its_match() -> None:
    """From our own index, and from a shard's, which says so with the match."""
    wild = msgspec.structs.replace(wildcard_in_shard(0), order=Order.PUBLISHER)
    cores = member_at(SHARDS, TABLE, [change_of(wild, 1)])
    cores.owner.matchmaker.on_match_request(at(OWNER), MatchRequest(CLUSTER, 0, 7, (event_of(TOPIC),)))
    ((_, said),) = sent_of(cores.step, MatchResponse)
    assert said.matches == (Obligation(wild.id, CLUSTER, b"", True),)
    asking, parcel = Asking(subscription_of(on_topic(TOPIC), 52, order=Order.PUBLISHER)), parcel_of(event_of(TOPIC))
    asking.gather(parcel)
    asking.say(parcel, 0, *said.matches)
    asking.say(parcel, 1, Obligation(subscription_of(on_topic(TOPIC), 53).id, CLUSTER))
    (gathering,) = asking.done
    assert set(gathering.ordered) == {wild.id, subscription_of(on_topic(TOPIC), 52).id}
    assert len(gathering.matches) == 4


def test_shard_that_matches_nothing_is_not_called_empty() -> None:
    """The next event may match: only a shard without subscriptions may be skipped."""
    record = subscription_of(on_topic(*map(str, range(9))), 4)
    cores = member_at(SHARDS, TABLE, [change_of(record, 1)])
    for shard in (0, 1):
        asked = MatchRequest(CLUSTER, shard, 7, (event_of("wanted by nobody"),))
        cores.owner.matchmaker.on_match_request(at(OWNER), asked)
    assert sorted(said.empty for _, said in sent_of(cores.step, MatchResponse)) == [False, True]


def test_nobody_answers_for_a_shard_without_a_lease_on_it() -> None:
    """Silence makes the asker ask again; a wrong "no matches" would lose the event."""
    event = event_of(TOPIC)
    late = shard_owner()
    late.step.now = Micros(CONFIG.cluster.lease_ticks * TICK_US)
    late.owner.matchmaker.on_match_request(at(OWNER), MatchRequest(CLUSTER, 0, 7, (event,)))
    elsewhere = member_at(OWNER, TABLE)
    elsewhere.owner.matchmaker.on_match_request(at(SHARDS), MatchRequest(CLUSTER, 0, 7, (event,)))
    assert sent(late.step) == sent(elsewhere.step) == []
