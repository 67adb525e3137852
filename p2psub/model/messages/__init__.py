"""Everything one node says to another. `AnyMessage` is what the codec accepts."""

from p2psub.model.messages import casts, cluster, cube, denials, hello, liveness, pubsub, ring
from p2psub.model.messages.base import Lane, Message

AnyMessage = (
    hello.Hello
    | hello.Welcome
    | liveness.Ping
    | liveness.Pong
    | liveness.WitnessAsk
    | liveness.WitnessSay
    | ring.Stabilise
    | ring.Neighbourhood
    | ring.Lookup
    | ring.Found
    | cluster.Report
    | cluster.Reign
    | cluster.NotSuperNode
    | cluster.Left
    | cluster.Vacancy
    | cluster.Takeover
    | cluster.StreamState
    | cluster.StreamHeld
    | cluster.IndexTransfer
    | cluster.IndexHeld
    | cluster.StoreInterest
    | cluster.InterestStored
    | cube.CubeReport
    | cube.DirectoryAsk
    | cube.DirectorySay
    | cube.VectorOffer
    | cube.ChangeBatch
    | cube.SplitAsk
    | cube.SplitGrant
    | cube.SplitRefused
    | cube.Filled
    | casts.ChangeCast
    | casts.EventCast
    | casts.Custody
    | casts.Answer
    | casts.CastRefused
    | pubsub.Declare
    | pubsub.Verdict
    | pubsub.Publish
    | pubsub.Acknowledge
    | pubsub.NotOwner
    | pubsub.Keep
    | pubsub.Kept
    | pubsub.Discharged
    | pubsub.MatchAsk
    | pubsub.MatchSay
    | pubsub.Route
    | pubsub.Routed
    | pubsub.Deliver
    | pubsub.Delivered
    | pubsub.Stream
    | pubsub.StreamToShard
    | pubsub.StreamDeliver
    | pubsub.ShardAsk
    | pubsub.ShardEmpty
    | denials.DenyOffer
    | denials.DenySay
)

__all__ = [
    "AnyMessage",
    "Lane",
    "Message",
    "casts",
    "cluster",
    "cube",
    "denials",
    "hello",
    "liveness",
    "pubsub",
    "ring",
]
