"""The overlay's CA: gives ids and certificates, and takes them away.

A key gets one nonce for life, and with it one id. The data directory is the overlay: an operator who loses `ca.key` or
`authority.sqlite` loses all ids, and a reader of `ca.key` can pose as any node.
"""

from __future__ import annotations

import fcntl
import secrets
import sqlite3
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.x509.oid import NameOID

from bootstrap import tokens
from bootstrap.issuance import LIFETIME, issue, issue_ca
from p2psub.errors import ConfigError
from p2psub.identity.certificates import NONCE_BYTES, Claims, Passport, check_overlay, read_passport
from p2psub.identity.enrolment import CSR_BYTES_MAX, DenyList, EnrolmentRefused, denial, fingerprint_of
from p2psub.identity.keys import CA_KEY, derive_node_id, private_key_at, read_private, write_private
from p2psub.model.ids import NodeId
from p2psub.model.messages.denials import DENIED_MAX
from p2psub.model.rights import Rights, check_rights
from p2psub.runtime.state import STORE_FILE, State

CA_CERTIFICATE: Final = "ca.pem"
LEDGER: Final = "authority.sqlite"
LOCK: Final = "bootstrap.lock"

DENIED_S: Final = int(LIFETIME.total_seconds()) + 86_400
"""How long a denied id stays on the list: until its last certificate has run out by every clock that is a day slow."""

SCHEMA: Final = f"""
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS nodes (public_key BLOB PRIMARY KEY, nonce BLOB NOT NULL, rights BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS denied (id BLOB PRIMARY KEY, denied_s INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS serials (one INTEGER PRIMARY KEY CHECK (one = 1), last INTEGER NOT NULL);
INSERT OR IGNORE INTO serials VALUES (1, 1);
{tokens.SCHEMA};
"""


class Issued(msgspec.Struct, frozen=True):
    """A certificate, and what it says."""

    certificate_der: bytes
    passport: Passport


class Authority:
    """Called by one at a time, from any thread; other processes may work on the same directory meanwhile."""

    __slots__ = ("_key", "_ledger", "ca_der", "ca_files", "fingerprint", "overlay", "tokens")

    def __init__(self, data: Path) -> None:
        """Take up the authority in this directory, whatever its overlay; ConfigError if it is missing or not whole."""
        self.ca_files: Final = (data / CA_CERTIFICATE, data / CA_KEY)
        """Certificate and key in PEM, for the TLS of enrolment."""
        for path in (*self.ca_files, data / LEDGER):
            if not path.exists():
                advice = "start the bootstrap with this directory first, or restore the file from a backup"
                raise ConfigError("data", f"{path} is missing; {advice}")
        self._key = private_key_at(data / CA_KEY)
        self.ca_der, self.overlay = _read_ca(data / CA_CERTIFICATE, self._key)
        self.fingerprint: Final = fingerprint_of(self.ca_der)
        self._ledger = _open_ledger(data / LEDGER)
        self.tokens: Final = tokens.Tokens(self._ledger, self.overlay, self.fingerprint)

    @classmethod
    def load_or_create(cls, data: Path, overlay: str) -> Authority:
        """The authority of this overlay, founded here if there is none; ConfigError if another overlay lives here."""
        if not (data / CA_CERTIFICATE).exists():
            _found(data, check_overlay(overlay))
        authority = cls(data)
        if authority.overlay != overlay:
            authority.close()
            raise ConfigError("data", f"{data} belongs to the overlay {authority.overlay!r}; use another directory")
        return authority

    def close(self) -> None:
        self._ledger.close()

    def enrol(self, token_text: str, csr_der: bytes, now_s: float) -> Issued:
        """Use a token: a certificate for the key of the request, or EnrolmentRefused."""
        public_key = _key_of(csr_der)
        with self._transaction():
            rights = self.tokens.redeem(token_text, public_key, now_s)
            return self._admit(public_key, rights, now_s)

    def appoint(self, csr_der: bytes, rights: Rights, now_s: float) -> Issued:
        """A certificate without a token, for a node of the operator's own: the bootstrap as a node is one."""
        public_key = _key_of(csr_der)
        with self._transaction():
            return self._admit(public_key, check_rights(rights), now_s)

    def renew(self, passport: Passport, csr_der: bytes, now_s: float) -> Issued:
        """The next certificate of a node that has proved in TLS to hold this passport, or EnrolmentRefused."""
        public_key = _key_of(csr_der)
        if public_key != passport.public_key:
            raise EnrolmentRefused("bad_csr", "a renewal is for the same key; enrol a new key with a token")
        with self._transaction():
            row = self._ledger.execute("SELECT nonce, rights FROM nodes WHERE public_key = ?", (public_key,)).fetchone()
            if row is None or derive_node_id(self.overlay, row["nonce"], public_key) != passport.id:
                raise EnrolmentRefused("not_enrolled", "this bootstrap does not know you; enrol with a new token")
            return self._issue(public_key, row["nonce"], msgspec.msgpack.decode(row["rights"], type=Rights), now_s)

    def deny(self, node_id: NodeId, now_s: float) -> None:
        """Refuse a node from now on, for life; the others hear of it by the deny list."""
        with self._transaction():
            # Of two lists the newer stands, so no two may be of the same second, even if the clock was set back.
            denied_s = max(int(now_s), self._denied_last_s() + 1)
            self._ledger.execute("INSERT OR IGNORE INTO denied VALUES (?, ?)", (node_id, denied_s))

    def deny_list(self) -> DenyList:
        """The list as of the last denial, signed."""
        issued_s = self._denied_last_s()
        query = "SELECT id FROM denied WHERE denied_s > ? ORDER BY denied_s DESC LIMIT ?"
        rows = self._ledger.execute(query, (issued_s - DENIED_S, DENIED_MAX))
        ids = tuple(sorted(NodeId(row["id"]) for row in rows))
        return DenyList(issued_s, ids, self._key.sign(denial(issued_s, ids)))

    def _denied_last_s(self) -> int:
        return int(self._ledger.execute("SELECT coalesce(max(denied_s), 0) FROM denied").fetchone()[0])

    def _admit(self, public_key: bytes, rights: Rights, now_s: float) -> Issued:
        """Give a key its nonce if it has none yet; its rights are those of the latest token."""
        ((nonce,),) = self._ledger.execute(
            "INSERT INTO nodes VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET rights = excluded.rights RETURNING nonce",
            (public_key, secrets.token_bytes(NONCE_BYTES), msgspec.msgpack.encode(rights)),
        ).fetchall()
        return self._issue(public_key, nonce, rights, now_s)

    def _issue(self, public_key: bytes, nonce: bytes, rights: Rights, now_s: float) -> Issued:
        node_id = derive_node_id(self.overlay, nonce, public_key)
        if self._ledger.execute("SELECT 1 FROM denied WHERE id = ?", (node_id,)).fetchone():
            raise EnrolmentRefused("denied", "the operator has excluded this node; ask why, then start with a new key")
        ((serial,),) = self._ledger.execute("UPDATE serials SET last = last + 1 RETURNING last").fetchall()
        claims = Claims(self.overlay, nonce, rights)
        certificate_der = issue(self._key, node_id, public_key, claims, serial, now_s)
        return Issued(certificate_der, read_passport(certificate_der, self.ca_der, self.overlay, now_s))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All or nothing, durable on return, and no other process in between."""
        try:
            with self._ledger:
                self._ledger.execute("BEGIN IMMEDIATE")
                yield
        except sqlite3.OperationalError as error:
            # A full disk must not end the bootstrap: what it has promised it still knows, and it can still tell that.
            advice = "try again when its operator has made room on its disk"
            raise EnrolmentRefused("unavailable", f"the bootstrap cannot write ({error}); {advice}") from error


@contextmanager
def serving(data: Path) -> Iterator[None]:
    """Be the one bootstrap that serves a directory; ConfigError if another does, or if a peer lives there.

    Two would each let a newcomer found an overlay. Commands that only look at the ledger need not be alone.
    """
    if (data / STORE_FILE).exists():
        raise ConfigError("data", f"{data} is the data directory of a peer; give the bootstrap one of its own")
    with State(data).usable():
        lock = (data / LOCK).open("wb")
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            advice = "stop that bootstrap, or choose another data directory"
            raise ConfigError("data", f"{data} is in use by another process; {advice}") from error
        yield


def _found(data: Path, overlay: str) -> None:
    """Make an authority. The certificate comes last: where it is, everything is."""
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    _open_ledger(data / LEDGER).close()
    ca_der = issue_ca(private_key_at(data / CA_KEY), overlay)
    write_private(data / CA_CERTIFICATE, ssl.DER_cert_to_PEM_cert(ca_der).encode())


def _open_ledger(path: Path) -> sqlite3.Connection:
    ledger = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        ledger.row_factory = sqlite3.Row
        ledger.executescript(SCHEMA)
    except sqlite3.DatabaseError as error:
        ledger.close()
        raise ConfigError("data", f"{path} is damaged ({error}); restore it from a backup") from error
    return ledger


def _read_ca(path: Path, key: Ed25519PrivateKey) -> tuple[bytes, str]:
    """The CA's certificate, which must be for this key, and the overlay it names."""
    try:
        ca = x509.load_pem_x509_certificate(read_private(path))
        (overlay,) = ca.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        is_ours = ca.public_key() == key.public_key()
    except ValueError as error:
        raise ConfigError("data", f"{path} is damaged ({error}); restore it from a backup") from error
    if not is_ours:
        raise ConfigError("data", f"{path} is not the certificate of {CA_KEY}; restore both from one backup")
    return ca.public_bytes(serialization.Encoding.DER), str(overlay.value)


def _key_of(csr_der: bytes) -> bytes:
    """The public key of a request whose sender has proved to hold the private one."""
    try:
        request = x509.load_der_x509_csr(csr_der[: CSR_BYTES_MAX + 1])
        key = request.public_key()
        is_proved = request.is_signature_valid
    except (ValueError, UnsupportedAlgorithm, x509.InvalidVersion) as error:
        raise EnrolmentRefused("bad_csr", f"no signing request ({error}); let p2psub make it") from error
    if not is_proved or not isinstance(key, Ed25519PublicKey):
        raise EnrolmentRefused("bad_csr", "the request does not prove that you hold an Ed25519 key; let p2psub make it")
    return key.public_bytes_raw()
