"""What its authority gave a node. Without an authority every node may do everything, and none is denied."""

from __future__ import annotations

from dataclasses import dataclass, field

from p2psub.model.messages.denials import DenyResponse
from p2psub.model.rights import Rights
from p2psub.overlay.denials import IsSigned
from p2psub.parcels.sealer import Notary


def nobody_signs(_: DenyResponse) -> bool:
    """There is no authority."""
    return False


@dataclass(frozen=True, slots=True)
class SecurityContext:
    """Rights, a notary that signs and verifies for us, and the deny list with the way to tell a true one."""

    rights: Rights = field(default_factory=Rights)
    notary: Notary | None = None
    denials: DenyResponse | None = None
    is_signed: IsSigned = nobody_signs
