"""DrawnVotes by the seed: in each cluster the owners refuse a share of all subscriptions, whoever owns the key by then.

So a checker knows what must become of a subscription, and no node does.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from p2psub.model.content import Subscription
from p2psub.model.ids import ClusterId, SubscriptionId


@dataclass(frozen=True, slots=True)
class DrawnVotes:
    """How all clusters of one run vote."""

    seed: int
    refused_share: float

    def against(self, cluster: ClusterId, subscription: SubscriptionId) -> bool:
        """Whether the owners of a cluster refuse a subscription, in whichever version."""
        node, incarnation, sequence = subscription
        drawn = Random(f"{self.seed}/votes/{cluster}/{node.hex()}/{incarnation}/{sequence}")
        return drawn.random() < self.refused_share


@dataclass(frozen=True, slots=True)
class ClusterPolicy:
    """The policy of every node of a cluster."""

    votes: DrawnVotes
    cluster: ClusterId

    @property
    def may_refuse(self) -> bool:
        return self.votes.refused_share > 0

    def grants(self, subscription: Subscription) -> bool:
        return not self.votes.against(self.cluster, subscription.id)
