"""Leases of subscribers: a peer hears of every end that may not be its own word, often enough, and of no other."""

from __future__ import annotations

import pytest

from p2psub.model.changes import Change, LogId
from p2psub.model.content import Subscription
from p2psub.model.ids import ClusterId, Contact, Epoch
from p2psub.model.messages.declarations import Verdict
from p2psub.model.outcomes import VerdictStatus
from p2psub.model.places import Table
from p2psub.model.reasons import Reason
from p2psub.super_node.change_set import ChangeSet
from p2psub.super_node.subscriber_leases import Lapses, SubscriberLeases
from tests.unit.bench import (
    ANY,
    CLUSTER,
    CONFIG,
    at,
    change_of,
    epoch,
    sent_of,
    step_at,
    subscription_of,
    table_of,
    told_myself,
)

LEASE_TICKS = CONFIG.cluster.subscriber_lease_ticks
OURS, THEIRS = epoch(3, 1), epoch(2, 200)
TERM = LogId(CLUSTER, OURS)


class Keeper:
    """The node at 1 and the changes that it holds; all of its own term unless said otherwise."""

    def __init__(self) -> None:
        self.step = step_at(1)
        self.changes = ChangeSet(self.step, CONFIG.pubsub.shards)
        self.lapses = Lapses(self.step, self.changes)
        self.begin(None)

    def begin(self, last: Table | None) -> None:
        """Begin a term; `last` is the table of the one before."""
        self.core = SubscriberLeases(self.step, CONFIG.cluster, self.changes, self.lapses, TERM, last)

    def hold(self, record: Subscription, term: Epoch) -> Change:
        """The next change of a term."""
        change = change_of(record, self.changes.vector.get(LogId(CLUSTER, term), 0) + 1, term)
        assert self.changes.add(change)
        return change

    def add(self, record: Subscription) -> Subscription:
        """Hold a record of our own term."""
        self.hold(record, OURS)
        return record

    def learn(
        self, record: Subscription, *, foreign: bool = False, candidate_among: tuple[int, ...] | None = None
    ) -> None:
        """Learn a change as super-node, or as in-sync candidate in a ring."""
        change = self.hold(record, THEIRS if foreign else OURS)
        if candidate_among is None:
            self.core.learn(change)
        else:
            self.lapses.learn(change, TERM, table_of(*candidate_among))

    def told(self, peer: int = 8, incarnation: int = 1) -> list[tuple[Contact, Verdict]]:
        """What a peer hears when it reports."""
        self.core.heard(at(peer), incarnation)
        return sent_of(self.step, Verdict)

    def tick(self, count: int) -> None:
        for _ in range(count):
            self.step.tick += 1


def wanted(sequence: int = 1, subscriber: int = 8) -> Subscription:
    """What a peer declared first."""
    return subscription_of(ANY, sequence, subscriber)


def ended(sequence: int = 1, subscriber: int = 8, version: int = 2) -> Subscription:
    """The end of it, by whomever."""
    return subscription_of(ANY, sequence, subscriber, version=version, is_active=False)


def word_on(record: Subscription) -> tuple[Contact, Verdict]:
    """A peer is told that its record stands no more."""
    return at(record.id.node[0]), Verdict(record.id, record.version, VerdictStatus.REFUSED, (), Reason.LAPSED)


# Running out


def test_lease_runs_out_for_the_silent_alone() -> None:
    """Not for whoever reports, not for us, and not in another cluster."""
    keeper = Keeper()
    silent, heard = keeper.add(wanted()), keeper.add(wanted(subscriber=9))
    keeper.add(wanted(subscriber=1))
    keeper.add(subscription_of(ANY, 1, 10, cluster=ClusterId("c2")))
    keeper.begin(None)
    keeper.tick(LEASE_TICKS)
    assert keeper.core.run_out() == []
    keeper.core.heard(at(heard.id.node[0]), 1)
    keeper.tick(1)
    assert keeper.core.run_out() == [silent]


def test_whatever_another_term_numbers_has_a_lease_of_its_own() -> None:
    """Its peer was heard there; before it finds us, we must not end what it has just declared."""
    keeper = Keeper()
    keeper.add(wanted())
    keeper.begin(None)
    keeper.tick(LEASE_TICKS + 1)
    keeper.learn(wanted(2), foreign=True)
    assert keeper.core.run_out() == []


# Telling


def test_peer_is_told_of_a_doubted_end_with_every_report_until_it_goes_above() -> None:
    """A telling may be lost; the next version says that one was not."""
    keeper = Keeper()
    keeper.told()
    end = keeper.add(ended())
    keeper.lapses.doubt(end.id)
    assert [keeper.told() for _ in range(3)] == [[word_on(end)]] * 3
    keeper.add(subscription_of(ANY, version=3))
    assert keeper.told() == []


def test_peer_that_meant_the_end_is_left_alone_after_sixteen_tellings() -> None:
    """It has nothing to say to them."""
    keeper = Keeper()
    keeper.told()
    keeper.lapses.doubt(keeper.add(ended()).id)
    assert [len(keeper.told()) for _ in range(18)] == [1] * 16 + [0] * 2


def test_end_above_the_doubted_one_is_not_told() -> None:
    """It was refused, or ended by its peer, since: to tell it would begin that anew, for ever."""
    keeper = Keeper()
    keeper.told()
    keeper.lapses.doubt(keeper.add(ended()).id)
    keeper.add(ended(version=4))
    assert keeper.told() == []


def test_another_process_of_the_peer_is_not_told() -> None:
    """What the old one declared ended with it."""
    keeper = Keeper()
    keeper.told()
    keeper.lapses.doubt(keeper.add(ended()).id)
    assert keeper.told(incarnation=2) == []
    assert keeper.told() == [], "nor is it kept"


def test_many_ends_are_told_in_turn_some_with_each_report() -> None:
    """No report is answered with all of a large peer's ends, and none waits for the others."""
    keeper = Keeper()
    keeper.told()
    ends = [keeper.add(ended(n)) for n in range(1, 151)]
    for end in ends:
        keeper.lapses.doubt(end.id)
    reports = [keeper.told() for _ in range(3)]
    assert [len(told) for told in reports] == [64, 64, 64]
    assert [word for told in reports for word in told][:150] == [word_on(end) for end in ends]


def test_we_tell_ourselves_at_once() -> None:
    """A super-node does not report to itself, nor is anything lost on the way."""
    keeper = Keeper()
    keeper.learn(ended(subscriber=1), foreign=True)
    assert told_myself(keeper.step, Verdict) == [
        Verdict(ended(subscriber=1).id, 2, VerdictStatus.REFUSED, (), Reason.LAPSED)
    ]


# Doubting


def test_end_of_another_term_is_told_to_the_living() -> None:
    """That one did not hear the peer, perhaps; our own numbers what the peer asks for."""
    keeper = Keeper()
    for peer in (8, 9):
        keeper.told(peer)
    keeper.learn(ended(), foreign=True)
    keeper.learn(ended(subscriber=9))
    assert keeper.told() == [word_on(ended())]
    assert keeper.told(9) == []


def test_end_that_is_learned_after_what_is_above_it_is_an_old_story() -> None:
    """Told of it, the peer would hear that its standing version is refused."""
    keeper = Keeper()
    keeper.told()
    keeper.add(subscription_of(ANY, version=3))
    keeper.learn(ended(), foreign=True)
    assert keeper.told() == []


@pytest.mark.parametrize(("is_foreign", "owners", "doubts"), [(False, (1, 8), 0), (False, (1,), 1), (True, (1, 8), 1)])
def test_in_sync_candidate_notes_what_its_super_node_has_to_tell(
    is_foreign: bool, owners: tuple[int, ...], doubts: int
) -> None:
    """Ends of other terms, and ends of peers that were not there to ask for them."""
    keeper = Keeper()
    keeper.learn(ended(), foreign=is_foreign, candidate_among=owners)
    keeper.begin(table_of(1, 8))
    assert len(keeper.told()) == doubts


def test_ordinary_failover_tells_nobody_anything() -> None:
    """Whoever is in the last term's table heard of everything from that."""
    keeper = Keeper()
    keeper.add(ended())
    keeper.begin(table_of(1, 8))
    assert keeper.told() == []


def test_whoever_was_away_when_our_term_began_is_told_what_has_ended() -> None:
    """We do not know whose word the ends were; those of an earlier process were nobody's."""
    keeper = Keeper()
    end = keeper.add(ended())
    keeper.add(subscription_of(ANY, 2, is_active=True))
    keeper.add(subscription_of(ANY, 3, version=2, is_active=False, incarnation=0))
    keeper.add(ended(subscriber=9))
    keeper.begin(table_of(1, 9))
    assert keeper.told() == [word_on(end)]
    keeper.add(ended(7))
    assert [word for word in keeper.told() if word != word_on(end)] == [], "it is there now, and asks itself"


def test_new_term_asks_its_own_applications() -> None:
    """We may have been away as anybody else."""
    keeper = Keeper()
    keeper.add(ended(subscriber=1))
    keeper.begin(table_of(1, 8))
    assert [word.version for word in told_myself(keeper.step, Verdict)] == [2]
