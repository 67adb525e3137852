"""A node keeps its certificate fresh by itself, however long the bootstrap is away or its machine asleep."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
import trio
from trio.testing import MockClock

from bootstrap.authority import Authority
from p2psub.errors import ConfigError
from p2psub.identity.enrolment import EnrolGrant
from p2psub.identity.keys import NodeKey
from p2psub.model.rights import Rights
from p2psub.runtime import node_identity
from p2psub.runtime.enrolment_client import EnrolmentFailed
from p2psub.runtime.node_identity import LOOK_EVERY_S, RENEW_EVERY_S, RENEW_RETRY_S, Identity, identify, stay_enrolled
from p2psub.runtime.state import Enrolment, State
from p2psub.runtime.tls import Credentials
from tests.unit.bench import at, node_at

DAY_S = 86_400.0


@pytest.fixture
def authority(tmp_path: Path) -> Iterator[Authority]:
    """A CA that was just founded."""
    with closing(Authority.load_or_create(tmp_path / "ca", "demo")) as authority:
        yield authority


class Bootstrap:
    """Grants certificates without a network, unless it is away."""

    def __init__(self, authority: Authority) -> None:
        self._authority = authority
        self.is_away = False
        self.now_s: Callable[[], float] = time.time
        self.asked: list[tuple[str, float]] = []

    def grant(self, key: NodeKey) -> EnrolGrant:
        issued = self._authority.appoint(key.csr(), Rights(), self.now_s())
        return EnrolGrant(issued.certificate_der, self._authority.ca_der, at(7), self._authority.deny_list())

    async def renew(self, address: str, _: Credentials, key: NodeKey) -> EnrolGrant:
        """What `enrolment_client.renew` does."""
        await trio.lowlevel.checkpoint()
        self.asked.append((address, trio.current_time()))
        if self.is_away:
            raise EnrolmentFailed("no bootstrap answers")
        return self.grant(key)


@pytest.fixture
def bootstrap(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> Bootstrap:
    """In place of the real one."""
    bootstrap = Bootstrap(authority)
    monkeypatch.setattr(node_identity, "renew", bootstrap.renew)
    return bootstrap


class Node:
    """An enrolled node whose wall clock goes with virtual time, and may jump."""

    def __init__(self, data: Path, bootstrap: Bootstrap) -> None:
        self.state = State(data)
        self.state.keep(Enrolment("demo", bootstrap.grant(self.state.key())))
        self.used: list[Identity] = []
        self.ahead_s = 0.0
        self._began_s = time.time()

    def now_s(self) -> float:
        return self._began_s + trio.current_time() + self.ahead_s

    async def run(self, bootstrap: str | None = None) -> None:
        identity = await identify(self.state, None, None)
        await stay_enrolled(self.state, identity, bootstrap, self.used.append, self.now_s)


@pytest.fixture
async def node(tmp_path: Path, bootstrap: Bootstrap) -> AsyncIterator[Node]:
    """One that runs."""
    node = Node(tmp_path / "node", bootstrap)
    bootstrap.now_s = node.now_s
    async with trio.open_nursery() as nursery:
        nursery.start_soon(node.run)
        yield node
        nursery.cancel_scope.cancel()


async def test_a_node_that_is_enrolled_needs_neither_bootstrap_nor_token(tmp_path: Path, bootstrap: Bootstrap) -> None:
    """It is who it was."""
    node = Node(tmp_path / "node", bootstrap)
    identity = await identify(node.state, None, None)
    assert identity.passport.public_key == identity.key.public_bytes == node.state.key().public_bytes
    assert 6.9 * DAY_S < identity.left_s(time.time()) <= 7 * DAY_S


async def test_without_a_valid_certificate_a_token_is_asked_for(tmp_path: Path, bootstrap: Bootstrap) -> None:
    """On the first start; and also if the key is another than the certificate's, or the certificate was changed."""
    with pytest.raises(ConfigError, match="give --bootstrap and --token once"):
        await identify(State(tmp_path / "new"), None, None)
    node = Node(tmp_path / "node", bootstrap)
    (tmp_path / "node" / "key.pem").unlink()
    with pytest.raises(ConfigError, match="give --bootstrap and --token once"):
        await identify(node.state, "host:1", None)


async def test_a_deny_list_that_was_changed_is_not_heeded(tmp_path: Path, bootstrap: Bootstrap) -> None:
    """Who can write our files must not decide whom we refuse: the CA signed nothing of that."""
    node = Node(tmp_path / "node", bootstrap)
    kept = node.state.enrolment()
    assert kept is not None
    forged = msgspec.structs.replace(kept.grant.deny_list, ids=(node_at(5),))
    node.state.keep(Enrolment("demo", msgspec.structs.replace(kept.grant, deny_list=forged)))
    with pytest.raises(ConfigError, match="no valid certificate"):
        await identify(node.state, None, None)


async def test_a_certificate_is_renewed_every_day(node: Node, bootstrap: Bootstrap, autojump_clock: MockClock) -> None:
    """At the bootstrap that granted the last one; the new one is used and kept."""
    await trio.sleep(RENEW_EVERY_S - LOOK_EVERY_S)
    assert bootstrap.asked == []
    await trio.sleep(LOOK_EVERY_S + 60)
    assert [address for address, _ in bootstrap.asked] == ["host7:1"]
    (identity,) = node.used
    assert node.state.enrolment() == identity.enrolment


async def test_the_address_that_was_given_is_asked(
    tmp_path: Path, bootstrap: Bootstrap, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    """The bootstrap may have moved since."""
    node = Node(tmp_path / "node", bootstrap)
    bootstrap.now_s = node.now_s
    nursery.start_soon(node.run, "elsewhere:1")
    await trio.sleep(RENEW_EVERY_S + LOOK_EVERY_S)
    assert [address for address, _ in bootstrap.asked] == ["elsewhere:1"]
    nursery.cancel_scope.cancel()


async def test_a_bootstrap_that_is_away_is_asked_again(
    node: Node, bootstrap: Bootstrap, autojump_clock: MockClock
) -> None:
    """For days if need be, and not all the time; the node lives on meanwhile."""
    bootstrap.is_away = True
    await trio.sleep(RENEW_EVERY_S + 60)
    assert len(bootstrap.asked) == 1
    await trio.sleep(RENEW_RETRY_S * 10)
    assert len(bootstrap.asked) == 11
    assert node.used == []
    bootstrap.is_away = False
    await trio.sleep(RENEW_RETRY_S)
    assert len(node.used) == 1


async def test_a_machine_that_slept_renews_soon(node: Node, bootstrap: Bootstrap, autojump_clock: MockClock) -> None:
    """The wall clock counts, and not the time that the process felt."""
    await trio.sleep(60)
    node.ahead_s = 3 * DAY_S
    await trio.sleep(LOOK_EVERY_S)
    assert bootstrap.asked


async def test_a_clock_that_is_far_ahead_makes_no_storm(
    node: Node, bootstrap: Bootstrap, autojump_clock: MockClock
) -> None:
    """By our clock every certificate is old when it comes; we ask for the next now and then, not all the time."""
    node.ahead_s, bootstrap.now_s = 2 * DAY_S, lambda: node.now_s() - 2 * DAY_S
    await trio.sleep(LOOK_EVERY_S * 2)
    assert 0 < len(bootstrap.asked) <= LOOK_EVERY_S * 2 / RENEW_RETRY_S


async def test_renewing_survives_a_disk_that_takes_nothing(
    node: Node, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    """Whether for the grant or for the files that TLS needs: it is tried again, and the node lives on."""

    def full(_: object) -> None:
        raise OSError(28, "No space left on device")

    await trio.sleep(RENEW_EVERY_S - 60)
    for method in ("keep", "credentials"):
        with monkeypatch.context() as patch:
            patch.setattr(node.state, method, full)
            await trio.sleep(RENEW_RETRY_S)
    assert node.used == []
    await trio.sleep(RENEW_RETRY_S)
    assert len(node.used) == 1


async def test_the_newer_deny_list_stands(
    node: Node, bootstrap: Bootstrap, authority: Authority, autojump_clock: MockClock
) -> None:
    """Whom the authority denies is refused from the next renewal on."""
    authority.deny(node_at(5), time.time())
    await trio.sleep(RENEW_EVERY_S + 60)
    assert node.used[0].denied == {node_at(5)}
