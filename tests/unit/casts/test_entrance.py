"""By which super-node a multicast enters a half: at a target, where that takes least time; broadcasts by neighbours."""

from __future__ import annotations

from p2psub.model.graycode import Prefix
from p2psub.model.messages.casts import Answer, ChangeCast, Custody, EventCast, EventSummary
from p2psub.model.messages.cube import WayNews
from p2psub.model.ways import Way
from tests.unit.bench import CONFIG, sent, sent_of, tick
from tests.unit.casts.cubes import Bench, cluster_at, leader_of, multicast

EIGHT = ("000", "001", "010", "011", "100", "101", "110", "111")
QUICK, SLOW = Way(15_000, 0, 10_000), Way(60_000, 0, 10_000)


def entered(bench: Bench) -> dict[str, str]:
    """By half, the prefix of the super-node that was asked since the last look."""
    prefixes = {leader_of(prefix).id: prefix for prefix in EIGHT}
    return {str(message.subcube): prefixes[to.id] for to, message in sent_of(bench.step, EventCast)}


def test_of_an_idle_cube_the_target_nearest_to_the_neighbour_is_asked() -> None:
    """Which is the neighbour itself if it is a target: few links are opened, and no transfer is made in vain."""
    bench = Bench("000", EIGHT)
    bench.start(multicast("100", "111", "011"))
    assert entered(bench) == {"1": "100", "01": "011"}
    bench.start(multicast("111", "101", "001"))
    assert entered(bench) == {"1": "101", "001": "001"}


def test_by_neighbours_if_the_setting_says_so() -> None:
    """As before: the neighbour across the dimension, target or not."""
    bench = Bench("000", EIGHT, paths="neighbour")
    bench.start(multicast("111", "011"))
    assert entered(bench) == {"1": "100", "01": "010"}


def test_broadcast_goes_from_neighbour_to_neighbour_however_slow_they_are() -> None:
    """N - 1 transfers, over links that are there."""
    bench = Bench("000", EIGHT)
    bench.slow[leader_of("100").id] = SLOW
    bench.start()
    assert [to for to, _ in sent_of(bench.step, ChangeCast)] == [leader_of(prefix) for prefix in ("100", "010", "001")]


def test_slow_link_is_shunned_for_one_that_is_not_known_to_be_slow() -> None:
    """The sum over all targets counts: behind the entrance the walk goes on."""
    bench = Bench("000", EIGHT)
    bench.slow[leader_of("100").id] = QUICK
    bench.start(multicast("100", "111", body_bytes=1000))
    assert entered(bench) == {"1": "111"}
    bench.slow[leader_of("111").id] = SLOW
    bench.start(multicast("100", "111", body_bytes=1000))
    assert entered(bench) == {"1": "100"}


def test_ways_beyond_a_super_node_count_too() -> None:
    """A neighbour that is no target is worth a transfer more if the direct way is slower than both."""
    bench = Bench("000", EIGHT)
    direct, around = leader_of("110"), leader_of("100")
    bench.slow = {direct.id: SLOW, around.id: QUICK}
    bench.start(multicast("110", body_bytes=1000))
    assert entered(bench) == {"1": "100"}
    bench.ways.on_way_news(around, WayNews(((cluster_at("110"), SLOW),)))
    bench.start(multicast("110", body_bytes=1000))
    assert entered(bench) == {"1": "110"}


def test_what_waits_before_a_link_counts_as_time() -> None:
    """Of two links as slow, the one with the shorter queue."""
    bench = Bench("000", EIGHT)
    bench.slow = {leader_of("100").id: Way(15_000, 0, 500_000), leader_of("111").id: QUICK}
    bench.start(multicast("100", "111"))
    assert entered(bench) == {"1": "111"}


def test_dead_super_node_is_no_entrance() -> None:
    """Neighbour or not."""
    bench = Bench("000", EIGHT)
    bench.kill("101", "100")
    bench.start(multicast("101", "110"))
    assert entered(bench) == {"1": "110"}
    bench.kill("101", "100", "110")
    bench.start(multicast("110"))
    assert entered(bench)["1"] in EIGHT[4:]


def test_custodian_that_is_no_neighbour_is_watched_and_the_half_goes_on_when_it_dies() -> None:
    """And until it is heard, for a while: then the next multicast does not go to it either."""
    bench = Bench("000", EIGHT)
    cast = bench.start(multicast("111"))
    far = leader_of("111")
    sent(bench.step)
    assert bench.casts.custodians.watched() == [far]
    bench.casts.on_custody(far, Custody(cast, Prefix("1")))
    for _ in range(CONFIG.liveness.unreachable_after_ticks + 1):
        bench.liveness.watch_only(bench.casts.custodians.watched())
        bench.liveness.tick([])
        tick(bench.step, bench.casts.tick)
    others = [to for to, _ in sent_of(bench.step, EventCast)]
    assert others
    assert far not in others
    bench.start(multicast("110", "111"))
    assert entered(bench) == {"1": "110"}


def test_custodian_that_answered_is_watched_no_more() -> None:
    """An idle super-node pings nobody beyond its neighbours."""
    bench = Bench("000", EIGHT)
    cast = bench.start(multicast("111"))
    far = leader_of("111")
    tick(bench.step, bench.casts.tick)
    bench.liveness.watch_only(bench.casts.custodians.watched())
    bench.liveness.heard(far.id)
    bench.casts.on_answer(far, Answer(cast, Prefix("1"), EventSummary(())))
    tick(bench.step, bench.casts.tick)
    assert bench.casts.custodians.watched() == []


def test_one_that_never_speaks_is_forgotten_after_a_while() -> None:
    """A process that was watched once is not pinged for ever."""
    bench = Bench("000", EIGHT)
    cast = bench.start(multicast("111"))
    bench.casts.on_answer(leader_of("111"), Answer(cast, Prefix("1"), EventSummary(())))
    tick(bench.step, bench.casts.tick, 40)
    assert bench.casts.custodians.watched() == [leader_of("111")]
    tick(bench.step, bench.casts.tick)
    assert bench.casts.custodians.watched() == []
