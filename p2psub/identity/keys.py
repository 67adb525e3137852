"""Keys: what a node keeps secret, and the id that follows from what it shows.

A key file is made whole or not at all, and only its owner could ever read it.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from functools import lru_cache
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from p2psub.errors import ConfigError
from p2psub.model.ids import NodeId, digest_of
from p2psub.whole_file import sync_directory

OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
KEY_FILE_BYTES_MAX: Final = 1 << 16
CA_KEY: Final = "ca.key"
"""The authority's key, in its own data directory."""


class NodeKey:
    """The Ed25519 key that makes a node itself."""

    __slots__ = ("_private", "public_bytes")

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private
        self.public_bytes: Final = private.public_key().public_bytes_raw()

    @classmethod
    def create(cls) -> NodeKey:
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def load_or_create(cls, path: Path) -> NodeKey:
        """The key kept in this file, made on the first start; ConfigError if others may read it or it is damaged."""
        return cls(private_key_at(path))

    def sign(self, content: bytes) -> bytes:
        return self._private.sign(content)

    def csr(self) -> bytes:
        """A signing request in DER. It names no node: it only proves that we hold the key."""
        request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(self._private, None)
        return request.public_bytes(serialization.Encoding.DER)


def derive_node_id(overlay: str, nonce: bytes, public_key: bytes) -> NodeId:
    """A node's place. The CA's nonce is in it, so that no node can grind keys until one lands where it wants."""
    return NodeId(digest_of(overlay.encode(), nonce, public_key))


def is_signed(content: bytes, signature: bytes, public_key: bytes) -> bool:
    """Whether the holder of this Ed25519 key signed the content."""
    try:
        _public_key(public_key).verify(signature, content)
    except (InvalidSignature, ValueError):
        return False
    return True


@lru_cache(1024)
def _public_key(public_key: bytes) -> Ed25519PublicKey:
    return Ed25519PublicKey.from_public_bytes(public_key)


def private_key_at(path: Path) -> Ed25519PrivateKey:
    """The Ed25519 key in a PEM file that only its owner can read, made if there is none."""
    if not path.exists():
        write_private(path, _pem(Ed25519PrivateKey.generate()))
    try:
        key = serialization.load_pem_private_key(read_private(path), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise ConfigError(str(path), "the key is damaged; restore it, or delete it and enrol under a new id") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise ConfigError(str(path), "not an Ed25519 key; delete it, and one is made on the next start")
    return key


def write_private(path: Path, content: bytes) -> None:
    """Keep a secret in a new file of mode 0600, durable on return; a file that is already there stands."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # A link, because a rename would replace the key of another start that was quicker.
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()
    sync_directory(path.parent)


def read_private(path: Path) -> bytes:
    """The content of a secret file; ConfigError if it is unreadable, or readable by others."""
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            content = file.read(KEY_FILE_BYTES_MAX)
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read ({error.strerror}); run as the user who owns it") from error
    if mode & OTHERS:
        advice = f"others may have read this secret (mode {mode:04o}); delete it and enrol anew, or trust them and run"
        raise ConfigError(str(path), f"{advice} chmod 600 {path}")
    return content


def _pem(key: Ed25519PrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
