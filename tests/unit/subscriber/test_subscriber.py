"""The subscriber's side: each event once, none before the verdict, none in silence when there is no room."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2psub.model.content import Guarantee
from p2psub.model.effects import (
    ConsumedCommand,
    Notify,
    NotifyGap,
    Reply,
    SubscribeCommand,
    UnsubscribeCommand,
)
from p2psub.model.ids import SubscriptionId
from p2psub.model.instants import Micros
from p2psub.model.messages.declarations import Declare
from p2psub.model.messages.pubsub import WindowUpdate
from p2psub.model.outcomes import Missed, Outcome, SubscribeVerdict, VerdictStatus
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from tests.unit.bench import (
    CLUSTER,
    CONFIG,
    bits,
    effects_of,
    epoch,
    event_of,
    node_at,
    on_topic,
    parcel_of,
    records_of,
    sent,
    sent_of,
    tick,
)
from tests.unit.subscriber.subscribers import (
    ENDED,
    ID,
    OWNER,
    RULER,
    SubscribingPeer,
    record,
)


@given(st.lists(st.integers(1, 4), max_size=20))
def test_each_event_is_handed_over_once(arrivals: list[int]) -> None:
    """However often copies arrive; every copy is told delivered, so that its sender stops (S2)."""
    subscriber = SubscribingPeer()
    subscriber.subscribe()
    for sequence in arrivals:
        assert subscriber.deliver(event_of("x", sequence)) == [Outcome.DELIVERED]
    assert subscriber.handed_over() == list(dict.fromkeys(arrivals))


def test_event_that_comes_before_the_verdict_is_held_back() -> None:
    """The application sees nothing of a subscription that may yet be refused."""
    subscriber = SubscribingPeer()
    subscriber.subscribe(status=None)
    assert subscriber.deliver(event_of("x", 1)) == [Outcome.DELIVERED]
    assert subscriber.handed_over() == []
    subscriber.verdict(VerdictStatus.ACCEPTED)
    assert subscriber.handed_over() == [1]
    subscriber.verdict(VerdictStatus.STABLE)
    assert subscriber.handed_over() == []


def test_refused_subscription_gets_nothing_and_says_so() -> None:
    """Nothing is called delivered before the verdict; its owner, told that there is room, asks again and hears why."""
    subscriber = SubscribingPeer(may_be_refused=True)
    subscriber.subscribe(status=None)
    assert subscriber.deliver(event_of("x", 1)) == [Outcome.DEFERRED]
    sent(subscriber.step)
    for _ in range(2):
        subscriber.verdict(VerdictStatus.REFUSED, reason=Reason.VOTED_DOWN)
    assert [to for to, _ in sent_of(subscriber.step, WindowUpdate)] == [OWNER]
    assert subscriber.deliver(event_of("x", 1)) == [Outcome.REFUSED]
    assert subscriber.handed_over() == []
    refused = SubscribeVerdict(ID, VerdictStatus.REFUSED, (), Reason.VOTED_DOWN)
    assert effects_of(subscriber.step, Reply) == [Reply(7, refused)], "the application hears of it once"
    assert [record.reason for record in records_of(subscriber.step, Kind.DROP)] == [Reason.REFUSED]


def test_where_votes_count_an_event_waits_at_its_owner_for_the_verdict() -> None:
    """With the verdict there is room for it."""
    subscriber = SubscribingPeer(may_be_refused=True)
    subscriber.subscribe(status=None)
    assert subscriber.deliver(event_of("x", 1)) == [Outcome.DEFERRED]
    subscriber.verdict(VerdictStatus.STABLE)
    assert subscriber.deliver(event_of("x", 1)) == [Outcome.DELIVERED]
    assert subscriber.handed_over() == [1]


def test_refusal_lets_go_of_what_was_held_back() -> None:
    """What promises nothing waits here; each is counted as dropped, and nothing of it stays."""
    subscriber = SubscribingPeer(may_be_refused=True)
    subscriber.subscribe(status=None)
    for sequence in (1, 2):
        subscriber.take(parcel_of(event_of("x", sequence, guarantee=Guarantee.AT_MOST_ONCE), number=sequence))
    subscriber.verdict(VerdictStatus.REFUSED)
    subscriber.take(parcel_of(event_of("x", 3, guarantee=Guarantee.AT_MOST_ONCE), number=3))
    assert subscriber.handed_over() == []
    drops = records_of(subscriber.step, Kind.DROP)
    assert [(record.reason, record.count) for record in drops] == [(Reason.REFUSED, 2), (Reason.REFUSED, 1)]


def test_late_refusal_ends_the_hand_over() -> None:
    """It was accepted, and an owner that was out of sight refused: what comes now is refused, too."""
    subscriber = SubscribingPeer(may_be_refused=True)
    subscriber.subscribe(status=VerdictStatus.ACCEPTED)
    assert subscriber.deliver(event_of("x", 1)) == [Outcome.DELIVERED]
    subscriber.verdict(VerdictStatus.REFUSED, reason=Reason.VOTED_DOWN)
    assert subscriber.deliver(event_of("x", 2)) == [Outcome.REFUSED]
    assert subscriber.handed_over() == [1]


@pytest.mark.parametrize("first", [VerdictStatus.STABLE, VerdictStatus.REFUSED])
def test_conclusion_is_final(first: VerdictStatus) -> None:
    """A4: stable or refused, whatever is said of that version later; the application hears of one."""
    subscriber = SubscribingPeer()
    subscriber.subscribe(status=None)
    for status in (first, VerdictStatus.REFUSED, VerdictStatus.ACCEPTED, VerdictStatus.STABLE):
        subscriber.verdict(status)
    assert effects_of(subscriber.step, Reply) == [Reply(7, SubscribeVerdict(ID, first))]


def test_refused_stays_refused_when_its_end_is_stable() -> None:
    """The super-node ends what was refused; the verdict on that end is no news to the application."""
    subscriber = SubscribingPeer()
    subscriber.subscribe(status=None)
    subscriber.verdict(VerdictStatus.REFUSED)
    subscriber.verdict(VerdictStatus.STABLE, version=2)
    assert effects_of(subscriber.step, Reply) == [Reply(7, SubscribeVerdict(ID, VerdictStatus.REFUSED))]


def test_lost_refusal_is_not_taken_for_the_end_of_a_lease() -> None:
    """The end of a refused record, heard without the refusal, does not make us ask above it."""
    subscriber = SubscribingPeer()
    subscriber.subscribe(status=None)
    sent(subscriber.step)
    subscriber.verdict(VerdictStatus.STABLE, version=2)
    assert sent(subscriber.step) == []


def test_request_is_repeated_until_it_is_stable() -> None:
    """Accepted is not enough: the super-node that said so may be gone."""
    subscriber = SubscribingPeer()
    subscriber.subscribe(status=None)
    assert sent(subscriber.step) == [(RULER, Declare(record()))]
    for status in (None, VerdictStatus.ACCEPTED):
        if status is not None:
            subscriber.verdict(status)
        tick(subscriber.step, subscriber.tick, CONFIG.pubsub.retry_ticks)
        assert sent(subscriber.step) == [(RULER, Declare(record()))]
    subscriber.verdict(VerdictStatus.STABLE)
    tick(subscriber.step, subscriber.tick, 20)
    assert sent(subscriber.step) == []
    statuses = [VerdictStatus.ACCEPTED, VerdictStatus.STABLE]
    replies = [Reply(7, SubscribeVerdict(ID, status)) for status in statuses]
    assert effects_of(subscriber.step, Reply) == replies


def test_unsubscribing_is_a_new_version_and_ends_the_hand_over_at_once() -> None:
    """What is under way is answered as unsubscribed; later, when the end stands everywhere, as ended."""
    subscriber = SubscribingPeer()
    subscriber.subscribe()
    subscriber.core.unsubscribe(UnsubscribeCommand(8, ID))
    assert sent(subscriber.step) == [(RULER, Declare(record(2, ENDED)))]
    assert subscriber.core.status().subscriptions == ()
    assert subscriber.deliver(event_of("x", 1)) == [Outcome.UNSUBSCRIBED]
    subscriber.verdict(VerdictStatus.STABLE, version=1)
    tick(subscriber.step, subscriber.tick, CONFIG.pubsub.retry_ticks)
    assert sent(subscriber.step) == [(RULER, Declare(record(2, ENDED)))], "the verdict was on the version before"
    subscriber.verdict(VerdictStatus.STABLE, version=2)
    tick(subscriber.step, subscriber.tick)
    assert effects_of(subscriber.step, Reply) == [Reply(8, SubscribeVerdict(ID, VerdictStatus.STABLE))]
    assert subscriber.deliver(event_of("x", 2)) == [Outcome.ENDED]
    assert subscriber.handed_over() == []


def test_subscription_that_was_ended_for_us_is_asked_for_above_that() -> None:
    """Our lease ran out while we were cut off: still wanted, with all it was asked with."""
    subscriber = SubscribingPeer()
    subscriber.subscribe()
    subscriber.verdict(VerdictStatus.REFUSED, version=2)
    assert sent(subscriber.step) == [(RULER, Declare(record(3)))]
    assert subscriber.core.status().subscriptions == (ID,)
    subscriber.verdict(VerdictStatus.REFUSED, version=2)
    assert sent(subscriber.step) == [], "a second telling is no news"


def test_application_is_told_that_its_subscription_had_lapsed() -> None:
    """Once, ahead of what comes after it: what was acknowledged meanwhile is owed to nobody."""
    subscriber = SubscribingPeer()
    subscriber.subscribe()
    for version in (2, 4):
        subscriber.verdict(VerdictStatus.REFUSED, version)
    event = event_of("x")
    subscriber.deliver(event)
    assert effects_of(subscriber.step, NotifyGap) == [], "nobody knows yet that it stands again"
    subscriber.verdict(VerdictStatus.ACCEPTED, version=5)
    subscriber.verdict(VerdictStatus.STABLE, version=5)
    told = [effect for effect in subscriber.step.effects if isinstance(effect, Notify | NotifyGap)]
    gap, handed_over = told
    assert gap == NotifyGap(ID, 0, Reason.LAPSED)
    assert isinstance(handed_over, Notify)
    assert handed_over.events == [event]


def test_subscription_that_never_stood_has_not_lapsed() -> None:
    """No verdict had promised anything, and no gap tells of it."""
    subscriber = SubscribingPeer()
    subscriber.subscribe(status=None)
    subscriber.verdict(VerdictStatus.ACCEPTED)
    subscriber.verdict(VerdictStatus.STABLE)
    assert effects_of(subscriber.step, NotifyGap) == []


def test_refused_subscription_is_not_asked_for_above_its_end() -> None:
    """The super-node ended it because it was refused: asking again would begin that anew."""
    subscriber = SubscribingPeer()
    subscriber.subscribe(status=VerdictStatus.REFUSED)
    subscriber.verdict(VerdictStatus.REFUSED, version=2)
    tick(subscriber.step, subscriber.tick, CONFIG.pubsub.retry_ticks)
    assert sent(subscriber.step) == []


def test_subscription_that_we_ended_is_not_asked_for_again() -> None:
    """Whoever ended it too, and whichever of the ends is the higher."""
    subscriber = SubscribingPeer()
    subscriber.subscribe()
    subscriber.core.unsubscribe(UnsubscribeCommand(8, ID))
    subscriber.verdict(VerdictStatus.STABLE, version=2)
    sent(subscriber.step)
    for version in (2, 3):
        subscriber.verdict(VerdictStatus.REFUSED, version=version)
    tick(subscriber.step, subscriber.tick)
    subscriber.verdict(VerdictStatus.REFUSED, version=3)
    assert sent(subscriber.step) == []
    assert subscriber.core.status().subscriptions == ()


def test_full_channel_defers_what_was_promised() -> None:
    """The event stays with its owner, and is handed over when there is room: nothing lost, nothing twice."""
    subscriber = SubscribingPeer()
    subscriber.subscribe(window=1)
    assert subscriber.deliver(event_of("x", 1)) == [Outcome.DELIVERED]
    assert subscriber.deliver(event_of("x", 2)) == [Outcome.DEFERRED]
    subscriber.core.consumed(ConsumedCommand(ID, 1))
    assert subscriber.deliver(event_of("x", 2)) == [Outcome.DELIVERED]
    assert subscriber.handed_over() == [1, 2]


def test_full_channel_turns_at_most_once_into_a_gap() -> None:
    """Counted, and told in the channel before the next event; nobody is answered."""
    subscriber = SubscribingPeer()
    subscriber.subscribe(window=1)
    straight = [event_of("x", n, guarantee=Guarantee.AT_MOST_ONCE) for n in (1, 2, 3, 4)]
    assert [subscriber.deliver(event) for event in straight[:3]] == [[], [], []]
    subscriber.core.consumed(ConsumedCommand(ID, 1))
    subscriber.deliver(straight[3])
    assert subscriber.handed_over() == [1, 4]
    assert effects_of(subscriber.step, NotifyGap) == [NotifyGap(ID, 2, Reason.CHANNEL_FULL)]


def test_event_without_promise_is_handed_over_once_by_whichever_way_it_comes() -> None:
    """From its owner or from the super-node, in the message that brings promised events; nobody is answered."""
    subscriber = SubscribingPeer()
    subscriber.subscribe()
    parcel = parcel_of(*(event_of("x", n, guarantee=Guarantee.AT_MOST_ONCE) for n in (1, 2, 3)))
    for sender in (OWNER, RULER):
        assert subscriber.take(parcel, bits(0, 2), sender=sender) == ()
    assert subscriber.handed_over() == [1, 3]
    (again,) = records_of(subscriber.step, Kind.DUPLICATE)
    assert (again.peer, again.reason) == (RULER.id, "parcel_repeated")


def test_gap_is_told_as_soon_as_there_is_room() -> None:
    """Also if no event ever follows."""
    subscriber = SubscribingPeer()
    subscriber.subscribe(window=1)
    for n in (1, 2):
        subscriber.deliver(event_of("x", n, guarantee=Guarantee.AT_MOST_ONCE))
    subscriber.core.consumed(ConsumedCommand(ID, 1))
    assert effects_of(subscriber.step, NotifyGap) == [NotifyGap(ID, 1, Reason.CHANNEL_FULL)]


def test_overflow_at_an_owner_is_told_once_per_lost_event() -> None:
    """Owners repeat their counts with every delivery; another process of the owner counts anew."""
    subscriber = SubscribingPeer()
    subscriber.subscribe()
    for n, (incarnation, count) in enumerate([(1, 2), (1, 2), (1, 5), (2, 1), (1, 4)], start=1):
        subscriber.deliver(event_of("x", n), Missed(ID, OWNER.id, incarnation, count))
    assert [gap.count for gap in effects_of(subscriber.step, NotifyGap)] == [2, 3, 1]


def test_ids_are_remembered_as_long_as_a_copy_may_come() -> None:
    """For the undelivered TTL and a margin; then memory is free again."""
    subscriber = SubscribingPeer()
    subscriber.subscribe()
    subscriber.deliver(event_of("x", 1))
    subscriber.step.now = Micros(CONFIG.pubsub.undelivered_ttl_us + CONFIG.pubsub.undelivered_ttl_margin_us - 1)
    subscriber.tick()
    assert subscriber.deliver(event_of("x", 1)) == [Outcome.DELIVERED]
    assert subscriber.handed_over() == [1]


def test_subscription_made_before_the_cluster_is_known_is_asked_for_later() -> None:
    """Under the cluster it then has: events find their subscriber by it."""
    subscriber = SubscribingPeer(follows=False)
    subscriber.core.subscribe(SubscribeCommand(7, on_topic("x"), replay=True))
    assert sent(subscriber.step) == []
    subscriber.election.follow(CLUSTER, epoch(1, 1), RULER)
    tick(subscriber.step, subscriber.tick, CONFIG.pubsub.retry_ticks)
    assert sent(subscriber.step) == [(RULER, Declare(record(2)))]


def test_unknown_subscription_has_ended() -> None:
    """It belonged to the process before: its owner may stop."""
    subscriber = SubscribingPeer()
    old = SubscriptionId(node_at(64), 0, 1)
    assert subscriber.deliver(event_of("x", 1), id_=old) == [Outcome.ENDED]
    assert subscriber.handed_over() == []
