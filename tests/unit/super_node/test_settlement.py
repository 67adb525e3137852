"""The book of changes: nothing is called stable that could be lost, or that somebody might answer without."""

from __future__ import annotations

from itertools import permutations

import pytest

from p2psub.casts.cast import Casts, Summary
from p2psub.model.batches import BATCH_BYTES_MAX
from p2psub.model.changes import LogId
from p2psub.model.content import (
    FILTER_BYTES_MAX,
    Advertisement,
    DeclarationState,
    Filter,
    Operator,
    Predicate,
    Subscription,
)
from p2psub.model.effects import Persist
from p2psub.model.graycode import WHOLE
from p2psub.model.ids import CastId, ClusterId
from p2psub.model.instants import Micros
from p2psub.model.messages.casts import ChangeSummary
from p2psub.model.messages.cluster import ReplicateChanges, StoreChange
from p2psub.model.messages.pubsub import Declare, Verdict
from p2psub.model.outcomes import VerdictStatus
from p2psub.model.records import Kind
from p2psub.model.rights import Rights
from p2psub.super_node.settlement import claims_on_takeover
from p2psub.super_node.table_grants import TableGrants
from tests.unit.bench import (
    CLUSTER,
    CONFIG,
    at,
    change_of,
    epoch,
    make_durable,
    node_at,
    on_topic,
    records_of,
    sent,
    sent_of,
    subscription_of,
    topic_in,
)
from tests.unit.throne import Throne

TOPIC = topic_in(32, 64)
"""A topic of the member at 64."""
RECORD = subscription_of(on_topic(TOPIC), subscriber=64)
STABLE = (at(64), Verdict(RECORD.id, 1, VerdictStatus.STABLE, ()))
STREAM = LogId(CLUSTER, epoch(1, 1))


def test_change_is_numbered_streamed_and_stored_at_once() -> None:
    """To the first candidates and to the owner of its key; nobody is told a verdict yet."""
    throne = Throne(32, 64, 128)
    throne.subscribe(64, RECORD)
    change = change_of(RECORD, 1)
    assert sent(throne.step) == [
        (at(32), ReplicateChanges(CLUSTER, throne.grants.epoch, (change,))),
        (at(64), ReplicateChanges(CLUSTER, throne.grants.epoch, (change,))),
        (at(64), StoreChange(CLUSTER, throne.grants.epoch, change, None)),
    ]
    assert [record.number for record in records_of(throne.step, Kind.NUMBER)] == [change.number]


PARTS = ("durable", "owner", "first candidate", "second candidate")


@pytest.mark.parametrize("order", list(permutations(PARTS)), ids="-".join)
def test_subscription_is_stable_with_the_last_of_its_copies(order: tuple[str, ...]) -> None:
    """On our disk, at the owner of its key, at both candidates: stable after the last of them, in whatever order."""
    throne = Throne(32, 64, 128)
    throne.subscribe(64, RECORD)
    ((_, store),) = sent_of(throne.step, StoreChange)
    for part in order:
        assert throne.verdicts_sent() == []
        assert throne.grants.vector == {}
        match part:
            case "durable":
                throne.settle()
            case "owner":
                throne.store_interest(64, store)
            case "first candidate":
                throne.hold_stream(32)
            case _:
                throne.hold_stream(64)
    assert throne.verdicts_sent() == [STABLE]
    assert throne.grants.vector == {STREAM: 1}


def test_confirmations_of_the_wrong_ones_do_not_count() -> None:
    """Neither another member's word nor another term's."""
    throne = Throne(32, 64, 128)
    throne.subscribe(64, RECORD)
    ((_, store),) = sent_of(throne.step, StoreChange)
    throne.settle()
    throne.hold_stream(32)
    throne.hold_stream(64)
    throne.store_interest(128, store)
    throne.store_interest(64, StoreChange(CLUSTER, epoch(0, 1), store.change, None))
    throne.tick(3)
    assert throne.verdicts_sent() == []
    throne.store_interest(64, store)
    assert throne.verdicts_sent() == [STABLE]


def test_stream_held_by_another_process_of_a_candidate_does_not_count() -> None:
    """What it says may be from before its restart, with a wiped disk in between."""
    throne = Throne(32, 64)
    throne.subscribe(64, RECORD)
    ((_, store),) = sent_of(throne.step, StoreChange)
    throne.settle()
    throne.store_interest(64, store)
    throne.hold_stream(32)
    throne.hold_stream(64, incarnation=7)
    throne.tick(3)
    assert throne.verdicts_sent() == []
    throne.hold_stream(64)
    assert throne.verdicts_sent() == [STABLE]


def test_unanswered_store_is_repeated_until_confirmed() -> None:
    """To the owner that has not answered, and to it alone."""
    throne = Throne(32, 64)
    throne.subscribe(64, RECORD)
    ((_, store),) = sent_of(throne.step, StoreChange)
    throne.tick(4)
    assert sent_of(throne.step, StoreChange) == [(at(64), store)] * 2
    throne.store_interest(64, store)
    throne.tick(4)
    assert sent_of(throne.step, StoreChange) == []


def stable_throne() -> Throne:
    """A term with one stable subscription."""
    throne = Throne(32, 64)
    stabilise(throne, RECORD)
    return throne


def stabilise(throne: Throne, record: Subscription) -> None:
    """Take a record to its verdict."""
    throne.subscribe(record.id.node[0], record)
    answer_stores(throne)
    assert [verdict.status for _, verdict in throne.verdicts_sent()] == [VerdictStatus.STABLE]


def answer_stores(throne: Throne) -> None:
    """Every member asked stores, and every candidate holds."""
    stores = [(to, message) for to, message in throne.step.sends if isinstance(message, StoreChange)]
    throne.settle()
    for place in (32, 64):
        throne.hold_stream(place)
    for to, store in stores:
        throne.store_interest(to.id[0], store)
    throne.settle()


def test_repeated_request_repeats_the_verdict_and_numbers_nothing() -> None:
    """The verdict may have been lost; the subscription is one change for ever."""
    throne = stable_throne()
    records_of(throne.step, Kind.NUMBER)
    throne.subscribe(64, RECORD)
    assert sent(throne.step) == [STABLE]
    assert records_of(throne.step, Kind.NUMBER) == []


def test_end_is_the_next_change_of_the_same_record() -> None:
    """Unsubscribing is spread like subscribing (Hyper 3.1.3); an old copy of the request does not undo it."""
    throne = stable_throne()
    ended = subscription_of(on_topic(TOPIC), subscriber=64, version=2, is_active=False)
    stabilise(throne, ended)
    assert throne.grants.vector == {STREAM: 2}
    assert list(throne.cores.changes.active()) == []
    throne.subscribe(64, RECORD)
    assert sent(throne.step) == [(at(64), Verdict(RECORD.id, 2, VerdictStatus.REFUSED, ()))]
    assert list(throne.cores.changes.active()) == []


def test_peer_cannot_end_the_subscription_of_another() -> None:
    """A record is its own peer's to change."""
    throne = stable_throne()
    throne.subscribe(32, subscription_of(RECORD.filter, subscriber=64, version=2, is_active=False))
    assert list(throne.cores.changes.active()) == [RECORD]


def test_claims_have_no_gaps() -> None:
    """The second change is settled before the first: owners are told of neither until the first is."""
    throne = Throne(32, 64)
    other = subscription_of(on_topic(topic_in(1, 32)), 2, subscriber=64)
    for record in (RECORD, other):
        throne.subscribe(64, record)
    (_, first), (_, second) = sent_of(throne.step, StoreChange)
    throne.settle()
    for place in (32, 64):
        throne.hold_stream(place)
    throne.store_interest(32, second)
    assert [verdict.id for _, verdict in throne.verdicts_sent()] == [other.id]
    assert throne.grants.vector == {}
    throne.store_interest(64, first)
    assert throne.grants.vector == {STREAM: 2}


def test_new_process_of_a_member_ends_the_subscriptions_of_the_old_one() -> None:
    """They ended with it; those of the new process, and of others, stay."""
    throne = stable_throne()
    newer = subscription_of(on_topic(TOPIC), 9, subscriber=64, incarnation=2)
    foreign = subscription_of(on_topic(TOPIC), 9, subscriber=32)
    for record in (newer, foreign):
        throne.subscribe(record.id.node[0], record)
    throne.cores.settlement.end_older(at(64), 2)
    assert list(throne.cores.changes.active()) == [newer, foreign]
    current = throne.cores.changes.current(RECORD.id)
    assert current is not None
    assert (current.record.version, current.record.state) == (2, DeclarationState.ENDED)


def test_peer_that_is_not_heard_loses_its_subscriptions_after_its_lease() -> None:
    """Not earlier, not while it reports; the end is a change like any other."""
    throne = stable_throne()
    lease = CONFIG.cluster.subscriber_lease_ticks
    throne.cores.leases.heard(at(64), 1)
    throne.tick(lease - 20)
    throne.cores.leases.heard(at(64), 1)
    throne.tick(lease - 20)
    assert list(throne.cores.changes.active()) == [RECORD]
    throne.tick(40)
    assert list(throne.cores.changes.active()) == []


def test_peer_whose_lease_ran_out_is_told_when_it_is_back_and_goes_above() -> None:
    """It was cut off, or slept: what it still means gets the next number."""
    throne = stable_throne()
    throne.tick(CONFIG.cluster.subscriber_lease_ticks + 20)
    sent(throne.step)
    throne.cores.leases.heard(at(64), 1)
    assert throne.verdicts_sent() == [(at(64), Verdict(RECORD.id, 2, VerdictStatus.REFUSED, ()))]
    above = subscription_of(RECORD.filter, subscriber=64, version=3)
    throne.subscribe(64, above)
    assert list(throne.cores.changes.active()) == [above]
    sent(throne.step)
    throne.cores.leases.heard(at(64), 1)
    assert throne.verdicts_sent() == []


def test_living_peer_is_told_what_the_other_half_of_a_cut_ring_ended() -> None:
    """It reports to us as ever; the other term heard nothing of it. An end that we number ourselves it asked for."""
    throne = stable_throne()
    later = subscription_of(RECORD.filter, 2, subscriber=64)
    stabilise(throne, later)
    throne.cores.leases.heard(at(64), 1)
    throne.subscribe(64, subscription_of(RECORD.filter, 2, subscriber=64, version=2, is_active=False))
    ended = subscription_of(RECORD.filter, subscriber=64, version=2, is_active=False)
    throne.cores.settlement.learn(change_of(ended, 1, epoch(1, 9)))
    sent(throne.step)
    throne.cores.leases.heard(at(64), 1)
    assert throne.verdicts_sent() == [(at(64), Verdict(RECORD.id, 2, VerdictStatus.REFUSED, ()))]


def test_restarted_member_must_confirm_and_hold_again() -> None:
    """What a process confirmed died with it."""
    throne = Throne(32, 64)
    throne.subscribe(64, RECORD)
    ((_, store),) = sent_of(throne.step, StoreChange)
    throne.settle()
    throne.store_interest(64, store)
    throne.hold_stream(64)
    throne.cores.settlement.forget(node_at(64))
    throne.hold_stream(32)
    throne.tick(2)
    assert throne.verdicts_sent() == [], "it holds the stream no more"
    throne.hold_stream(64)
    assert throne.verdicts_sent() == [], "nor has its new process stored the interest"
    throne.store_interest(64, store)
    assert throne.verdicts_sent() == [STABLE]


def test_only_candidates_that_hold_every_claim_are_heirs() -> None:
    """Whoever takes over without the state must be filled first; so it is not named."""
    throne = stable_throne()
    assert throne.cores.settlement.in_sync_candidates() == (at(32), at(64))
    throne.cores.settlement.forget(node_at(32))
    assert throne.cores.settlement.in_sync_candidates() == (at(64),)


def test_nothing_settles_while_a_lease_of_the_term_before_may_run() -> None:
    """Somebody may still answer by the last table, of which we know nothing."""
    throne = Throne(32, 64)
    throne.grants.quarantine_until_us = Micros(throne.step.now + 10 * CONFIG.tick_us)
    throne.subscribe(64, RECORD)
    answer_stores(throne)
    throne.tick(9)
    assert throne.verdicts_sent() == []
    throne.tick()
    assert throne.verdicts_sent() == [STABLE]


def test_late_answer_is_told_as_accepted_then_stable() -> None:
    """With the clusters that have not stored it: here ours alone."""
    throne = Throne(32, 64)
    throne.subscribe(64, RECORD)
    throne.settle()
    for place in (32, 64):
        throne.hold_stream(place)
    ((_, store),) = sent_of(throne.step, StoreChange)
    throne.tick(CONFIG.cube.accepted_after_ticks - 1)
    assert throne.verdicts_sent() == []
    throne.tick()
    assert throne.verdicts_sent() == [(at(64), Verdict(RECORD.id, 1, VerdictStatus.ACCEPTED, (CLUSTER,)))]
    throne.store_interest(64, store)
    assert throne.verdicts_sent() == [STABLE]


class Answers(Casts):
    """Casts that note what our cluster answers to those of others."""

    def __init__(self) -> None:
        self.given: list[tuple[CastId, Summary]] = []

    def answer_locally(self, cast: CastId, summary: Summary) -> None:
        self.given.append((cast, summary))


def test_change_of_another_cluster_is_answered_when_it_is_settled_here() -> None:
    """A cast waits for our owners and candidates; a repeated one finds it settled."""
    throne, answers = Throne(32, 64), Answers()
    throne.cores.settlement.casts = answers
    foreign = change_of(RECORD, 1, epoch(5, 200), ClusterId("c2"))
    first, again = (CastId(node_at(200), 1, n) for n in (1, 2))
    throne.cores.settlement.take(first, foreign, WHOLE)
    assert answers.given == []
    answer_stores(throne)
    throne.cores.settlement.take(again, foreign, WHOLE)
    assert answers.given == [(cast, ChangeSummary((WHOLE,), 1, 0, 0)) for cast in (first, again)]


def test_repeated_cast_repeats_the_refusal() -> None:
    """Once refused, a change stays refused, whichever cast of it asks."""
    throne, answers = Throne(32, 64), Answers()
    throne.cores.settlement.casts = answers
    foreign = change_of(RECORD, 1, epoch(5, 200), ClusterId("c2"))
    first, again = (CastId(node_at(200), 1, n) for n in (1, 2))
    throne.cores.settlement.take(first, foreign, WHOLE)
    ((_, store),) = sent_of(throne.step, StoreChange)
    throne.settle()
    for place in (32, 64):
        throne.hold_stream(place)
    throne.store_interest(64, store, granted=False)
    throne.cores.settlement.take(again, foreign, WHOLE)
    assert answers.given == [(cast, ChangeSummary((WHOLE,), 0, 1, 0)) for cast in (first, again)]


def test_new_term_settles_again_what_the_last_one_did_not_claim() -> None:
    """Claims heard count as far as we hold them; everything else must be stored by its owner once more."""
    throne = stable_throne()
    later = subscription_of(on_topic(TOPIC), 2, subscriber=64)
    throne.subscribe(64, later)
    make_durable(throne.step)
    sent(throne.step)
    old = throne.grants
    heir = TableGrants(
        old.step, old.cluster_config, old.cube_config, old.tick_us, old.roster, old.changes, CLUSTER, epoch(2, 1)
    )
    heir.claim(STREAM, 1)
    heir.table = old.table
    throne.cores.settlement.term(heir, is_complete=True)
    throne.step.tick += 1
    throne.cores.settlement.tick()
    assert [store.change.record for _, store in sent_of(throne.step, StoreChange)] == [later]


def test_claims_on_takeover_are_what_was_heard_and_is_held() -> None:
    """Neither alone is enough: we cannot vouch for what we do not hold, nor for what nobody claimed."""
    one, two, three = (LogId(CLUSTER, epoch(n, 1)) for n in (1, 2, 3))
    assert claims_on_takeover(((one, 5), (two, 2)), {one: 3, two: 4, three: 9}) == {one: 3, two: 2}
    assert claims_on_takeover(((one, 5),), {}) == {}


def test_deposed_super_node_numbers_nothing() -> None:
    """A request to it goes unanswered; the peer finds the new one."""
    throne = Throne(32, 64)
    throne.cores.settlement.abdicate()
    throne.cores.settlement.on_declare(at(64), Declare(RECORD))
    assert sent(throne.step) == []
    assert list(throne.cores.changes.active()) == []
    assert not [effect for effect in make_durable(throne.step) if isinstance(effect, Persist)]


def test_subscription_without_right_is_refused_and_gets_no_number() -> None:
    """A filter that names no topic needs the right to all of them."""
    throne = Throne(32, 64, 128)
    throne.cores.permits.link_up(node_at(64), Rights(subscribe=("other/*",)))
    throne.subscribe(64, RECORD)
    assert sent(throne.step) == [(at(64), Verdict(RECORD.id, 1, VerdictStatus.REFUSED, ()))]
    assert [record.reason for record in records_of(throne.step, Kind.DROP)] == ["not_authorized"]
    assert throne.cores.changes.vector == {}


def test_term_that_is_not_complete_names_no_heirs() -> None:
    """It does not know what an heir would have to hold."""
    throne = Throne(32, 64, 128)
    throne.hold_stream(32)
    throne.hold_stream(64)
    assert throne.cores.settlement.in_sync_candidates() == (at(32), at(64))
    throne.cores.settlement.is_complete = False
    assert throne.cores.settlement.in_sync_candidates() == ()


@pytest.mark.parametrize("is_active", [True, False])
def test_subscription_that_is_too_large_is_refused_and_gets_no_number(is_active: bool) -> None:
    """Its peer's own limits should have stopped it; every cluster would have to store it."""
    throne = Throne(32, 64, 128)
    heavy = Filter(((Predicate("a", Operator.EQUAL, "x" * FILTER_BYTES_MAX),),))
    record = subscription_of(heavy, subscriber=64, is_active=is_active)
    throne.subscribe(64, record)
    assert throne.verdicts_sent() == [(at(64), Verdict(record.id, 1, VerdictStatus.REFUSED, ()))]
    assert [found.reason for found in records_of(throne.step, Kind.DROP)] == ["filter_too_large"]
    assert throne.cores.changes.vector == {}


def test_heavy_changes_are_streamed_a_few_at_a_time() -> None:
    """A candidate that lacks many gets no more than one message should carry; the rest when it holds them."""
    throne = Throne(32, 64, 128)
    for n in range(1, 11):
        heavy = Filter(((Predicate("a", Operator.EQUAL, f"{n}" + "x" * 60_000),),))
        throne.subscribe(64, subscription_of(heavy, n, subscriber=64))
    streams = [state for to, state in sent_of(throne.step, ReplicateChanges) if to == at(32)]
    assert len(streams[-1].changes) == 4
    assert all(state.weight <= BATCH_BYTES_MAX for state in streams)


# Advertisements


def advertisement(state: DeclarationState = DeclarationState.ACTIVE, version: int = 1) -> Advertisement:
    """What the member at 64 will publish."""
    return Advertisement(RECORD.id, version, state, CLUSTER, on_topic(TOPIC), 5.0)


def test_advertisement_is_stable_once_the_candidates_hold_it() -> None:
    """No owner is asked: an advertisement is nothing that events are matched with."""
    throne = Throne(32, 64, 128)
    throne.subscribe(64, advertisement())
    assert [found.advertised for found in records_of(throne.step, Kind.NUMBER)] == [advertisement()]
    throne.settle()
    assert not sent_of(throne.step, StoreChange)
    assert throne.cores.changes.advertised == {RECORD.id: advertisement()}
    throne.hold_stream(32)
    assert throne.verdicts_sent() == []
    throne.hold_stream(64)
    throne.settle()
    assert throne.verdicts_sent() == [STABLE]


def test_advertisement_ends_as_a_subscription_does() -> None:
    """By its peer, or by a new process of its peer."""
    throne = Throne(32, 64, 128)
    throne.subscribe(64, advertisement())
    throne.cores.settlement.end_older(at(64), 2)
    assert throne.cores.changes.advertised == {}
    throne.subscribe(64, advertisement(version=3))
    assert list(throne.cores.changes.advertised) == [RECORD.id]
    throne.subscribe(64, advertisement(DeclarationState.ENDED, 4))
    assert throne.cores.changes.advertised == {}


def test_nobody_advertises_what_it_may_not_publish() -> None:
    """The right to subscribe to it is another one."""
    throne = Throne(32, 64, 128)
    throne.cores.permits.link_up(at(64).id, Rights(publish=("other",), subscribe=("*",)))
    throne.subscribe(64, advertisement())
    assert [found.reason for found in records_of(throne.step, Kind.DROP)] == ["not_authorized"]
    assert throne.cores.changes.advertised == {}
