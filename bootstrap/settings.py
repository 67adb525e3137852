"""What a person decides about a bootstrap."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from p2psub.api.settings import Address
from p2psub.config import NodeConfig


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """Everything that a person decides about a bootstrap."""

    data: Annotated[Path, Meta(examples=["/var/lib/p2psub/bootstrap"])]
    """The authority's directory: it is the overlay. Back it up."""
    overlay: str = "overlay"
    """The overlay's name, for ever."""
    listen: Address = "127.0.0.1:7400"
    """Where newcomers and peers reach it."""
    public_address: Annotated[Address | None, Meta(examples=["bootstrap.example.org:7400"])] = None
    """What to tell peers, if that differs from where it listens."""
    node: NodeConfig = field(default_factory=NodeConfig)
