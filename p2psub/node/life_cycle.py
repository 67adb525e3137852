"""The life cycle of a node, as a table: its stages, what happens to it, and where that leads.

    >>> LifeCycle().stage
    <LifeStage.SEEKING: 'seeking'>

Whatever acts by the stage of a node reads it here. What the table does not name cannot happen; if it does, that is a
fault of ours.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final

from p2psub.model.status import LifeStage, Role

_S = LifeStage


class Happening(enum.StrEnum):
    """What changes the stage of a node."""

    HEARD_SUPER_NODE = "a super-node of its cluster is heard"
    LOST_SUPER_NODE = "its super-node is lost"
    ENTERED_RING = "it is in the ring"
    CHOSEN = "the super-node names it an in-sync candidate"
    NOT_CHOSEN = "the super-node names others"
    FOUNDED = "it begins a term to found a cluster"
    TOOK_OVER = "it begins a term"
    PROMISED = "it is promised a place in the cube"
    NOT_PROMISED = "the promise is withdrawn"
    PLACED = "it is complete and its cluster has a place"
    DISPLACED = "its cluster lost its place, or went on without it"
    DEPOSED = "it hears of a higher epoch"
    RESIGNED = "its cluster was founded by another"
    ASKED_TO_LEAVE = "it is told to leave"
    RELEASED = "it holds nothing any more"


_H = Happening

_MEMBERSHIP: Final[Mapping[Happening, LifeStage]] = {
    _H.CHOSEN: _S.CANDIDATE,
    _H.NOT_CHOSEN: _S.MEMBER,
    _H.TOOK_OVER: _S.FILLING,
    _H.ASKED_TO_LEAVE: _S.LEAVING,
}
_TERM: Final[Mapping[Happening, LifeStage]] = {
    _H.TOOK_OVER: _S.FILLING,
    _H.PLACED: _S.SUPER_NODE,
    _H.DEPOSED: _S.MEMBER,
    _H.RESIGNED: _S.SEEKING,
    _H.ASKED_TO_LEAVE: _S.LEAVING,
}

TRANSITIONS: Final[Mapping[LifeStage, Mapping[Happening, LifeStage]]] = {
    _S.SEEKING: {
        _H.HEARD_SUPER_NODE: _S.JOINING,
        _H.LOST_SUPER_NODE: _S.SEEKING,
        _H.ENTERED_RING: _S.MEMBER,
        _H.FOUNDED: _S.FOUNDING,
        _H.TOOK_OVER: _S.FILLING,
        _H.ASKED_TO_LEAVE: _S.LEAVING,
    },
    _S.JOINING: {
        _H.HEARD_SUPER_NODE: _S.JOINING,
        _H.LOST_SUPER_NODE: _S.SEEKING,
        _H.ENTERED_RING: _S.MEMBER,
        _H.CHOSEN: _S.JOINING,
        _H.NOT_CHOSEN: _S.JOINING,
        _H.ASKED_TO_LEAVE: _S.LEAVING,
    },
    _S.MEMBER: {**_MEMBERSHIP, _H.HEARD_SUPER_NODE: _S.MEMBER, _H.LOST_SUPER_NODE: _S.MEMBER},
    _S.CANDIDATE: {**_MEMBERSHIP, _H.HEARD_SUPER_NODE: _S.CANDIDATE, _H.LOST_SUPER_NODE: _S.CANDIDATE},
    _S.FOUNDING: {**_TERM, _H.PROMISED: _S.FILLING},
    _S.FILLING: {**_TERM, _H.NOT_PROMISED: _S.FOUNDING},
    _S.SUPER_NODE: {**_TERM, _H.DISPLACED: _S.FILLING},
    # A node that leaves goes on with what it does, but it only ever leaves.
    _S.LEAVING: {**dict.fromkeys(Happening, _S.LEAVING), _H.RELEASED: _S.LEFT},
    _S.LEFT: dict.fromkeys(Happening, _S.LEFT),
}

ROLES: Final[Mapping[LifeStage, Role]] = {
    _S.SEEKING: Role.JOINING,
    _S.JOINING: Role.JOINING,
    _S.MEMBER: Role.MEMBER,
    _S.CANDIDATE: Role.CANDIDATE,
    _S.FOUNDING: Role.SUPER_NODE,
    _S.FILLING: Role.SUPER_NODE,
    _S.SUPER_NODE: Role.SUPER_NODE,
    _S.LEAVING: Role.MEMBER,
    _S.LEFT: Role.MEMBER,
}
"""What a node is to its cluster. One that leaves is a member, unless it still serves a term."""


class LifeCycle:
    """Where one node is in its life."""

    def __init__(self) -> None:
        self.stage = LifeStage.SEEKING
        self.has_left = False
        """Whether everything was given away."""

    def note(self, happening: Happening) -> None:
        """Go where the table leads."""
        following = TRANSITIONS[self.stage].get(happening)
        assert following is not None, f"a node that is {self.stage} meets what the life cycle rules out: {happening}"
        self.stage = following
        self.has_left = following is LifeStage.LEFT

    @property
    def is_leaving(self) -> bool:
        """Whether the node is about to go, or has gone."""
        return self.stage is LifeStage.LEAVING or self.has_left


def diagram() -> str:
    """The table as a Mermaid state diagram; what leaves a stage as it is, or only goes on leaving, is not drawn."""
    lines = ["stateDiagram-v2", "    [*] --> seeking"]
    for stage, following in TRANSITIONS.items():
        for happening, target in following.items():
            if target is not stage:
                lines.append(f"    {stage} --> {target}: {happening}")
    return "\n".join([*lines, "    left --> [*]"]) + "\n"
