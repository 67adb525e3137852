"""The life cycle is its table: every stage can be reached, only the last is an end, and the diagram shows it all."""

from __future__ import annotations

import pytest

from p2psub.model.status import LifeStage, Role
from p2psub.node.life_cycle import ROLES, TRANSITIONS, Happening, LifeCycle, diagram


def test_every_stage_is_reached_and_all_lead_to_the_end() -> None:
    """From seeking to left, by whatever may happen."""
    reached = {LifeStage.SEEKING}
    for _ in LifeStage:
        reached |= {target for stage in reached for target in TRANSITIONS[stage].values()}
    assert reached == set(LifeStage)
    for stage in LifeStage:
        life = LifeCycle()
        life.stage = stage
        life.note(Happening.ASKED_TO_LEAVE)
        assert life.is_leaving
        life.note(Happening.RELEASED)
        assert life.stage is LifeStage.LEFT


def test_every_stage_has_a_role() -> None:
    """A node serves a term in exactly the stages that only a super-node knows."""
    assert set(ROLES) == set(TRANSITIONS) == set(LifeStage)
    serving = {stage for stage in LifeStage if Happening.DEPOSED in TRANSITIONS[stage]} - {
        LifeStage.LEAVING,
        LifeStage.LEFT,
    }
    assert serving == {stage for stage, role in ROLES.items() if role is Role.SUPER_NODE}


def test_what_the_table_does_not_name_is_our_fault() -> None:
    """A member cannot be placed in the cube: a node that were would act on a term that it does not serve."""
    life = LifeCycle()
    life.note(Happening.HEARD_SUPER_NODE)
    life.note(Happening.ENTERED_RING)
    with pytest.raises(AssertionError, match="member meets what the life cycle rules out"):
        life.note(Happening.PLACED)
    assert life.stage is LifeStage.MEMBER


def test_a_node_that_leaves_only_leaves() -> None:
    """Whatever else happens to it."""
    for happening in set(Happening) - {Happening.RELEASED}:
        life = LifeCycle()
        life.note(Happening.ASKED_TO_LEAVE)
        life.note(happening)
        assert life.stage is LifeStage.LEAVING


def test_the_diagram_draws_every_change_of_stage() -> None:
    """And nothing else."""
    drawn = [line for line in diagram().splitlines() if "-->" in line and "[*]" not in line]
    changes = [(s, t) for s, row in TRANSITIONS.items() for t in row.values() if s is not t]
    assert len(drawn) == len(changes) > 20
