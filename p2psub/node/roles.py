"""Which part of a node acts, by the stage of its life: joiner, member, super-node, leaver."""

from __future__ import annotations

from collections.abc import Callable

from p2psub.model.ids import ClusterId, Contact
from p2psub.model.status import LifeStage, Role
from p2psub.node.cores import Cores
from p2psub.node.joiner import Joiner
from p2psub.node.leadership import Leadership
from p2psub.node.leaver import Leaver
from p2psub.node.life_cycle import ROLES, LifeCycle
from p2psub.node.membership import Membership


class Roles:
    """The parts of a node that take turns."""

    def __init__(self, cores: Cores, contacts: tuple[Contact, ...], cluster: ClusterId | None, score: float) -> None:
        self._cores = cores
        self.life = LifeCycle()
        self.leadership = Leadership(cores, self.life, contacts)
        self.membership = Membership(cores, self.life, self.leadership, score)
        self.joiner = Joiner(cores, self.membership, self.leadership, contacts, cluster)
        self.leaver = Leaver(cores, self.life, self.membership, self.leadership)
        self._ticks: dict[LifeStage, Callable[[bool], None]] = {
            LifeStage.SEEKING: self._seek,
            LifeStage.JOINING: self._follow,
            LifeStage.MEMBER: self._follow,
            LifeStage.CANDIDATE: self._follow,
            LifeStage.FOUNDING: self.leadership.tick,
            LifeStage.FILLING: self.leadership.tick,
            LifeStage.SUPER_NODE: self.leadership.tick,
            LifeStage.LEAVING: self._leave,
        }

    @property
    def role(self) -> Role:
        """What we are to our cluster."""
        return Role.SUPER_NODE if self._cores.office.term is not None else ROLES[self.life.stage]

    def tick(self) -> None:
        """Do this tick's part of the stage we are in; every second tick completes a heartbeat."""
        is_beat = self._cores.step.tick % 2 == 0
        if is_beat:
            self._cores.ring.stabilise()
        self._ticks[self.life.stage](is_beat)

    def _seek(self, is_beat: bool) -> None:
        """Without super-node: take over when it is our turn, else look for one."""
        if self.membership.is_my_turn():
            self.membership.take_over()
            return
        self.joiner.seek()
        if is_beat:
            self.joiner.tell_vacancy()

    def _follow(self, is_beat: bool) -> None:
        """With a super-node, tell it that we are there; a member that has lost it waits for its turn."""
        super_node = self._cores.election.super_node
        if super_node is None:
            self._seek(is_beat)
        elif is_beat:
            self.membership.beat(super_node)

    def _leave(self, is_beat: bool) -> None:
        self.leaver.leave_if_free()
        self._go_on(is_beat)

    def _go_on(self, is_beat: bool) -> None:
        """Whatever we do besides leaving."""
        if self._cores.office.term is not None:
            self.leadership.tick(is_beat)
        else:
            self._follow(is_beat)

    def watch(self) -> None:
        """Watch the peers whose silence matters to us; act on the verdicts."""
        cores, election, term = self._cores, self._cores.election, self._cores.office.term
        watched, witnesses = cores.ring.watched(), list(cores.ring.successors)
        if term is not None:
            watched += term.roster.contacts() + cores.cube.watched() + term.casts.custodians.watched()
            witnesses += watched
        elif election.super_node is not None:
            watched.append(election.super_node)
            witnesses += election.candidates
        elif election.is_vacant:
            # Whether we alone were cut off shows in which members of the cluster we hear.
            watched += cores.known_members()
        cores.liveness.watch_only(watched)
        for contact, fate in cores.liveness.tick(witnesses):
            self.membership.pronounced(contact, fate)
