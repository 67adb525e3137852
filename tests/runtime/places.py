"""A bootstrap that runs inside the test, and room for peers: real ones, and such as are made by hand."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import trio

from bootstrap.authority import Authority
from bootstrap.service import Service, ServiceConfig
from p2psub.api.settings import PeerConfig
from p2psub.config import NodeConfig
from p2psub.identity.enrolment import EnrolGrant
from p2psub.model.instants import Micros
from p2psub.model.rights import Rights
from p2psub.runtime.state import State
from tests.runtime.certified_nodes import NOBODY, OVERLAY, CertifiedNode

NODE = NodeConfig(heartbeat_us=Micros(100_000))
"""A quick one: these tests wait for real."""


class Place:
    """A bootstrap that runs, and room for peers."""

    def __init__(self, directory: Path, authority: Authority, address: str) -> None:
        self._directory = directory
        self._authority = authority
        self.address = address

    def config(
        self, name: str, *, token: bool = True, rights: Rights | None = None, traces: bool = False
    ) -> PeerConfig:
        """A peer of this name, with a token of its own."""
        text = self._authority.tokens.new(rights or Rights(), False, 3600, time.time()) if token else None
        data, bootstrap = self._directory / name, self.address if token else None
        return PeerConfig(data, bootstrap, text, name=name, cluster="blue", traces=traces, leaves=False, node=NODE)

    def paper_node(self, name: str, rights: Rights | None = None) -> CertifiedNode:
        """A node that is enrolled, and does and says only what a test makes it."""
        state, authority = State(self._directory / name), self._authority
        issued = authority.appoint(state.key().csr(), rights or Rights(), time.time())
        grant = EnrolGrant(issued.certificate_der, authority.ca_der, NOBODY, authority.deny_list())
        return CertifiedNode(state, state.key(), issued.passport.id, grant)


@asynccontextmanager
async def open_place(directory: Path) -> AsyncIterator[Place]:
    """A new overlay, whose bootstrap runs while the block does."""
    with closing(Authority.load_or_create(directory / "ca", OVERLAY)) as authority, trio.fail_after(60):
        service = Service(ServiceConfig(directory / "ca", OVERLAY, "127.0.0.1:0", node=NODE), authority, is_new=True)
        async with trio.open_nursery() as nursery:
            contact = await nursery.start(service.run)
            yield Place(directory, authority, contact.address)
            nursery.cancel_scope.cancel()
