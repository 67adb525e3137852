"""A subscription and an advertisement tell their application where they stand, and when they are over."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio
import trio.testing

from p2psub.api.errors import AdvertisementRefused, AlreadyEnded, Refusal, SubscriptionRefused
from p2psub.model.ids import ClusterId, SubscriptionId
from p2psub.model.outcomes import AdvertiseVerdict, SubscribeVerdict, VerdictStatus
from p2psub.runtime.advertisement_handle import AdvertisementHandle
from p2psub.runtime.subscription_stream import SubscriptionStream
from tests.unit.bench import node_at

ID = SubscriptionId(node_at(1), 1, 1)


class Held:
    """A handle of either kind, and the verdicts on it."""

    def __init__(
        self,
        handle: SubscriptionStream | AdvertisementHandle,
        judge: Callable[[SubscriptionId, VerdictStatus, tuple[ClusterId, ...]], SubscribeVerdict | AdvertiseVerdict],
        refused: type[Refusal],
    ) -> None:
        self.handle = handle
        self._judge = judge
        self.refused = refused

    def verdict(self, status: VerdictStatus, *unreached: str) -> SubscribeVerdict | AdvertiseVerdict:
        """Such a verdict on it."""
        return self._judge(ID, status, tuple(map(ClusterId, unreached)))

    def put(self, status: VerdictStatus, *unreached: str) -> None:
        """The node hands a verdict in."""
        verdict = self.verdict(status, *unreached)
        if isinstance(self.handle, SubscriptionStream):
            assert isinstance(verdict, SubscribeVerdict)
            self.handle.put(verdict)
        else:
            assert isinstance(verdict, AdvertiseVerdict)
            self.handle.put(verdict)


@pytest.fixture(params=["subscription", "advertisement"])
def held(request: pytest.FixtureRequest) -> Held:
    """One of each kind."""
    if request.param == "subscription":
        return Held(SubscriptionStream(8, lambda _: None), SubscribeVerdict, SubscriptionRefused)
    return Held(AdvertisementHandle(), AdvertiseVerdict, AdvertisementRefused)


async def test_the_first_verdict_is_waited_for(held: Held, nursery: trio.Nursery) -> None:
    """It is what `wait_verdict` returns, then and later."""
    heard: list[object] = []

    @nursery.start_soon
    async def wait() -> None:
        heard.append(await held.handle.wait_verdict())

    await trio.testing.wait_all_tasks_blocked()
    assert heard == []
    held.put(VerdictStatus.ACCEPTED, "red")
    await trio.testing.wait_all_tasks_blocked()
    assert heard == [held.verdict(VerdictStatus.ACCEPTED, "red")]
    assert await held.handle.wait_verdict() == held.handle.verdict == heard[0]
    assert held.handle.id == ID


async def test_a_stable_verdict_is_waited_for(held: Held, nursery: trio.Nursery) -> None:
    """However many come before it; what is stable already is not waited for."""
    heard: list[object] = []

    @nursery.start_soon
    async def wait() -> None:
        heard.append(await held.handle.wait_stable())

    for unreached in (("red", "blue"), ("red",)):
        held.put(VerdictStatus.ACCEPTED, *unreached)
        await trio.testing.wait_all_tasks_blocked()
        assert heard == []
    held.put(VerdictStatus.STABLE)
    await trio.testing.wait_all_tasks_blocked()
    assert heard == [held.verdict(VerdictStatus.STABLE)]
    assert await held.handle.wait_stable() == heard[0]


async def test_a_refusal_ends_the_waiting_for_stability(held: Held, nursery: trio.Nursery) -> None:
    """With the error that entering the block would have raised, and its advice."""
    held.put(VerdictStatus.ACCEPTED, "red")

    @nursery.start_soon
    async def wait() -> None:
        with pytest.raises(held.refused, match="ask for"):
            await held.handle.wait_stable()

    await trio.testing.wait_all_tasks_blocked()
    held.put(VerdictStatus.REFUSED)


@pytest.mark.parametrize("condition", ["wait_verdict", "wait_stable"])
async def test_the_end_of_the_block_ends_the_waiting(held: Held, condition: str, nursery: trio.Nursery) -> None:
    """Nothing more can come; a verdict that has come is still told."""

    @nursery.start_soon
    async def wait() -> None:
        with pytest.raises(AlreadyEnded, match="inside the block"):
            await getattr(held.handle, condition)()

    await trio.testing.wait_all_tasks_blocked()
    held.handle.end()
    await trio.testing.wait_all_tasks_blocked()
    held.put(VerdictStatus.STABLE)
    assert (await held.handle.wait_stable()).status is VerdictStatus.STABLE
    assert held.handle.is_over
