"""The only sender: urgent first, no more than may be under way, no more waiting than the limit, no silent loss."""

from __future__ import annotations

from itertools import pairwise

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from p2psub.config import EgressConfig
from p2psub.model.digests import digest_of_matches
from p2psub.model.effects import Connect, LinkDrained, LinkUp, Transmit
from p2psub.model.instants import Micros
from p2psub.model.messages import Lane, Message
from p2psub.model.messages.cube import ChangeBatch, DirectoryRequest
from p2psub.model.messages.liveness import Ping
from p2psub.model.messages.pubsub import Deliver, OwedParcel, Predecessor, Publish, StoreCopy, Want
from p2psub.model.outcomes import Outcome
from p2psub.model.records import Kind
from p2psub.model.stakes import LinkEstimate
from p2psub.model.transmission import Transmission
from p2psub.model.ways import NO_WAY
from p2psub.node.egress import Egress
from tests.unit.bench import (
    CLUSTER,
    TICK_US,
    at,
    effects_of,
    event_of,
    on_topic,
    parcel_of,
    records_of,
    step_at,
    subscription_of,
)

PEER = at(64)
PLENTY = 1 << 30
URGENT, CONTROL, BULK = Ping(), DirectoryRequest(), ChangeBatch((), (), False)
FIRST = Ping()
"""What goes ahead of content over a new link."""


def content(sequence: int, size: int = 0) -> Publish:
    """Content that can be told apart."""
    return Publish(parcel_of(event_of("x", sequence, body=bytes(size))), Micros(0))


class Link:
    """One node and its link to a peer."""

    def __init__(self, queued_max: int = 100, bulk_share: float = 0.1) -> None:
        self.step = step_at(1)
        config = EgressConfig(queued_messages_max=queued_max, bulk_share=bulk_share)
        self.core = Egress(self.step, config, TICK_US)
        self.sent = self.arrived = 0
        self.full_since: Micros | None = None

    def send(self, *messages: Message) -> list[Message]:
        """One step's sends; what was transmitted."""
        for message in messages:
            self.step.send(PEER, message)
        self.core.flush()
        return self.transmitted()

    def up(self, window: int = PLENTY) -> list[Message]:
        self.core.link_up(LinkUp(PEER, window))
        return self.transmitted()

    def drained(self, under_way: int = 0) -> list[Message]:
        """So much of what was transmitted has not arrived."""
        arrived = self.sent - under_way
        busy_us = 0 if self.full_since is None else self.step.now - self.full_since
        news = LinkDrained(PEER.id, arrived, busy_us, arrived - self.arrived)
        self.arrived, self.full_since = arrived, None
        self.core.link_drained(news)
        return self.transmitted()

    def drain(self) -> list[Message]:
        """The link drains until nothing waits for it any more."""
        taken: list[Message] = []
        while self.core.queued:
            taken += self.drained()
        return taken

    def transmitted(self) -> list[Message]:
        """Messages handed to the driver since the last look, in their order."""
        effects = effects_of(self.step, Transmit)
        assert all(effect.peer == PEER.id for effect in effects)
        self.sent += sum(effect.weight for effect in effects)
        if self.full_since is None and any(effect.drained_to is not None for effect in effects):
            self.full_since = self.step.now
        return [message for effect in effects for message in effect.messages]


def test_first_message_dials_and_waits_for_the_link() -> None:
    """One Connect however much is sent; nothing is transmitted before the link is up."""
    link = Link()
    assert link.send(CONTROL) == []
    assert link.send(URGENT, content(1)) == []
    assert effects_of(link.step, Connect) == [Connect(PEER)]
    assert link.up() == [FIRST, URGENT, CONTROL, content(1)]
    assert link.core.queued == 0


def test_content_is_never_the_first_over_a_link() -> None:
    """Its receiver could not tell how long it was on the way: what goes ahead is heard apart from it."""
    link = Link()
    link.send(content(1))
    link.core.link_up(LinkUp(PEER, PLENTY))
    assert [effect.messages for effect in effects_of(link.step, Transmit)] == [[FIRST], [content(1)]]
    told = Link()
    told.send(CONTROL)
    assert told.up() == [CONTROL]


def test_way_now_counts_what_waits_and_the_way_does_not() -> None:
    """The queue of a way is left out of what is told: there, too, what earns most goes first."""
    link = Link()
    link.up(window=1)
    link.send(content(1, size=900))
    link.step.now = Micros(100_000)
    link.drained()
    assert link.core.way_now(PEER.id) == link.core.way_over(PEER.id) != NO_WAY
    link.core._links[PEER.id].pace.window = 1
    link.send(content(2, size=900), content(3, size=900))
    over, now = link.core.way_over(PEER.id), link.core.way_now(PEER.id)
    waiting_us = content(3, size=900).weight * over.mean_us_per_kb // 1000
    assert link.core.queued == 1
    assert abs(now.fixed_us - over.fixed_us - waiting_us) <= 1_000
    assert now.mean_us_per_kb == over.mean_us_per_kb
    assert link.core.way_now(at(99).id) == NO_WAY


def test_open_link_transmits_in_the_step_most_urgent_first() -> None:
    """As one transmission under one stamp."""
    link = Link()
    link.up()
    for message in (BULK, content(1), CONTROL, URGENT, content(2)):
        link.step.send(PEER, message)
    link.core.flush()
    (effect,) = effects_of(link.step, Transmit)
    assert effect.messages == [URGENT, CONTROL, content(1), content(2), BULK]


def test_urgent_messages_overtake_whatever_waits() -> None:
    """A full link must not make anybody look dead."""
    link = Link()
    link.up(window=1)
    assert link.send(content(1), content(2), content(3)) == [content(1)]
    assert link.send(CONTROL) == []
    assert link.drain() == [CONTROL, content(2), content(3)]


def test_liveness_waits_for_nothing() -> None:
    """However much is under way: a full link must not make us look dead."""
    link = Link()
    link.up(window=1)
    assert link.send(content(1, 50_000), content(2), URGENT) == [URGENT]
    assert link.drained() == [content(1, 50_000)]
    assert link.send(URGENT, CONTROL) == [URGENT]
    assert link.send(URGENT) == [URGENT]


def test_control_has_as_much_of_a_link_again_as_content() -> None:
    """What is urgent does not wait behind events, yet it is bounded: it may be large itself."""
    link = Link()
    size = content(1, 1_000).weight
    link.up(window=size)
    link.send(URGENT)
    link.drained()
    assert link.send(content(1, 1_000), content(2)) == [content(1, 1_000)]
    room = -(-size // CONTROL.weight)
    assert link.send(*[CONTROL] * (room + 3)) == [CONTROL] * room
    assert link.drain() == [CONTROL] * 3 + [content(2)]


def test_an_event_grows_older_while_it_waits_for_its_link() -> None:
    """In every lane; what leaves in its own step is as old as it was."""
    link = Link()
    link.up(window=1)
    matches = digest_of_matches(())
    owed_parcel = OwedParcel(matches, content(4).parcel, Micros(0), (), ((0, b""),), (), PEER)
    copy = StoreCopy(CLUSTER, (owed_parcel,))
    assert link.send(content(1), content(2), copy) == [copy]
    link.step.now = Micros(link.step.now + 300)
    assert link.drain() == [content(1).aged(300), content(2).aged(300)]
    other = Link()
    other.up(window=1)
    assert other.send(content(3), copy, copy) == [copy]
    other.step.now = Micros(other.step.now + 50)
    assert other.drain() == [StoreCopy(CLUSTER, (owed_parcel.aged(50),)), content(3).aged(50)]
    assert content(1).aged(300).age_us == owed_parcel.aged(300).age_us == 300


def test_what_expires_in_the_queue_is_answered_in_its_receivers_stead_if_it_is_the_first() -> None:
    """Once, and in its receiver's words; what may have come before is settled by those who know."""
    event = msgspec.structs.replace(event_of("x"), timeout_us=1_000)
    wanted = subscription_of(on_topic("x")).id
    deliver = Deliver(parcel_of(event), Micros(0), (Want(wanted),))
    link = Link()
    for message in (deliver, msgspec.structs.replace(deliver, is_repeated=True)):
        link.step.send_followed(PEER, message)
    link.core.flush()
    link.step.now = Micros(link.step.now + 2_000)
    link.core.tick()
    assert link.core.take_answers() == [(PEER, deliver.answer_unsent(Outcome.EXPIRED))]
    assert link.core.take_answers() == []
    assert link.up() == []
    assert [(record.reason, record.count) for record in records_of(link.step, Kind.DROP)] == [("expired", 1)] * 2


def test_a_publish_that_waits_is_as_before_but_older() -> None:
    """A repeated one stays so: an owner with a full disk gives a first try its last word, and sticks to it."""
    link = Link()
    link.up(window=1)
    repeated = msgspec.structs.replace(content(2), after=(Predecessor("a", 1, 1),), is_repeated=True)
    assert link.send(content(1), repeated) == [content(1)]
    link.step.now = Micros(link.step.now + 300)
    assert link.drained() == [msgspec.structs.replace(repeated, age_us=Micros(300))]


def message_of(lane: int, sequence: int) -> Message:
    """A message of a lane."""
    return (URGENT, CONTROL, content(sequence), BULK)[lane]


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=6), min_size=1, max_size=8), st.integers(1, 900))
def test_nothing_is_lost_doubled_or_reordered_within_a_lane(batches: list[list[int]], window: int) -> None:
    """Whatever the window: every message leaves once, and each lane in the order it was asked in."""
    link = Link()
    left = link.up(window)
    asked: list[Message] = []
    for batch in batches:
        messages: list[Message] = [
            (URGENT, CONTROL, content(len(asked) + n), BULK)[lane] for n, lane in enumerate(batch)
        ]
        asked += messages
        left += link.send(*messages)
    left += link.drain()
    for lane in Lane:
        assert [m for m in left if m.lane is lane] == [m for m in asked if m.lane is lane]


def test_no_more_is_under_way_than_the_window_and_one_message() -> None:
    """A message is never cut; after the one that filled the window, no content follows until some has arrived."""
    link = Link()
    size = content(1, 400).weight
    link.up(window=size + 1)
    assert link.send(*(content(n, size=400) for n in range(1, 6))) == [content(1, 400), content(2, 400)]
    assert link.drained(size + 1) == []
    assert link.drained(size) == [content(3, 400)]
    assert link.drained() == [content(4, 400), content(5, 400)]


def test_a_driver_tells_when_a_full_link_has_drained_by_half() -> None:
    """So that the rest is still on the wire while more is chosen; of a link with room nothing waits to hear."""
    link = Link()
    link.up(window=1_000)
    told: list[int | None] = []
    for message in (CONTROL, content(1, 2_000), URGENT):
        link.step.send(PEER, message)
        link.core.flush()
        told += [effect.drained_to for effect in effects_of(link.step, Transmit)]
    assert told == [None, 500, 500]


def test_a_window_is_a_tenth_of_a_second_of_the_link_as_it_was_seen_to_drain() -> None:
    """Whatever it was before: 10,000 bytes in a second leave 1,000 under way, and one message."""
    link = Link()
    link.up(window=8_000)
    link.send(content(1, 9_900))
    link.step.now = Micros(link.step.now + 1_000_000)
    link.drained()
    sent = link.send(*(content(n, 100) for n in range(60)))
    assert 1_000 <= sum(message.weight for message in sent) <= 1_000 + content(1, 100).weight


def test_bulk_gets_its_share_and_content_the_rest() -> None:
    """While both wait, about a tenth of the messages is bulk: it neither starves nor crowds out."""
    link = Link(queued_max=1_000)
    link.send(*(content(n) for n in range(300)), *([BULK] * 100))
    taken = link.up(window=200 * content(0).weight)
    share = taken.count(BULK) / len(taken)
    assert 0.08 <= share <= 0.12


def test_full_queue_drops_the_newest_and_says_so() -> None:
    """Bounded, and never in silence (S13)."""
    link = Link(queued_max=3)
    link.send(*(content(n) for n in range(5)))
    assert link.core.queued == link.core.queued_max == 3
    drops = records_of(link.step, Kind.DROP)
    assert [(drop.reason, drop.peer, drop.count) for drop in drops] == [("link_queue_full", PEER.id, 1)] * 2
    assert link.up() == [FIRST, content(0), content(1), content(2)]


def test_queue_is_bounded_by_bytes_too() -> None:
    """A few large messages are as much as many small ones; what left makes room."""
    step = step_at(1)
    core = Egress(step, EgressConfig(queued_bytes_max=2_000), TICK_US)
    for n in range(3):
        step.send(PEER, content(n, 1_500))
    core.flush()
    assert [drop.reason for drop in records_of(step, Kind.DROP)] == ["link_queue_full"]
    assert core.queued == 2
    assert core.queued_bytes == 2 * content(0, 1_500).weight
    core.link_up(LinkUp(PEER, PLENTY))
    assert (core.queued, core.queued_bytes) == (0, 0)


def test_lost_link_drops_what_waited_and_says_how_much() -> None:
    """The next message dials again; nothing of before is sent on the new link."""
    link = Link()
    link.up(window=1)
    link.send(content(1), content(2), content(3))
    link.core.link_lost(PEER.id)
    (drop,) = records_of(link.step, Kind.DROP)
    assert (drop.reason, drop.count) == ("link_lost", 2)
    assert link.drained() == []
    effects_of(link.step, Connect)
    assert link.send(URGENT) == []
    assert effects_of(link.step, Connect) == [Connect(PEER)]
    assert link.up() == [URGENT]


def test_a_link_that_is_up_twice_goes_on_counting() -> None:
    """A driver may say so again of a link that it has; what arrived is a sum since the first time."""
    link = Link()
    link.up(window=1_000)
    assert link.send(content(1, 5_000)) == [FIRST, content(1, 5_000)]
    assert link.up(window=1_000) == []
    assert link.send(content(2)) == []
    assert link.drained() == [content(2)]


def test_news_of_a_link_that_is_not_up_mean_nothing() -> None:
    """A late LinkDrained of a link that was lost must not let anything through."""
    link = Link()
    link.send(CONTROL)
    assert link.drained() == []
    assert link.core.queued == 1


def test_each_peer_has_its_own_queue() -> None:
    """A peer that takes nothing holds up nobody else."""
    link = Link(queued_max=2)
    other = at(128)
    link.core.link_up(LinkUp(other, PLENTY))
    for n in range(4):
        link.step.send(PEER, content(n))
        link.step.send(other, content(n))
    link.core.flush()
    (effect,) = effects_of(link.step, Transmit)
    assert (effect.peer, effect.messages) == (other.id, [content(n) for n in range(4)])
    assert link.core.queued == 2


# What a core follows


def followed(link: Link, *messages: Message) -> list[Transmission]:
    """One step's sends, all of them followed."""
    several = [link.step.send_followed(PEER, message) for message in messages]
    link.core.flush()
    return several


def pass_ticks(link: Link, count: int) -> None:
    """Let time pass."""
    link.step.tick += count
    link.step.now = Micros(link.step.now + count * TICK_US)


def test_what_waits_is_not_due_and_patience_counts_from_when_it_left() -> None:
    """However long the queue is: a repetition would only stand behind it."""
    link = Link()
    link.up(window=1)
    first, second = followed(link, content(1), content(2))
    assert link.transmitted() == [content(1)]
    pass_ticks(link, 50)
    assert (first.is_waiting, second.is_waiting) == (True, True), "the driver has one, and did not say that it left"
    assert not first.is_due(link.step.tick, 4)
    assert not second.is_due(link.step.tick, 4)
    assert link.drained() == [content(2).aged(50 * TICK_US)]
    assert (first.is_waiting, second.is_waiting) == (False, True)
    pass_ticks(link, 1)
    link.drained()
    due_tick = second.late_ticks + 4
    assert due_tick >= 51 + 4
    assert not second.is_due(due_tick - 1, 4)
    assert second.is_due(due_tick, 4)


def test_what_leaves_at_once_is_as_patient_as_ever() -> None:
    """On an idle link nothing changes; nor for what a node says to itself."""
    link = Link()
    link.up()
    several = [*followed(link, content(1), CONTROL, URGENT), link.step.send_followed(link.step.me, CONTROL)]
    assert [one.late_ticks for one in several] == [0] * 4
    pass_ticks(link, 3)
    assert not any(one.is_due(link.step.tick, 4) for one in several)
    pass_ticks(link, 1)
    assert all(one.is_due(link.step.tick, 4) for one in several)


def test_patience_knows_how_long_a_slow_link_needs() -> None:
    """Once it was full: there and back, for the answer may wait behind as large a message."""
    link = Link()
    size = content(1, 10_000).weight
    link.up(window=size)
    followed(link, content(1, 10_000))
    assert link.transmitted() == [FIRST, content(1, 10_000)]
    pass_ticks(link, 4)
    link.drained()
    (second,) = followed(link, content(2, 10_000))
    assert link.transmitted() == [content(2, 10_000)]
    link.drained()
    assert 3 <= second.late_ticks <= 4
    assert not second.is_due(link.step.tick + second.late_ticks + 3, 4)


def test_what_is_lost_is_due_at_the_next_tick_and_then_ever_later() -> None:
    """Waiting, or on its way when the link ended: it never comes, so nothing is waited for."""
    link = Link()
    link.up(window=1)
    several = followed(link, content(1), content(2), CONTROL, BULK)
    link.core.link_lost(PEER.id)
    assert all(one.is_lost and not one.is_waiting for one in several)
    assert not any(one.is_due(link.step.tick, 4) for one in several)
    assert all(one.is_due(link.step.tick + 1, 4) for one in several)
    assert not any(one.is_due(link.step.tick + 2, 4, tries=3) for one in several)
    assert all(one.is_due(link.step.tick + 4, 4, tries=9) for one in several)


def test_each_is_told_of_its_own_message() -> None:
    """Also when the lanes put them into another order, and some wait."""
    link = Link()
    link.up(window=URGENT.weight + 1)
    late, soon = followed(link, content(1), URGENT)
    assert link.transmitted() == [URGENT, content(1)]
    link.drained()
    link.step.send(PEER, content(3))
    one, other = followed(link, content(2), CONTROL)
    assert link.transmitted() == [CONTROL, content(3)]
    assert (one.is_waiting, late.is_waiting, soon.is_waiting) == (True, False, False)
    link.drained()
    assert not other.is_waiting


def test_what_fills_the_link_goes_alone() -> None:
    """In one frame with a large message a heartbeat is heard when all of that is there."""
    link = Link()
    link.up(window=1_000)
    for message in (content(1, 5_000), URGENT, CONTROL):
        link.step.send(PEER, message)
    link.core.flush()
    first, second = effects_of(link.step, Transmit)
    assert (first.messages, second.messages) == ([URGENT, CONTROL], [content(1, 5_000)])
    assert (first.weight, second.weight) == (URGENT.weight + CONTROL.weight, content(1, 5_000).weight)


def test_a_full_queue_gives_up_what_is_repeated_first() -> None:
    """Bulk is asked for again and content is repeated; liveness stays, or a busy link would make us look dead."""
    link = Link(queued_max=4)
    link.step.send(PEER, content(1))
    kept, lost, bulk = followed(link, content(2), content(3), BULK)
    assert link.send(URGENT) == link.send(CONTROL) == []
    assert (bulk.is_lost, lost.is_lost, kept.is_waiting) == (True, True, True)
    assert link.core.queued == 4
    assert len(records_of(link.step, Kind.DROP)) == 2
    assert link.up() == [FIRST, URGENT, CONTROL, content(1), content(2)]


def test_a_link_that_turns_out_slow_goes_on_by_itself() -> None:
    """Half of the first window is more than all of the next: no heartbeat need come by to have the rest sent."""
    link = Link()
    link.up(window=16_000)
    for sequence in range(1, 20):
        link.step.send(PEER, content(sequence, size=2_000))
    link.core.flush()
    sent = arrived = 0
    while link.core.queued:
        effects = effects_of(link.step, Transmit)
        sent += sum(effect.weight for effect in effects)
        asked = [effect.drained_to for effect in effects if effect.drained_to is not None]
        assert asked, "the driver says nothing more of this link"
        busy_bytes = sent - asked[-1] - arrived
        arrived += busy_bytes
        link.step.now = Micros(link.step.now + 16 * busy_bytes)
        link.core.link_drained(LinkDrained(PEER.id, arrived, 16 * busy_bytes, busy_bytes))


def test_heavy_content_never_shows_first_how_long_a_link_takes() -> None:
    """Also over a link that its other side opened, and where nothing light went for a while."""
    link = Link()
    link.up()
    large = [content(sequence, size=5_000) for sequence in range(1, 6)]
    assert link.send(large[0]) == [FIRST, large[0]]
    link.step.now = Micros(15_000_000)
    assert link.send(large[1]) == [large[1]]
    link.step.now = Micros(25_000_000)
    link.send(large[2])
    assert [effect.messages for effect in effects_of(link.step, Transmit)] == []
    link.step.now = Micros(40_000_000)
    link.send(CONTROL)
    link.step.now = Micros(55_000_000)
    assert link.send(large[3]) == [large[3]]
    link.step.now = Micros(61_000_000)
    link.step.send(PEER, large[4])
    link.core.flush()
    assert [effect.messages for effect in effects_of(link.step, Transmit)] == [[FIRST], [large[4]]]


def test_with_a_long_queue_estimates_are_told_seldom() -> None:
    """With each one all that waits is computed anew: a line that trembles must not take all of a node's time."""
    link = Link(queued_max=10_000)
    link.up(window=1_000)
    link.send(*[content(sequence, size=900) for sequence in range(1, 5_002)])
    told: list[tuple[int, LinkEstimate]] = []
    for look in range(1, 31):
        link.step.now = Micros(look * 100_000)
        link.core.link_drained(LinkDrained(PEER.id, link.sent, 100_000, 500 if look // 8 % 2 else 3_000))
        link.transmitted()
        estimate = link.core._links[PEER.id].told
        if not told or told[-1][1] != estimate:
            told.append((look * 100_000, estimate))
    assert told[0][0] == 100_000
    assert len(told) > 2
    assert all(after - before >= 900_000 for (before, _), (after, _) in pairwise(told))
