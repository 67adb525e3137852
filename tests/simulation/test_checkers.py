"""Every checker passes a sound run, and finds the violation planted for it: one that cannot fail is a bug."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from p2psub.model.changes import ChangeNumber
from p2psub.model.content import Advertisement, DeclarationState, Event, Subscription
from p2psub.model.ids import EventId, SubscriptionId
from p2psub.model.outcomes import Outcome
from p2psub.model.reasons import Reason
from p2psub.model.records import Kind
from p2psub.model.status import NodeStatus, Role
from sims.checkers.evidence import Evidence
from sims.checkers.judge import judge
from sims.engine.faults import Crash, Departure, FaultLog, FullDisk
from sims.engine.successions import Succession
from tests.simulation.trails import (
    CLUSTER,
    EPOCH,
    EVENT,
    STREAM,
    SUBSCRIPTION,
    H,
    Trail,
    contact,
    deliver,
    evidence_of,
    node,
    sound_statuses,
    sound_trail,
    status,
)


def found(evidence: Evidence) -> set[str]:
    """The invariants that a run breaks."""
    return {finding.invariant for finding in judge(evidence).findings}


def planted(*changed: NodeStatus) -> list[NodeStatus]:
    """Sound statuses, but for these."""
    by_id = {said.id: said for said in changed}
    return [by_id.get(said.id, said) for said in sound_statuses()]


def test_sound_run_has_no_violation() -> None:
    """The run that all others here are made from breaks nothing, and its figures are right."""
    judgement = judge(evidence_of(sound_trail()))
    assert judgement.findings == []
    assert (judgement.published, judgement.acknowledged, judgement.obligations) == (1, 1, 1)
    assert (judgement.delivered, judgement.lost, judgement.duplicates) == (1, 0, 0)


def test_loss_is_found() -> None:
    """S1: an acknowledged event that never reached its subscription."""
    judgement = judge(evidence_of(sound_trail(without=(Kind.DELIVER, Kind.OUTCOME))))
    assert {"S1", "conservation"} <= {finding.invariant for finding in judgement.findings}
    assert judgement.lost == 1


def test_recorded_outcome_is_no_loss_but_unreachable_is() -> None:
    """S1: a pair may end in a recorded outcome; `unreachable` may not happen inside the budget."""
    may_be = {Outcome.UNSUBSCRIBED: True, Outcome.UNREACHABLE: False, Outcome.SPOOL_FULL: False}
    for outcome, is_sound in may_be.items():
        trail = sound_trail(without=(Kind.DELIVER, Kind.OUTCOME))
        trail.add(21 * H, Kind.OUTCOME, 0, event=EVENT.id, subscription=SUBSCRIPTION.id, outcome=outcome)
        assert found(evidence_of(trail)) == (set() if is_sound else {"S1"})


def test_what_was_handed_over_may_be_given_up_by_a_holder_that_returns_late() -> None:
    """S1: it does not know that others have paid, and the subscriber has it."""
    trail = sound_trail()
    trail.add(21 * H, Kind.OUTCOME, 1, event=EVENT.id, subscription=SUBSCRIPTION.id, outcome=Outcome.UNREACHABLE)
    assert found(evidence_of(trail)) == set()


def test_nothing_is_owed_beyond_the_vector_or_after_the_end() -> None:
    """S1: a subscription that the owner did not know, or knew as ended, is owed nothing."""
    unknown = sound_trail(without=(Kind.DELIVER, Kind.OUTCOME, Kind.STORE))
    unknown.add(20 * H + 2, Kind.STORE, 0, event=EVENT.id, vector=())
    unknown.entries.sort(key=lambda entry: entry[0])
    assert judge(evidence_of(unknown)).obligations == 0
    ended = sound_trail(without=(Kind.DELIVER, Kind.OUTCOME, Kind.STORE))
    over = msgspec.structs.replace(SUBSCRIPTION, version=2, state=DeclarationState.ENDED)
    ended.add(13 * H, Kind.NUMBER, 0, number=ChangeNumber(STREAM, 2), subscribed=over)
    ended.add(20 * H + 2, Kind.STORE, 0, event=EVENT.id, vector=((STREAM, 2),))
    ended.entries.sort(key=lambda entry: entry[0])
    assert judge(evidence_of(ended)).obligations == 0


def test_subscriber_that_restarted_is_owed_nothing() -> None:
    """S1: a subscription ends with its process."""
    evidence = evidence_of(sound_trail(without=(Kind.DELIVER, Kind.OUTCOME)))
    evidence.sites[3] = replace(evidence.sites[3], incarnation=2)
    assert found(evidence) == set()


def test_second_hand_over_is_found() -> None:
    """S2."""
    trail = sound_trail()
    trail.add(22 * H, Kind.DELIVER, 3, **deliver())
    assert found(evidence_of(trail)) == {"S2"}


STRANGE = Event(EventId(node(4), 1, 9), "t", {})
UNWANTED = Event(EventId(node(4), 1, 8), "other", {})
UNASKED = Subscription(SubscriptionId(node(3), 1, 7), 1, DeclarationState.ACTIVE, CLUSTER, SUBSCRIPTION.filter)


@pytest.mark.parametrize(
    ("fields", "at_node"),
    [
        (deliver(STRANGE), 3),
        (deliver(UNWANTED), 3),
        (deliver(EVENT, UNASKED), 3),
        (deliver(EVENT), 2),
    ],
    ids=["never published", "not wanted", "nobody asked", "wrong node"],
)
def test_invention_is_found(fields: dict[str, Any], at_node: int) -> None:
    """S3: published, matching, asked for, at the right process."""
    trail = sound_trail(without=(Kind.DELIVER, Kind.OUTCOME) if at_node == 2 else ())
    trail.add(20 * H, Kind.PUBLISH, 4, event=UNWANTED.id, published=UNWANTED, digest=deliver(UNWANTED)["digest"])
    trail.add(23 * H, Kind.DELIVER, at_node, **fields)
    assert "S3" in found(evidence_of(trail))


def test_delivery_after_unsubscribe_is_found() -> None:
    """S3: the active interval ends where the subscriber's own peer ended it."""
    trail = sound_trail(without=(Kind.DELIVER,))
    trail.add(21 * H, Kind.UNSUBSCRIBE, 3, subscription=SUBSCRIPTION.id)
    trail.add(22 * H, Kind.DELIVER, 3, **deliver())
    assert found(evidence_of(trail)) == {"S3"}


def test_alteration_is_found() -> None:
    """S4."""
    trail = sound_trail(without=(Kind.DELIVER,))
    trail.add(20 * H + 9, Kind.DELIVER, 3, **(deliver() | {"digest": b"other"}))
    assert found(evidence_of(trail)) == {"S4"}


def test_acknowledgement_without_its_copies_is_found() -> None:
    """S5: copies that did not exist, or only later, or no owner's at all."""
    assert found(evidence_of(sound_trail(without=(Kind.COPY,)))) == {"S5"}
    late = sound_trail(without=(Kind.COPY,))
    for who in (1, 2):
        late.add(21 * H, Kind.COPY, who, event=EVENT.id)
    assert found(evidence_of(late)) == {"S5"}
    assert "S5" in found(evidence_of(sound_trail(without=(Kind.STORE,))))


@pytest.mark.parametrize(
    ("since", "until", "breaks"), [(19, 22, {"S12"}), (19, None, {"S12"}), (20.5, 22, set()), (18, 20, set())]
)
def test_acknowledgement_on_a_full_disk_is_found(since: float, until: float | None, breaks: set[str]) -> None:
    """S12: the owner's disk took nothing from before the publish until after the acknowledgement."""
    trail = sound_trail(without=(Kind.ACKNOWLEDGE,))
    trail.add(20 * H + 3, Kind.ACKNOWLEDGE, 4, event=EVENT.id, copies=3, matched=1, peer=node(0))
    evidence = evidence_of(trail)
    evidence.faults.full_disks.append(FullDisk(int(since * H), node(0), None if until is None else int(until * H)))
    assert found(evidence) == breaks


def test_refusals_and_late_returns_are_counted() -> None:
    """A run that shows neither has not tried what it is there for."""
    trail = sound_trail()
    trail.add(22 * H, Kind.DROP, 0, event=EVENT.id, peer=node(4), reason=Reason.DISK_FULL)
    evidence = evidence_of(trail)
    judgement = judge(evidence)
    assert (judgement.disk_full_refusals, judgement.beyond_horizon) == (1, 0)


@pytest.mark.parametrize(("owner", "breaks"), [(0, {"S12"}), (4, set())])
def test_event_that_was_refused_and_is_handed_over_is_found(owner: int, breaks: set[str]) -> None:
    """S12: its publisher was told; one that owns the event itself may have published it again."""
    trail = sound_trail(without=(Kind.DELIVER,))
    trail.add(21 * H, Kind.DROP, 4, event=EVENT.id, peer=node(owner), reason=Reason.DISK_FULL)
    trail.add(22 * H, Kind.DELIVER, 3, **deliver())
    assert found(evidence_of(trail)) & {"S12"} == breaks


def test_torn_ring_is_found() -> None:
    """S8: a dead successor, a skipped member, a wrong predecessor, a member outside."""
    dead = status(1, successors=(contact(9), contact(2), contact(3)))
    skips = status(1, successors=(contact(3), contact(4), contact(0)))
    short = status(1, successors=(contact(2),))
    behind = status(1, predecessor=contact(4))
    outside = status(1, role=Role.JOINING, cluster=None)
    for wrong in (dead, skips, short, behind, outside):
        assert {"S8", "bound:ring_ideal"} <= found(evidence_of(sound_trail(), planted(wrong)))


def test_ring_that_is_late_breaks_the_bound_alone() -> None:
    """Ideal at the end, but not 20 heartbeats after quiet began."""
    evidence = evidence_of(sound_trail())
    evidence.at_ring_bound = planted(status(1, successors=(contact(3), contact(4), contact(0))))
    assert found(evidence) == {"bound:ring_ideal"}


@pytest.mark.parametrize(("started", "breaks"), [(52, {"bound:ring_ideal"}), (69, set()), (71, {"bound:ring_ideal"})])
def test_ring_that_a_peer_is_just_joining_need_not_be_ideal(started: int, breaks: set[str]) -> None:
    """It has ten heartbeats for that, whenever it comes back."""
    trail = sound_trail()
    trail.add((started + 1) * H, Kind.RING, 4)
    evidence = evidence_of(trail)
    evidence.sites[4] = replace(evidence.sites[4], started_us=started * H)
    evidence.at_ring_bound = planted(status(1, successors=(contact(2), contact(3), contact(0))))
    assert found(evidence) == breaks


def test_missing_copies_after_quiet_are_found() -> None:
    """S9: what is still owed has r+1 holders; what is discharged needs none."""
    held = [status(n, kept=(EVENT.id,)) for n in (0, 1, 2)]
    owed = sound_trail(without=(Kind.DISCHARGE,))
    assert found(evidence_of(owed, planted(*held))) == {"S9"}
    assert found(evidence_of(sound_trail(), planted(*held))) == set()
    assert found(evidence_of(owed, planted(*held, status(3, kept=(EVENT.id,))))) == set()


def test_differing_change_sets_are_found() -> None:
    """S9: super-nodes end with one set of changes."""
    elsewhere = status(0, count=1, cluster="c001", successors=(), predecessor=None, changes_digest=b"other")
    assert found(evidence_of(sound_trail(), [*sound_statuses(), elsewhere])) == {"S9"}


def test_advertisements_that_are_not_known_or_linger_are_found() -> None:
    """S9: at the super-node stands what running peers advertise, and else only what may be a dead process's."""
    ids = (UNASKED.id, UNASKED.id._replace(incarnation=9))
    mine, gone = (Advertisement(id_, 1, DeclarationState.ACTIVE, CLUSTER, UNASKED.filter) for id_ in ids)
    offering = status(3, active_advertisements=(mine,))
    for known, is_sound in (((), False), ((mine,), True), ((mine, gone), True)):
        statuses = planted(offering, status(0, advertised=known))
        assert found(evidence_of(sound_trail(), statuses)) == (set() if is_sound else {"S9"})
    assert found(evidence_of(sound_trail(), planted(status(0, advertised=(mine,))))) == {"S9"}


def test_two_super_nodes_are_found() -> None:
    """S10: under one epoch in the trace, or at the end of the run."""
    trail = sound_trail()
    trail.add(25 * H, Kind.ROLE, 1, cluster=CLUSTER, epoch=EPOCH, reason=Reason.SUPER_NODE)
    assert found(evidence_of(trail)) == {"S10"}
    assert found(evidence_of(sound_trail(), planted(status(1, role=Role.SUPER_NODE)))) == {"S10"}
    assert found(evidence_of(sound_trail(), planted(status(2, super_node=contact(1))))) == {"S10"}


def test_spreading_errors_are_found() -> None:
    """S11: a change stored twice as new, a number used twice, a transfer too many in a settled cube."""
    twice, reused, costly = sound_trail(), sound_trail(), sound_trail()
    twice.add(25 * H, Kind.CHANGE, 0, number=ChangeNumber(STREAM, 1), subscribed=SUBSCRIPTION)
    reused.add(25 * H, Kind.NUMBER, 0, number=ChangeNumber(STREAM, 1), subscribed=UNASKED)
    costly.add(13 * H, Kind.FORWARD, 0, cast=(node(0), 1, 1), count=1)
    around = sound_trail()
    for prefix in ("0", "01"):
        around.add(13 * H, Kind.RECEIVE, 1, cast=(node(4), 1, 1), prefix=prefix)
    for trail in (twice, reused, costly, around):
        assert "S11" in found(evidence_of(trail))


def test_transfer_that_is_repeated_after_the_first_fault_is_no_violation() -> None:
    """A cast that slow links hold up is under way then, and its receiver may have fallen."""
    trail = sound_trail()
    trail.add(21 * H, Kind.FORWARD, 0, cast=(node(0), 1, 1), count=1)
    assert found(evidence_of(trail)) == set()


def test_overfull_queue_and_silent_drop_are_found() -> None:
    """S13."""
    assert found(evidence_of(sound_trail(), planted(status(1, queued_messages_max=20_001)))) == {"S13"}
    trail = sound_trail()
    trail.add(25 * H, Kind.DROP, 0)
    assert found(evidence_of(trail)) == {"S13"}


def test_broken_conservation_is_found() -> None:
    """New twice, a duplicate of nothing, a false outcome, an event that nobody holds any more."""
    again, nothing, untrue = sound_trail(), sound_trail(), sound_trail(without=(Kind.DELIVER,))
    again.add(25 * H, Kind.RECEIVE, 0, cast=(node(4), 1, 1), prefix="0")
    nothing.add(25 * H, Kind.DUPLICATE, 0, cast=(node(4), 1, 2), prefix="0", reason=Reason.CAST_REPEATED)
    forgotten = sound_trail(without=(Kind.DISCHARGE,))
    for trail in (again, nothing, forgotten):
        assert found(evidence_of(trail)) == {"conservation"}
    assert "conservation" in found(evidence_of(untrue))


def test_gap_in_a_trace_is_found() -> None:
    """Records are numbered without gaps, and stamps only grow."""
    trail = sound_trail()
    at_us, record = trail.entries[-1]
    trail.entries[-1] = (at_us, msgspec.structs.replace(record, sequence=record.sequence + 1))
    assert found(evidence_of(trail)) == {"trace"}


def test_full_outbox_and_old_debts_are_found() -> None:
    """The bounds on outboxes and on undischarged events."""
    assert found(evidence_of(sound_trail(), planted(status(1, outbox=1)))) == {"bound:outbox"}
    assert found(evidence_of(sound_trail(), planted(status(1, undischarged=1)))) == {"bound:discharge"}


def test_slow_failover_is_found_and_an_overlapped_one_is_not_judged() -> None:
    """A cluster has a super-node again after eight heartbeats, unless something else broke meanwhile."""

    def after(heartbeats: float, others: list[Crash]) -> Evidence:
        trail = sound_trail()
        new = EPOCH._replace(counter=2, node=node(1))
        trail.add(int((60 + heartbeats) * H), Kind.ROLE, 1, cluster=CLUSTER, epoch=new, reason=Reason.SUPER_NODE)
        evidence = evidence_of(trail)
        evidence.faults.crashes += [Crash(60 * H, 0, 1, CLUSTER, True, False, False), *others]
        return evidence

    assert found(after(7.9, [])) == set()
    assert judge(after(7.5, [])).failover_heartbeats_max == 7.5
    assert found(after(8.1, [])) == {"bound:failover"}
    assert found(after(8.1, [Crash(62 * H, 1, 1, CLUSTER, False, False, False)])) == set()


def test_owner_that_is_replaced_late_is_found() -> None:
    """Six heartbeats, eight where a twentieth is lost; a super-node's fall and an overlapped one are other cases."""

    def after(heartbeats: float | None, *, loss: float = 0.0, super_node: bool = False, at: int = 60) -> Evidence:
        evidence = evidence_of(sound_trail())
        successor_us = None if heartbeats is None else int((at + heartbeats) * H)
        evidence.faults.successions.append(Succession(at * H, CLUSTER, node(2), super_node, successor_us))
        evidence.faults.loss = loss
        return evidence

    assert found(after(5.9)) == set()
    assert judge(after(5.9)).owner_replaced_heartbeats_max == pytest.approx(5.9)
    assert found(after(6.1)) == {"bound:owner"}
    assert found(after(None)) == {"bound:owner"}
    assert found(after(7.9, loss=0.05)) == set()
    assert found(after(8.1, loss=0.05)) == {"bound:owner"}
    assert found(after(20.0, super_node=True)) == set()
    assert found(after(20.0, at=31)) == set(), "there is a cut from 30 to 39, and three crashes"


def test_stable_subscription_that_misses_an_event_is_found() -> None:
    """S1: an owner that did not know a stable subscription owes nothing by its vector, and is found all the same."""

    def ignorant(**fields: Any) -> Trail:
        trail = sound_trail(without=(Kind.DELIVER, Kind.OUTCOME, Kind.STORE))
        trail.add(20 * H + 2, Kind.STORE, 0, event=EVENT.id, vector=())
        for at_us, kind, who, more in fields.get("more", []):
            trail.add(at_us, kind, who, **more)
        trail.entries.sort(key=lambda entry: entry[0])
        return trail

    owed_nothing = {"trace", "vacuous"}  # the records were put in out of turn, and no vector owes anything
    assert found(evidence_of(ignorant())) - owed_nothing == {"S1"}
    given_up = (20 * H + 1, Kind.UNSUBSCRIBE, 3, {"subscription": SUBSCRIPTION.id})
    assert found(evidence_of(ignorant(more=[given_up]))) <= owed_nothing, "given up before the acknowledgement"
    rival = {"cluster": CLUSTER, "epoch": EPOCH._replace(counter=2), "reason": Reason.SUPER_NODE}
    two_terms = (12 * H, Kind.ROLE, 1, rival)
    assert found(evidence_of(ignorant(more=[two_terms]))) <= owed_nothing, "the verdict spoke for one of two terms"


def test_subscription_that_never_becomes_stable_is_found() -> None:
    """Sixty heartbeats after the last fault every subscription that stands is stable everywhere."""
    assert found(evidence_of(sound_trail(without=(Kind.VERDICT,)))) == {"bound:stable"}


def test_acknowledgement_below_the_bar_is_found() -> None:
    """S5: three copies once three members have been there for a while, though it states fewer truly."""

    def with_copies(copies: int, joined_s: int) -> set[str]:
        trail = sound_trail(without=(Kind.ACKNOWLEDGE,))
        trail.add(20 * H + 3, Kind.ACKNOWLEDGE, 4, event=EVENT.id, copies=copies, count=1)
        for who in range(5):
            trail.add(joined_s * H, Kind.RING, who, cluster=CLUSTER)
        trail.entries.sort(key=lambda entry: entry[0])
        return found(evidence_of(trail)) - {"trace"}

    assert with_copies(3, 2) == set()
    assert with_copies(2, 2) == {"S5"}
    assert with_copies(2, 15) == set(), "a ring being founded"


def test_who_was_let_in_by_a_minority_counts_for_that_side_alone() -> None:
    """S5: two of three go on with two copies, though the third has let in a fourth beyond a cut; until they meet."""

    def with_table(who: tuple[int, ...], of: int, publisher: int) -> set[str]:
        trail = sound_trail(without=(Kind.ACKNOWLEDGE,))
        for joined_s, members, counter in ((2, (0, 1, 2), 1), (4, (3,), 2)):
            for member in members:
                trail.add(joined_s * H, Kind.RING, member, cluster=CLUSTER)
                epoch = EPOCH._replace(counter=counter)
                trail.add(joined_s * H, Kind.TABLE, member, epoch=epoch, version=1, owners=3 if counter == 1 else 2)
        for member in who:
            trail.add(15 * H, Kind.TABLE, member, epoch=EPOCH._replace(counter=of), version=2, owners=len(who))
        trail.add(20 * H + 3, Kind.ACKNOWLEDGE, publisher, event=EVENT.id, copies=2, count=1)
        trail.entries.sort(key=lambda entry: entry[0])
        return found(evidence_of(trail)) - {"trace"}

    assert with_table((0, 1), 3, publisher=0) == set()
    assert with_table((2, 3), 2, publisher=2) == {"S5"}, "the minority knows whom it let in"
    assert with_table((0, 1, 2, 3), 3, publisher=0) == {"S5"}, "a majority has met it"


def test_members_that_leave_lower_the_bar_by_as_many_as_go() -> None:
    """S5: of four members with one that leaves two copies are enough, of three that stay two, but never one."""

    def with_copies(copies: int, *departures: Departure) -> set[str]:
        trail = sound_trail(without=(Kind.ACKNOWLEDGE,))
        trail.add(20 * H + 3, Kind.ACKNOWLEDGE, 4, event=EVENT.id, copies=copies, count=1)
        for who in range(4):
            trail.add(2 * H, Kind.RING, who, cluster=CLUSTER)
        trail.entries.sort(key=lambda entry: entry[0])
        evidence = evidence_of(trail)
        evidence.faults.departures += departures
        return found(evidence) - {"trace"}

    node = evidence_of(sound_trail()).sites[0].node
    assert with_copies(2) == {"S5"}
    for departure in (Departure(19 * H, node, CLUSTER), Departure(15 * H, node, CLUSTER, 17 * H, 17 * H)):
        assert with_copies(2, departure) == set()
        assert with_copies(1, departure) == {"S5"}
    crashed = Departure(4 * H, node, CLUSTER, 6 * H)
    assert with_copies(2, crashed) == {"S5"}, "it did not leave"


def test_slow_join_is_found() -> None:
    """A peer that starts in quiet is in its ring after ten heartbeats."""

    def after(heartbeats: float) -> Evidence:
        trail = sound_trail()
        trail.add(int((50 + heartbeats) * H), Kind.RING, 2, incarnation=2, cluster=CLUSTER)
        evidence = evidence_of(trail)
        evidence.sites[2] = replace(evidence.sites[2], incarnation=2, started_us=50 * H)
        return evidence

    assert found(after(9.0)) == set()
    assert found(after(11.0)) == {"bound:join"}


@pytest.mark.parametrize(
    "empty",
    [
        lambda evidence: setattr(evidence, "obligations_min", 2),
        lambda evidence: setattr(evidence, "faults", FaultLog(crashes=[], cuts=evidence.faults.cuts)),
        lambda evidence: setattr(evidence, "faults", FaultLog(crashes=evidence.faults.crashes, cuts=[])),
    ],
    ids=["obligations", "crashes", "cuts"],
)
def test_run_that_shows_nothing_is_vacuous(empty: Callable[[Evidence], None]) -> None:
    """Too few obligations, crashes, or no long cut: the seed fails."""
    evidence = evidence_of(sound_trail())
    empty(evidence)
    assert found(evidence) == {"vacuous"}


def test_overlay_that_does_not_form_is_found() -> None:
    """A run that never began fails, for that reason."""
    evidence = evidence_of(sound_trail())
    evidence.formed = False
    assert found(evidence) == {"bound:formation"}


def test_who_gave_up_before_the_storing_is_owed_nothing() -> None:
    """S1: an owner may know of an end that its contiguous vector does not hold yet."""
    trail = sound_trail(without=(Kind.DELIVER, Kind.OUTCOME))
    trail.add(13 * H, Kind.UNSUBSCRIBE, 3, subscription=SUBSCRIPTION.id)
    assert judge(evidence_of(trail)).obligations == 0
