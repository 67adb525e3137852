"""Who has a half, and for how long that is believed; and that nothing is sent again that waits for its link."""

from __future__ import annotations

from p2psub.casts.cast import is_doubled
from p2psub.model.graycode import Prefix
from p2psub.model.ids import CastId
from p2psub.model.messages.casts import Answer, ChangeCast, Custody
from tests.unit.bench import CONFIG, hold_up, sent, sent_of, tick
from tests.unit.casts.cubes import FOREIGN, PARENT, Bench, leader_of, vote

PATIENCE = CONFIG.cube.custody_ticks


def tries(bench: Bench) -> list[tuple[int, str]]:
    """To which super-nodes halves went since the last look, by the first byte of their ids."""
    return [(to.id[0], message.subcube) for to, message in sent_of(bench.step, ChangeCast)]


def leader(prefix: str) -> int:
    """The first byte of a super-node's id."""
    return leader_of(prefix).id[0]


def with_one_half() -> tuple[Bench, CastId]:
    """A cast to the other of two clusters' halves, of which one has two super-nodes."""
    bench = Bench("0", ("0", "10", "11"))
    return bench, bench.start()


def test_what_waits_for_its_link_is_not_sent_again() -> None:
    """Not through another contact either: it is on its way as long as it waits."""
    bench, _ = with_one_half()
    (waiting,) = hold_up(bench.step)
    sent(bench.step)
    tick(bench.step, bench.casts.tick, 30)
    assert tries(bench) == []
    waiting.leave(bench.step.tick, 2)
    tick(bench.step, bench.casts.tick, PATIENCE + 1)
    assert tries(bench) == []
    tick(bench.step, bench.casts.tick)
    assert len(tries(bench)) == 1


def test_what_never_left_is_sent_again_at_the_next_tick() -> None:
    """Its link is lost: to wait for an answer would be in vain."""
    bench, _ = with_one_half()
    (waiting,) = hold_up(bench.step)
    assert tries(bench) == [(leader("10"), "1")]
    waiting.lose(bench.step.tick)
    tick(bench.step, bench.casts.tick)
    assert tries(bench) == [(leader("11"), "1")]


def test_what_waits_for_the_dead_goes_to_another() -> None:
    """A queue whose peer is dead may never drain."""
    bench, _ = with_one_half()
    hold_up(bench.step)
    assert tries(bench) == [(leader("10"), "1")]
    bench.kill("10")
    tick(bench.step, bench.casts.tick)
    assert tries(bench) == [(leader("11"), "1")]


def test_custody_that_is_not_renewed_lapses_and_the_custodian_is_asked_again() -> None:
    """Its answer may be lost, and it remembers it; or it came back without its memory. Nobody else is troubled."""
    bench, cast = with_one_half()
    sent(bench.step)
    tick(bench.step, bench.casts.tick)
    bench.casts.on_custody(leader_of("10"), Custody(cast, Prefix("1")))
    asked_again: list[int] = []
    for count in range(1, 40):
        tick(bench.step, bench.casts.tick)
        asked_again += [count for again in tries(bench) if again == (leader("10"), "1")]
        if asked_again:
            break
    assert asked_again == [15]


def test_custodian_renews_its_word_ever_more_seldom() -> None:
    """To every parent, while the cast is open; its answer is the last word."""
    bench = Bench("10")
    bench.ask("1")
    said: list[int] = []
    for count in range(1, 50):
        tick(bench.step, bench.casts.tick)
        said += [count for to, message in sent(bench.step) if (to, message) == (PARENT, Custody(FOREIGN, Prefix("1")))]
    assert said == [1, 6, 12, 24, 48]
    bench.answer(FOREIGN, "11")
    bench.casts.answer_locally(FOREIGN, vote("10"))
    assert [type(message) for _, message in sent(bench.step)] == [Answer]
    tick(bench.step, bench.casts.tick, 100)
    assert sent(bench.step) == []


def test_doubled_times_are_the_first_and_twice_the_last() -> None:
    """And no other: a rule for what is said ever more seldom."""
    assert [ticks for ticks in range(60) if is_doubled(ticks, 6)] == [6, 12, 24, 48]
