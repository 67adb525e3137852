"""A signed deny list reaches everybody who has a link to somebody who has it; nothing else is heeded."""

from __future__ import annotations

import itertools
from collections import deque

import pytest

from p2psub.model.effects import Deny
from p2psub.model.ids import Contact
from p2psub.model.messages import Message
from p2psub.model.messages.denials import DenyOffer, DenyResponse
from p2psub.model.records import Kind
from p2psub.overlay.denials import ASK_EVERY_TICKS, Denials
from tests.unit.bench import at, effects_of, node_at, records_of, sent, step_at

OLD = DenyResponse(5, (node_at(70),), b"signed")
NEW = DenyResponse(9, (node_at(70), node_at(80)), b"signed")
FORGED = DenyResponse(99, (node_at(1),), b"forged")


class Node:
    """A node's denials, and what it has denied."""

    def __init__(
        self,
        place: int,
        known: DenyResponse | None = None,
        source: Contact | None = None,
        members: tuple[Contact, ...] = (),
    ) -> None:
        self.contact = at(place)
        self.step = step_at(place)
        self.denials = Denials(self.step, lambda said: said.signature == b"signed", known, source, lambda: members)

    def hear(self, peer: Contact, message: Message) -> None:
        if isinstance(message, DenyOffer):
            self.denials.on_offer(peer, message)
        elif isinstance(message, DenyResponse):
            self.denials.on_deny_response(peer, message)

    def denied(self) -> list[DenyResponse]:
        """The lists heeded since the last look."""
        return [effect.denials for effect in effects_of(self.step, Deny)]


def talk(*nodes: Node) -> int:
    """Let messages pass between these nodes until nobody has anything to say; how many there were."""
    by_id = {node.contact.id: node for node in nodes}
    under_way = deque((node, *message) for node in nodes for message in sent(node.step))
    count = 0
    while under_way:
        sender, to, message = under_way.popleft()
        count += 1
        if to.id in by_id:
            by_id[to.id].hear(sender.contact, message)
            under_way += [(by_id[to.id], *more) for more in sent(by_id[to.id].step)]
    return count


def linked(*nodes: Node) -> tuple[Node, ...]:
    """Nodes in a line, each with a link to the next."""
    for one, other in itertools.pairwise(nodes):
        one.denials.link_up(other.contact)
        other.denials.link_up(one.contact)
    return nodes


def test_a_list_spreads_from_peer_to_peer() -> None:
    """Along a line of peers, of whom only the first hears of it; then nobody says anything more."""
    line = linked(*(Node(place) for place in range(1, 9)))
    assert talk(*line) == 0
    line[0].denials.learn(NEW)
    talk(*line)
    assert [node.denied() for node in line] == [[NEW]] * 8
    assert talk(*line) == 0


def test_whoever_comes_with_an_older_list_is_given_the_newer() -> None:
    """When the link opens, whichever side it is; two who have the same say so and no more."""
    ann, bob, cid = Node(1, NEW), Node(2, OLD), Node(3)
    linked(ann, bob)
    talk(ann, bob)
    linked(bob, cid)
    talk(bob, cid)
    assert (ann.denied(), bob.denied(), cid.denied()) == ([], [NEW], [NEW])
    linked(ann, cid)
    assert talk(ann, cid) == 2


@pytest.mark.parametrize("said", [FORGED, OLD, NEW])
def test_what_is_not_newer_or_not_signed_is_not_heeded(said: DenyResponse) -> None:
    """A forged one is recorded; nobody is denied by it, and it goes no further."""
    ann = Node(1, NEW)
    ann.denials.link_up(at(2))
    sent(ann.step)
    ann.hear(at(3), said)
    assert [record.reason for record in records_of(ann.step, Kind.DROP)] == (
        ["deny_list_not_signed"] if said is FORGED else []
    )
    assert ann.denied() == []
    assert sent(ann.step) == []


def test_the_denied_are_not_told() -> None:
    """Their links are about to end."""
    ann = Node(1)
    for place in (70, 80, 90):
        ann.denials.link_up(at(place))
    ann.denials.learn(NEW)
    assert sent(ann.step) == [(at(90), DenyOffer(9))]


def test_a_node_that_starts_asks_every_member_it_remembers() -> None:
    """A denied one that it meets first tells it nothing, and others may not know that it is back."""
    ann, bob = Node(1, source=at(200), members=(at(80), at(2))), Node(2, NEW)
    ann.denials.link_up(at(80))
    ann.step.tick += 1
    ann.denials.tick()
    talk(ann, bob)
    assert ann.denied() == [NEW]


def test_the_source_is_asked_every_minute() -> None:
    """Also by who knows of no list; and the others are told again, lest an offer was lost. Links that ended are not."""
    ann = Node(1, source=at(200))
    ann.step.tick += 1
    ann.denials.tick()
    assert sent(ann.step) == [(at(200), DenyOffer(0))]
    ann.denials.link_up(at(2))
    ann.denials.link_up(at(3))
    ann.denials.link_lost(node_at(3))
    for _ in range(ASK_EVERY_TICKS - 2):
        ann.step.tick += 1
        ann.denials.tick()
    assert sent(ann.step) == []
    ann.step.tick += 1
    ann.denials.tick()
    assert sent(ann.step) == [(at(200), DenyOffer(0))]
    ann.denials.learn(OLD)
    assert sent(ann.step) == [(at(2), DenyOffer(5))]
    for _ in range(ASK_EVERY_TICKS):
        ann.step.tick += 1
        ann.denials.tick()
    assert sent(ann.step) == [(at(200), DenyOffer(5)), (at(2), DenyOffer(5))]
