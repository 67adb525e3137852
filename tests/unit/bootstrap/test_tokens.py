"""A token admits whom it was made for, as often and as long as it says, and leaves no secret behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bootstrap.authority import LEDGER, Authority
from bootstrap.tokens import RETRY_S
from p2psub.errors import ConfigError
from p2psub.identity.enrolment import EnrolmentRefused, JoinToken
from p2psub.identity.keys import NodeKey
from p2psub.model.rights import Rights

NOW_S = 1_800_000_000.0
HOUR_S = 3600
READER = Rights(publish=(), subscribe=("news/*",), may_lead=False)
ONE, TWO = NodeKey.create(), NodeKey.create()


@pytest.fixture
def authority(tmp_path: Path) -> Iterator[Authority]:
    """The tokens' keeper."""
    with closing(Authority.load_or_create(tmp_path, "demo")) as authority:
        yield authority


def new(authority: Authority, *, reusable: bool = False, rights: Rights = READER) -> str:
    """A token that lives for an hour."""
    return authority.tokens.new(rights, reusable, HOUR_S, NOW_S, "a note")


def refusal(authority: Authority, text: str, key: NodeKey = ONE, now_s: float = NOW_S) -> str:
    """Why a token does not admit a key."""
    with pytest.raises(EnrolmentRefused) as refused:
        authority.enrol(text, key.csr(), now_s)
    assert refused.value.advice
    return refused.value.reason


def test_a_token_gives_its_rights(authority: Authority) -> None:
    """They are in the certificate of whoever used it."""
    assert authority.enrol(new(authority), ONE.csr(), NOW_S).passport.rights == READER


def test_a_token_names_its_overlay_and_ca(authority: Authority) -> None:
    """A newcomer needs nothing else but the bootstrap's address."""
    token = JoinToken.parse(new(authority))
    assert token.overlay == "demo"
    assert token.names(authority.ca_der)


def test_a_one_time_token_admits_one_key(authority: Authority) -> None:
    """The second comer is refused, also at once."""
    text = new(authority)
    authority.enrol(text, ONE.csr(), NOW_S)
    assert refusal(authority, text, TWO) == "token_used"


def test_a_lost_grant_may_be_asked_for_again(authority: Authority) -> None:
    """The same key gets the same id for ten minutes from the first use, and asking does not make them longer."""
    text = new(authority)
    first = authority.enrol(text, ONE.csr(), NOW_S).passport
    assert authority.enrol(text, ONE.csr(), NOW_S + RETRY_S - 1).passport.id == first.id
    assert refusal(authority, text, TWO, NOW_S + RETRY_S - 1) == "token_used"
    assert refusal(authority, text, ONE, NOW_S + RETRY_S) == "token_used"


def test_a_reusable_token_admits_many(authority: Authority) -> None:
    """Each under its own id."""
    text = new(authority, reusable=True)
    ids = {authority.enrol(text, key.csr(), NOW_S + HOUR_S - 1).passport.id for key in (ONE, TWO, ONE)}
    assert len(ids) == 2
    assert authority.tokens.list()[0].uses == 3


@pytest.mark.parametrize("reusable", [False, True])
def test_a_token_runs_out(authority: Authority, reusable: bool) -> None:
    """To the second."""
    assert refusal(authority, new(authority, reusable=reusable), now_s=NOW_S + HOUR_S) == "token_expired"


def test_a_token_may_live_until_it_is_revoked(authority: Authority) -> None:
    """If the operator says so."""
    text = authority.tokens.new(READER, True, None, NOW_S)
    assert authority.enrol(text, ONE.csr(), NOW_S * 2).passport.rights == READER


@pytest.mark.parametrize("lives_s", [0, -1])
def test_a_token_that_never_lives_is_not_made(authority: Authority, lives_s: int) -> None:
    """The operator is told."""
    with pytest.raises(ConfigError, match="lives_s"):
        authority.tokens.new(READER, False, lives_s, NOW_S)


def test_rights_are_checked_when_a_token_is_made(authority: Authority) -> None:
    """Not when the first newcomer stumbles over them."""
    with pytest.raises(ConfigError, match=r"rights\.publish"):
        new(authority, rights=Rights(publish=("a*b",)))
    assert authority.tokens.list() == ()


@pytest.mark.parametrize("used", [False, True])
def test_a_revoked_token_admits_nobody(authority: Authority, used: bool) -> None:
    """Neither a new key nor one that used it a moment ago; the others go on."""
    text, other = new(authority, reusable=True), new(authority)
    if used:
        authority.enrol(text, ONE.csr(), NOW_S)
    (name,) = (record.name for record in authority.tokens.list() if record.reusable)
    assert authority.tokens.revoke(name[:12].upper()).revoked
    assert refusal(authority, text) == "token_revoked"
    assert authority.enrol(other, ONE.csr(), NOW_S).passport.rights == READER


def test_a_revocation_must_name_one_token(authority: Authority) -> None:
    """No prefix, a wrong one, and one that fits several are refused with advice, and nothing is revoked."""
    new(authority)
    with pytest.raises(ConfigError, match="token list"):
        authority.tokens.revoke("")
    for _ in range(16):  # then two of them begin with the same of sixteen digits
        new(authority)
    names = [record.name for record in authority.tokens.list()]
    doubled = next(name[0] for name in names if sum(other[0] == name[0] for other in names) > 1)
    for prefix in ("nonsense", doubled):
        with pytest.raises(ConfigError, match="token list"):
            authority.tokens.revoke(prefix)
    assert not any(record.revoked for record in authority.tokens.list())


def test_the_list_shows_what_was_made_and_used(authority: Authority) -> None:
    """Everything but the secret."""
    text = new(authority)
    (made,) = authority.tokens.list()
    assert (made.rights, made.reusable, made.note, made.revoked) == (READER, False, "a note", False)
    assert (made.made_s, made.expires_s, made.uses, made.used_s) == (NOW_S, NOW_S + HOUR_S, 0, None)
    authority.enrol(text, ONE.csr(), NOW_S + 5)
    (used,) = authority.tokens.list()
    assert (used.uses, used.used_s, used.used_by) == (1, NOW_S + 5, ONE.public_bytes)


def test_secrets_are_not_kept(authority: Authority, tmp_path: Path) -> None:
    """Whoever steals the files cannot enrol with them: neither text nor secret of a token is there."""
    text = new(authority)
    authority.enrol(text, ONE.csr(), NOW_S)
    authority.close()
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert (tmp_path / LEDGER).exists()
    assert JoinToken.parse(text).secret not in kept
    assert text.split(".")[1].encode() not in kept


def test_a_token_of_somebody_else_is_refused(authority: Authority, tmp_path: Path) -> None:
    """Of another overlay, of another CA of the same name, a made-up one, and a mistyped one."""
    for overlay in ("other", "demo"):
        with closing(Authority.load_or_create(tmp_path / overlay, overlay)) as foreign:
            assert refusal(authority, new(foreign)) == "wrong_overlay"
    assert refusal(authority, JoinToken("demo", bytes(20), authority.fingerprint).format()) == "unknown_token"
    assert refusal(authority, new(authority)[:-1]) == "unknown_token"
