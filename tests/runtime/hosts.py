"""Hosts of their own: network namespaces on a switch, whose cables can be pulled. Only root can make them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest


class Network:
    """Hosts with one address each, on one switch; the switch is a namespace too, so nothing outside is touched."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._switch = f"{name}-switch"

    def build(self, hosts: int, stack: ExitStack) -> list[Host]:
        """Make them all; the stack unmakes them."""
        _make_namespace(self._switch, stack)
        _ip("-n", self._switch, "link", "add", "bridge", "type", "bridge")
        _ip("-n", self._switch, "link", "set", "bridge", "up")
        return [self._host(number, stack) for number in range(1, hosts + 1)]

    def _host(self, number: int, stack: ExitStack) -> Host:
        namespace, port, address = f"{self._name}-{number}", f"port{number}", f"10.0.0.{number}"
        _make_namespace(namespace, stack)
        end = ("peer", "name", "cable", "netns", namespace)
        _ip("-n", self._switch, "link", "add", port, "type", "veth", *end)
        _ip("-n", self._switch, "link", "set", port, "master", "bridge", "up")
        _ip("-n", namespace, "address", "add", f"{address}/24", "dev", "cable")
        for link in ("lo", "cable"):
            _ip("-n", namespace, "link", "set", link, "up")
        return Host(namespace, address, self._switch, port)


class Host:
    """A machine, as far as the network goes."""

    def __init__(self, namespace: str, address: str, switch: str, port: str) -> None:
        self._namespace = namespace
        self.address = address
        self.machine = ("ip", "netns", "exec", namespace)
        """What runs a command there."""
        self._port = ("-n", switch, "link", "set", port)

    def slow_down(self, rate: str) -> None:
        """Let the machine send no faster, by a buffer of one second; again, and the rate is another."""
        line = ("tbf", "rate", rate, "burst", "5kb", "latency", "1s")
        _run("tc", "-n", self._namespace, "qdisc", "replace", "dev", "cable", "root", *line)

    def cut(self) -> None:
        """Pull its cable."""
        _ip(*self._port, "down")

    def heal(self) -> None:
        """Put it back."""
        _ip(*self._port, "up")


@contextmanager
def hosts_on_a_switch(count: int) -> Iterator[list[Host]]:
    """Hosts that reach each other; they are gone when the block ends. Skips where they cannot be had, and says why."""
    if shutil.which("ip") is None:
        pytest.skip("there is no `ip` command: install iproute2")
    if os.geteuid() != 0:
        pytest.skip("only root may make network namespaces")
    with ExitStack() as stack:
        try:
            hosts = Network(f"p2psub-{os.getpid()}").build(count, stack)
        except subprocess.CalledProcessError as error:
            pytest.skip(f"network namespaces do not work here: {' '.join(error.cmd)}: {error.stderr.strip()}")
        yield hosts


def _make_namespace(name: str, stack: ExitStack) -> None:
    _ip("netns", "add", name)
    stack.callback(_ip, "netns", "delete", name)


def _ip(*words: str) -> None:
    _run("ip", *words)


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, text=True)
