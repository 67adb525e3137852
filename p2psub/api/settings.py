"""What a person decides about a peer. It needs no trio: commands read it before they run anything."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from msgspec import Meta

from p2psub.config import NodeConfig, PubSubConfig
from p2psub.errors import ConfigError
from p2psub.model.ids import CLUSTER_CHARS_MAX

Address = Annotated[str, Meta(extra={"unit": "HOST:PORT"})]
ClusterName = Annotated[str, Meta(min_length=1, max_length=CLUSTER_CHARS_MAX)]
Port = Annotated[int, Meta(ge=0, le=65_535)]

AUTO: Final = "auto"
"""The name of no cluster: the peer chooses one."""

NODE = NodeConfig(pubsub=PubSubConfig(at_most_once_trace_every=64))
"""A peer's defaults: those of the simulator, but with a sample of what promises nothing."""


@dataclass(frozen=True, slots=True)
class PeerConfig:
    """Everything that a person decides about a peer."""

    data: Annotated[Path, Meta(examples=["/var/lib/p2psub/peer"])]
    """Where it keeps its key, certificate, events and traces."""
    bootstrap: Annotated[Address | None, Meta(examples=["192.0.2.7:7400"])] = None
    """The bootstrap; needed until the peer has enrolled."""
    token: Annotated[
        str | None, Meta(examples=["overlay.secret.fingerprint"], extra={"environment": "P2PSUB_JOIN_TOKEN"})
    ] = None
    """What `p2psub bootstrap token new` printed; needed once."""
    listen: Address = "127.0.0.1:0"
    """Where other peers reach it; port 0 takes a free one."""
    public_address: Annotated[Address | None, Meta(examples=["peer.example.org:7401"])] = None
    """What to tell the others, if that differs from where it listens: behind a NAT, say."""
    name: str = "peer"
    """What you call it."""
    cluster: Annotated[ClusterName | None, Meta(examples=["auto"])] = None
    """A cluster's name; `auto`, or none, chooses one by distance and size."""
    super_node: bool = True
    """Whether it may become its cluster's super-node."""
    traces: bool = True
    """Whether it writes trace segments for the analysis."""
    leaves: bool = True
    """Whether it gives away what it holds before it goes; else it is missed like one that crashed."""
    control_port: Port = 0
    """Port of the control API that `p2psub peer` serves on loopback; 0 takes a free one."""
    node: NodeConfig = NODE

    @property
    def wanted_cluster(self) -> str | None:
        """The cluster that was named; None lets the peer choose one."""
        return None if self.cluster == AUTO else self.cluster

    def __post_init__(self) -> None:
        if self.cluster is not None and not 0 < len(self.cluster) <= CLUSTER_CHARS_MAX:
            raise ConfigError("cluster", f"a name has 1 to {CLUSTER_CHARS_MAX} characters; choose another")
        if self.cluster is not None and any("\ud800" <= char <= "\udfff" for char in self.cluster):
            raise ConfigError("cluster", "the name contains an unpaired surrogate; give text that has a form in UTF-8")
