"""Asking for the directory: the bootstrap, our own cluster, and those that speak or could speak for other clusters."""

from __future__ import annotations

from p2psub.model.ids import Contact
from p2psub.model.messages.cube import DirectoryRequest
from p2psub.model.places import Standing
from p2psub.node.cores import Cores


class DirectoryProbe:
    """Asks one after the other, so that a long memory costs no more than a short one."""

    def __init__(self, cores: Cores, contacts: tuple[Contact, ...]) -> None:
        self._cores = cores
        self._contacts = contacts
        self._asked = 0

    def near(self) -> list[Contact]:
        """The contacts we were given, and the members we remember of our cluster."""
        me = self._cores.step.me.id
        return [c for c in (*self._contacts, *self._cores.ring.remembered.values()) if c.id != me]

    def _far(self, *, present: bool = True) -> list[Contact]:
        """Super-nodes of the directory and their spares; one that leads no more knows its successor."""
        me, entries = self._cores.step.me.id, self._cores.directory.entries()
        wanted = [entry for entry in entries if (entry.standing is Standing.PRESENT) is present]
        return [c for entry in wanted for c in (entry.super_node, *entry.spares) if c.id != me]

    def ask_near(self) -> None:
        """Ask the next one near."""
        self._asked += 1
        self._ask(self.near())

    def ask_all(self) -> None:
        """Ask the next one near and the next one far."""
        self.ask_near()
        self._ask(self._far())

    def ask_given_up(self) -> None:
        """Ask the next one of a cluster that was given up: it may have lived on elsewhere, and given us up."""
        self._asked += 1
        self._ask(self._far(present=False))

    def _ask(self, around: list[Contact]) -> None:
        if around:
            self._cores.step.send(around[self._asked % len(around)], DirectoryRequest())
