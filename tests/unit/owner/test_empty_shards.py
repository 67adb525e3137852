"""Empty shards: passed over on their owner's word alone, for as long as it gave it, and under the table it gave it."""

from __future__ import annotations

import pytest

from p2psub.model.ids import ClusterId, Contact
from p2psub.model.instants import Micros
from p2psub.model.messages.cluster import ChangeStored, ShardEmpty, ShardRequest, StoreChange
from p2psub.model.messages.shards import MatchRequest, MatchResponse
from p2psub.node.cores import Cores
from p2psub.owner import empty_shards as shards_module
from tests.unit.bench import (
    CLUSTER,
    CONFIG,
    TICK_US,
    at,
    change_of,
    epoch,
    event_of,
    give_index,
    member_at,
    parcel_of,
    place_off_the_shards,
    sent,
    sent_of,
    table_of,
    tick,
    wildcard_in_shard,
)

TABLE, TOPIC = place_off_the_shards()
SHARDS, OWNER = (contact.id[0] for contact in TABLE.owners)
LEASE_US = CONFIG.pubsub.empty_lease_us
BUSY = shards_module._BUSY


class Asking:
    """The owner of a topic, which would rather not ask about every event."""

    def __init__(self) -> None:
        self.cores = member_at(OWNER, TABLE)
        self.step, self.core = self.cores.step, self.cores.owner.shards
        self.at(10 * LEASE_US)

    def at(self, now: int) -> None:
        """Time passes; the lease on the arc is renewed all the while."""
        self.step.now = Micros(now)
        self.cores.arc_lease.renew(self.step.now, None)

    def ask(self, shard: int = 0) -> list[tuple[Contact, ShardRequest]]:
        """Ask, and say who was asked what."""
        self.core.ask(shard)
        return sent_of(self.step, ShardRequest)

    def hear(self, asked_us: int, *, shard: int = 0, who: Contact | None = None, cluster: ClusterId = CLUSTER) -> None:
        """Somebody calls a shard empty."""
        self.core.on_shard_empty(who or at(SHARDS), ShardEmpty(cluster, shard, Micros(asked_us)))

    def passes_over(self) -> list[int]:
        """The shards that need not be asked now."""
        return [shard for shard in range(CONFIG.pubsub.shards) if self.core.has(shard)]

    def look(self, times: int, shard: int = 0) -> None:
        for _ in range(times):
            self.core.has(shard)


# Who passes over


def test_no_shard_is_passed_over_unasked() -> None:
    """Nor one whose owner has not answered yet."""
    asking = Asking()
    assert asking.passes_over() == []
    asking.ask()
    assert asking.passes_over() == []


def test_lease_is_counted_from_the_question() -> None:
    """So that it ends here before it ends at the shard's owner; only the shard that was asked for is leased."""
    asking = Asking()
    start = asking.step.now
    assert asking.ask(1) == [(at(SHARDS), ShardRequest(CLUSTER, 1, start))]
    asking.at(start + 300_000)
    asking.hear(start, shard=1)
    assert asking.passes_over() == [1]
    asking.at(start + LEASE_US - 1)
    assert asking.passes_over() == [1]
    asking.at(start + LEASE_US)
    assert asking.passes_over() == []


def test_shard_is_asked_about_once_a_tick() -> None:
    """However many parcels make us want to know; the next tick may be luckier."""
    asking = Asking()
    assert len(asking.ask(0)) == 1
    assert asking.ask(0) == []
    assert len(asking.ask(1)) == 1
    tick(asking.step, asking.core.tick)
    assert asking.ask(0) == [(at(SHARDS), ShardRequest(CLUSTER, 0, asking.step.now))]


def test_nobody_is_asked_by_who_is_in_no_cluster() -> None:
    """There is no table that names an owner, or no cluster whose shards are meant."""
    asking = Asking()
    asking.cores.election.cluster = None
    assert asking.ask() == []


@pytest.mark.parametrize(("looks", "is_asked"), [(BUSY - 1, False), (BUSY, True)])
def test_much_used_lease_is_renewed_before_it_ends(looks: int, is_asked: bool) -> None:
    """In the second half of it; so who is busy never has to ask with a parcel in hand."""
    asking = Asking()
    start = asking.step.now
    asking.hear(start)
    asking.at(start + LEASE_US // 2)
    asking.look(looks)
    asking.core.tick()
    assert sent_of(asking.step, ShardRequest) == [], "half of it is left"
    asking.at(start + LEASE_US // 2 + 1)
    asking.look(looks)
    asking.core.tick()
    assert bool(sent_of(asking.step, ShardRequest)) == is_asked


def test_busy_owner_passes_an_empty_shard_over_without_a_break() -> None:
    """For as long as the shard's owner answers: every renewal comes before the end of what it renews."""
    asking, shard_owner = Asking(), member_at(SHARDS, TABLE)
    asking.hear(asking.step.now)
    asking.hear(asking.step.now, shard=1)
    asked = 0
    for _ in range(10 * LEASE_US // TICK_US):
        assert asking.passes_over() == [0, 1]
        for shard in (0, 1):
            asking.look(BUSY, shard)
        asking.at(asking.step.now + TICK_US)
        shard_owner.step.now = asking.step.now
        shard_owner.arc_lease.renew(shard_owner.step.now, None)
        asking.core.tick()
        for _, ask in sent_of(asking.step, ShardRequest):
            asked += 1
            shard_owner.owner.shards.on_shard_request(at(OWNER), ask)
        for _, said in sent_of(shard_owner.step, ShardEmpty):
            asking.core.on_shard_empty(at(SHARDS), said)
    assert 10 <= asked <= 60


def test_what_is_not_used_is_not_renewed() -> None:
    """Looks count for one tick, and only where there is a lease."""
    asking = Asking()
    start = asking.step.now
    asking.hear(start, shard=1)
    asking.look(BUSY, 0)
    asking.look(BUSY, 1)
    asking.core.tick()
    asking.at(start + LEASE_US - 1)
    asking.core.tick()
    assert sent(asking.step) == []


def test_new_table_ends_all_leases() -> None:
    """What it claims may have come to a shard after that was called empty."""
    asking = Asking()
    asking.hear(asking.step.now)
    assert asking.passes_over() == [0]
    give_index(asking.cores, table_of(SHARDS, OWNER, n=2))
    assert asking.passes_over() == []
    asking.look(BUSY)
    asking.core.tick()
    assert sent_of(asking.step, ShardRequest) == [], "a lease that is no more is not renewed"


def test_answer_to_a_question_of_an_older_table_is_ignored() -> None:
    """It was on its way while the table changed; also if both happened in one microsecond."""
    asking = Asking()
    before = asking.step.now
    asking.at(before + 10)
    asking.core.forget()
    for asked_us in (before, before + 9, before + 10):
        asking.hear(asked_us)
    assert asking.passes_over() == []
    asking.at(before + 11)
    asking.hear(before + 11)
    assert asking.passes_over() == [0]


def test_only_the_owner_can_call_a_shard_empty() -> None:
    """Not a stranger, nor a member that owns something else."""
    asking = Asking()
    for liar in (at(200), at(OWNER), at(1)):
        asking.hear(asking.step.now, who=liar)
    assert asking.passes_over() == []


def test_answer_that_makes_no_sense_is_ignored() -> None:
    """Of another cluster, about a shard that does not exist, to a question that we have yet to ask."""
    asking = Asking()
    now = asking.step.now
    asking.hear(now, cluster=ClusterId("c2"))
    asking.hear(now + 1)
    for shard in (-1, CONFIG.pubsub.shards, 2**63 - 1, -(2**63)):
        asking.hear(now, shard=shard)
    assert asking.passes_over() == []
    assert sent(asking.step) == []


def test_lease_that_came_with_matches_serves_streams_too() -> None:
    """A shard's owner says the same with every answer about a promised event."""
    asking = Asking()
    event, start = event_of(TOPIC), asking.step.now
    asking.cores.owner.matchmaker.gather(parcel_of(event), Micros(0), at(9))
    (number, *_) = [request.number for _, request in sent_of(asking.step, MatchRequest)]
    asking.cores.owner.on_match_response(at(SHARDS), MatchResponse(CLUSTER, 0, number, (), (), True))
    assert asking.passes_over() == [0]
    asking.at(start + LEASE_US)
    assert asking.passes_over() == []


# Who is asked


def shard_owner(*shards: int) -> Cores:
    """The owner of both shards, with a subscription in some."""
    records = [wildcard_in_shard(shard) for shard in shards]
    return member_at(SHARDS, TABLE, [change_of(record, n) for n, record in enumerate(records, 1)])


def test_owner_answers_for_an_empty_shard_alone() -> None:
    """Silence about the other: whoever hears nothing sends what he has."""
    cores = shard_owner(0)
    for shard in (0, 1):
        cores.owner.shards.on_shard_request(at(OWNER), ShardRequest(CLUSTER, shard, Micros(77)))
    assert sent(cores.step) == [(at(OWNER), ShardEmpty(CLUSTER, 1, Micros(77)))]


def test_subscription_to_a_shard_that_was_called_empty_waits_for_that_lease() -> None:
    """Until then somebody passes the shard over, so it is not stable."""
    cores, change = shard_owner(), change_of(wildcard_in_shard(0), 1)
    cores.owner.shards.on_shard_request(at(OWNER), ShardRequest(CLUSTER, 0, Micros(0)))
    sent(cores.step)
    cores.owner.on_store_change(at(1), StoreChange(CLUSTER, epoch(1, 1), change, None))
    cores.step.now = Micros(LEASE_US - 1)
    cores.owner.match_index.tick()
    assert sent(cores.step) == []
    cores.step.now = LEASE_US
    cores.owner.match_index.tick()
    assert [type(message) for _, message in sent(cores.step)] == [ChangeStored]


@pytest.mark.parametrize("shard", [-1, CONFIG.pubsub.shards, 2**63 - 1, -(2**63)])
def test_shard_that_does_not_exist_is_nobodys(shard: int) -> None:
    """Whatever a liar asks for."""
    cores = shard_owner()
    cores.owner.shards.on_shard_request(at(OWNER), ShardRequest(CLUSTER, shard, Micros(0)))
    assert sent(cores.step) == []


def test_nobody_answers_for_a_shard_without_a_lease_on_it() -> None:
    """Not after the lease, not elsewhere in the ring, not for another cluster."""
    late, elsewhere, foreign = shard_owner(), member_at(OWNER, TABLE), shard_owner()
    late.step.now = Micros(CONFIG.cluster.lease_ticks * TICK_US)
    late.owner.shards.on_shard_request(at(OWNER), ShardRequest(CLUSTER, 0, Micros(0)))
    elsewhere.owner.shards.on_shard_request(at(SHARDS), ShardRequest(CLUSTER, 0, Micros(0)))
    foreign.owner.shards.on_shard_request(at(OWNER), ShardRequest(ClusterId("c2"), 0, Micros(0)))
    assert sent(late.step) == sent(elsewhere.step) == sent(foreign.step) == []
