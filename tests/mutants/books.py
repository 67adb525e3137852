"""A mutant of the books: what a pair earned is counted once."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from p2psub.model.bids import NO_BID
from p2psub.model.messages.pubsub import OutcomeOf
from p2psub.model.outcomes import Outcome
from p2psub.model.place_sets import from_bitmap
from p2psub.owner.held_parcel import HeldParcel
from p2psub.owner.owner import Owner
from tests.mutants.hostile import TIME_RUNS_OUT
from tests.mutants.mutant import mutant


@mutant("S19", on=TIME_RUNS_OUT)
def counts_a_pair_twice(patch: pytest.MonkeyPatch) -> None:
    """Rule: a pair is booked when it is settled. Here its owner books it again whenever it is told the same again."""
    settle_piece = Owner._settle_piece

    def careless(self: Owner, held: HeldParcel, outcomes: Iterable[OutcomeOf]) -> None:
        said = list(outcomes)
        for one in said:
            if one.outcome is Outcome.DELIVERED and one.subscription not in held.owed:
                pairs = from_bitmap(one.bitmap, held.places).bit_count()
                bid = held.bids.get(one.subscription, NO_BID)
                self.settlements.books.hand_over(one.subscription, bid, pairs)
        settle_piece(self, held, said)

    patch.setattr(Owner, "_settle_piece", careless)
