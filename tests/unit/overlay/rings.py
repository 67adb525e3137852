"""Rings of real members, wired by an exchange in memory: what one sends, the other hears at once."""

from __future__ import annotations

from collections.abc import Iterable

from p2psub.config import RingConfig
from p2psub.model.circle import CIRCLE, place_after
from p2psub.model.ids import Contact, Key, NodeId, Place
from p2psub.model.messages import Message
from p2psub.model.messages.ring import Found, Lookup, Neighbourhood, Stabilise
from p2psub.model.step import Step
from p2psub.overlay.election import NO_EPOCH, Election
from p2psub.overlay.liveness import Liveness
from p2psub.overlay.lookup import Lookups
from p2psub.overlay.ring import Ring
from tests.unit.bench import CLUSTER, CONFIG, at, step_at


def elected(step: Step) -> Election:
    """The election of a node that knows its cluster, and not yet who leads it."""
    election = Election(step, CONFIG.cluster)
    election.recover(CLUSTER, NO_EPOCH)
    return election


class Peer:
    """One member: a ring and its look-ups."""

    def __init__(self, step: Step, config: RingConfig) -> None:
        self.step = step
        self.liveness = Liveness(step, CONFIG.liveness)
        self.ring = Ring(step, config, self.liveness, elected(step))
        self.lookups = Lookups(step, config, self.ring)

    def hear(self, sender: Contact, message: Message) -> None:
        """Take a message of the ring's protocol."""
        match message:
            case Stabilise():
                self.ring.on_stabilise(sender, message)
            case Neighbourhood():
                self.ring.on_neighbourhood(sender, message)
            case Lookup():
                self.lookups.on_lookup(sender, message)
            case Found():
                self.lookups.on_found(sender, message)
            case _:
                raise AssertionError(f"no message of a ring: {message}")


class Exchange:
    """Members that hear each other; the first ones get an ideal small ring, outgrown at once."""

    def __init__(self, places: Iterable[int] = (), config: RingConfig = CONFIG.ring) -> None:
        self.config = config
        self.peers: dict[NodeId, Peer] = {}
        self.found_ideal([at(place) for place in places])

    def found_ideal(self, members: list[Contact]) -> None:
        """A ring in which every list and predecessor is right."""
        ring = sorted(members, key=lambda contact: contact.id)
        for index, contact in enumerate(ring):
            peer = self.add(contact)
            after = [*ring[index + 1 :], *ring[:index]][: self.config.successors]
            peer.ring.take_small_list([contact, *after])
            peer.ring.predecessor = ring[index - 1] if len(ring) > 1 else None
            peer.ring.outgrow_small()

    def add(self, contact: Contact) -> Peer:
        """A member that is in no ring yet."""
        step = step_at(0)
        step.me = contact
        self.peers[contact.id] = Peer(step, self.config)
        return self.peers[contact.id]

    def join(self, place: int, via: int) -> None:
        """A newcomer looks itself up through a member, and copies the list it is told."""
        peer = self.add(at(place))

        def join(found: Found) -> None:
            peer.ring.join(found)

        peer.lookups.start(at(place).id, join, via=at(via))
        self.deliver()

    def look_up(self, origin: Contact, key: Key) -> Found:
        """Find the member before a key."""
        answers: list[Found] = []
        self.peers[origin.id].lookups.start(key, answers.append)
        self.deliver()
        (found,) = answers
        return found

    def fill_fingers(self) -> None:
        """Every member looks up each of its fingers, as it would one after the other."""
        for peer in self.peers.values():
            for finger in range(1, self.config.fingers + 1):
                start = Place(place_after(peer.step.me.id, CIRCLE >> finger))
                found = self.look_up(peer.step.me, Key(start))
                peer.ring.fingers[finger] = found.successors[0]

    def beat(self, count: int) -> None:
        """Let every member stabilise, in the order of their places."""
        for _ in range(count):
            for node in sorted(self.peers):
                self.peers[node].ring.stabilise()
                self.deliver()

    def deliver(self) -> None:
        """Hand every message to whom it is for, until nobody says anything more."""
        while busy := [peer for peer in self.peers.values() if peer.step.sends]:
            for peer in busy:
                sends, peer.step.sends[:] = list(peer.step.sends), []
                for to, message in sends:
                    self.peers[to.id].hear(peer.step.me, message)

    def check_ideal(self, places: list[int]) -> None:
        """Whether everybody's lists and predecessor are what the members say."""
        ring = sorted(at(place).id for place in places)
        for index, node in enumerate(ring):
            mine = self.peers[node].ring
            after = [*ring[index + 1 :], *ring[:index]][: self.config.successors]
            assert [contact.id for contact in mine.successors] == after
            assert mine.predecessor is not None
            assert mine.predecessor.id == ring[index - 1]
