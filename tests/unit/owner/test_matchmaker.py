"""Gathering: an event is stored only when everybody who may want it was asked, and asked no longer than needed."""

from __future__ import annotations

from p2psub.model.changes import LogId
from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import MatchRequest, MatchResponse, Obligation
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
    member_at,
    on_topic,
    parcel_of,
    place_off_the_shards,
    sent,
    sent_of,
    subscription_of,
    tick,
    wildcard_in_shard,
)

PUBLISHER = at(9)
STREAM, OTHER = LogId(CLUSTER, epoch(1, 1)), LogId(CLUSTER, epoch(2, 2))


TABLE, TOPIC = place_off_the_shards()
SHARDS, OWNER = (contact.id[0] for contact in TABLE.owners)
PINNED = subscription_of(on_topic(TOPIC), 50)


class Asking:
    """The owner of a topic, and the events whose matches are all in."""

    def __init__(self) -> None:
        self.cores = member_at(OWNER, TABLE, [change_of(PINNED, 1)])
        self.cores.arc_lease.renew(self.cores.step.now, ((STREAM, 4), (OTHER, 2)))
        self.step = self.cores.step
        self.done: list[Gathering] = []
        self.core = self.cores.owner.matchmaker
        self.numbers: dict[ParcelId, int] = {}
        """How the shards were asked for each parcel."""

    def gather(self, parcel: Parcel) -> list[int]:
        """Start, and say which shards were asked."""
        self.note(self.core.gather(parcel, Micros(0), PUBLISHER))
        self.numbers.update((parcel.id, ask.number) for _, ask in self.step.sends if isinstance(ask, MatchRequest))
        return self.asked()

    def note(self, gathering: Gathering | None) -> None:
        """Remember what is matched."""
        if gathering is not None:
            self.done.append(gathering)

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
    """Each is matched when its own shards have answered; the other is still under way."""
    asking, whole = Asking(), parcel_of(*(event_of(TOPIC, n) for n in (1, 2, 3)))
    first, rest = whole.part(0b001), whole.part(0b110)
    asking.gather(first)
    number = asking.numbers[whole.id]
    asking.gather(rest)
    assert asking.core.places_of(whole.id) == 0b111
    for shard in (0, 1):
        asking.say(rest, shard)
    assert [gathering.parcel for gathering in asking.done] == [rest]
    assert asking.core.places_of(whole.id) == 0b001
    for shard in (0, 1):
        asking.core.on_match_response(at(SHARDS), MatchResponse(CLUSTER, shard, number, (), (), False))
    assert asking.core.places_of(whole.id) == 0


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
