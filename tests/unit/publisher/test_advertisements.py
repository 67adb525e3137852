"""The advertiser's side: a peer is held to the rate it named, exactly, and to nothing it did not name."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from p2psub.admission.declarations import Declarations
from p2psub.model.content import Advertisement, DeclarationState, Draft
from p2psub.model.effects import AdvertiseCommand, Reply, WithdrawCommand
from p2psub.model.ids import SubscriptionId
from p2psub.model.instants import SECOND_US, Micros
from p2psub.model.messages.declarations import Declare, Verdict
from p2psub.model.outcomes import AdvertiseVerdict, VerdictStatus
from p2psub.model.records import Kind
from p2psub.overlay.election import Election
from p2psub.publisher.advertisements import Advertisements
from tests.unit.bench import (
    CLUSTER,
    CONFIG,
    at,
    effects_of,
    epoch,
    node_at,
    on_topic,
    records_of,
    sent,
    step_at,
    tick,
)

RULER = at(1)
ID = SubscriptionId(node_at(64), 1, 1)
ACTIVE, ENDED = DeclarationState.ACTIVE, DeclarationState.ENDED


class Advertiser:
    """A member of the cluster that tells its super-node what it will publish."""

    def __init__(self) -> None:
        self.step = step_at(64)
        election = Election(self.step, CONFIG.cluster)
        election.follow(CLUSTER, epoch(1, 1), RULER)
        self.declarations = Declarations(self.step, CONFIG.pubsub, election)
        self.core = Advertisements(self.step, self.declarations)

    def advertise(self, topic: str, rate: float, number: int = 7) -> None:
        self.core.advertise(AdvertiseCommand(number, on_topic(topic), rate))

    def verdict(self, status: VerdictStatus, version: int = 1) -> None:
        """The super-node's word, as the node hands it on."""
        said = Verdict(ID, version, status, ())
        if self.declarations.on_verdict(RULER, said):
            self.core.judged(said)

    def takes(self, topic: str) -> bool:
        """Whether one more event of a topic may be published now."""
        return self.core.keeps_rate(Draft(topic))


def record(version: int = 1, state: DeclarationState = ACTIVE) -> Advertisement:
    """The advertisement as it is told."""
    return Advertisement(ID, version, state, CLUSTER, on_topic("x"), 10.0)


@given(st.floats(0.01, 1e5), st.lists(st.integers(0, 3 * SECOND_US), max_size=200))
@example(10.0, [0] * 30)
@example(0.5, [0, SECOND_US, SECOND_US, 1])
def test_no_span_holds_more_than_its_rate_and_a_second_ahead(rate: float, waits: list[int]) -> None:
    """Between any two events that are taken there is room for all between them, but for one second's worth."""
    advertiser, taken = Advertiser(), list[int]()
    advertiser.advertise("x", rate)
    for wait in waits:
        advertiser.step.now = Micros(advertiser.step.now + wait)
        if advertiser.takes("x"):
            taken.append(advertiser.step.now)
    for first in range(len(taken)):
        for last in range(first, len(taken)):
            span_s = (taken[last] - taken[first]) / SECOND_US
            assert last - first + 1 <= max(1.0, rate) + span_s * rate + 1e-3


@given(st.floats(0.01, 1e3), st.integers(1, 50))
def test_whoever_keeps_to_the_rate_is_never_refused(rate: float, count: int) -> None:
    """Events as far apart as the rate says, or farther."""
    advertiser = Advertiser()
    advertiser.advertise("x", rate)
    for _ in range(count):
        assert advertiser.takes("x")
        advertiser.step.now = Micros(advertiser.step.now + int(SECOND_US / rate) + 1)


def test_a_second_of_events_may_come_at_once_and_again_after_a_second() -> None:
    """But not one more."""
    advertiser = Advertiser()
    advertiser.advertise("x", 10.0)
    for _ in range(3):
        assert [advertiser.takes("x") for _ in range(12)] == [True] * 10 + [False] * 2
        advertiser.step.now = Micros(advertiser.step.now + SECOND_US)


def test_what_nobody_advertised_is_free() -> None:
    """A peer that says nothing promises nothing."""
    advertiser = Advertiser()
    assert all(advertiser.takes("y") for _ in range(100))
    advertiser.advertise("x", 1.0)
    assert all(advertiser.takes("y") for _ in range(100))


def test_two_advertisements_of_one_topic_add_up() -> None:
    """An event counts against the first that has room."""
    advertiser = Advertiser()
    advertiser.advertise("x", 2.0, number=1)
    advertiser.advertise("x", 3.0, number=2)
    assert [advertiser.takes("x") for _ in range(6)] == [True] * 5 + [False]


@pytest.mark.parametrize("is_refused", [True, False])
def test_it_holds_its_publisher_until_it_is_withdrawn(is_refused: bool) -> None:
    """A refusal frees nobody: who was refused a rate would publish at any."""
    advertiser = Advertiser()
    advertiser.advertise("x", 1.0)
    assert [advertiser.takes("x"), advertiser.takes("x")] == [True, False]
    if is_refused:
        advertiser.verdict(VerdictStatus.REFUSED)
        assert not advertiser.takes("x")
    advertiser.core.withdraw(WithdrawCommand(7))
    assert all(advertiser.takes("x") for _ in range(5))
    assert advertiser.core.active() == ()


def test_it_is_told_until_it_is_stable_and_so_is_its_end() -> None:
    """As a subscription is; each new status is answered, and traced."""
    advertiser = Advertiser()
    advertiser.advertise("x", 10.0)
    assert sent(advertiser.step) == [(RULER, Declare(record()))]
    tick(advertiser.step, advertiser.declarations.tick, CONFIG.pubsub.retry_ticks)
    assert sent(advertiser.step) == [(RULER, Declare(record()))]
    for status in (VerdictStatus.ACCEPTED, VerdictStatus.STABLE):
        advertiser.verdict(status)
        assert effects_of(advertiser.step, Reply) == [Reply(7, AdvertiseVerdict(ID, status))]
    assert advertiser.core.active() == (record(),)
    advertiser.core.withdraw(WithdrawCommand(7))
    assert sent(advertiser.step) == [(RULER, Declare(record(2, ENDED)))]
    advertiser.verdict(VerdictStatus.STABLE, version=2)
    tick(advertiser.step, advertiser.declarations.tick, 20)
    assert sent(advertiser.step) == []
    assert effects_of(advertiser.step, Reply) == []


def test_every_step_of_it_is_traced() -> None:
    """Asked for, each verdict, withdrawn: with the record as it then was."""
    advertiser = Advertiser()
    advertiser.advertise("x", 10.0)
    advertiser.verdict(VerdictStatus.STABLE)
    advertiser.core.withdraw(WithdrawCommand(7))
    found = [(traced.status, traced.advertised) for traced in records_of(advertiser.step, Kind.ADVERTISE)]
    assert found == [(None, record()), (VerdictStatus.STABLE, record()), (None, record(2, ENDED))]
