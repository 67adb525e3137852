"""The data directory: what a node keeps between two starts.

key.pem             the node's key (0600)
certificate.pem     its certificate
enrolment.msgpack   the last grant: certificate, authority, bootstrap, deny list
node.sqlite         what its core made durable
traces/             trace segments
control.*           where the control API is, and its token (0600)
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from p2psub.errors import ConfigError
from p2psub.identity.enrolment import EnrolGrant
from p2psub.identity.keys import CA_KEY, NodeKey
from p2psub.runtime.tls import Credentials
from p2psub.whole_file import write_whole

STORE_FILE: Final = "node.sqlite"


class Enrolment(msgspec.Struct, frozen=True):
    """A grant and the overlay it is for."""

    overlay: str
    grant: EnrolGrant


class State:
    """Paths and small files of one data directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError("data", f"{directory} cannot be made ({error.strerror}): choose another") from error

    @classmethod
    def of_peer(cls, directory: Path) -> State:
        """That of a peer; ConfigError if a bootstrap lives there, whose key the peer would take for its own."""
        if (directory / CA_KEY).exists():
            raise ConfigError("data", f"{directory} is the data directory of a bootstrap; give the peer one of its own")
        return cls(directory)

    @contextmanager
    def usable(self) -> Iterator[None]:
        """The block uses files of the directory; one that cannot be read or written becomes a ConfigError."""
        try:
            yield
        except OSError as error:
            file, why = error.filename or self.directory, error.strerror or error
            raise ConfigError(
                "data", f"{file} cannot be used ({why}): check its owner, its mode and its disk"
            ) from error

    @property
    def store(self) -> Path:
        return self.directory / STORE_FILE

    @property
    def traces(self) -> Path:
        return self.directory / "traces"

    def key(self) -> NodeKey:
        """The node's key, made on the first start."""
        return NodeKey.load_or_create(self._key)

    @property
    def _key(self) -> Path:
        return self.directory / "key.pem"

    @property
    def enrolment_file(self) -> Path:
        return self.directory / "enrolment.msgpack"

    def enrolment(self) -> Enrolment | None:
        """What the bootstrap granted last, if it did."""
        try:
            return msgspec.msgpack.decode(self.enrolment_file.read_bytes(), type=Enrolment)
        except FileNotFoundError:
            return None
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            advice = "remove it and enrol again with a token"
            raise ConfigError("data", f"{self.enrolment_file} is damaged: {advice}") from error

    def keep(self, enrolment: Enrolment) -> None:
        """Remember a grant."""
        write_whole(self.enrolment_file, msgspec.msgpack.encode(enrolment))

    def credentials(self, enrolment: Enrolment) -> Credentials:
        """What TLS needs of a grant, as files."""
        certificate = self.directory / "certificate.pem"
        write_whole(certificate, ssl.DER_cert_to_PEM_cert(enrolment.grant.certificate).encode())
        return Credentials(enrolment.overlay, certificate, self._key, enrolment.grant.ca)
