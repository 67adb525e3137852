"""Tokens survive copying or say so, messages survive the wire or say so, and lists and grants are the CA's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import example, given
from hypothesis import strategies as st

from bootstrap.authority import Authority
from bootstrap.issuance import issue_ca
from p2psub.errors import ConfigError, MalformedMessage
from p2psub.identity.certificates import CertificateRefused
from p2psub.identity.enrolment import (
    CSR_BYTES_MAX,
    TOKEN_CHARS_MAX,
    DenyList,
    EnrolGrant,
    EnrolmentMessage,
    EnrolRefused,
    EnrolRequest,
    JoinToken,
    RenewRequest,
    decode_enrolment,
    denial,
    encode_enrolment,
    fingerprint_of,
    read_grant,
)
from p2psub.identity.keys import NodeKey
from p2psub.model.ids import Contact, NodeId, Place
from p2psub.model.messages.denials import DENIED_MAX
from p2psub.model.rights import Rights
from p2psub.wire.framing import PAYLOAD_BYTES_MAX
from tests.oracles.instances import instances_of

NOW_S = 1_800_000_000.0
KEY = NodeKey.create()
TOKEN = JoinToken("demo", bytes(range(20)), bytes(range(100, 120)))
BOOTSTRAP = Contact(NodeId(Place(bytes(20))), "bootstrap.example:7000")
MESSAGES: tuple[type, ...] = (EnrolRequest, RenewRequest, EnrolGrant, EnrolRefused)

tokens = st.builds(
    JoinToken,
    st.from_regex(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", fullmatch=True),
    st.binary(min_size=20, max_size=20),
    st.binary(min_size=20, max_size=20),
)


@given(tokens)
def test_a_token_survives_being_copied(token: JoinToken) -> None:
    """Also with blanks around it, or shouted; and it fits into the message that carries it."""
    text = token.format()
    assert JoinToken.parse(text) == JoinToken.parse(f"  {text.upper()}\n") == token
    assert len(text) <= TOKEN_CHARS_MAX


@pytest.mark.parametrize("place", range(len(TOKEN.format())))
def test_a_mistyped_token_says_so(place: int) -> None:
    """A wrong, missing, doubled or swapped character, wherever it is: the bootstrap is not even asked."""
    text = TOKEN.format()
    slips = {
        text[:place] + ("a" if text[place] != "a" else "b") + text[place + 1 :],
        text[:place] + text[place + 1 :],
        text[:place] + text[place] + text[place:],
        text[:place] + text[place : place + 2][::-1] + text[place + 2 :],
    } - {text}
    for slip in slips:
        with pytest.raises(ConfigError, match=r"^token: the token is mistyped"):
            JoinToken.parse(slip)


@given(st.text(st.characters(categories=None), max_size=120))
@example("demo\udcff." + TOKEN.format().partition(".")[2])
def test_what_is_no_token_is_refused_with_advice(text: str) -> None:
    """Whatever a person pastes, and whatever a shell makes of bytes that are no text."""
    with pytest.raises(ConfigError, match=r"^token: "):
        JoinToken.parse(text)


@given(st.sampled_from(MESSAGES).flatmap(instances_of))
def test_messages_cross_the_wire(message: EnrolmentMessage) -> None:
    """What is decoded is what was encoded."""
    assert decode_enrolment(encode_enrolment(message)) == message


@given(st.binary(max_size=200))
def test_what_is_no_message_is_malformed(payload: bytes) -> None:
    """Noise raises MalformedMessage and nothing else."""
    with pytest.raises(MalformedMessage):
        decode_enrolment(payload)


@given(st.sampled_from(MESSAGES).flatmap(instances_of), st.data())
def test_damage_never_raises_anything_but_malformed_message(message: EnrolmentMessage, data: st.DataObject) -> None:
    """A message with a byte changed or its end cut off is another message, or malformed."""
    payload = bytearray(encode_enrolment(message))
    payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    for damaged in (bytes(payload), bytes(payload[:-1])):
        try:
            decoded = decode_enrolment(damaged)
        except MalformedMessage:
            continue
        assert isinstance(decoded, MESSAGES)


@pytest.mark.parametrize(
    "message",
    [
        EnrolRequest("x" * (TOKEN_CHARS_MAX + 1), b""),
        EnrolRequest("", bytes(CSR_BYTES_MAX + 1)),
        RenewRequest(bytes(CSR_BYTES_MAX + 1)),
        EnrolRefused("denied", "x" * 501),
        EnrolGrant(bytes(1 << 16), b"", BOOTSTRAP, DenyList(0, (), b"")),
        EnrolGrant(b"", b"", BOOTSTRAP, DenyList(0, (BOOTSTRAP.id,) * (DENIED_MAX + 1), b"")),
        EnrolGrant(b"", b"", BOOTSTRAP, DenyList(-1, (), b"")),
    ],
    ids=["token", "csr", "renewal", "advice", "certificate", "deny list", "time"],
)
def test_everything_has_a_bound(message: EnrolmentMessage) -> None:
    """Nobody is made to keep more than a message can need."""
    with pytest.raises(MalformedMessage):
        decode_enrolment(encode_enrolment(message))


def test_nesting_is_malformed() -> None:
    """Even in a field of a newer version that would be skipped."""
    payload = b"\x93\xacRenewRequest\xc4\x00" + b"\x91" * 100_000 + b"\xc0"
    with pytest.raises(MalformedMessage, match="nested"):
        decode_enrolment(payload)


def test_the_longest_deny_list_fits_into_a_frame() -> None:
    """With certificates of the largest size beside it."""
    grant = EnrolGrant(bytes(4096), bytes(4096), BOOTSTRAP, DenyList(1, (BOOTSTRAP.id,) * DENIED_MAX, bytes(64)))
    assert len(encode_enrolment(grant)) < PAYLOAD_BYTES_MAX


CA_KEY = Ed25519PrivateKey.generate()
CA_DER = issue_ca(CA_KEY, "demo")
DENIED = (NodeId(Place(b"a" * 20)), NodeId(Place(b"b" * 20)))
LIST = DenyList(1000, DENIED, CA_KEY.sign(denial(1000, DENIED)))


@pytest.mark.parametrize(
    "altered",
    [
        {"issued_s": 1001},
        {"ids": DENIED[:1]},
        {"ids": ()},
        {"ids": DENIED[::-1]},
        {"signature": bytes(64)},
        {"signature": b""},
    ],
)
def test_a_deny_list_is_the_cas_or_nobodys(altered: dict[str, Any]) -> None:
    """Nobody can shorten it, lengthen it or make it look newer."""
    assert LIST.verify(CA_DER)
    assert not msgspec.structs.replace(LIST, **altered).verify(CA_DER)


def test_a_foreign_ca_denies_nobody() -> None:
    """A list of another CA of the same name does not verify."""
    assert not LIST.verify(issue_ca(Ed25519PrivateKey.generate(), "demo"))


def test_of_two_deny_lists_the_newer_stands() -> None:
    """Whichever is heard first."""
    newer = DenyList(1001, (), CA_KEY.sign(denial(1001, ())))
    assert LIST.newer(newer) == newer.newer(LIST) == newer


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Authority]:
    """The CA that is asked."""
    with closing(Authority.load_or_create(tmp_path_factory.mktemp("ca"), "demo")) as authority:
        yield authority


@pytest.fixture(scope="module")
def grant(authority: Authority) -> EnrolGrant:
    """What it grants to our key."""
    issued = authority.appoint(KEY.csr(), Rights(), NOW_S)
    return EnrolGrant(issued.certificate_der, authority.ca_der, BOOTSTRAP, authority.deny_list())


def test_a_grant_is_for_our_key_from_the_ca_we_asked(authority: Authority, grant: EnrolGrant) -> None:
    """Then, and only then, it is taken."""
    fingerprint = JoinToken.parse(authority.tokens.new(Rights(), False, None, NOW_S)).fingerprint
    assert read_grant(grant, fingerprint, "demo", KEY.public_bytes, NOW_S).public_key == KEY.public_bytes
    with pytest.raises(CertificateRefused, match="wrong_id"):
        read_grant(grant, fingerprint, "demo", NodeKey.create().public_bytes, NOW_S)
    with pytest.raises(CertificateRefused, match="wrong_overlay"):
        read_grant(grant, fingerprint, "other", KEY.public_bytes, NOW_S)
    with pytest.raises(CertificateRefused, match="foreign_ca"):
        read_grant(grant, fingerprint_of(CA_DER), "demo", KEY.public_bytes, NOW_S)


@pytest.mark.parametrize(
    "part", [{"ca": CA_DER}, {"ca": b"nonsense"}, {"deny_list": LIST}], ids=["ca", "no ca", "list"]
)
def test_a_grant_with_a_foreign_part_is_refused(authority: Authority, grant: EnrolGrant, part: dict[str, Any]) -> None:
    """A false CA or a false deny list is not smuggled in with a good certificate."""
    with pytest.raises(CertificateRefused, match="foreign_ca"):
        read_grant(msgspec.structs.replace(grant, **part), authority.fingerprint, "demo", KEY.public_bytes, NOW_S)
