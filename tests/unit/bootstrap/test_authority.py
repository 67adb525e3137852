"""The CA gives one id per key for life, forgets nothing, and refuses whom it has denied."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st

from bootstrap.authority import CA_CERTIFICATE, DENIED_S, LEDGER, Authority, Issued, serving
from p2psub.errors import ConfigError
from p2psub.identity.certificates import read_passport
from p2psub.identity.enrolment import EnrolmentRefused
from p2psub.identity.keys import CA_KEY, NodeKey
from p2psub.model.ids import NodeId, Place
from p2psub.model.rights import Rights
from p2psub.runtime.state import STORE_FILE

NOW_S = 1_800_000_000.0
DAY_S = 86_400
KEY = NodeKey.create()


@pytest.fixture
def authority(tmp_path: Path) -> Iterator[Authority]:
    """A CA that was just founded."""
    with closing(Authority.load_or_create(tmp_path / "ca", "demo")) as authority:
        yield authority


def enrolled(authority: Authority, key: NodeKey = KEY, now_s: float = NOW_S, rights: Rights | None = None) -> Issued:
    """A key with a certificate."""
    return authority.enrol(authority.tokens.new(rights or Rights(), False, None, now_s), key.csr(), now_s)


def node(name: str) -> NodeId:
    """An id that somebody has."""
    return NodeId(Place(name.encode().ljust(20, b".")))


def test_one_bootstrap_serves_a_directory(tmp_path: Path) -> None:
    """Two would each let a newcomer found the overlay; where a peer lives, none does."""
    data = tmp_path / "ca"
    with (
        serving(data),
        pytest.raises(ConfigError, match="in use by another process; stop that bootstrap"),
        serving(data),
    ):
        pytest.fail("there are two of them")
    with serving(data):
        (data / STORE_FILE).touch()
    with pytest.raises(ConfigError, match="data directory of a peer"), serving(data):
        pytest.fail("a peer lives there")


def test_what_is_issued_can_be_read(authority: Authority) -> None:
    """By everybody who has the CA's certificate."""
    issued = enrolled(authority)
    assert read_passport(issued.certificate_der, authority.ca_der, "demo", NOW_S) == issued.passport
    assert issued.passport.public_key == KEY.public_bytes


def test_an_id_is_for_life(authority: Authority) -> None:
    """The same key gets it again with another token; another key gets another."""
    first = enrolled(authority).passport
    again = enrolled(authority, now_s=NOW_S + 100 * DAY_S).passport
    assert again.id == first.id
    assert again.serial > first.serial
    assert enrolled(authority, NodeKey.create()).passport.id != first.id


def test_an_id_cannot_be_foreseen(tmp_path: Path) -> None:
    """It depends on a nonce of the CA, so keys cannot be ground until one lands in a wanted place."""
    ids = set()
    for name in ("a", "b"):
        with closing(Authority.load_or_create(tmp_path / name, "demo")) as authority:
            ids.add(enrolled(authority).passport.id)
    assert len(ids) == 2


def test_a_restart_changes_nothing(tmp_path: Path) -> None:
    """CA, ids, tokens, denials and the count of certificates are where they were."""
    with closing(Authority.load_or_create(tmp_path, "demo")) as before:
        first = enrolled(before).passport
        text = before.tokens.new(Rights(), False, None, NOW_S)
        before.deny(node("liar"), NOW_S)
        denied, ca = before.deny_list(), before.ca_der
    with closing(Authority.load_or_create(tmp_path, "demo")) as after:
        again = after.enrol(text, KEY.csr(), NOW_S).passport
        assert (again.id, again.serial) == (first.id, first.serial + 1)
        assert (after.deny_list(), after.ca_der) == (denied, ca)


def test_another_process_may_make_tokens_meanwhile(authority: Authority, tmp_path: Path) -> None:
    """The command line works on the directory of a running bootstrap, and need not be told the overlay."""
    with closing(Authority(tmp_path / "ca")) as other:
        assert other.overlay == "demo"
        text = other.tokens.new(Rights(), False, None, NOW_S)
        other.deny(node("liar"), NOW_S)
    assert authority.enrol(text, KEY.csr(), NOW_S).passport.public_key == KEY.public_bytes
    assert authority.deny_list().ids == (node("liar"),)


def test_secret_files_are_the_owners_alone(authority: Authority, tmp_path: Path) -> None:
    """Directory, key and certificate; a key that others may read is refused."""
    assert (tmp_path / "ca").stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in authority.ca_files} == {0o600}
    (tmp_path / "ca" / CA_KEY).chmod(0o640)
    with pytest.raises(ConfigError, match="chmod 600"):
        Authority(tmp_path / "ca")


def test_a_directory_belongs_to_one_overlay(tmp_path: Path) -> None:
    """A second one is not founded on top of it."""
    Authority.load_or_create(tmp_path, "demo").close()
    with pytest.raises(ConfigError, match="belongs to the overlay 'demo'"):
        Authority.load_or_create(tmp_path, "other")


def test_a_founding_that_was_cut_short_is_finished(tmp_path: Path) -> None:
    """Whatever of it is there stays; the certificate, which comes last, is made anew."""
    Authority.load_or_create(tmp_path, "demo").close()
    key = (tmp_path / CA_KEY).read_bytes()
    (tmp_path / CA_CERTIFICATE).unlink()
    Authority.load_or_create(tmp_path, "demo").close()
    assert (tmp_path / CA_KEY).read_bytes() == key


@pytest.mark.parametrize("name", [CA_KEY, LEDGER])
def test_a_lost_file_is_not_replaced_in_silence(tmp_path: Path, name: str) -> None:
    """Without it all ids would change: the operator must restore it."""
    Authority.load_or_create(tmp_path, "demo").close()
    (tmp_path / name).unlink()
    with pytest.raises(ConfigError, match="backup"):
        Authority.load_or_create(tmp_path, "demo")


@pytest.mark.parametrize("name", [CA_KEY, CA_CERTIFICATE, LEDGER])
def test_a_damaged_file_is_refused(tmp_path: Path, name: str) -> None:
    """With advice, before anything is issued."""
    Authority.load_or_create(tmp_path, "demo").close()
    (tmp_path / name).write_bytes(b"nonsense" * 100)
    with pytest.raises(ConfigError, match="damaged"):
        Authority(tmp_path)


def test_a_certificate_of_another_key_is_refused(tmp_path: Path) -> None:
    """Files of two CAs do not make one."""
    for name in ("a", "b"):
        Authority.load_or_create(tmp_path / name, "demo").close()
    (tmp_path / "a" / CA_KEY).write_bytes((tmp_path / "b" / CA_KEY).read_bytes())
    with pytest.raises(ConfigError, match="one backup"):
        Authority(tmp_path / "a")


def refusal_of_csr(authority: Authority, csr: bytes) -> str:
    """Why a signing request is refused; the token with it stays good."""
    text = authority.tokens.new(Rights(), False, None, NOW_S)
    with pytest.raises(EnrolmentRefused) as refused:
        authority.enrol(text, csr, NOW_S)
    assert all(record.uses == 0 for record in authority.tokens.list())
    return refused.value.reason


def test_a_request_must_prove_its_key(authority: Authority) -> None:
    """A cut one, one with a broken signature and one for another kind of key are refused."""
    csr = KEY.csr()
    stranger = x509.CertificateSigningRequestBuilder(x509.Name([])).sign(
        ec.generate_private_key(ec.SECP256R1()), hashes.SHA256()
    )
    for bad in (b"", csr[:-1], csr[:-1] + bytes([csr[-1] ^ 1]), stranger.public_bytes(serialization.Encoding.DER)):
        assert refusal_of_csr(authority, bad) == "bad_csr"


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Authority]:
    """A CA that hears a lot of nonsense."""
    with closing(Authority.load_or_create(tmp_path_factory.mktemp("ca"), "demo")) as authority:
        yield authority


@given(st.integers(0, len(KEY.csr()) - 1), st.integers(1, 255))
def test_an_altered_request_gives_nothing_new(patient: Authority, place: int, flip: int) -> None:
    """Whatever a stranger makes of it: a refusal, or, if only its wrapping was touched, what it asked for before."""
    csr = bytearray(KEY.csr())
    csr[place] ^= flip
    try:
        issued = patient.appoint(bytes(csr), Rights(), NOW_S)
    except EnrolmentRefused as refused:
        assert refused.reason == "bad_csr"  # noqa: PT017, either may happen
    else:
        assert issued.passport.public_key == KEY.public_bytes


def test_a_renewal_keeps_the_id_and_the_latest_rights(authority: Authority) -> None:
    """Rights come from the ledger: an old certificate with more of them does not bring them back."""
    old = enrolled(authority).passport
    narrow = Rights(publish=(), may_lead=False)
    enrolled(authority, rights=narrow)
    renewed = authority.renew(old, KEY.csr(), NOW_S + DAY_S).passport
    assert (renewed.id, renewed.rights) == (old.id, narrow)
    assert renewed.not_after_s == old.not_after_s + DAY_S


def test_a_renewal_is_for_the_same_key(authority: Authority) -> None:
    """A certificate does not move to another key."""
    passport = enrolled(authority).passport
    with pytest.raises(EnrolmentRefused, match="bad_csr"):
        authority.renew(passport, NodeKey.create().csr(), NOW_S)


def test_an_unknown_node_is_not_renewed(authority: Authority, tmp_path: Path) -> None:
    """A CA that lost its memory would give another id; it says so instead."""
    with closing(Authority.load_or_create(tmp_path / "other", "demo")) as other:
        passport = enrolled(other).passport
    with pytest.raises(EnrolmentRefused, match="not_enrolled"):
        authority.renew(passport, KEY.csr(), NOW_S)
    enrolled(authority)
    with pytest.raises(EnrolmentRefused, match="not_enrolled"):
        authority.renew(passport, KEY.csr(), NOW_S)


def test_a_denied_node_gets_nothing_any_more(authority: Authority) -> None:
    """Neither a renewal nor a first certificate with a good token, which stays good for somebody else."""
    passport = enrolled(authority).passport
    authority.deny(passport.id, NOW_S)
    with pytest.raises(EnrolmentRefused, match="denied"):
        authority.renew(passport, KEY.csr(), NOW_S + 1000 * DAY_S)
    text = authority.tokens.new(Rights(), False, None, NOW_S)
    with pytest.raises(EnrolmentRefused, match="denied"):
        authority.enrol(text, KEY.csr(), NOW_S)
    assert authority.enrol(text, NodeKey.create().csr(), NOW_S).passport.id != passport.id


def test_the_deny_list_is_signed_and_each_is_newer(authority: Authority) -> None:
    """Even two denials in one second, or with a clock that was set back."""
    lists = [authority.deny_list()]
    for name, now_s in (("a", NOW_S), ("c", NOW_S), ("b", NOW_S - DAY_S)):
        authority.deny(node(name), now_s)
        lists.append(authority.deny_list())
    assert all(deny_list.verify(authority.ca_der) for deny_list in lists)
    assert [newer.newer(older) for older, newer in pairwise(lists)] == lists[1:]
    assert [older.newer(newer) for older, newer in pairwise(lists)] == lists[1:]
    assert lists[0].ids == ()
    assert lists[-1].ids == (node("a"), node("b"), node("c"))


def test_denying_again_changes_nothing(authority: Authority) -> None:
    """The list stays the one that everybody has."""
    authority.deny(node("liar"), NOW_S)
    before = authority.deny_list()
    authority.deny(node("liar"), NOW_S + DAY_S)
    assert authority.deny_list() == before


def test_the_deny_list_leaves_out_whose_certificate_has_run_out(authority: Authority) -> None:
    """So it stays short; who is on no list any more still gets no certificate."""
    passport = enrolled(authority).passport
    authority.deny(passport.id, NOW_S)
    authority.deny(node("later"), passport.not_after_s)
    assert passport.id in authority.deny_list().ids
    authority.deny(node("last"), NOW_S + DENIED_S)
    assert authority.deny_list().ids == (node("last"), node("later"))
    with pytest.raises(EnrolmentRefused, match="denied"):
        authority.renew(passport, KEY.csr(), NOW_S + DENIED_S)


def test_a_full_disk_is_a_refusal(authority: Authority) -> None:
    """Nobody gets an id that would be forgotten, and the bootstrap lives on."""
    text = authority.tokens.new(Rights(), False, None, NOW_S)
    authority._ledger.execute("PRAGMA query_only = ON")
    with pytest.raises(EnrolmentRefused, match="unavailable"):
        authority.enrol(text, KEY.csr(), NOW_S)
    authority._ledger.execute("PRAGMA query_only = OFF")
    assert authority.enrol(text, KEY.csr(), NOW_S).passport.public_key == KEY.public_bytes


def test_the_operator_may_appoint_nodes(authority: Authority) -> None:
    """The bootstrap itself needs no token; its rights are checked all the same."""
    rights = Rights(publish=(), subscribe=(), may_lead=False)
    assert authority.appoint(KEY.csr(), rights, NOW_S).passport.rights == rights
    with pytest.raises(ConfigError, match="rights"):
        authority.appoint(KEY.csr(), msgspec.structs.replace(rights, publish=("",)), NOW_S)
