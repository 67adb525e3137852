"""The bootstrap gives certificates to whom it should, tells nodes of the overlay, and nobody can keep it from either.

Over real sockets and real TLS.
"""

from __future__ import annotations

import sqlite3
import ssl
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, closing, suppress
from pathlib import Path

import pytest
import trio

from bootstrap import service as service_module
from bootstrap.authority import Authority
from bootstrap.service import Service, ServiceConfig
from p2psub.errors import ConfigError
from p2psub.identity.certificates import Passport, read_passport
from p2psub.identity.enrolment import EnrolGrant, EnrolRequest, JoinToken, encode_enrolment
from p2psub.identity.keys import NodeKey
from p2psub.model.ids import Contact
from p2psub.model.messages.cube import DirectoryRequest, DirectoryResponse
from p2psub.model.rights import Rights
from p2psub.runtime.enrolment_client import EnrolmentFailed, enrol, renew
from p2psub.runtime.node_identity import Identity, identify
from p2psub.runtime.state import State
from p2psub.runtime.strangers import STRANGERS_MAX
from p2psub.runtime.tls import ENROL_PROTOCOL, bind_tcp, passport_of, server_context
from p2psub.wire.framing import PAYLOAD_BYTES_MAX, frame
from tests.runtime.certified_nodes import OVERLAY, CertifiedNode, ForgingAuthority, connect, dialled, hello, hung_up


@pytest.fixture
def authority(tmp_path: Path) -> Iterator[Authority]:
    """A CA that was just founded."""
    with closing(Authority.load_or_create(tmp_path / "ca", OVERLAY)) as authority:
        yield authority


class Bootstrap:
    """One that runs, and newcomers to it."""

    def __init__(self, operator: Authority, service: Service, contact: Contact, data: Path) -> None:
        self.operator = operator
        self.service = service
        self.contact = contact
        self.address = contact.address
        self._data = data

    def token(self, *, reusable: bool = False) -> str:
        return self.operator.tokens.new(Rights(), reusable, 3600, time.time())

    async def newcomer(self, name: str, token: str | None = None) -> CertifiedNode:
        """A node that has just enrolled."""
        state = State(self._data / name)
        identity: Identity = await identify(state, self.address, token or self.token())
        return CertifiedNode(state, identity.key, identity.passport.id, identity.enrolment.grant)

    async def enrol(self, token: str) -> EnrolGrant:
        """What a fresh key gets for a token."""
        return await enrol(self.address, JoinToken.parse(token), NodeKey.create())


@pytest.fixture
async def bootstrap(authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bootstrap]:
    """A new one; its operator works on the same directory, as another process does."""
    monkeypatch.setattr(service_module, "LOOK_EVERY_S", 0.05)
    service = Service(ServiceConfig(tmp_path / "ca", OVERLAY, "127.0.0.1:0"), authority, is_new=True)
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            contact = await nursery.start(service.run)
            with closing(Authority(tmp_path / "ca")) as operator:
                yield Bootstrap(operator, service, contact, tmp_path)
            nursery.cancel_scope.cancel()


async def directory_of(node: CertifiedNode, contact: Contact) -> DirectoryResponse:
    """What the rendezvous tells a node."""
    async with node.welcomed(contact.address) as conversation:
        await conversation.say(DirectoryRequest())
        (said,) = await conversation.hear()
        assert isinstance(said, DirectoryResponse)
        return said


# Giving certificates


async def test_a_newcomer_gets_a_certificate_and_is_told_of_the_overlay(bootstrap: Bootstrap) -> None:
    """With one address and a token; the first of them may found."""
    first = await bootstrap.newcomer("first")
    assert read_passport(first.grant.certificate, bootstrap.operator.ca_der, OVERLAY, time.time()).rights == Rights()
    assert first.grant.bootstrap == bootstrap.contact
    assert await directory_of(first, bootstrap.contact) == DirectoryResponse((), may_found=True)
    second = await bootstrap.newcomer("second")
    assert await directory_of(second, bootstrap.contact) == DirectoryResponse((), may_found=False)
    assert bootstrap.service.counters["enrolments"] == 2


async def test_a_one_time_token_is_for_one_node(bootstrap: Bootstrap) -> None:
    """Whoever comes second with it is refused and told what to do; a reusable one admits many."""
    once, often = bootstrap.token(), bootstrap.token(reusable=True)
    await bootstrap.enrol(once)
    with pytest.raises(EnrolmentFailed, match=r"token_used: .*ask for another"):
        await bootstrap.enrol(once)
    await bootstrap.enrol(often)
    await bootstrap.enrol(often)
    assert bootstrap.service.counters["enrolments_refused"] == 1


async def test_many_newcomers_come_at_once(bootstrap: Bootstrap) -> None:
    """All of them are served, and each gets an id of its own."""
    token, certificates = bootstrap.token(reusable=True), set[bytes]()

    async def come() -> None:
        certificates.add((await bootstrap.enrol(token)).certificate)

    async with trio.open_nursery() as nursery:
        for _ in range(32):
            nursery.start_soon(come)
    assert len(certificates) == 32


async def test_a_certificate_is_renewed(bootstrap: Bootstrap) -> None:
    """For the same key and id, with the same rights and a later number; no token is needed."""
    node = await bootstrap.newcomer("node")
    grant = await renew(bootstrap.address, node.credentials, node.key)
    before, after = (
        read_passport(certificate, node.grant.ca, OVERLAY, time.time())
        for certificate in (node.grant.certificate, grant.certificate)
    )
    assert (after.id, after.rights) == (before.id, before.rights)
    assert after.serial > before.serial


async def test_only_the_owner_of_a_key_renews_its_certificate(bootstrap: Bootstrap) -> None:
    """A node cannot get one for another key by showing its own."""
    node = await bootstrap.newcomer("node")
    with pytest.raises(EnrolmentFailed, match="bad_csr"):
        await renew(bootstrap.address, node.credentials, NodeKey.create())


async def test_a_denied_node_gets_nothing_more(bootstrap: Bootstrap) -> None:
    """Neither by renewing nor with another token."""
    node = await bootstrap.newcomer("node")
    bootstrap.operator.deny(node.contact.id, time.time())
    with pytest.raises(EnrolmentFailed, match="denied"):
        await renew(bootstrap.address, node.credentials, node.key)
    with pytest.raises(EnrolmentFailed, match="denied"):
        await enrol(bootstrap.address, JoinToken.parse(bootstrap.token()), node.key)


async def test_a_ledger_that_takes_nothing_is_no_end(bootstrap: Bootstrap, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newcomer is told to come again, and does."""
    token = bootstrap.token()

    def locked(*_: object) -> None:
        raise sqlite3.OperationalError("database is locked")

    with monkeypatch.context() as patch:
        patch.setattr(Authority, "enrol", locked)
        with pytest.raises(EnrolmentFailed, match=r"no_ledger: .*try again in a minute"):
            await bootstrap.enrol(token)
    await bootstrap.enrol(token)


# Whom a newcomer trusts


class Impostor:
    """An enrolled node that poses as the bootstrap, and notes what it is told."""

    def __init__(self, node: CertifiedNode) -> None:
        self._context = server_context(node.credentials, takes_newcomers=True)
        self.heard = b""

    async def take(self, tcp: trio.SocketStream) -> None:
        stream = trio.SSLStream(tcp, self._context, server_side=True)
        try:
            async for piece in stream:
                self.heard += piece
        except trio.BrokenResourceError:
            pass
        finally:
            await trio.aclose_forcefully(stream)


async def test_no_other_node_learns_a_token(bootstrap: Bootstrap, nursery: trio.Nursery) -> None:
    """Not even one of the overlay: a newcomer speaks only to who holds the key that its token names."""
    impostor = Impostor(await bootstrap.newcomer("impostor"))
    listeners, address = await bind_tcp("127.0.0.1:0", None)
    nursery.start_soon(trio.serve_listeners, impostor.take, listeners)
    with pytest.raises(EnrolmentFailed, match="not the bootstrap of this overlay"):
        await enrol(address, JoinToken.parse(bootstrap.token()), NodeKey.create())
    node = await bootstrap.newcomer("node")
    with pytest.raises(EnrolmentFailed, match="not the bootstrap of this overlay"):
        await renew(address, node.credentials, node.key)
    assert impostor.heard == b""
    nursery.cancel_scope.cancel()


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere.invalid:1", "a..b:1"])
async def test_a_bootstrap_that_is_not_there_is_said_so(bootstrap: Bootstrap, address: str) -> None:
    """With advice, whatever is wrong with the address."""
    with pytest.raises(EnrolmentFailed, match=r"no bootstrap answers at .*: start the bootstrap") as caught:
        await enrol(address, JoinToken.parse(bootstrap.token()), NodeKey.create())
    assert "sub-exception" not in str(caught.value)


async def test_what_is_no_address_is_a_wrong_setting(bootstrap: Bootstrap) -> None:
    """The person who typed it hears so."""
    with pytest.raises(ConfigError, match="bootstrap: 'there' is not a valid address"):
        await enrol("there", JoinToken.parse(bootstrap.token()), NodeKey.create())


# Whom the bootstrap bears


def stranger_context() -> ssl.SSLContext:
    """TLS of somebody without a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols([ENROL_PROTOCOL])
    return context


async def test_the_rendezvous_is_for_nodes(bootstrap: Bootstrap) -> None:
    """Somebody without a certificate, or with one of a foreign CA, is led nowhere."""
    context = stranger_context()
    context.set_alpn_protocols([])
    async with dialled(bootstrap.address, context) as stream:
        await hung_up(stream)
    assert bootstrap.service.counters["refused"] == 1
    await bootstrap.newcomer("good")


async def test_a_foreign_certificate_opens_nothing(bootstrap: Bootstrap, tmp_path: Path) -> None:
    """Neither the rendezvous nor the desk."""
    foreign = ForgingAuthority().node(tmp_path / "foreign")
    async with foreign.connected(bootstrap.address) as conversation:
        await conversation.hung_up()
    with pytest.raises(EnrolmentFailed):
        await renew(bootstrap.address, foreign.credentials._replace(ca_der=bootstrap.operator.ca_der), foreign.key)
    await bootstrap.newcomer("good")


async def test_a_denied_node_is_not_told_of_the_overlay(bootstrap: Bootstrap) -> None:
    """Soon after the operator has denied it, also if it is linked."""
    node = await bootstrap.newcomer("node")
    async with node.welcomed(bootstrap.address) as conversation:
        bootstrap.operator.deny(node.contact.id, time.time())
        await conversation.hung_up()
    async with node.connected(bootstrap.address) as conversation:
        await conversation.say(hello(node.contact))
        await conversation.hung_up()
    assert bootstrap.service.counters["peers_denied"] == 1


@pytest.mark.parametrize(
    "said",
    [
        b"nonsense",
        frame(b"\xc0"),
        frame(bytes(5000)),
        frame(bytes(PAYLOAD_BYTES_MAX)),
        frame(encode_enrolment(EnrolRequest("nonsense", b"nonsense"))),
    ],
    ids=["no frame", "nothing", "zeros", "too long", "no token"],
)
async def test_nonsense_at_the_desk_ends_there(bootstrap: Bootstrap, said: bytes) -> None:
    """And the next one is served."""
    async with dialled(bootstrap.address, stranger_context()) as stream:
        # A long one is refused by its header, while the rest of it is on its way.
        with suppress(trio.BrokenResourceError):
            await stream.send_all(said)
        await hung_up(stream)
    await bootstrap.newcomer("good")


async def test_silent_strangers_keep_nobody_out(bootstrap: Bootstrap) -> None:
    """However many hang there, before TLS and at the desk: the oldest of them go."""
    async with AsyncExitStack() as stack:
        for _ in range(2 * STRANGERS_MAX):
            await stack.enter_async_context(await connect(bootstrap.address))
        silent = await stack.enter_async_context(dialled(bootstrap.address, stranger_context()))
        await bootstrap.newcomer("good")
        for _ in range(STRANGERS_MAX):
            await stack.enter_async_context(await connect(bootstrap.address))
        await hung_up(silent)
        await bootstrap.newcomer("better")


# Living long


async def test_the_bootstrap_renews_its_own_certificate(bootstrap: Bootstrap, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may run for years; it stays who it is."""
    node = await bootstrap.newcomer("node")
    before = await shown_to(node, bootstrap)
    monkeypatch.setattr(service_module, "REISSUE_EVERY_S", 0.0)
    while (after := await shown_to(node, bootstrap)).serial == before.serial:
        pass
    assert (after.id, after.public_key) == (before.id, before.public_key)


async def shown_to(node: CertifiedNode, bootstrap: Bootstrap) -> Passport:
    """What the certificate of the bootstrap says that a node is shown."""
    async with dialled(bootstrap.address, node.context()) as stream:
        return passport_of(stream, node.credentials)


async def test_where_it_listens_must_be_an_address_that_others_can_dial(authority: Authority, tmp_path: Path) -> None:
    """Every address of a machine is none of them; and one that is taken cannot be had."""
    with pytest.raises(ConfigError, match=r"public_address: no peer can dial 0\.0\.0\.0:0"):
        await Service(ServiceConfig(tmp_path / "ca", OVERLAY, "0.0.0.0:0"), authority, is_new=True).run()
    listeners, taken = await bind_tcp("127.0.0.1:0", None)
    async with listeners[0]:
        with pytest.raises(ConfigError, match=r"listen: .* cannot be listened on .*: choose another"):
            await Service(ServiceConfig(tmp_path / "ca", OVERLAY, taken), authority, is_new=True).run()
