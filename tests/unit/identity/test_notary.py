"""A notary believes a signature only if the node that it speaks for made it, and the overlay's CA knows that node."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2psub.identity import notary as notary_module
from p2psub.identity.keys import NodeKey, is_signed
from p2psub.identity.notary import NodeNotary
from p2psub.model.ids import NodeId
from p2psub.model.rights import Rights
from p2psub.model.seals import Signature
from tests.unit.notaries import OVERLAY, Enrolled, Office

DAY_S = 86_400.0
ROOT, OTHER_ROOT = bytes(range(16)), bytes(16)
RIGHTS = Rights(publish=("quotes/*",), subscribe=(), may_lead=False)

OFFICE = Office()
ANN, BOB = OFFICE.enrol(RIGHTS), OFFICE.enrol()
READER = OFFICE.enrol().notary
SIGNED = ANN.notary.sign(ROOT)


def rights_of(signature: Signature, root: bytes = ROOT, publisher: NodeId = ANN.id) -> Rights | None:
    """What somebody else makes of a signature."""
    return READER.rights_of(publisher, root, signature)


def forged(by: Enrolled | NodeKey, certificate: bytes) -> Signature:
    """Somebody's signature under somebody's certificate."""
    key = by if isinstance(by, NodeKey) else by.key
    office = NodeNotary(key, certificate, OFFICE.ca_der(), OVERLAY)
    return office.sign(ROOT)


def test_signature_tells_what_its_node_may_do() -> None:
    """By the certificate that is in it; also to the node itself."""
    assert rights_of(SIGNED) == RIGHTS
    assert ANN.notary.rights_of(ANN.id, ROOT, SIGNED) == RIGHTS


def test_signature_is_for_one_root_of_one_node() -> None:
    """Not for another root, nor for another node's."""
    assert rights_of(SIGNED, OTHER_ROOT) is None
    assert rights_of(SIGNED, b"") is None
    assert rights_of(SIGNED, publisher=BOB.id) is None


def test_altered_signature_is_refused() -> None:
    """Whichever byte of it is changed."""
    for place in range(len(SIGNED.value)):
        value = bytearray(SIGNED.value)
        value[place] ^= 1
        assert rights_of(Signature(bytes(value), SIGNED.certificate)) is None
    assert rights_of(SIGNED) == RIGHTS


@given(st.binary(max_size=200))
def test_what_is_no_signature_is_refused(value: bytes) -> None:
    """Of whatever length; without an error."""
    assert rights_of(Signature(value, SIGNED.certificate)) is None


@given(st.binary(max_size=300) | st.integers(0, len(ANN.certificate) - 1).map(lambda end: ANN.certificate[:end]))
def test_what_is_no_certificate_is_refused(certificate: bytes) -> None:
    """Garbage, or the beginning of a good one; without an error."""
    assert rights_of(Signature(SIGNED.value, certificate)) is None


def test_another_node_cannot_sign_for_this_one() -> None:
    """Not with its own certificate, and not with the other's, which everybody knows."""
    assert rights_of(forged(BOB, BOB.certificate)) is None
    assert rights_of(forged(BOB, ANN.certificate)) is None
    assert rights_of(forged(ANN, BOB.certificate)) is None
    assert rights_of(forged(BOB, BOB.certificate), publisher=BOB.id) == Rights()


def test_certificate_of_another_authority_is_refused() -> None:
    """Though it names the same overlay, key and id, and gives all rights."""
    stranger = Office().enrol(key=ANN.key)
    assert stranger.id == ANN.id
    assert rights_of(stranger.notary.sign(ROOT)) is None
    assert rights_of(forged(ANN, Office().ca_der())) is None
    assert rights_of(forged(ANN, OFFICE.ca_der())) is None, "the CA itself is no node"


def test_certificate_of_another_overlay_is_refused() -> None:
    """Of the same CA, for the same key."""
    other = OFFICE.enrol(overlay="other", key=ANN.key)
    signature = other.notary.sign(ROOT)
    assert rights_of(signature, publisher=other.id) is None
    assert rights_of(signature, publisher=ANN.id) is None
    reader = NodeNotary(BOB.key, BOB.certificate, OFFICE.ca_der("other"), "other")
    assert reader.rights_of(other.id, ROOT, signature) == Rights()


@pytest.mark.parametrize("age_s", [8 * DAY_S, 400 * DAY_S, -8 * DAY_S])
def test_certificate_counts_beyond_its_dates(age_s: float) -> None:
    """An event may be handed over long after it was signed; who took it had its publisher on the line."""
    old = OFFICE.enrol(RIGHTS, age_s=age_s)
    assert rights_of(old.notary.sign(ROOT), publisher=old.id) == RIGHTS


def test_rights_are_those_of_the_certificate_that_came_along() -> None:
    """A renewed one may give others; what was signed under the old one stays as it was."""
    renewed = OFFICE.enrol(Rights(publish=("news",)), key=ANN.key)
    assert renewed.id == ANN.id
    notary = NodeNotary(ANN.key, ANN.certificate, OFFICE.ca_der(), OVERLAY)
    before = notary.sign(ROOT)
    notary.certificate = renewed.certificate
    after = notary.sign(ROOT)
    assert (rights_of(before), rights_of(after)) == (RIGHTS, Rights(publish=("news",)))


def test_signature_of_a_batch_means_nothing_else() -> None:
    """And no other signature of the node means a batch: what is signed begins with what it is for."""
    assert rights_of(Signature(ANN.key.sign(ROOT), ANN.certificate)) is None
    assert not is_signed(ROOT, SIGNED.value, ANN.key.public_bytes)


def test_root_is_verified_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many events of the batch come one by one."""
    verified: list[bytes] = []

    def counted(content: bytes, signature: bytes, public_key: bytes) -> bool:
        verified.append(content)
        return is_signed(content, signature, public_key)

    monkeypatch.setattr(notary_module, "is_signed", counted)
    reader = OFFICE.enrol().notary
    for _ in range(10):
        assert reader.rights_of(ANN.id, ROOT, SIGNED) == RIGHTS
        assert reader.rights_of(ANN.id, OTHER_ROOT, SIGNED) is None
    assert len(verified) == 2


def test_what_is_remembered_is_bounded() -> None:
    """By number, both of certificates and of roots; what was forgotten is verified again."""
    reader = OFFICE.enrol().notary
    for number in range(notary_module.REMEMBERED_MAX + 10):
        assert reader.rights_of(ANN.id, ROOT, Signature(b"", number.to_bytes(4, "big"))) is None
    assert reader._passport_in.cache_info().currsize == notary_module.REMEMBERED_MAX
    assert reader.rights_of(ANN.id, ROOT, SIGNED) == RIGHTS
