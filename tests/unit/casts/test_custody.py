"""Who has a half, and for how long that is believed; and that nothing is sent again that waits for its link."""

from __future__ import annotations

from p2psub.casts.cast import is_doubled
from p2psub.model.graycode import Prefix
from p2psub.model.ids import CastId
from p2psub.model.messages.casts import Answer, CastRefused, ChangeCast, Custody, CustodyRequest, EventSummary
from p2psub.model.messages.pubsub import OutcomeOf
from p2psub.model.outcomes import Outcome
from p2psub.model.records import Kind
from p2psub.model.transmission import Transmission
from tests.unit.bench import CONFIG, hold_up, records_of, sent, sent_of, tick
from tests.unit.casts.cubes import FOREIGN, PARENT, Bench, leader_of, multicast, vote

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
    assert sent(bench.step) == []
    tick(bench.step, bench.casts.tick)
    assert len(sent(bench.step)) == 1


def test_a_silent_receiver_is_asked_whether_it_has_the_half_before_that_goes_anywhere_again() -> None:
    """What it says may wait behind something large, of which nobody here can know."""
    bench, cast = with_one_half()
    sent(bench.step)
    tick(bench.step, bench.casts.tick, PATIENCE)
    assert sent(bench.step) == [(leader_of("10"), CustodyRequest(cast, Prefix("1")))]
    bench.casts.on_custody(leader_of("10"), Custody(cast, Prefix("1")))
    tick(bench.step, bench.casts.tick, PATIENCE)
    assert sent(bench.step) == []


def test_a_half_that_its_receiver_does_not_have_goes_to_the_next_at_once() -> None:
    """Its request was lost, or the receiver has forgotten it."""
    bench, cast = with_one_half()
    tick(bench.step, bench.casts.tick, PATIENCE)
    sent(bench.step)
    bench.casts.on_cast_refused(leader_of("10"), CastRefused(cast, Prefix("1"), ()))
    tick(bench.step, bench.casts.tick)
    assert tries(bench) == [(leader("11"), "1")]


def test_a_receiver_that_does_not_say_whether_it_has_the_half_is_passed_by() -> None:
    """Perhaps nothing of ours reaches it. The half goes on after twice the patience, and that one is asked, too."""
    bench, cast = with_one_half()
    sent(bench.step)
    tick(bench.step, bench.casts.tick, PATIENCE)
    sent(bench.step)
    tick(bench.step, bench.casts.tick, 2 * PATIENCE - 1)
    assert sent(bench.step) == []
    tick(bench.step, bench.casts.tick)
    assert tries(bench) == [(leader("11"), "1")]
    tick(bench.step, bench.casts.tick, 2 * PATIENCE)
    assert sent(bench.step) == [(leader_of("11"), CustodyRequest(cast, Prefix("1")))]


def test_one_that_is_asked_no_more_cannot_refuse_a_half() -> None:
    """Another has it by now."""
    bench, cast = with_one_half()
    (waiting,) = hold_up(bench.step)
    waiting.lose(bench.step.tick)
    tick(bench.step, bench.casts.tick)
    sent(bench.step)
    bench.casts.on_cast_refused(leader_of("10"), CastRefused(cast, Prefix("1"), ()))
    tick(bench.step, bench.casts.tick)
    assert sent(bench.step) == []


def test_who_is_asked_whether_it_has_a_half_says_so_or_answers_or_refuses() -> None:
    """By what it knows of it: it is open, it is answered, or it never came."""
    bench = Bench("10", ("0", "10", "11"))
    asked = CustodyRequest(FOREIGN, Prefix("10"))
    bench.casts.on_custody_request(PARENT, asked)
    assert sent(bench.step) == [(PARENT, CastRefused(FOREIGN, Prefix("10"), ()))]
    bench.ask("10")
    bench.casts.on_custody_request(PARENT, asked)
    assert sent(bench.step) == [(PARENT, Custody(FOREIGN, Prefix("10")))]
    bench.casts.answer_locally(FOREIGN, vote("10"))
    sent(bench.step)
    bench.casts.on_custody_request(PARENT, asked)
    assert sent(bench.step) == [(PARENT, Answer(FOREIGN, Prefix("10"), vote("10")))]


def test_an_answer_that_waits_for_its_link_is_not_given_again() -> None:
    """Nor a word of custody: it is on its way, however often it is asked for."""
    bench = Bench("10", ("0", "10", "11"))
    asked = CustodyRequest(FOREIGN, Prefix("10"))
    bench.ask("10")
    tick(bench.step, bench.casts.tick)
    (custody,) = hold_up(bench.step)
    sent(bench.step)
    tick(bench.step, bench.casts.tick, 30)
    bench.casts.on_custody_request(PARENT, asked)
    bench.ask("10")
    assert sent(bench.step) == []
    bench.casts.answer_locally(FOREIGN, vote("10"))
    (answer,) = hold_up(bench.step)
    sent(bench.step)
    custody.leave(bench.step.tick, 0)
    bench.casts.on_custody_request(PARENT, asked)
    bench.ask("10")
    assert sent(bench.step) == []
    answer.leave(bench.step.tick, 0)
    bench.ask("10")
    assert sent(bench.step) == [(PARENT, Answer(FOREIGN, Prefix("10"), vote("10")))]


def test_a_cast_lasts_while_a_request_of_it_waits_for_its_link() -> None:
    """Were it closed, what waits would go to someone who answers nobody, and the next cast stand behind it."""
    bench, _ = with_one_half()
    (waiting,) = hold_up(bench.step)
    tick(bench.step, bench.casts.tick, 3 * CONFIG.cube.cast_ticks_max)
    assert bench.done == []
    waiting.leave(bench.step.tick, 0)
    tick(bench.step, bench.casts.tick, CONFIG.cube.cast_ticks_max)
    assert bench.done == []
    tick(bench.step, bench.casts.tick)
    assert len(bench.done) == 1


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
    tick(bench.step, bench.casts.tick, 14)
    assert sent(bench.step) == []
    tick(bench.step, bench.casts.tick)
    assert sent(bench.step) == [(leader_of("10"), CustodyRequest(cast, Prefix("1")))]


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
    """Up to sixteen times the first, and then as often: a rule for what is said ever more seldom."""
    assert [ticks for ticks in range(400) if is_doubled(ticks, 6)] == [6, 12, 24, 48, 96, 192, 288, 384]


def test_word_of_a_custodian_is_not_believed_longer_than_it_remembers_its_answer() -> None:
    """Else a request that is repeated would find nothing, and be a new walk."""
    transmission = Transmission(0)
    transmission.confirm(5_000)
    lapses = next(tick for tick in range(5_000, 6_000) if transmission.is_due(tick, 14))
    assert lapses - 5_000 < CONFIG.cube.remember_ticks
    assert is_doubled(96, 6), "and one that is renewed as seldom as it gets may be lost"
    assert lapses - 5_000 > 2 * 96


def test_refused_half_is_sent_on_at_the_next_tick() -> None:
    """However long its custodian was believed."""
    bench, cast = with_one_half()
    sent(bench.step)
    tick(bench.step, bench.casts.tick, 2)
    bench.casts.on_custody(leader_of("10"), Custody(cast, Prefix("1")))
    bench.casts.on_cast_refused(leader_of("10"), CastRefused(cast, Prefix("1"), ()))
    tick(bench.step, bench.casts.tick)
    assert tries(bench) == [(leader("11"), "1")]


def test_repeated_request_for_an_open_cast_is_never_a_new_one() -> None:
    """However long it is open: it is counted once as received."""
    bench = Bench("10")
    bench.local.has_time = lambda payload, open_ticks, open_us: True  # type: ignore[method-assign]
    bench.ask("1")
    tick(bench.step, bench.casts.tick, 2 * CONFIG.cube.remember_ticks)
    bench.ask("1")
    assert [record.kind for record in records_of(bench.step, Kind.RECEIVE, Kind.DUPLICATE)] == ["receive", "duplicate"]


def test_request_for_a_cast_that_was_given_up_is_no_new_one() -> None:
    """However long it was open, for it waited for a link: it is tried again, and counted once as received."""
    bench = Bench("10")
    bench.local.has_time = lambda payload, open_ticks, open_us: True  # type: ignore[method-assign]
    bench.ask("1")
    tick(bench.step, bench.casts.tick, 2 * CONFIG.cube.remember_ticks)
    bench.local.has_time = lambda payload, open_ticks, open_us: False  # type: ignore[method-assign]
    tick(bench.step, bench.casts.tick, 20)
    bench.ask("1")
    assert [record.kind for record in records_of(bench.step, Kind.RECEIVE, Kind.DUPLICATE)] == ["receive", "duplicate"]


def test_half_without_time_is_given_up_and_the_others_are_answered_for() -> None:
    """Those asked have closed it without a word. Were it waited for, what the others said would never be told."""
    bench = Bench("00")
    bench.local.has_time = lambda payload, *_: payload.has_part_in(Prefix("01"))  # type: ignore[method-assign]
    cast = bench.start(multicast("01", "11"))
    said = EventSummary((OutcomeOf(multicast("01").targets[0][2][0].subscription, Outcome.DELIVERED, b""),))
    tick(bench.step, bench.casts.tick)
    assert bench.done == []
    bench.casts.on_answer(leader_of("01"), Answer(cast, Prefix("01"), said))
    assert bench.done == [(said, True)]
