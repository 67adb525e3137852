"""An overlay as a person builds it: a bootstrap and peers, each a command in a terminal."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Sequence

import msgspec

from p2psub.cli.client import ControlClient
from p2psub.cli.endpoint import find_peer
from tests.runtime.terminals import Desk, Picture, Terminal, eventually

Place = tuple[str, str]
"""A node's id and its address."""


class Bootstrap:
    """A bootstrap that runs."""

    def __init__(self, desk: Desk, listen: str = "127.0.0.1:0") -> None:
        self._desk = desk
        self._data = desk.directory / "bootstrap"
        self.terminal = desk.open("bootstrap", "bootstrap", "--data", self._data, "--listen", listen)
        self.address = str(self.terminal.wait_picture(lambda said: said["ready"], "the bootstrap is up")["address"])

    def deny(self, node: str) -> int:
        """Exclude a node, by its id; the date of the list that says so."""
        return int(self._desk.run("bootstrap", "deny", "--data", self._data, node)["list_issued_s"])

    def token(self) -> str:
        """One that any peer may join with."""
        return str(self._desk.run("bootstrap", "token", "new", "--data", self._data, "--reusable")["token"])


class Subscriber:
    """`p2psub sub`, and the events it has printed."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    def wait_stable(self) -> None:
        """Return when every cluster knows of the subscription."""
        self._terminal.wait_picture(lambda said: said.get("verdict", {}).get("status") == "stable", "it is stable")

    def ids(self) -> list[str]:
        """The events so far, by their ids, in their order; red if it was told of a gap."""
        pictures = self._terminal.pictures()
        assert not [said for said in pictures if "gap" in said], self._terminal.text()
        return [said["event"]["id"] for said in pictures if "event" in said]

    def wait_seen(self, events: Iterable[str]) -> None:
        """Return when all of these events are there; what was handed over before the last of them is there too."""
        wanted = set(events)
        eventually(lambda: wanted <= set(self.ids()), f"{wanted} are seen", self._terminal.text)

    def wait_count(self, count: int) -> None:
        """Return when there are so many events."""
        eventually(lambda: len(self.ids()) == count, f"{count} events are seen", self._terminal.text)


class Peer:
    """A peer by its name and data directory, whether it runs or not."""

    def __init__(self, desk: Desk, name: str) -> None:
        self.name = name
        self.desk = desk
        self.data = desk.directory / name
        self.terminal: Terminal

    def start(self, *options: str) -> None:
        """Run it."""
        self.terminal = self.desk.open(self.name, "peer", "--data", self.data, "--name", self.name, *options)

    @property
    def place(self) -> Place:
        """Where it is in this life; known when it has said its first word."""
        return place_of(self.terminal.wait_picture(lambda said: True, f"{self.name} has started"))

    def wait_ready(self) -> None:
        """Return when it waits for nothing."""
        self.terminal.wait_picture(lambda said: said["ready"], f"{self.name} is ready")

    def leave(self) -> None:
        """End it gracefully."""
        assert self.terminal.end(signal.SIGTERM) == 0, self.terminal.text()

    def kill(self) -> None:
        """End it as a power failure would."""
        self.terminal.end(signal.SIGKILL)

    def status(self) -> Picture:
        """What `p2psub status` shows."""
        return self.desk.run("status", "--data", self.data)

    def look(self) -> Picture:
        """The same, asked from here where that is the same machine: for who asks again and again."""
        if self.desk.machine:
            return self.status()
        with ControlClient(find_peer(self.data)) as client:
            page: Picture = msgspec.to_builtins(client.status())
            return page

    def publish(self, topic: str, *assignments: str) -> Picture:
        """What became of an event, once it is acknowledged."""
        return self.desk.run("pub", topic, *assignments, "--data", self.data)

    def publishing(self, topic: str, *assignments: str) -> Terminal:
        """An event that is under way."""
        return self.desk.open(f"{self.name}-pub", "pub", topic, *assignments, "--data", self.data)

    def subscribe(self, wanted: str) -> Subscriber:
        """What comes of a filter, from its first verdict on."""
        subscriber = Subscriber(self.desk.open(f"{self.name}-sub", "sub", "--filter", wanted, "--data", self.data))
        subscriber.wait_stable()
        return subscriber


def wait_one_ring(peers: Sequence[Peer]) -> None:
    """Return when every peer sees all of these and nobody else, each once and where it now is."""
    eventually(lambda: not faults(peers), "there is one ring", lambda: faults(peers))


def faults(peers: Sequence[Peer]) -> list[str]:
    """What is wrong with the ring in the eyes of its members."""
    present = {peer.place for peer in peers}
    pages = [peer.look() for peer in peers]
    found = [f"{page['name']} sees others: {page['ring']}" for page in pages if not is_whole(page["ring"], present)]
    found += [f"{page['name']} is linked to the past: {links}" for page in pages if (links := stale(page, present))]
    if len({str(page["ring"]["super_node"]) for page in pages}) != 1:
        found.append("they follow different super-nodes")
    return found


def is_whole(page: Picture, present: set[Place]) -> bool:
    """Whether a peer's view of its ring has exactly the present members, and each where it is."""
    around = [place_of(contact) for contact in page["successors"]]
    others = {place for place in present if place[0] != page["id"]}
    named = {place_of(contact) for contact in (page["super_node"], page["predecessor"], *page["candidates"]) if contact}
    is_once = len(around) == len(others) and set(around) == others
    return is_once and named <= present and sorted(page["owners"]) == sorted(id_ for id_, _ in present)


def stale(page: Picture, present: set[Place]) -> list[Place]:
    """Links of a peer to where present members were."""
    ids = {id_ for id_, _ in present}
    links = [(link["peer"], link["address"]) for link in page["queues"]["links"]]
    return [link for link in links if link[0] in ids and link not in present]


def place_of(contact: Picture) -> Place:
    """A contact as a page shows it."""
    return contact["id"], contact["address"]


def wait_idle(peers: Sequence[Peer]) -> None:
    """Return when no peer owes anything to anybody: what was not handed over by then never is."""
    eventually(lambda: not busy(peers), "nothing is owed", lambda: busy(peers))


def busy(peers: Sequence[Peer]) -> list[Picture]:
    """What waits in the peers where something does."""
    queues = [peer.look()["queues"] for peer in peers]
    return [waiting for waiting in queues if waiting["outbox"] or waiting["undischarged"]]
