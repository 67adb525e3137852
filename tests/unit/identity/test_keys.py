"""A key is made once, kept whole, and read by its owner alone."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from p2psub.errors import ConfigError
from p2psub.identity.keys import NodeKey, derive_node_id, is_signed, write_private


@pytest.fixture(params=[0o000, 0o022, 0o077])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """The habits of different systems."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_a_key_survives_restarts(tmp_path: Path) -> None:
    """The second start finds the key of the first, and nothing else lies about."""
    path = tmp_path / "node.key"
    first = NodeKey.load_or_create(path)
    assert NodeKey.load_or_create(path).public_bytes == first.public_bytes
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.usefixtures("umask")
def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    """Whatever the umask, a key file has mode 0600."""
    path = tmp_path / "node.key"
    NodeKey.load_or_create(path)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o601])
def test_a_key_that_others_may_touch_is_refused(tmp_path: Path, mode: int) -> None:
    """The node does not start, and says how to go on."""
    path = tmp_path / "node.key"
    NodeKey.load_or_create(path)
    path.chmod(mode)
    with pytest.raises(ConfigError, match=f"mode {mode:04o}.*chmod 600"):
        NodeKey.load_or_create(path)


def test_a_damaged_key_is_refused(tmp_path: Path) -> None:
    """A cut file, an empty one, and nonsense: never a new id in silence."""
    path = tmp_path / "node.key"
    NodeKey.load_or_create(path)
    whole = path.read_bytes()
    for content in (whole[:60], whole[:-30], b"", b"\xff\x00nonsense"):
        path.write_bytes(content)
        with pytest.raises(ConfigError, match=r"damaged; restore it, or delete it"):
            NodeKey.load_or_create(path)


def test_a_key_of_another_kind_is_refused(tmp_path: Path) -> None:
    """What cannot sign is no node's key."""
    encoding = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    write_private(tmp_path / "node.key", X25519PrivateKey.generate().private_bytes(*encoding))
    with pytest.raises(ConfigError, match="not an Ed25519 key"):
        NodeKey.load_or_create(tmp_path / "node.key")


def test_a_key_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """A directory in its place, for one, is an error with advice."""
    (tmp_path / "node.key").mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        NodeKey.load_or_create(tmp_path / "node.key")


def test_of_two_first_starts_one_key_stands(tmp_path: Path) -> None:
    """Whoever comes second takes the key that is there."""
    path = tmp_path / "secret"
    write_private(path, b"first")
    write_private(path, b"second")
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


def test_signatures_name_their_key_and_content() -> None:
    """Another key, another content or a cut signature is noticed; nonsense is no error but a no."""
    key, other = NodeKey.create(), NodeKey.create()
    signature = key.sign(b"content")
    assert is_signed(b"content", signature, key.public_bytes)
    assert not is_signed(b"content!", signature, key.public_bytes)
    assert not is_signed(b"content", signature, other.public_bytes)
    assert not is_signed(b"content", signature[:-1], key.public_bytes)
    assert not is_signed(b"content", signature, b"no key")


def test_a_signing_request_proves_possession() -> None:
    """It is signed with the key that it asks a certificate for."""
    key = NodeKey.create()
    request = x509.load_der_x509_csr(key.csr())
    assert request.is_signature_valid
    asked = request.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    assert asked == key.public_bytes


def test_an_id_is_the_hash_of_overlay_nonce_and_key() -> None:
    """As an independent reading of the rule computes it; parts do not run into each other."""
    overlay, nonce, public_key = b"demo", bytes(range(16)), bytes(range(32))
    hashed = b"".join(len(part).to_bytes(4, "big") + part for part in (overlay, nonce, public_key))
    assert derive_node_id("demo", nonce, public_key) == hashlib.sha256(hashed).digest()[:20]
    assert derive_node_id("ab", b"c", public_key) != derive_node_id("a", b"bc", public_key)
