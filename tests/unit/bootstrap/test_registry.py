"""The rendezvous: tells everybody what super-nodes announced, decides nothing, survives nonsense."""

from __future__ import annotations

from random import Random

from bootstrap.registry import FOUNDING_US, RegistryCore
from p2psub.model.effects import Connect, Effect, LinkLost, LinkUp, Received, Transmit
from p2psub.model.graycode import Prefix
from p2psub.model.ids import ClusterId, Contact
from p2psub.model.instants import Micros, Stamp
from p2psub.model.messages import Message
from p2psub.model.messages.cube import DirectoryRequest, DirectoryResponse
from p2psub.model.messages.liveness import Ping, Pong
from p2psub.model.places import Entry
from tests.unit.bench import CONFIG, at, epoch

PEER = at(64)


def entry(cluster: str, term: int) -> Entry:
    """A cluster as announced in a term."""
    return Entry(ClusterId(cluster), Prefix(""), 1, at(term), epoch(term, term), 3)


class Registry:
    """A rendezvous to which peers are linked."""

    def __init__(self, founding_from_us: int | None = None) -> None:
        begins = None if founding_from_us is None else Micros(founding_from_us)
        self.core = RegistryCore(at(1), 1, CONFIG, Random(1), founding_from_us=begins)
        assert self.core.step([LinkUp(PEER, 1 << 20), LinkUp(at(9), 1 << 20)], Micros(0)) == []

    def hear(self, *messages: Message, peer: Contact = PEER, now_us: int = 1) -> list[Effect]:
        return self.core.step([Received(peer, list(messages), Stamp(0, 0))], Micros(now_us))

    def lets_found(self, peer: Contact, now_us: int) -> bool:
        """What it tells a newcomer that asks for the directory."""
        (effect,) = self.hear(DirectoryRequest(), peer=peer, now_us=now_us)
        assert isinstance(effect, Transmit)
        (said,) = effect.messages
        assert isinstance(said, DirectoryResponse)
        return said.may_found


def told(effects: list[Effect]) -> list[Message]:
    """What was sent back to the peer."""
    assert all(isinstance(effect, Transmit) and effect.peer == PEER.id for effect in effects)
    return [message for effect in effects if isinstance(effect, Transmit) for message in effect.messages]


def test_directory_is_told_to_whoever_asks() -> None:
    """All that was announced, by whomever."""
    registry = Registry()
    assert told(registry.hear(DirectoryRequest())) == [DirectoryResponse(())]
    registry.hear(DirectoryResponse((entry("a", 1),)), peer=at(9))
    registry.hear(DirectoryResponse((entry("b", 2),)))
    assert told(registry.hear(DirectoryRequest())) == [DirectoryResponse((entry("a", 1), entry("b", 2)))]


def test_old_announcement_does_not_replace_a_newer_one() -> None:
    """A deposed super-node that still announces sends nobody astray."""
    registry = Registry()
    registry.hear(DirectoryResponse((entry("a", 5),)))
    registry.hear(DirectoryResponse((entry("a", 4),)))
    assert told(registry.hear(DirectoryRequest())) == [DirectoryResponse((entry("a", 5),))]


def test_it_is_alive_and_ignores_what_does_not_concern_it() -> None:
    """Pings are answered; a message of another protocol neither kills it nor gets an answer."""
    assert told(Registry().hear(Pong(), Ping(), Pong())) == [Pong()]


def test_peer_whose_link_was_lost_is_dialled_again() -> None:
    """The answer to a question must not vanish with the old link."""
    registry = Registry()
    registry.core.step([LinkLost(PEER.id)], Micros(1))
    assert registry.hear(DirectoryRequest()) == [Connect(PEER)]
    (transmit,) = registry.core.step([LinkUp(PEER, 1 << 20)], Micros(2))
    assert told([transmit]) == [DirectoryResponse(())]


# Founding


def test_one_newcomer_at_a_time_may_found() -> None:
    """The first who asks, as often as it asks; two founders would make two overlays."""
    registry = Registry(founding_from_us=0)
    assert registry.lets_found(PEER, 1)
    assert not registry.lets_found(at(9), 2)
    assert registry.lets_found(PEER, 3)


def test_a_founder_that_fell_silent_is_replaced() -> None:
    """It had its time; whoever asks next may try. The first, should it come back, may not."""
    registry = Registry(founding_from_us=0)
    assert registry.lets_found(PEER, 1)
    assert not registry.lets_found(at(9), FOUNDING_US)
    assert registry.lets_found(at(9), 1 + FOUNDING_US)
    assert not registry.lets_found(PEER, 2 + FOUNDING_US)


def test_who_asks_on_and_does_not_found_keeps_nobody_from_it() -> None:
    """It may not be allowed to lead; after its time somebody else is let, and then it is not."""
    registry = Registry(founding_from_us=0)
    assert registry.lets_found(PEER, 1)
    assert registry.lets_found(PEER, FOUNDING_US)
    assert registry.lets_found(at(9), FOUNDING_US + 1)
    assert not registry.lets_found(PEER, FOUNDING_US + 2)


def test_nobody_founds_where_there_is_a_cluster() -> None:
    """Not even the one who was let, once another has announced its own."""
    registry = Registry(founding_from_us=0)
    assert registry.lets_found(PEER, 1)
    registry.hear(DirectoryResponse((entry("a", 1),)), peer=at(9))
    assert not registry.lets_found(PEER, 2)


def test_nobody_founds_before_the_living_were_heard() -> None:
    """After a restart the rendezvous knows nothing, and the overlay may well be there."""
    registry = Registry(founding_from_us=1000)
    assert not registry.lets_found(PEER, 999)
    assert registry.lets_found(at(9), 1000)
    assert not registry.lets_found(PEER, 1001)


def test_without_an_instant_nobody_founds() -> None:
    """The overlay was founded elsewhere."""
    assert not Registry().lets_found(PEER, 10 * FOUNDING_US)


def test_super_node_that_knows_less_is_told_the_rest() -> None:
    """Clusters that lost sight of each other find each other here; who knows everything is told nothing."""
    registry = Registry()
    registry.hear(DirectoryResponse((entry("a", 1),)), peer=at(9))
    everything = DirectoryResponse((entry("a", 1), entry("b", 2)))
    assert told(registry.hear(DirectoryResponse((entry("b", 2),)))) == [everything]
    assert told(registry.hear(everything)) == []
