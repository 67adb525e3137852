"""A3 and A4: a refusal stands, whoever falls with it; and the checkers find one that does not."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from msgspec.structs import replace as with_fields

from p2psub.model.changes import ChangeNumber
from p2psub.model.content import DeclarationState
from p2psub.model.graycode import Prefix
from p2psub.model.ids import ClusterId
from p2psub.model.outcomes import Outcome, VerdictStatus
from p2psub.model.places import Standing
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from sims.checkers.evidence import Evidence
from sims.checkers.obligations import check_no_loss, obligations_of
from sims.checkers.refusals import (
    check_conclusions,
    check_one_conclusion,
    check_refused_gets_nothing,
    check_refused_is_ended,
)
from sims.checkers.stability import check_becomes_stable
from sims.scenarios.run import run
from sims.workloads.drawn_votes import DrawnVotes
from tests.mutants.hostile import VOTES_AGAINST
from tests.simulation.trails import CLUSTER, PAIR, STREAM, SUBSCRIPTION, H, Trail, deliver, evidence_of

ENDED = with_fields(SUBSCRIPTION, version=2, state=DeclarationState.ENDED)


@pytest.mark.parametrize("seed", [3, 4])
def test_a_refusal_stands_among_crashes_cuts_and_losses(seed: int) -> None:
    """Super-nodes fall with refusals that no other node has heard, and casts lose their roots."""
    report = run(VOTES_AGAINST, seed, keep_entries=True)
    assert report.findings == []
    active = [r for _, r in report.entries if r.kind is Kind.VERDICT and r.state is DeclarationState.ACTIVE]
    told = Counter(record.status for record in active)
    assert min(told[VerdictStatus.REFUSED], told[VerdictStatus.STABLE]) >= 20
    assert report.crashes >= 10


def story(*happenings: tuple[int, Kind, dict[str, Any]], votes: DrawnVotes | None = None) -> Evidence:
    """One subscription, numbered; then what is told of it, by its own node."""
    trail = Trail()
    trail.add(5 * H, Kind.DIRECTORY, 0, cluster=CLUSTER, prefix=Prefix(""), standing=Standing.PRESENT)
    trail.add(11 * H, Kind.SUBSCRIBE, 3, subscription=SUBSCRIPTION.id, subscribed=SUBSCRIPTION)
    trail.add(12 * H, Kind.NUMBER, 0, number=ChangeNumber(STREAM, 1), subscribed=SUBSCRIPTION)
    for at_us, kind, fields in happenings:
        trail.add(at_us, kind, 3, **fields)
    evidence = evidence_of(trail)
    evidence.votes = votes
    return evidence


def verdict(at_us: int, status: VerdictStatus, version: int = 1, **fields: Any) -> tuple[int, Kind, dict[str, Any]]:
    """The subscriber hears one."""
    told = {"status": status, "state": DeclarationState.ACTIVE, "version": version}
    return at_us, Kind.VERDICT, {"subscription": SUBSCRIPTION.id, **told, **fields}


REFUSED = verdict(13 * H, VerdictStatus.REFUSED, reason=Reason.VOTED_DOWN)
END = (13 * H, Kind.NUMBER, {"number": ChangeNumber(STREAM, 2), "subscribed": ENDED})
HANDED_OVER = (14 * H, Kind.DELIVER, deliver())
CALLED_DELIVERED = (14 * H, Kind.OUTCOME, {**PAIR, "outcome": Outcome.DELIVERED})


def test_hand_over_to_a_refused_subscription_is_found() -> None:
    """After the refusal; and before it, unless it was accepted."""
    late, early = story(REFUSED, HANDED_OVER), story(HANDED_OVER, verdict(15 * H, VerdictStatus.REFUSED))
    assert len(list(check_refused_gets_nothing(late))) == len(list(check_refused_gets_nothing(early))) == 1
    accepted = verdict(13 * H, VerdictStatus.ACCEPTED)
    legal = story(accepted, HANDED_OVER, CALLED_DELIVERED, verdict(15 * H, VerdictStatus.REFUSED))
    assert list(check_refused_gets_nothing(legal)) == []


def test_outcome_that_lies_about_a_refused_subscription_is_found() -> None:
    """It says delivered, and nothing was handed over."""
    assert len(list(check_refused_gets_nothing(story(REFUSED, CALLED_DELIVERED)))) == 1
    truth = (14 * H, Kind.OUTCOME, {**PAIR, "outcome": Outcome.REFUSED})
    assert list(check_refused_gets_nothing(story(REFUSED, truth))) == []


def test_refused_subscription_that_stands_is_found() -> None:
    """Nobody would end it any more."""
    assert len(list(check_refused_is_ended(story(REFUSED)))) == 1
    assert list(check_refused_is_ended(story(REFUSED, END))) == []


@pytest.mark.parametrize("second", [VerdictStatus.STABLE, VerdictStatus.REFUSED])
def test_second_conclusion_is_found(second: VerdictStatus) -> None:
    """Whatever it is. A later version has its own, and `accepted` is none."""
    assert len(list(check_one_conclusion(story(REFUSED, verdict(14 * H, second))))) == 1
    accepted = verdict(12 * H, VerdictStatus.ACCEPTED)
    assert list(check_one_conclusion(story(accepted, REFUSED, verdict(14 * H, second, version=3)))) == []


def test_second_end_in_one_term_is_found() -> None:
    """Two casts of one version were refused, and both ended it."""
    again = (14 * H, Kind.NUMBER, {"number": ChangeNumber(STREAM, 3), "subscribed": ENDED})
    assert len(list(check_one_conclusion(story(REFUSED, END, again)))) == 1


def test_verdicts_over_a_refusal_are_found() -> None:
    """Stable, though a cluster refuses; accepted, though more refuse than are out of reach."""
    stable = verdict(13 * H, VerdictStatus.STABLE)
    accepted, unreached = (verdict(13 * H, VerdictStatus.ACCEPTED, unreached=count) for count in (0, 1))
    everyone, nobody = DrawnVotes(1, 1.0), DrawnVotes(1, 0.0)
    assert [len(list(check_conclusions(story(one, votes=everyone)))) for one in (stable, accepted)] == [1, 1]
    for legal in (story(unreached, votes=everyone), story(stable, votes=nobody), story(stable)):
        assert list(check_conclusions(legal)) == []


def test_cluster_that_was_given_up_refuses_nothing() -> None:
    """A verdict then speaks for those that stay."""
    lost = (12 * H, Kind.DIRECTORY, {"cluster": CLUSTER, "standing": Standing.LOST})
    late = (12 * H, Kind.DIRECTORY, {"cluster": ClusterId("c009"), "standing": Standing.PRESENT})
    stable = verdict(13 * H, VerdictStatus.STABLE)
    assert list(check_conclusions(story(lost, late, stable, votes=DrawnVotes(1, 1.0)))) == []


def test_nothing_is_owed_to_a_refused_subscription() -> None:
    """An owner that knows its end may still tell of the vector before; nor must it become stable."""
    evidence = story(END, REFUSED)
    assert list(check_no_loss(evidence, obligations_of(evidence))) == []
    assert list(check_becomes_stable(evidence)) == []
