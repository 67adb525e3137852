"""Mutants of votes: what a refusal is worth, and for how long."""

from __future__ import annotations

import pytest

from p2psub.admission.votes import Votes
from p2psub.model.content import Subscription
from p2psub.model.ids import Contact, SubscriptionId
from p2psub.model.messages.casts import ChangePayload, Summary
from p2psub.model.outcomes import Outcome
from p2psub.subscriber.checked_parcel import CheckedParcel
from p2psub.subscriber.subscriber import Subscriber
from p2psub.super_node.confirmations import Confirmations
from p2psub.super_node.table_grants import TableGrants
from p2psub.super_node.verdicts import Verdicts, _Own
from tests.mutants.hostile import VOTES_AGAINST, VOTES_AGAINST_APART
from tests.mutants.mutant import mutant


@mutant("A4", on=VOTES_AGAINST)
def forgets_a_refusal_at_failover(patch: pytest.MonkeyPatch) -> None:
    """Rule: claimed means granted, or ended. Here it means held, so an heir asks nobody again."""
    begin = TableGrants._begin

    def claiming(self: TableGrants, owners: tuple[Contact, ...]) -> None:
        self.may_refuse = False
        begin(self, owners)

    patch.setattr(TableGrants, "_begin", claiming)
    patch.setattr(Confirmations, "_has_ended", lambda self, refused: True)


@mutant("A4", on=VOTES_AGAINST_APART)
def accepts_over_a_refusal(patch: pytest.MonkeyPatch) -> None:
    """Rule: one vote against a change decides, and goes up at once. Here it waits for all other answers."""
    patch.setattr(ChangePayload, "is_decided_by", lambda self, part: False)


@mutant("A3", on=VOTES_AGAINST)
def calls_delivered_what_may_be_refused(patch: pytest.MonkeyPatch) -> None:
    """Rule: where owners vote, nothing counts as delivered before the verdict. Here it does, and then waits for it."""
    take = Subscriber._take

    def early(
        self: Subscriber, peer: Contact, id_: SubscriptionId, checked: CheckedParcel, places: int, deadline_us: int
    ) -> dict[Outcome, int]:
        self._may_be_refused = False
        return take(self, peer, id_, checked, places, deadline_us)

    patch.setattr(Subscriber, "_take", early)


@mutant("A4", on=VOTES_AGAINST)
def concludes_with_every_cast(patch: pytest.MonkeyPatch) -> None:
    """Rule: a conclusion is final. Here a cast that was followed by another concludes once more."""
    done = Verdicts._cast_done

    def again(self: Verdicts, own: _Own, summary: Summary) -> None:
        self._own[own.change.record.id] = own
        done(self, own, summary)

    patch.setattr(Verdicts, "_cast_done", again)


@mutant("A4", on=VOTES_AGAINST)
def grants_what_it_is_asked_again(patch: pytest.MonkeyPatch) -> None:
    """Rule: an owner repeats its vote. Here it refuses once, and then has room."""
    on = Votes.on

    def fickle(self: Votes, record: Subscription) -> bool:
        is_repeated = record.id in self._given
        return on(self, record) or is_repeated

    patch.setattr(Votes, "on", fickle)
