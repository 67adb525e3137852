"""A certificate is believed only if our CA wrote every word of it, about this key, for this overlay, for now."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from bootstrap.authority import Authority, Issued
from bootstrap.issuance import issue, issue_ca
from p2psub.errors import ConfigError
from p2psub.identity.certificates import (
    CLAIMS_OID,
    CertificateRefused,
    Claims,
    check_overlay,
    common_name,
    read_passport,
)
from p2psub.identity.keys import NodeKey, derive_node_id
from p2psub.model.rights import CERTIFICATE_BYTES_MAX, RIGHTS_BYTES_MAX, Rights, check_rights

NOW_S = 1_800_000_000.5
HOUR_S, DAY_S = 3600, 86_400
RIGHTS = Rights(publish=("quotes/*",), subscribe=("quotes/*", "news"), may_lead=False)

CA_KEY = Ed25519PrivateKey.generate()
CA_DER = issue_ca(CA_KEY, "demo")
KEY = NodeKey.create()
CLAIMS = Claims("demo", bytes(range(16)), RIGHTS)
NODE = derive_node_id("demo", CLAIMS.nonce, KEY.public_bytes)
CERTIFICATE = issue(CA_KEY, NODE, KEY.public_bytes, CLAIMS, 7, NOW_S)


def refusal(certificate: bytes, *, ca: bytes = CA_DER, overlay: str = "demo", now_s: float = NOW_S) -> str:
    """Why a certificate is refused."""
    with pytest.raises(CertificateRefused) as refused:
        read_passport(certificate, ca, overlay, now_s)
    return refused.value.reason


def test_a_passport_says_what_the_ca_wrote() -> None:
    """Id, overlay, key, rights, end and number, all of them."""
    passport = read_passport(CERTIFICATE, CA_DER, "demo", NOW_S)
    assert (passport.id, passport.overlay, passport.public_key) == (NODE, "demo", KEY.public_bytes)
    assert (passport.rights, passport.serial) == (RIGHTS, 7)
    assert passport.not_after_s == int(NOW_S) + 7 * DAY_S


def test_it_is_valid_for_seven_days_and_two_hours_before() -> None:
    """So a node whose clock is behind can be spoken to at once; outside of that nobody can."""
    begins_s, ends_s = int(NOW_S) - 2 * HOUR_S, int(NOW_S) + 7 * DAY_S
    assert read_passport(CERTIFICATE, CA_DER, "demo", begins_s) == read_passport(CERTIFICATE, CA_DER, "demo", ends_s)
    assert refusal(CERTIFICATE, now_s=begins_s - 0.1) == "not_yet_valid"
    assert refusal(CERTIFICATE, now_s=ends_s + 0.1) == "expired"


def test_a_foreign_ca_is_refused() -> None:
    """Even one that calls itself by the same name."""
    foreign = Ed25519PrivateKey.generate()
    assert refusal(issue(foreign, NODE, KEY.public_bytes, CLAIMS, 7, NOW_S)) == "foreign_ca"
    assert refusal(CERTIFICATE, ca=issue_ca(CA_KEY, "another")) == "foreign_ca"


def test_an_altered_certificate_is_refused() -> None:
    """Whichever byte of what the CA signed, or of its signature, is changed."""
    signed = x509.load_der_x509_certificate(CERTIFICATE).tbs_certificate_bytes
    start, end = CERTIFICATE.index(signed), len(CERTIFICATE)
    for place in (*range(start, start + len(signed)), *range(end - 64, end)):
        altered = bytearray(CERTIFICATE)
        altered[place] ^= 0x01
        assert refusal(bytes(altered)) in {"malformed", "foreign_ca"}


def test_an_id_that_does_not_follow_from_the_key_is_refused() -> None:
    """Not even the CA can place a node where it wants: the id is derived again by every reader."""
    chosen = derive_node_id("demo", bytes(16), KEY.public_bytes)
    assert refusal(issue(CA_KEY, chosen, KEY.public_bytes, CLAIMS, 7, NOW_S)) == "wrong_id"
    assert refusal(issue(CA_KEY, NODE, NodeKey.create().public_bytes, CLAIMS, 7, NOW_S)) == "wrong_id"


def test_a_certificate_of_another_overlay_is_refused() -> None:
    """One CA key used for two overlays does not join them."""
    claims = msgspec.structs.replace(CLAIMS, overlay="other")
    node = derive_node_id("other", claims.nonce, KEY.public_bytes)
    certificate = issue(CA_KEY, node, KEY.public_bytes, claims, 7, NOW_S)
    assert refusal(certificate, ca=issue_ca(CA_KEY, "other")) == "wrong_overlay"


def test_the_ca_is_no_node() -> None:
    """Its own certificate is signed by itself, and is still no passport."""
    assert refusal(CA_DER) == "malformed"


def certificate_with(claims: bytes) -> bytes:
    """A certificate that our CA signed over any claims."""
    original = x509.load_der_x509_certificate(CERTIFICATE)
    builder = x509.CertificateBuilder(
        issuer_name=original.issuer,
        subject_name=common_name(NODE.hex()),
        public_key=original.public_key(),
        serial_number=7,
        not_valid_before=original.not_valid_before_utc,
        not_valid_after=original.not_valid_after_utc,
    ).add_extension(x509.UnrecognizedExtension(CLAIMS_OID, claims), critical=False)
    return builder.sign(CA_KEY, None).public_bytes(serialization.Encoding.DER)


@pytest.mark.parametrize(
    "claims",
    [
        b"",
        msgspec.msgpack.encode("demo"),
        msgspec.msgpack.encode(["demo", bytes(15), [[], [], True]]),
        msgspec.msgpack.encode(["demo", bytes(16), [[], 1, True]]),
        b"\x93\xa1\xff" + msgspec.msgpack.encode(bytes(16)) + msgspec.msgpack.encode([[], [], True]),
        msgspec.msgpack.encode(["demo", bytes(16), [["x" * 3000], [], True]]),
    ],
    ids=["nothing", "text", "short nonce", "no patterns", "no unicode", "too long"],
)
def test_claims_that_cannot_be_read_are_refused(claims: bytes) -> None:
    """A newer or broken CA does not break the readers."""
    assert refusal(certificate_with(claims)) == "malformed"


@given(st.binary(max_size=300))
def test_what_is_no_certificate_is_malformed(content: bytes) -> None:
    """Whatever bytes a stranger sends."""
    assert refusal(content) == "malformed"


def test_a_huge_certificate_is_not_even_parsed() -> None:
    """A stranger's certificate costs bounded work."""
    with pytest.raises(CertificateRefused, match=f"malformed: .* at most {CERTIFICATE_BYTES_MAX} are read"):
        read_passport(bytes(CERTIFICATE_BYTES_MAX + 1), CA_DER, "demo", NOW_S)


def test_the_largest_rights_fit() -> None:
    """What may be written into a token can be read from the certificate."""
    rights = check_rights(Rights(publish=("x" * (RIGHTS_BYTES_MAX - 9),)))
    claims = msgspec.structs.replace(CLAIMS, overlay="o" * 63, rights=rights)
    node = derive_node_id(claims.overlay, claims.nonce, KEY.public_bytes)
    certificate = issue(CA_KEY, node, KEY.public_bytes, claims, (1 << 63) - 1, NOW_S)
    assert read_passport(certificate, issue_ca(CA_KEY, claims.overlay), claims.overlay, NOW_S).rights == rights


@pytest.mark.parametrize("name", ["demo", "a", "7", "trading-floor-2", "x" * 63])
def test_names_of_overlays(name: str) -> None:
    """Short names that can be typed."""
    assert check_overlay(name) == name


@pytest.mark.parametrize("name", ["", "Demo", "a.b", "-a", "a-", "a b", "ä", "a\n", "x" * 64])
def test_what_cannot_name_an_overlay(name: str) -> None:
    """Nothing that would break a token apart or be taken for another."""
    with pytest.raises(ConfigError, match="overlay"):
        check_overlay(name)


class Side:
    """One end of a TLS link that lives in memory."""

    def __init__(self, context: ssl.SSLContext, *, is_server: bool, server_name: str | None = None) -> None:
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, is_server, server_name)
        self.is_done = False

    def go_on(self) -> None:
        try:
            self.tls.do_handshake()
        except ssl.SSLWantReadError:
            return
        self.is_done = True


def shake_hands(client: Side, server: Side) -> None:
    """Carry bytes to and fro until both sides are content; ssl.SSLError if one is not."""
    while not (client.is_done and server.is_done):
        client.go_on()
        server.incoming.write(client.outgoing.read())
        server.go_on()
        client.incoming.write(server.outgoing.read())


def context_of(protocol: int, certificate: bytes, key: Path, ca: bytes) -> ssl.SSLContext:
    """TLS 1.3 with a certificate, which asks the other side for one."""
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    context.load_verify_locations(cadata=ca)
    pem = key.with_suffix(".pem")
    pem.write_text(ssl.DER_cert_to_PEM_cert(certificate))
    context.load_cert_chain(pem, key)
    return context


@pytest.fixture
def authority(tmp_path: Path) -> Iterator[Authority]:
    """A CA that lives now, since OpenSSL looks at the clock itself."""
    with closing(Authority.load_or_create(tmp_path / "ca", "demo")) as authority:
        yield authority


def enrolled(authority: Authority, key: Path) -> Issued:
    """A node with a key in this file."""
    return authority.appoint(NodeKey.load_or_create(key).csr(), RIGHTS, time.time())


def test_two_nodes_know_each_other_by_tls(authority: Authority, tmp_path: Path) -> None:
    """OpenSSL, strict, takes the certificates at both ends, and what it hands out is each other's passport."""
    one, two = enrolled(authority, tmp_path / "one"), enrolled(authority, tmp_path / "two")
    ca = authority.ca_der
    client = Side(
        context_of(ssl.PROTOCOL_TLS_CLIENT, one.certificate_der, tmp_path / "one", ca),
        is_server=False,
        server_name=f"{two.passport.id.hex()}.p2psub.invalid",
    )
    server = Side(context_of(ssl.PROTOCOL_TLS_SERVER, two.certificate_der, tmp_path / "two", ca), is_server=True)
    shake_hands(client, server)
    assert client.tls.version() == server.tls.version() == "TLSv1.3"
    for side, expected in ((client, two), (server, one)):
        shown = side.tls.getpeercert(binary_form=True)
        assert shown is not None
        assert read_passport(shown, ca, "demo", time.time()) == expected.passport


def test_tls_refuses_a_node_of_another_ca(authority: Authority, tmp_path: Path) -> None:
    """A stranger with a certificate of a CA of the same name does not get past the handshake."""
    with closing(Authority.load_or_create(tmp_path / "foreign", "demo")) as foreign:
        one, two = enrolled(authority, tmp_path / "one"), enrolled(foreign, tmp_path / "two")
        contexts = (
            context_of(ssl.PROTOCOL_TLS_CLIENT, one.certificate_der, tmp_path / "one", authority.ca_der),
            context_of(ssl.PROTOCOL_TLS_SERVER, two.certificate_der, tmp_path / "two", foreign.ca_der),
        )
        with pytest.raises(ssl.SSLCertVerificationError):
            shake_hands(Side(contexts[0], is_server=False), Side(contexts[1], is_server=True))


def test_a_newcomer_knows_the_ca_before_it_tells_its_token(authority: Authority) -> None:
    """The bootstrap can show the CA's certificate in TLS, and prove its key, to one who knows only a fingerprint."""
    asking, answering = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    asking.check_hostname, asking.verify_mode = False, ssl.CERT_NONE
    answering.load_cert_chain(*authority.ca_files)
    client = Side(asking, is_server=False)
    shake_hands(client, Side(answering, is_server=True))
    assert client.tls.getpeercert(binary_form=True) == authority.ca_der
