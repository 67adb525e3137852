"""Mutants of who may answer for a key, and what they must know before: tables, leases, indexes, claims."""

from __future__ import annotations

import pytest

from p2psub.model.changes import Change
from p2psub.model.ids import Contact, Key
from p2psub.model.messages.cluster import StoreChange
from p2psub.model.places import Table
from p2psub.owner.arc_lease import ArcLease
from p2psub.owner.match_index import Filed, MatchIndex
from p2psub.super_node.change_log import ChangeLog
from p2psub.super_node.change_set import ChangeSet
from p2psub.super_node.confirmations import Confirmations, _Unapplied
from p2psub.super_node.table_grants import TableGrants
from tests.mutants.hostile import (
    CUBE_UNDER_FIRE,
    MATCH_INDEX_RACE,
    OWNERS_OUT_OF_SIGHT,
    SHARDS_EMPTY,
    TABLES_MOVE,
    TERMS_FALL,
)
from tests.mutants.mutant import mutant


@mutant("S1", on=TABLES_MOVE)
def serves_without_the_index(patch: pytest.MonkeyPatch) -> None:
    """Rule ("seal"): a member serves a table only when it holds its index. Here it serves with what it has."""
    adopt, commit = MatchIndex.adopt, TableGrants._commit_if_held

    def always(self: MatchIndex, table: Table) -> bool:
        adopt(self, table)
        self.is_lacking = False
        return True

    def at_once(self: TableGrants) -> bool:
        if self._next is not None:
            self._indexed.update({node: self._next.incarnations[node] for node in self._next.waiting})
            self._next.waiting.clear()
        return commit(self)

    patch.setattr(MatchIndex, "adopt", always)
    patch.setattr(TableGrants, "_commit_if_held", at_once)


@mutant("S1", on=TABLES_MOVE, first=(8, 10, 7))
def index_forgets_what_came_meanwhile(patch: pytest.MonkeyPatch) -> None:
    """Rule: a change that arrives while an index is under way belongs into it. Here it is left out."""
    store = MatchIndex.store

    def forgetful(self: MatchIndex, peer: Contact, asked: StoreChange) -> Filed | None:
        filed = store(self, peer, asked)
        for staged in self._staged.values():
            staged.late.clear()
        return filed

    patch.setattr(MatchIndex, "store", forgetful)


@mutant("S1", on=MATCH_INDEX_RACE, first=(8, 10), slow=True)
def asks_present_owners_only(patch: pytest.MonkeyPatch) -> None:
    """Rule: a change is settled when everybody who might answer for its key has it, by older and next tables too."""

    def present(self: TableGrants, key: Key) -> list[Contact]:
        return [] if self.table is None else [self.table.owner_of(key)]

    patch.setattr(TableGrants, "must_confirm", present)


@mutant("S1", on=TABLES_MOVE, first=1)
def claims_before_owners_confirmed(patch: pytest.MonkeyPatch) -> None:
    """Rule: the super-node claims of its owners only what they confirmed. Here it claims what it has sent."""
    apply = Confirmations._apply_if_stored

    def hasty(self: Confirmations, entry: _Unapplied) -> None:
        entry.confirmed.update({contact.id: None for contact in self._lacking(entry)})
        apply(self, entry)

    patch.setattr(Confirmations, "_apply_if_stored", hasty)


@mutant("S1", "bound:stable", on=TERMS_FALL, first=(13, 10, 12))
def casts_before_candidates_hold(patch: pytest.MonkeyPatch) -> None:
    """Rule: a change counts only when the first candidates have it. Here the super-node's own copy is enough."""
    patch.setattr(ChangeLog, "is_replicated", lambda self, number: self._changes.holds(number))


@mutant("S1", "S9", "bound:stable", on=CUBE_UNDER_FIRE)
def takes_the_highest_number_for_all_below(patch: pytest.MonkeyPatch) -> None:
    """Rule: the vector names the highest contiguous number. Here it names the highest one seen."""
    add = ChangeSet.add

    def highest(self: ChangeSet, change: Change) -> bool:
        is_new = add(self, change)
        log, n = change.number
        if is_new and n > self.vector.get(log, 0):
            self.vector[log] = n
            self._digest = None
        return is_new

    patch.setattr(ChangeSet, "add", highest)


@mutant("S1", on=OWNERS_OUT_OF_SIGHT, first=(7, 6, 14))
def leases_never_run_out(patch: pytest.MonkeyPatch) -> None:
    """Rule: who hears nobody owns nothing. Here a member serves its arc for as long as it runs."""
    patch.setattr(ArcLease, "is_running", property(lambda self: self._arc_start is not None))


@mutant("S1", on=SHARDS_EMPTY)
def confirms_in_spite_of_an_empty_lease(patch: pytest.MonkeyPatch) -> None:
    """Rule: a change to a shard leased as empty waits for that lease. Here it is confirmed at once."""
    patch.setattr(MatchIndex, "lease_empty", lambda self, shard: self._shard_keys[shard] not in self._index.matchers)
