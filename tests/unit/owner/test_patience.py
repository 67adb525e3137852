"""What an owner sent and what still waits for its link: not again, and patience begins when it left."""

from __future__ import annotations

from p2psub.model.instants import Micros
from p2psub.model.messages.pubsub import Deliver, Publish, Route, Routed, StoreCopy
from p2psub.model.messages.shards import MatchRequest
from p2psub.node.cores import Cores
from tests.unit.bench import CONFIG, at, give_index, hold_up, make_durable, sent, sent_of, table_of, tick
from tests.unit.owner.owners import HERE, ONE, PROCESS, PUBLISHER, THERE, confirm, owner, publish

RETRY, REDELIVER = CONFIG.pubsub.retry_ticks, CONFIG.pubsub.redeliver_ticks
SUPER_NODE = at(1)


def pass_ticks(cores: Cores, count: int) -> None:
    """Ticks of a member whose lease runs on."""
    for _ in range(count):
        tick(cores.step, cores.owner.tick)
        cores.arc_lease.renew(cores.step.now, None)


def routes(cores: Cores) -> int:
    """How many routes went out since the last look."""
    return len(sent_of(cores.step, Route))


def paying() -> Cores:
    """An owner that has just sent a route for a subscription of another cluster."""
    cores = owner(THERE)
    publish(cores, ONE)
    make_durable(cores.step)
    sent(cores.step)
    confirm(cores, ONE, 64, 96)
    return cores


def test_delivery_that_waits_is_not_repeated() -> None:
    """However long; then after the patience, from when it left and what its link needs."""
    cores = paying()
    (waiting,) = hold_up(cores.step)
    assert routes(cores) == 1
    pass_ticks(cores, 5 * REDELIVER)
    assert routes(cores) == 0
    waiting.leave(cores.step.tick, 3)
    pass_ticks(cores, REDELIVER + 2)
    assert routes(cores) == 0
    pass_ticks(cores, 1 + RETRY)
    assert routes(cores) == 1


def test_delivery_that_is_lost_is_repeated_soon() -> None:
    """The next time its stream is looked at, and not after the patience."""
    cores = paying()
    (waiting,) = hold_up(cores.step)
    assert routes(cores) == 1
    pass_ticks(cores, 2 * REDELIVER)
    waiting.lose(cores.step.tick)
    pass_ticks(cores, RETRY + 1)
    assert routes(cores) == 1


def test_what_the_super_node_is_still_at_is_not_sent_again() -> None:
    """It may take as long again as it took so far."""
    cores = paying()
    assert routes(cores) == 1
    pass_ticks(cores, 10)
    on_it = Routed(1, ONE.id, (), PROCESS, (), ((THERE.id, 1),))
    cores.owner.on_routed(at(99), on_it)
    pass_ticks(cores, REDELIVER - 10 + RETRY)
    assert routes(cores) == 1, "another member's word counts for nothing"
    cores.owner.on_routed(SUPER_NODE, on_it)
    pass_ticks(cores, 2 * REDELIVER)
    assert routes(cores) == 0
    pass_ticks(cores, 3 * REDELIVER)
    assert routes(cores) == 1


def test_word_of_a_super_node_counts_as_long_as_its_table() -> None:
    """Another may lead by the next one, and has nothing of what this one was at."""
    cores = paying()
    assert routes(cores) == 1
    pass_ticks(cores, REDELIVER - 2)
    for _ in range(3):
        pass_ticks(cores, 1)
        cores.owner.on_routed(SUPER_NODE, Routed(1, ONE.id, (), PROCESS, (), ((THERE.id, 1), (HERE.id, 9))))
    give_index(cores, table_of(32, 64, 96, 128, 160, 192, n=2))
    pass_ticks(cores, 2)
    confirm(cores, ONE, 64, 96, table=table_of(32, 64, 96, 128, 160, 192, n=2))
    sent(cores.step)
    pass_ticks(cores, REDELIVER + RETRY)
    assert routes(cores) == 1


def test_request_for_a_copy_that_waits_is_not_repeated() -> None:
    """Nor is another member asked in its place; if the link is lost the patience is over."""
    cores = owner(HERE)
    publish(cores, ONE)
    make_durable(cores.step)
    several = hold_up(cores.step)
    first = len(sent_of(cores.step, StoreCopy))
    assert first == len(several) == 2
    pass_ticks(cores, 5 * RETRY)
    assert sent_of(cores.step, StoreCopy) == []
    for waiting in several:
        waiting.leave(cores.step.tick, 0)
    pass_ticks(cores, 5 * RETRY)
    assert len(sent_of(cores.step, StoreCopy)) >= first


def test_request_for_matches_that_waits_is_not_repeated() -> None:
    """Of two shards the one whose request left is asked again."""
    cores = owner(HERE, table=table_of(32, 64, 96, 128, 160, 192))
    cores.owner.on_publish(PUBLISHER, Publish(ONE, Micros(0)))
    asked = [message for _, message in cores.step.sends if isinstance(message, MatchRequest)]
    several = hold_up(cores.step)
    sent(cores.step)
    assert len(asked) == len(several) > 0
    pass_ticks(cores, 20)
    assert sent_of(cores.step, MatchRequest) == []
    several[0].leave(cores.step.tick, 0)
    pass_ticks(cores, 2)
    assert [message.shard for _, message in sent_of(cores.step, MatchRequest)] == [asked[0].shard]


def test_nothing_is_followed_that_promises_nothing() -> None:
    """What is sent once is nobody's to repeat."""
    cores = paying()
    assert len(cores.step.followed) == len([m for _, m in cores.step.sends if isinstance(m, Route | Deliver)])
