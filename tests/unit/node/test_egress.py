"""The only sender: urgent first, no more than the link takes, no more waiting than the limit, no silent loss."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from p2psub.config import EgressConfig
from p2psub.model.digests import digest_of_matches
from p2psub.model.effects import Connect, Transmit
from p2psub.model.instants import Micros
from p2psub.model.messages import Lane, Message
from p2psub.model.messages.cube import ChangeBatch, DirectoryRequest
from p2psub.model.messages.liveness import Ping
from p2psub.model.messages.pubsub import OwedParcel, Predecessor, Publish, StoreCopy
from p2psub.model.records import Kind
from p2psub.model.transmission import Transmission
from p2psub.node.egress import Egress
from p2psub.queueing.fcfs import FirstComeFirstServed
from tests.unit.bench import CLUSTER, TICK_US, at, effects_of, event_of, parcel_of, records_of, step_at

PEER = at(64)
PLENTY = 1 << 30
URGENT, CONTROL, BULK = Ping(), DirectoryRequest(), ChangeBatch((), (), False)


def content(sequence: int, size: int = 0) -> Publish:
    """Content that can be told apart."""
    return Publish(parcel_of(event_of("x", sequence, body=bytes(size))), Micros(0))


class Link:
    """One node and its link to a peer."""

    def __init__(self, queued_max: int = 100, bulk_share: float = 0.1) -> None:
        self.step = step_at(1)
        config = EgressConfig(queued_messages_max=queued_max, bulk_share=bulk_share)
        self.core = Egress(self.step, config, TICK_US, FirstComeFirstServed)

    def send(self, *messages: Message) -> list[Message]:
        """One step's sends; what was transmitted."""
        for message in messages:
            self.step.send(PEER, message)
        self.core.flush()
        return self.transmitted()

    def up(self, credit: int = PLENTY) -> list[Message]:
        self.core.link_up(PEER, credit)
        return self.transmitted()

    def ready(self, credit: int) -> list[Message]:
        self.core.link_ready(PEER.id, credit)
        return self.transmitted()

    def transmitted(self) -> list[Message]:
        """Messages handed to the driver since the last look, in their order."""
        effects = effects_of(self.step, Transmit)
        assert all(effect.peer == PEER.id for effect in effects)
        return [message for effect in effects for message in effect.messages]


def test_first_message_dials_and_waits_for_the_link() -> None:
    """One Connect however much is sent; nothing is transmitted before the link is up."""
    link = Link()
    assert link.send(CONTROL) == []
    assert link.send(URGENT, content(1)) == []
    assert effects_of(link.step, Connect) == [Connect(PEER)]
    assert link.up() == [URGENT, CONTROL, content(1)]
    assert link.core.queued == 0


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
    link.up(credit=1)
    assert link.send(content(1), content(2), content(3)) == [content(1)]
    assert link.send(CONTROL) == []
    assert link.send(URGENT) == []
    assert link.ready(PLENTY) == [URGENT, CONTROL, content(2), content(3)]


def test_an_event_grows_older_while_it_waits_for_its_link() -> None:
    """In every lane; what leaves in its own step is as old as it was."""
    link = Link()
    link.up(credit=1)
    matches = digest_of_matches(())
    owed_parcel = OwedParcel(matches, content(4).parcel, Micros(0), (), ((0, b""),), (), PEER)
    copy = StoreCopy(CLUSTER, (owed_parcel,))
    assert link.send(content(1), content(2), copy) == [copy]
    link.step.now = Micros(link.step.now + 300)
    assert link.ready(PLENTY) == [content(1).aged(300), content(2).aged(300)]
    link.ready(1)
    assert link.send(content(3), copy) == [copy]
    link.send(copy)
    link.step.now = Micros(link.step.now + 50)
    assert link.ready(PLENTY) == [StoreCopy(CLUSTER, (owed_parcel.aged(50),)), content(3).aged(50)]
    assert content(1).aged(300).age_us == owed_parcel.aged(300).age_us == 300


def test_a_publish_that_waits_is_as_before_but_older() -> None:
    """A repeated one stays so: an owner with a full disk gives a first try its last word, and sticks to it."""
    link = Link()
    link.up(credit=1)
    repeated = msgspec.structs.replace(content(2), after=(Predecessor("a", 1, 1),), is_repeated=True)
    assert link.send(content(1), repeated) == [content(1)]
    link.step.now = Micros(link.step.now + 300)
    assert link.ready(PLENTY) == [msgspec.structs.replace(repeated, age_us=Micros(300))]


def message_of(lane: int, sequence: int) -> Message:
    """A message of a lane."""
    return (URGENT, CONTROL, content(sequence), BULK)[lane]


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=6), min_size=1, max_size=8), st.integers(1, 900))
def test_nothing_is_lost_doubled_or_reordered_within_a_lane(batches: list[list[int]], credit: int) -> None:
    """Whatever the credit: every message leaves once, and each lane in the order it was asked in."""
    link = Link()
    left = link.up(credit)
    asked: list[Message] = []
    for batch in batches:
        messages: list[Message] = [
            (URGENT, CONTROL, content(len(asked) + n), BULK)[lane] for n, lane in enumerate(batch)
        ]
        asked += messages
        left += link.send(*messages)
    for _ in range(len(asked)):
        left += link.ready(credit)
    assert link.core.queued == 0
    for lane in Lane:
        assert [m for m in left if m.lane is lane] == [m for m in asked if m.lane is lane]


def test_link_gets_no_more_than_its_credit_and_one_message() -> None:
    """A message is never cut; after the one that used the credit up, nothing follows."""
    link = Link()
    credit = content(1, 400).weight + 1
    link.up(credit)
    assert link.send(*(content(n, size=400) for n in range(1, 6))) == [content(1, 400), content(2, 400)]
    assert link.send(URGENT) == []
    assert link.ready(credit + URGENT.weight) == [URGENT, content(3, 400), content(4, 400)]
    assert link.ready(0) == []


def test_bulk_gets_its_share_and_content_the_rest() -> None:
    """While both wait, about a tenth of the messages is bulk: it neither starves nor crowds out."""
    link = Link(queued_max=1_000)
    link.send(*(content(n) for n in range(300)), *([BULK] * 100))
    taken = link.up(credit=200 * content(0).weight)
    share = taken.count(BULK) / len(taken)
    assert 0.08 <= share <= 0.12


def test_full_queue_drops_the_newest_and_says_so() -> None:
    """Bounded, and never in silence (S13)."""
    link = Link(queued_max=3)
    link.send(*(content(n) for n in range(5)))
    assert link.core.queued == link.core.queued_max == 3
    drops = records_of(link.step, Kind.DROP)
    assert [(drop.reason, drop.peer, drop.count) for drop in drops] == [("link_queue_full", PEER.id, 1)] * 2
    assert link.up() == [content(0), content(1), content(2)]


def test_queue_is_bounded_by_bytes_too() -> None:
    """A few large messages are as much as many small ones; what left makes room."""
    step = step_at(1)
    core = Egress(step, EgressConfig(queued_bytes_max=2_000), TICK_US, FirstComeFirstServed)
    for n in range(3):
        step.send(PEER, content(n, 1_500))
    core.flush()
    assert [drop.reason for drop in records_of(step, Kind.DROP)] == ["link_queue_full"]
    assert core.queued == 2
    assert core.queued_bytes == 2 * content(0, 1_500).weight
    core.link_up(PEER, PLENTY)
    assert (core.queued, core.queued_bytes) == (0, 0)


def test_lost_link_drops_what_waited_and_says_how_much() -> None:
    """The next message dials again; nothing of before is sent on the new link."""
    link = Link()
    link.up(credit=1)
    link.send(content(1), content(2), content(3))
    link.core.link_lost(PEER.id)
    (drop,) = records_of(link.step, Kind.DROP)
    assert (drop.reason, drop.count) == ("link_lost", 2)
    assert link.ready(PLENTY) == []
    effects_of(link.step, Connect)
    assert link.send(URGENT) == []
    assert effects_of(link.step, Connect) == [Connect(PEER)]
    assert link.up() == [URGENT]


def test_readiness_of_a_link_that_is_not_up_means_nothing() -> None:
    """A late LinkReady of a link that was lost must not let anything through."""
    link = Link()
    link.send(CONTROL)
    assert link.ready(PLENTY) == []
    assert link.core.queued == 1


def test_each_peer_has_its_own_queue() -> None:
    """A peer that takes nothing holds up nobody else."""
    link = Link(queued_max=2)
    other = at(128)
    link.core.link_up(other, PLENTY)
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
    link.up(credit=1)
    first, second = followed(link, content(1), content(2))
    assert link.transmitted() == [content(1)]
    pass_ticks(link, 50)
    assert (first.is_waiting, second.is_waiting) == (True, True), "the driver has one, and did not say that it left"
    assert not first.is_due(link.step.tick, 4)
    assert not second.is_due(link.step.tick, 4)
    assert link.ready(1) == [content(2).aged(50 * TICK_US)]
    assert (first.is_waiting, second.is_waiting) == (False, True)
    pass_ticks(link, 1)
    link.ready(PLENTY)
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
    link.up(credit=size)
    followed(link, content(1, 10_000))
    pass_ticks(link, 4)
    link.ready(PLENTY)
    (second,) = followed(link, content(2, 10_000))
    assert 7 <= second.late_ticks <= 8
    assert not second.is_due(link.step.tick + second.late_ticks + 3, 4)


def test_what_is_lost_is_due_at_the_next_tick_and_then_ever_later() -> None:
    """Waiting, or on its way when the link ended: it never comes, so nothing is waited for."""
    link = Link()
    link.up(credit=1)
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
    link.up(credit=URGENT.weight + 1)
    late, soon = followed(link, content(1), URGENT)
    assert link.transmitted() == [URGENT, content(1)]
    link.ready(1)
    link.step.send(PEER, content(3))
    one, other = followed(link, content(2), CONTROL)
    assert link.transmitted() == [CONTROL]
    assert (one.is_waiting, late.is_waiting, soon.is_waiting) == (True, False, False)
    link.ready(1)
    assert not other.is_waiting


def test_what_fills_the_link_goes_alone() -> None:
    """In one frame with a large message a heartbeat is heard when all of that is there."""
    link = Link()
    link.up(credit=1_000)
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
    assert link.up() == [URGENT, CONTROL, content(1), content(2)]
