"""Everything one node says to another. `AnyMessage` is what the codec accepts."""

from p2psub.model.messages import casts, cluster, cube, declarations, denials, hello, liveness, pubsub, ring, shards
from p2psub.model.messages.base import Lane, Message

AnyMessage = (
    hello.Hello
    | hello.Welcome
    | liveness.Ping
    | liveness.Pong
    | liveness.WitnessRequest
    | liveness.WitnessResponse
    | ring.Stabilise
    | ring.Neighbourhood
    | ring.Lookup
    | ring.Found
    | cluster.Heartbeat
    | cluster.HeartbeatAck
    | cluster.NotSuperNode
    | cluster.Left
    | cluster.Vacancy
    | cluster.Takeover
    | cluster.ReplicateChanges
    | cluster.ChangesReplicated
    | cluster.IndexTransfer
    | cluster.IndexStored
    | cluster.StoreChange
    | cluster.ChangeStored
    | cube.CubeHeartbeat
    | cube.DirectoryRequest
    | cube.DirectoryResponse
    | cube.VectorOffer
    | cube.ChangeBatch
    | cube.WayNews
    | cube.SplitRequest
    | cube.SplitGrant
    | cube.SplitRefused
    | cube.Filled
    | casts.ChangeCast
    | casts.EventCast
    | casts.CustodyRequest
    | casts.Custody
    | casts.Answer
    | casts.CastRefused
    | declarations.Declare
    | declarations.Verdict
    | pubsub.Publish
    | pubsub.Acknowledge
    | pubsub.NotOwner
    | pubsub.StoreCopy
    | pubsub.CopyStored
    | pubsub.CopyRefused
    | pubsub.CopyLost
    | pubsub.Discharged
    | pubsub.StillOwed
    | pubsub.GiveBackRequest
    | pubsub.GivenBack
    | shards.MatchRequest
    | shards.MatchResponse
    | pubsub.Route
    | pubsub.Routed
    | pubsub.Deliver
    | pubsub.Delivered
    | pubsub.WindowUpdate
    | pubsub.ParcelToOwner
    | shards.ParcelToShard
    | cluster.ShardRequest
    | cluster.ShardEmpty
    | denials.DenyOffer
    | denials.DenyResponse
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
