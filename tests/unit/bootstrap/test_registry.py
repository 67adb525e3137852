"""The rendezvous: tells everybody what super-nodes announced, decides nothing, survives nonsense."""

from __future__ import annotations

from random import Random

from bootstrap.registry import RegistryCore
from p2psub.model.effects import Connect, Effect, LinkLost, LinkUp, Received, Transmit
from p2psub.model.graycode import Prefix
from p2psub.model.ids import ClusterId, Contact
from p2psub.model.instants import Micros, Stamp
from p2psub.model.messages import Message
from p2psub.model.messages.cube import DirectoryAsk, DirectorySay
from p2psub.model.messages.liveness import Ping, Pong
from p2psub.model.places import Entry
from tests.unit.bench import CONFIG, at, epoch

PEER = at(64)


def entry(cluster: str, reign: int) -> Entry:
    """A cluster as announced in a reign."""
    return Entry(ClusterId(cluster), Prefix(""), 1, at(reign), epoch(reign, reign), 3)


class Registry:
    """A rendezvous to which peers are linked."""

    def __init__(self) -> None:
        self.core = RegistryCore(at(1), 1, CONFIG, Random(1))
        assert self.core.step([LinkUp(PEER, 1 << 20), LinkUp(at(9), 1 << 20)], Micros(0)) == []

    def hear(self, *messages: Message, peer: Contact = PEER) -> list[Effect]:
        return self.core.step([Received(peer, list(messages), Stamp(0, 0))], Micros(1))


def told(effects: list[Effect]) -> list[Message]:
    """What was sent back to the peer."""
    assert all(isinstance(effect, Transmit) and effect.peer == PEER.id for effect in effects)
    return [message for effect in effects if isinstance(effect, Transmit) for message in effect.messages]


def test_directory_is_told_to_whoever_asks() -> None:
    """All that was announced, by whomever."""
    registry = Registry()
    assert told(registry.hear(DirectoryAsk())) == [DirectorySay(())]
    registry.hear(DirectorySay((entry("a", 1),)), peer=at(9))
    registry.hear(DirectorySay((entry("b", 2),)))
    assert told(registry.hear(DirectoryAsk())) == [DirectorySay((entry("a", 1), entry("b", 2)))]


def test_old_announcement_does_not_replace_a_newer_one() -> None:
    """A deposed super-node that still announces sends nobody astray."""
    registry = Registry()
    registry.hear(DirectorySay((entry("a", 5),)))
    registry.hear(DirectorySay((entry("a", 4),)))
    assert told(registry.hear(DirectoryAsk())) == [DirectorySay((entry("a", 5),))]


def test_it_is_alive_and_ignores_what_does_not_concern_it() -> None:
    """Pings are answered; a message of another protocol neither kills it nor gets an answer."""
    assert told(Registry().hear(Pong(), Ping(), Pong())) == [Pong()]


def test_peer_whose_link_was_lost_is_dialled_again() -> None:
    """The answer to a question must not vanish with the old link."""
    registry = Registry()
    registry.core.step([LinkLost(PEER.id)], Micros(1))
    assert registry.hear(DirectoryAsk()) == [Connect(PEER)]
    (transmit,) = registry.core.step([LinkUp(PEER, 1 << 20)], Micros(2))
    assert told([transmit]) == [DirectorySay(())]
