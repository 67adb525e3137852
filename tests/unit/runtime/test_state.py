"""A data directory keeps who a node is between two starts, for its owner alone, and says so when it is damaged."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from bootstrap.authority import Authority
from p2psub.errors import ConfigError
from p2psub.identity.enrolment import EnrolGrant
from p2psub.model.rights import Rights
from p2psub.runtime.state import Enrolment, State
from p2psub.runtime.tls import client_context
from tests.unit.bench import at

NOW_S = 1_800_000_000.0


@pytest.fixture
def enrolment(tmp_path: Path) -> Enrolment:
    """What an authority granted to the key of the directory `node`."""
    authority = Authority.load_or_create(tmp_path / "ca", "demo")
    try:
        issued = authority.appoint(State(tmp_path / "node").key().csr(), Rights(), NOW_S)
        return Enrolment("demo", EnrolGrant(issued.certificate_der, authority.ca_der, at(1), authority.deny_list()))
    finally:
        authority.close()


def test_a_new_directory_is_the_owners_alone(tmp_path: Path) -> None:
    """It holds nothing but a key, which stays the same."""
    state = State(tmp_path / "some" / "where")
    assert state.directory.stat().st_mode & 0o777 == 0o700
    assert state.enrolment() is None
    assert state.key().public_bytes == State(state.directory).key().public_bytes
    assert [path.name for path in state.directory.iterdir()] == ["key.pem"]


def test_a_grant_is_remembered(tmp_path: Path, enrolment: Enrolment) -> None:
    """As it was, and the later one instead of the earlier."""
    state = State(tmp_path / "node")
    state.keep(Enrolment("earlier", enrolment.grant))
    state.keep(enrolment)
    assert State(tmp_path / "node").enrolment() == enrolment


def test_tls_can_use_a_grant(tmp_path: Path, enrolment: Enrolment) -> None:
    """Certificate and key lie there as files that fit to each other."""
    credentials = State(tmp_path / "node").credentials(enrolment)
    assert isinstance(client_context(credentials), ssl.SSLContext)
    assert ssl.PEM_cert_to_DER_cert(credentials.certificate.read_text()) == enrolment.grant.certificate
    assert (credentials.overlay, credentials.ca_der) == ("demo", enrolment.grant.ca)


@pytest.mark.parametrize("damaged", [b"", b"\xc1", b"\x82\xa7overlay\xa2\xff\xff"])
def test_a_damaged_grant_is_not_taken_for_none(tmp_path: Path, damaged: bytes) -> None:
    """The operator hears which file it is, and what to do."""
    state = State(tmp_path)
    (tmp_path / "enrolment.msgpack").write_bytes(damaged)
    with pytest.raises(ConfigError, match=r"enrolment\.msgpack is damaged: remove it and enrol again"):
        state.enrolment()


def test_a_directory_that_cannot_be_is_refused(tmp_path: Path) -> None:
    """With the setting's name and advice."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"data: .*cannot be made"):
        State(tmp_path / "file" / "below")
