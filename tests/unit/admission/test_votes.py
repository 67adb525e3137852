"""Votes: an owner's word on a subscription stands, whatever it would say later."""

from __future__ import annotations

from p2psub.admission.votes import Votes
from p2psub.model.content import Subscription
from tests.unit.bench import on_topic, subscription_of

RECORD = subscription_of(on_topic("x"))
ENDED = subscription_of(on_topic("x"), version=2, is_active=False)


class Fickle:
    """Refuses at first, then grants, and so on; counts what it was asked."""

    may_refuse = True

    def __init__(self) -> None:
        self.asked = 0

    def grants(self, subscription: Subscription) -> bool:
        self.asked += 1
        return self.asked % 2 == 0


def test_policy_is_asked_once_per_version() -> None:
    """However often the vote is asked for; a version above it is another question."""
    policy = Fickle()
    votes = Votes(policy)
    assert [votes.on(RECORD) for _ in range(3)] == [False] * 3
    above = subscription_of(on_topic("x"), version=3)
    assert [votes.on(above) for _ in range(3)] == [True] * 3
    assert policy.asked == 2


def test_end_is_granted_without_a_question() -> None:
    """It frees room; what it ends keeps its vote, should that be asked for once more."""
    policy = Fickle()
    votes = Votes(policy)
    assert [votes.on(RECORD), votes.on(ENDED), votes.on(RECORD)] == [False, True, False]
    assert policy.asked == 1


def test_votes_for_other_arcs_are_forgotten() -> None:
    """Should the arc come back, the owner is asked as any new one is."""
    policy = Fickle()
    votes = Votes(policy)
    other = subscription_of(on_topic("y"), 2)
    assert [votes.on(RECORD), votes.on(other)] == [False, True]
    votes.keep([other.id])
    assert [votes.on(other), votes.on(RECORD)] == [True, False]
    assert policy.asked == 3
