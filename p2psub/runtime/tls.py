"""TLS 1.3 over TCP, both sides with a certificate of the overlay.

A certificate says who a node is; the host name it was dialled by says nothing and is not checked. Sessions are never
resumed, so that a node whose certificate ended, or that was denied, meets the check at every dial.
"""

from __future__ import annotations

import socket
import ssl
import sys
import time
from pathlib import Path
from typing import NamedTuple

import trio

from p2psub.api.addresses import join_address, split_address
from p2psub.errors import ConfigError, PeerFault
from p2psub.identity.certificates import Passport, read_passport
from p2psub.runtime.strangers import Strangers
from p2psub.runtime.transport import Accept, Session

PEER_PROTOCOL = "p2psub/1"
ENROL_PROTOCOL = "p2psub-enrol/1"
"""What a newcomer speaks, to the bootstrap alone."""
NEWCOMER_HOST = "authority.p2psub.invalid"
"""Whom a newcomer asks for in TLS: the bootstrap then shows the authority's own certificate, which the token names."""

HANDSHAKE_S_MAX = 5.0
UNHEARD_S_MAX = 15
"""A machine that acknowledges nothing for so long is gone, or cut off: better to dial anew than to wait for it."""

_BACKLOG = 256
_EVERYWHERE = ("0.0.0.0", "::")


class Credentials(NamedTuple):
    """A node's certificate and key as files, and the certificate of the overlay's authority."""

    overlay: str
    certificate: Path
    key: Path
    ca_der: bytes


def client_context(credentials: Credentials) -> ssl.SSLContext:
    """For dialling a node of the overlay."""
    context = _context(ssl.PROTOCOL_TLS_CLIENT, credentials.ca_der)
    context.load_cert_chain(credentials.certificate, credentials.key)
    context.set_alpn_protocols([PEER_PROTOCOL])
    return context


def server_context(credentials: Credentials, *, takes_newcomers: bool = False) -> ssl.SSLContext:
    """For being dialled; only the bootstrap takes those who have no certificate yet."""
    context = _context(ssl.PROTOCOL_TLS_SERVER, credentials.ca_der)
    context.load_cert_chain(credentials.certificate, credentials.key)
    context.set_alpn_protocols([PEER_PROTOCOL, ENROL_PROTOCOL] if takes_newcomers else [PEER_PROTOCOL])
    context.verify_mode = ssl.CERT_OPTIONAL if takes_newcomers else ssl.CERT_REQUIRED
    context.num_tickets = 0
    return context


def authority_context(ca_files: tuple[Path, Path], ca_der: bytes) -> ssl.SSLContext:
    """For giving certificates: shows the authority's own, and takes those who have one and those who have none."""
    context = _context(ssl.PROTOCOL_TLS_SERVER, ca_der)
    context.load_cert_chain(*ca_files)
    context.set_alpn_protocols([ENROL_PROTOCOL])
    context.verify_mode = ssl.CERT_OPTIONAL
    context.num_tickets = 0
    return context


def _context(protocol: int, ca_der: bytes) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=ca_der)
    return context


class TlsTransport:
    """Sessions over TCP. `credentials` may be replaced while it runs: new sessions use the new ones."""

    def __init__(self, listen: str, credentials: Credentials, public_address: str | None = None) -> None:
        self._listen = listen
        self._public_address = public_address
        self._credentials = credentials
        self._client = client_context(credentials)
        self._server = server_context(credentials)
        self._listeners: list[trio.SocketListener] = []
        self.strangers = Strangers()

    def renew(self, credentials: Credentials) -> None:
        """Use another certificate from now on."""
        self._credentials = credentials
        self._client, self._server = client_context(credentials), server_context(credentials)

    async def dial(self, address: str) -> Session:
        try:
            host, port = split_address(address)
            tcp = await trio.open_tcp_stream(host, port)
        except (ConfigError, ValueError) as error:
            raise PeerFault(f"{address!r} cannot be dialled: {error}") from error
        return await self._secure(tcp, self._client, server_side=False)

    async def bind(self) -> str:
        self._listeners, address = await bind_tcp(self._listen, self._public_address)
        return address

    async def serve(self, accept: Accept) -> None:
        async def take(tcp: trio.SocketStream) -> None:
            session = None
            with self.strangers.admit(HANDSHAKE_S_MAX):
                session = await self._secure(tcp, self._server, server_side=True)
            if session is not None:
                await accept(session)

        await trio.serve_listeners(take, self._listeners)

    def close(self) -> None:
        """Listen no more; needed only where `serve` was never called."""
        for listener in self._listeners:
            listener.socket.close()

    async def _secure(self, tcp: trio.SocketStream, context: ssl.SSLContext, *, server_side: bool) -> Session:
        stream = trio.SSLStream(tcp, context, server_side=server_side)
        try:
            give_up_soon(tcp)
            await stream.do_handshake()
            return Session(stream, passport_of(stream, self._credentials))
        except BaseException:
            await trio.aclose_forcefully(stream)
            raise


def passport_of(stream: trio.SSLStream[trio.SocketStream], credentials: Credentials) -> Passport:
    """Who is at the other end, by its certificate; PeerFault if that is not a node of our overlay."""
    certificate = stream.getpeercert(binary_form=True)
    if certificate is None:
        raise PeerFault("the peer showed no certificate")
    return read_passport(certificate, credentials.ca_der, credentials.overlay, time.time())


def give_up_soon(tcp: trio.SocketStream) -> None:
    """Let the system end a connection whose other side has vanished without a word."""
    if sys.platform != "linux":
        return
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, UNHEARD_S_MAX)
    tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNHEARD_S_MAX * 1000)


async def bind_tcp(listen: str, public_address: str | None) -> tuple[list[trio.SocketListener], str]:
    """Listeners, and the address that others dial; ConfigError with advice if either cannot be had."""
    host, port = split_address(listen, "listen")
    if public_address is not None:
        split_address(public_address, "public_address")
    elif host in _EVERYWHERE:
        raise ConfigError(
            "public_address", f"no peer can dial {listen}: say by which HOST:PORT others reach this machine"
        )
    try:
        listeners = await trio.open_tcp_listeners(port, host=host, backlog=_BACKLOG)
    except OSError as error:
        raise ConfigError("listen", f"{listen} cannot be listened on ({error.strerror}): choose another") from error
    name = listeners[0].socket.getsockname()
    return listeners, public_address or join_address(name[0], name[1])
