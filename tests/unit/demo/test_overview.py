"""When an overlay is formed, and when it owes nothing any more."""

from __future__ import annotations

import msgspec
import pytest
import trio
import trio.testing

from p2psub.api.pages import BooksPage, ClusterPage, CubePage, QueuesPage, RingPage, StatusPage
from p2psub.demo.controls import Controls
from p2psub.demo.overview import Overview, wait_settled
from p2psub.model.graycode import Prefix
from p2psub.model.ids import ClusterId
from p2psub.model.status import Role

NAMES = ("one", "two")
CUBE = tuple(ClusterPage(ClusterId(name), Prefix(bit)) for name, bit in zip(NAMES, "01", strict=True))
NOTHING = QueuesPage(queued_messages=0, queued_messages_max=0, outbox=0, undischarged=0, kept=0, links=())


def page(
    cluster: str, role: Role, *, ready: bool = True, cube: tuple[ClusterPage, ...] = CUBE, queues: QueuesPage = NOTHING
) -> StatusPage:
    """A peer that says this of itself."""
    name = ClusterId(cluster)
    ring = RingPage(
        id=f"{role} of {cluster}",
        cluster=name,
        role=role,
        epoch=None,
        super_node=None,
        candidates=(),
        predecessor=None,
        successors=(),
        table=None,
        owners=(),
        serves=True,
    )
    return StatusPage(
        name="",
        address="",
        overlay="",
        stage="",
        missing=None,
        ready=ready,
        uptime_s=0.0,
        incarnation=1,
        certificate_days_left=7.0,
        rank=None,
        score=1.0,
        ring=ring,
        cube=CubePage(cluster=name, prefix=None, filling=False, clusters=cube),
        queues=queues,
        subscriptions=(),
        books=BooksPage(on_time=0, expired={}, earned=0.0, penalties=0.0, earning=0.0),
        changes_digest="",
        counters={},
    )


def pages(**others: StatusPage) -> dict[str, StatusPage]:
    """Two clusters of two, with others in place of some."""
    usual = {f"{name}-{role}": page(name, role) for name in NAMES for role in (Role.SUPER_NODE, Role.MEMBER)}
    return usual | {name.replace("_", "-", 1): page for name, page in others.items()}


def test_an_overlay_is_formed_when_all_are_ready_and_every_super_node_knows_all() -> None:
    """Two clusters of two, all well."""
    overview = Overview(pages())
    assert overview.is_formed(2)
    assert (overview.ready, overview.clusters, overview.super_nodes) == (4, 2, 2)
    assert overview.leaders == {"one": "super_node of one", "two": "super_node of two"}


def test_an_overlay_is_not_formed_while_something_is_missing() -> None:
    """Somebody is not ready, a cluster has no super-node or two, or one does not know the other."""
    assert not Overview(pages(one_member=page("one", Role.MEMBER, ready=False))).is_formed(2)
    assert not Overview(pages(one_super_node=page("one", Role.CANDIDATE))).is_formed(2)
    assert not Overview(pages(one_member=page("one", Role.SUPER_NODE))).is_formed(2)
    assert not Overview(pages(one_super_node=page("one", Role.SUPER_NODE, cube=CUBE[:1]))).is_formed(2)
    assert not Overview(pages()).is_formed(3)


def test_whoever_owes_an_event_is_not_idle() -> None:
    """An unacknowledged event, or one that is not discharged."""
    assert Overview(pages()).is_idle
    for owing in ({"outbox": 1}, {"undischarged": 1}):
        queues = msgspec.structs.replace(NOTHING, **owing)
        assert not Overview(pages(one_member=page("one", Role.MEMBER, queues=queues))).is_idle


class PaperControls(Controls):
    """A peer that says one thing after the other, and then the last for good."""

    def __init__(self, *said: StatusPage) -> None:
        self._said = list(said)

    async def status(self) -> StatusPage:
        return self._said.pop(0) if len(self._said) > 1 else self._said[0]


def controls(*said: StatusPage) -> dict[str, PaperControls]:
    """Two clusters of two, of which one member says this."""
    return {name: PaperControls(page) for name, page in pages().items()} | {"one-member": PaperControls(*said)}


OWING = page("one", Role.MEMBER, queues=msgspec.structs.replace(NOTHING, outbox=1))


async def test_a_run_waits_until_all_has_arrived_and_no_peer_owes_anything(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Both: what has arrived may still be owed, and the other way round."""
    arrived = iter([False, False, False, True])
    overview = await wait_settled(controls(OWING, OWING, page("one", Role.MEMBER)), 2, lambda: next(arrived), 60)
    assert overview.is_settled(2)
    assert next(arrived, None) is None


async def test_a_run_does_not_wait_forever(autojump_clock: trio.testing.MockClock) -> None:
    """When patience ends, the overlay is what it is."""
    overview = await wait_settled(controls(OWING), 2, lambda: True, 60)
    assert not overview.is_settled(2)
    assert trio.current_time() == pytest.approx(60, abs=1)
