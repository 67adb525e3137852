"""The publisher: an event is its own until an owner acknowledged it, under one id for ever."""

from __future__ import annotations

from p2psub.config import PubSubConfig
from p2psub.model.content import Draft
from p2psub.model.effects import PublishCommand
from p2psub.model.ids import Contact, EventId
from p2psub.model.messages.pubsub import Acknowledge, Acknowledged, Publish
from p2psub.model.messages.ring import Lookup
from p2psub.model.outcomes import PublishOutcome
from p2psub.model.parcels import ParcelId
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from tests.unit.bench import (
    CONFIG,
    TICK_US,
    bits,
    node_at,
    records_of,
    sent,
    sent_of,
    tick,
)
from tests.unit.publisher.publishers import (
    FREE,
    NEW_OWNER,
    ONCE,
    OWNER,
    TOPIC,
    PublishingPeer,
    acknowledge,
    event,
    outcome_of,
    sent_event,
    sent_parcel,
)

RETRY_US = CONFIG.pubsub.retry_ticks * TICK_US


def test_acknowledgement_names_its_owner_and_a_refusal_is_none() -> None:
    """Who refuses has stored nothing: were it traced as an acknowledgement, it would be a broken promise."""
    publisher = PublishingPeer(owner=OWNER)
    publisher.publish(1, ONCE, ONCE)
    said = (Acknowledged(bits(0), 3, 2), Acknowledged(bits(1), refused=Reason.NOT_AUTHORIZED))
    publisher.core.on_acknowledge(OWNER, Acknowledge(ParcelId(node_at(1), 1, 1), said))
    kept, drop = records_of(publisher.step, Kind.ACKNOWLEDGE, Kind.DROP)
    assert (kept.event, kept.peer, kept.copies, kept.matched) == (event(1).id, OWNER.id, 3, 2)
    assert (drop.event, drop.peer, drop.reason) == (event(2).id, OWNER.id, "not_authorized")


def test_a_parcel_is_cut_to_what_the_link_to_its_owner_takes_at_once() -> None:
    """A slow link is not held up by a burst: what is published next, and worth more, comes between."""
    publisher = PublishingPeer(owner=OWNER)
    publisher.part_bytes = 2_500
    publisher.core.publish(PublishCommand(1, [Draft(TOPIC, body=bytes(1_000)) for _ in range(7)]))
    publisher.core.flush()
    sizes = [len(message.parcel.events) for _, message in sent_of(publisher.step, Publish)]
    assert sizes == [3, 3, 1]


def test_event_goes_to_the_owner_that_the_ring_names() -> None:
    """Hyper 3.1.2: look up, then send."""
    publisher = PublishingPeer()
    publisher.publish(1)
    publisher.find(OWNER)
    assert sent(publisher.step) == [sent_event(OWNER)]


def test_table_saves_the_first_look_up_and_the_ring_corrects_the_table() -> None:
    """An owner that stays silent may be one that the table has outlived."""
    publisher = PublishingPeer(owner=OWNER)
    publisher.publish()
    assert sent(publisher.step) == [sent_event(OWNER)]
    tick(publisher.step, publisher.core.tick, CONFIG.pubsub.retry_ticks)
    publisher.find(NEW_OWNER)
    assert sent(publisher.step) == [sent_event(NEW_OWNER, age_us=RETRY_US, is_repeated=True)]


def test_application_is_answered_by_the_acknowledgement_and_only_once() -> None:
    """With what the owner stated; a repeated acknowledgement changes nothing."""
    publisher = PublishingPeer()
    publisher.publish(41)
    publisher.find(OWNER)
    assert publisher.replies() == []
    acknowledge(publisher)
    acknowledge(publisher, copies=1)
    assert publisher.replies() == [(41, outcome_of())]
    assert publisher.outbox == 0


def test_unacknowledged_event_is_sent_again_under_its_id_with_its_age() -> None:
    """To an owner looked up anew: the silent one may have been replaced."""
    publisher = PublishingPeer()
    publisher.publish()
    publisher.find(OWNER)
    sent(publisher.step)
    tick(publisher.step, publisher.core.tick, CONFIG.pubsub.retry_ticks - 1)
    assert sent(publisher.step) == []
    tick(publisher.step, publisher.core.tick)
    publisher.find(NEW_OWNER)
    assert sent(publisher.step) == [sent_event(NEW_OWNER, age_us=RETRY_US, is_repeated=True)]
    acknowledge(publisher)
    tick(publisher.step, publisher.core.tick, 20)
    assert sent(publisher.step) == []


def test_wrong_address_leads_to_the_right_one() -> None:
    """At once if the refusal names it, by a new look-up otherwise."""
    publisher = PublishingPeer()
    publisher.publish()
    publisher.find(OWNER)
    sent(publisher.step)
    publisher.hear_not_owner(1, (bits(0), NEW_OWNER))
    assert sent(publisher.step) == [sent_event(NEW_OWNER, is_repeated=True)]
    publisher.hear_not_owner(1, (bits(0), None))
    assert sent(publisher.step) == []
    tick(publisher.step, publisher.core.tick, CONFIG.pubsub.retry_ticks)
    assert len(sent_of(publisher.step, Lookup)) == 1
    assert publisher.outbox == 1, "it is still ours"


def send_in_circles(publisher: PublishingPeer) -> list[Contact]:
    """Owner and new owner each name the other for every publish; whom the publisher tried before it gave up."""
    tried: list[Contact] = []
    for _ in range(20):
        for to, _ in sent_of(publisher.step, Publish):
            tried.append(to)
            publisher.hear_not_owner(1, (b"", NEW_OWNER if to == OWNER else OWNER))
    return tried


def test_two_members_that_redirect_to_each_other_cause_three_resends_at_most() -> None:
    """Per tick: afterwards the event waits for its next try, which may bounce as often again."""
    publisher = PublishingPeer()
    publisher.publish()
    publisher.find(OWNER)
    assert send_in_circles(publisher) == [OWNER, NEW_OWNER, OWNER, NEW_OWNER]
    tick(publisher.step, publisher.core.tick, CONFIG.pubsub.retry_ticks)
    publisher.find(NEW_OWNER)
    assert send_in_circles(publisher) == [NEW_OWNER, OWNER, NEW_OWNER, OWNER]
    assert publisher.outbox == 1, "it is still ours"


def test_each_event_gets_an_id_of_its_own() -> None:
    """Also equal content: two publishes are two events."""
    publisher = PublishingPeer()
    for number in (1, 2, 3):
        publisher.publish(number)
    published = [record.event for record in records_of(publisher.step, Kind.PUBLISH)]
    assert published == [EventId(node_at(1), 1, n) for n in (1, 2, 3)]


def test_full_outbox_refuses_and_says_so() -> None:
    """The application hears at once that there are no copies, and why; nothing is sent that nobody would repeat."""
    publisher = PublishingPeer(PubSubConfig(outbox_events_max=1))
    publisher.publish(1)
    sent(publisher.step)
    publisher.publish(2)
    assert publisher.replies() == [(2, PublishOutcome(event(2).id, refused=Reason.OUTBOX_FULL))]
    assert sent(publisher.step) == []
    assert [drop.reason for drop in records_of(publisher.step, Kind.DROP)] == ["outbox_full"]


def test_at_most_once_is_streamed_and_forgotten() -> None:
    """Answered at once, kept nowhere, never repeated."""
    publisher = PublishingPeer(owner=OWNER)
    publisher.publish(7, FREE, FREE)
    assert publisher.replies() == [(7, PublishOutcome(event(1).id)), (8, PublishOutcome(event(2).id))]
    assert sent(publisher.step) == [sent_parcel(OWNER, 1, 2)]
    tick(publisher.step, publisher.core.tick, 20)
    publisher.core.flush()
    assert sent(publisher.step) == []
    assert publisher.outbox == 0


def test_each_event_of_a_command_has_the_next_number() -> None:
    """Whatever they promise: each is answered under its own number."""
    publisher = PublishingPeer(owner=OWNER)
    publisher.publish(11, ONCE, FREE, FREE, ONCE, FREE)
    assert sent(publisher.step) == [sent_event(OWNER, 1, 2), sent_parcel(OWNER, 3, 4, 5, number=2)]
    for place in (1, 0):
        acknowledge(publisher, place)
    assert publisher.replies() == [
        (12, PublishOutcome(event(3).id)),
        (13, PublishOutcome(event(4).id)),
        (15, PublishOutcome(event(5).id)),
        (14, outcome_of(2)),
        (11, outcome_of(1)),
    ]


def test_nothing_leaves_before_the_end_of_the_step() -> None:
    """So that all commands of a step share what can be shared."""
    publisher = PublishingPeer(owner=OWNER)
    for number in (1, 2):
        publisher.core.publish(PublishCommand(number, [Draft(TOPIC, {"x": 1}, b"body", 5.0)]))
    assert sent(publisher.step) == []
    publisher.core.flush()
    publisher.core.flush()
    assert sent(publisher.step) == [sent_event(OWNER, 1, 2)]


def test_parcel_is_cut_where_the_timeout_changes() -> None:
    """One word then says it of all; the events of a topic stay in the order of publishing."""
    publisher = PublishingPeer(owner=OWNER)
    drafts = [Draft("t", body=bytes([n]), timeout_us=timeout_us) for n, timeout_us in enumerate((0, 0, 5, 5, 0))]
    publisher.core.publish(PublishCommand(1, drafts))
    publisher.core.flush()
    parcels = [message.parcel for _, message in sent_of(publisher.step, Publish)]
    assert [(parcel.timeout_us, len(parcel.events)) for parcel in parcels] == [(0, 2), (5, 2), (0, 1)]
    assert [event.body[0] for parcel in parcels for event in parcel.events] == [0, 1, 2, 3, 4]
    assert [event.id.sequence for parcel in parcels for event in parcel.events] == [1, 2, 3, 4, 5]
