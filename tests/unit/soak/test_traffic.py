"""What publishers do while peers are killed, with controls that pretend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

import trio
import trio.testing

from p2psub.api.problems import Problem
from p2psub.api.schemas import EventItem, PublishRequest, PublishResponse, StreamLine, SubscribeRequest, VerdictItem
from p2psub.demo.controls import Controls, PeerSilent
from p2psub.model.content import Guarantee
from p2psub.model.ids import ID_BYTES
from p2psub.model.outcomes import VerdictStatus
from p2psub.soak.plan import PUBLISHERS, SPARED, WISHES, SoakPlan
from p2psub.soak.traffic import SoakTraffic
from tests.unit.demo.test_stages import Notes

Answers = list[PublishResponse | Problem]
PLAN = SoakPlan(rounds=1, rate_per_s=100.0, patience_s=20.0)


class PaperOverlay:
    """Takes events for all its peers, and hands them to every subscription that names their topic."""

    def __init__(self) -> None:
        self.published: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self.is_open = trio.Event()
        self.is_open.set()
        self._wanted: list[tuple[tuple[str, ...], Callable[[StreamLine], None]]] = []
        self._sequence = 0

    async def take(self, peer: str, requests: Sequence[PublishRequest]) -> Answers:
        """Acknowledge them when the overlay is open."""
        self.published[peer] += len(requests)
        self.calls[peer] += 1
        await self.is_open.wait()
        return [self._deliver(request) for request in requests]

    def _deliver(self, request: PublishRequest) -> PublishResponse:
        self._sequence += 1
        id_ = f"{'00' * ID_BYTES}.1.{self._sequence}"
        item = EventItem(
            id=id_,
            topic=request.topic,
            attributes=request.attributes,
            retain_s=0.0,
            guarantee=Guarantee.EFFECTIVELY_ONCE,
        )
        for topics, hear in self._wanted:
            if request.topic in topics:
                hear(StreamLine(event=item))
        return PublishResponse(event=id_, copies=3, matched=1)

    async def hold(self, request: SubscribeRequest, hear: Callable[[StreamLine], None]) -> None:
        """A subscription that is stable at once."""
        [topics] = [wish.topics for wish in WISHES if wish.filter == request.filter][:1]
        hear(StreamLine(verdict=VerdictItem(subscription="s", status=VerdictStatus.STABLE)))
        self._wanted.append((topics, hear))
        await trio.sleep_forever()


class PaperControls(Controls):
    """One peer of it."""

    def __init__(self, name: str, overlay: PaperOverlay) -> None:
        self._name = name
        self._overlay = overlay

    async def publish_many(self, requests: Sequence[PublishRequest]) -> Answers:
        return await self._overlay.take(self._name, requests)

    async def listen(self, request: SubscribeRequest, hear: Callable[[StreamLine], None]) -> None:
        await self._overlay.hold(request, hear)


async def run(overlay: PaperOverlay, during: Callable[[SoakTraffic], object], seconds: float = 10.0) -> SoakTraffic:
    """Traffic that is stopped after so long, and ended; `during` is called in the middle."""
    controls = {name: PaperControls(name, overlay) for name in SPARED}
    traffic = SoakTraffic(PLAN, controls, Notes())
    async with trio.open_nursery() as listening:
        await traffic.subscribe(listening)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(traffic.publish)
            await trio.sleep(seconds / 2)
            during(traffic)
            await trio.sleep(seconds / 2)
            traffic.stop()
        listening.cancel_scope.cancel()
    return traffic


async def test_publishers_share_the_rate_and_every_event_is_accounted_for(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Nothing is missing where the overlay keeps its word."""
    overlay = PaperOverlay()
    figures = (await run(overlay, lambda _: None)).books.figures()
    assert set(overlay.published) == set(PUBLISHERS)
    assert all(480 <= count <= 500 for count in overlay.published.values())
    assert figures.published == figures.acknowledged == overlay.published.total()
    assert (figures.lost, figures.duplicates, figures.unwanted, figures.out_of_order) == (0, 0, 0, 0)
    assert figures.received > figures.published


async def test_publishing_goes_on_while_no_call_is_answered(autojump_clock: trio.testing.MockClock) -> None:
    """A call that waits for the successor of a dead owner holds up no other."""
    overlay = PaperOverlay()
    overlay.is_open = trio.Event()

    def open_late(traffic: SoakTraffic) -> None:
        figures = traffic.books.figures()
        assert 480 <= figures.published <= 500
        assert figures.acknowledged == 0
        overlay.is_open.set()

    figures = (await run(overlay, open_late)).books.figures()
    assert figures.published == figures.acknowledged == overlay.published.total()


async def test_calls_without_an_answer_leave_connections_for_others(autojump_clock: trio.testing.MockClock) -> None:
    """A peer has 256. Larger calls follow when many wait: a minute of silence takes up less than half of them."""
    overlay = PaperOverlay()
    overlay.is_open = trio.Event()
    await run(overlay, lambda _: None, seconds=60.0)
    assert all(count < 128 for count in overlay.calls.values())
    assert all(count > 2000 for count in overlay.published.values())


async def test_what_is_never_answered_is_given_up_when_patience_ends(autojump_clock: trio.testing.MockClock) -> None:
    """And is counted as such, not as lost."""
    overlay = PaperOverlay()
    overlay.is_open = trio.Event()
    figures = (await run(overlay, lambda _: None)).books.figures()
    assert trio.current_time() < 10 + PLAN.patience_s + 5
    assert figures.refused == {"unanswered": figures.published}
    assert (figures.acknowledged, figures.lost) == (0, 0)


class Refusing(PaperOverlay):
    """Says no to every event, in one way or the other."""

    def __init__(self, refuse: Callable[[PublishRequest], Problem]) -> None:
        super().__init__()
        self._refuse = refuse

    async def take(self, peer: str, requests: Sequence[PublishRequest]) -> Answers:
        return [self._refuse(request) for request in requests]


async def test_refusals_are_counted_by_their_reason(autojump_clock: trio.testing.MockClock) -> None:
    """A peer says it after the topic; other problems are known by their kind."""

    def full(request: PublishRequest) -> Problem:
        return Problem(reason="not_taken", message=f"{request.topic}: outbox_full", advice="wait")

    figures = (await run(Refusing(full), lambda _: None)).books.figures()
    assert figures.refused == {"outbox_full": figures.published}
    bad = partial(Problem, reason="bad_content", message="it is bad", advice="mend it")
    figures = (await run(Refusing(lambda _: bad()), lambda _: None)).books.figures()
    assert figures.refused == {"bad_content": figures.published}


class Silent(PaperOverlay):
    """Answers nothing."""

    async def take(self, peer: str, requests: Sequence[PublishRequest]) -> Answers:
        raise PeerSilent(f"{peer} does not answer; see its log")


async def test_a_peer_that_breaks_off_has_promised_nothing(autojump_clock: trio.testing.MockClock) -> None:
    """The run goes on."""
    figures = (await run(Silent(), lambda _: None)).books.figures()
    assert figures.published
    assert figures.refused == {"unanswered": figures.published}
