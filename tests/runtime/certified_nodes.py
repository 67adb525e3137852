"""An authority in the test's hands, which signs whatever it is told to, and nodes that show its certificates."""

from __future__ import annotations

import secrets
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import trio
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from bootstrap.issuance import issue, issue_ca
from p2psub.api.addresses import split_address
from p2psub.identity.certificates import NONCE_BYTES, Claims
from p2psub.identity.enrolment import DenyList, EnrolGrant, denial
from p2psub.identity.keys import NodeKey, derive_node_id
from p2psub.identity.notary import NodeNotary
from p2psub.model.ids import Contact, NodeId
from p2psub.model.instants import Stamp
from p2psub.model.messages import Message
from p2psub.model.messages.hello import Hello, Welcome
from p2psub.model.messages.liveness import Ping, Pong
from p2psub.model.rights import Rights
from p2psub.runtime.state import Enrolment, State
from p2psub.runtime.tls import Credentials, client_context
from p2psub.wire.codec import decode_batch, encode_batch
from p2psub.wire.framing import FrameReader, frame
from p2psub.wire.version import VERSION
from tests.unit.bench import node_at

OVERLAY = "demo"
NOBODY = Contact(node_at(250), "127.0.0.1:1")
"""A bootstrap that is not there."""

Tls = trio.SSLStream[trio.SocketStream]


class ForgingAuthority:
    """A CA without scruples."""

    def __init__(self) -> None:
        self._key = Ed25519PrivateKey.generate()
        self.ca_der = issue_ca(self._key, OVERLAY)

    def node(
        self,
        directory: Path,
        *,
        age_s: float = 0.0,
        as_id: NodeId | None = None,
        nonce: bytes | None = None,
        serial: int = 7,
    ) -> CertifiedNode:
        """A node whose certificate was issued a while ago, perhaps for an id that does not follow from its key."""
        state = State(directory)
        key, nonce = state.key(), nonce or secrets.token_bytes(NONCE_BYTES)
        node_id = as_id or derive_node_id(OVERLAY, nonce, key.public_bytes)
        claims = Claims(OVERLAY, nonce, Rights())
        certificate = issue(self._key, node_id, key.public_bytes, claims, serial, time.time() - age_s)
        return CertifiedNode(state, key, node_id, EnrolGrant(certificate, self.ca_der, NOBODY, self.deny_list()), nonce)

    def deny_list(self, *ids: NodeId) -> DenyList:
        """Signed."""
        issued_s = int(time.time())
        return DenyList(issued_s, ids, self._key.sign(denial(issued_s, ids)))


class CertifiedNode:
    """Who somebody is, by its certificate; dials and speaks as it is told."""

    def __init__(self, state: State, key: NodeKey, node_id: NodeId, grant: EnrolGrant, nonce: bytes = b"") -> None:
        self.state = state
        self.key = key
        self.contact = Contact(node_id, "127.0.0.1:9")
        self.grant = grant
        self.nonce = nonce
        """What its id was derived with."""

    def enrol(self, deny_list: DenyList | None = None) -> None:
        """Keep key and certificate in the data directory, for a peer to start from."""
        grant = EnrolGrant(self.grant.certificate, self.grant.ca, NOBODY, deny_list or self.grant.deny_list)
        self.state.keep(Enrolment(OVERLAY, grant))

    @property
    def notary(self) -> NodeNotary:
        """For what it publishes."""
        return NodeNotary(self.key, self.grant.certificate, self.grant.ca, OVERLAY)

    @property
    def credentials(self) -> Credentials:
        """For TLS."""
        return self.state.credentials(Enrolment(OVERLAY, self.grant))

    def context(self) -> ssl.SSLContext:
        """A client that takes whatever it meets: the other side alone shall judge."""
        context = client_context(self.credentials)
        context.verify_mode = ssl.CERT_NONE
        return context

    @asynccontextmanager
    async def connected(self, address: str) -> AsyncIterator[Conversation]:
        """Through TLS, and nothing said yet."""
        async with dialled(address, self.context()) as stream:
            yield Conversation(stream)

    @asynccontextmanager
    async def welcomed(self, address: str) -> AsyncIterator[Conversation]:
        """Linked as an honest peer is."""
        async with self.connected(address) as conversation:
            await conversation.say(hello(self.contact))
            (answer,) = await conversation.hear()
            assert isinstance(answer, Welcome)
            yield conversation

    async def ping(self, address: str) -> None:
        """Be served: linked, and answered by the node's core."""
        async with self.welcomed(address) as conversation:
            await conversation.say(Ping())
            while Pong() not in await conversation.hear():
                pass


class Conversation:
    """Messages over a stream."""

    def __init__(self, stream: Tls) -> None:
        self.stream = stream
        self._reader = FrameReader()
        self._payloads: list[bytes] = []

    async def say(self, *messages: Message) -> None:
        """In one frame."""
        await self.stream.send_all(framed(*messages))

    async def hear(self) -> list[Message]:
        """The next frame."""
        while not self._payloads:
            piece = await self.stream.receive_some()
            assert piece, "it hung up"
            self._payloads = self._reader.feed(bytes(piece))
        return decode_batch(self._payloads.pop(0))[0]

    async def hung_up(self) -> None:
        """Return when the other side has ended it, gracefully or not, whatever it said before."""
        await hung_up(self.stream)


async def hung_up(stream: trio.abc.ReceiveStream) -> None:
    """Return when nothing comes any more."""
    try:
        while await stream.receive_some():
            pass
    except trio.BrokenResourceError:
        pass


@asynccontextmanager
async def dialled(address: str, context: ssl.SSLContext) -> AsyncIterator[Tls]:
    """A TLS stream; in TLS 1.3 the client's side of it is up before the other side has judged us."""
    async with trio.SSLStream(await connect(address), context) as stream:
        await stream.do_handshake()
        yield stream


async def connect(address: str) -> trio.SocketStream:
    """A TCP connection."""
    return await trio.open_tcp_stream(*split_address(address))


def hello(contact: Contact, overlay: str = OVERLAY) -> Hello:
    """What somebody says first who calls himself so."""
    return Hello(overlay, contact, 1, VERSION)


def framed(*messages: Message) -> bytes:
    """Messages in one frame."""
    return frame(encode_batch(messages, Stamp(0, 0)))
