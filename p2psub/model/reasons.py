"""Why things happened, in one word: what traces, metrics, refusals and errors say is the same word.

The record of a kind has reasons of its own group; `channel_full` is why an event is dropped, and why there is a gap.
"""

from __future__ import annotations

import enum
from typing import Final


class Reason(enum.StrEnum):
    """Why something was dropped, arrived again, is missing in a channel, or began or ended a term."""

    # A drop of an event at its subscriber
    ENDED = "ended"
    UNSUBSCRIBED = "unsubscribed"
    REFUSED = "refused"
    CHANNEL_FULL = "channel_full"
    OLDER_THAN_TTL = "older_than_ttl"
    # A drop of an event on its way
    NO_OWNER = "no_owner"
    NOT_OWNER = "not_owner"
    NO_SUPER_NODE = "no_super_node"
    SHARD_UNREACHABLE = "shard_unreachable"
    TOO_EARLY = "too_early"
    EXPIRED = "expired"
    HOPELESS = "hopeless"
    # Which time ran out for what expired
    DEADLINE = "deadline"
    TIMEOUT = "timeout"
    # A refusal of an event or of a declaration
    OUTBOX_FULL = "outbox_full"
    ABOVE_RATE = "above_rate"
    NO_PROMISE = "no_promise"
    DISK_FULL = "disk_full"
    NOT_AUTHORIZED = "not_authorized"
    FOREIGN_EVENT = "foreign_event"
    BAD_SIGNATURE = "bad_signature"
    FILTER_TOO_LARGE = "filter_too_large"
    BAD_BID = "bad_bid"
    VOTED_DOWN = "voted_down"
    """An owner of some cluster voted against a subscription."""
    # A drop of a message
    UNEXPECTED_MESSAGE = "unexpected_message"
    LINK_QUEUE_FULL = "link_queue_full"
    LINK_LOST = "link_lost"
    LOOKUP_HOPS = "lookup_hops"
    CLUSTER_FULL = "cluster_full"
    NO_SUBSCRIPTION = "no_subscription"
    DENY_LIST_NOT_SIGNED = "deny_list_not_signed"
    # A drop of packs whose bodies cannot be read
    UNREADABLE = "unreadable"
    # A drop of records
    TRACE_OVERFLOW = "trace_overflow"
    TRACE_DISCARDED = "trace_discarded"
    # A gap; also `channel_full`. A refusal of a declaration that was ended without its peer is `lapsed`, too
    SPOOL_FULL = "spool_full"
    ORDER = "order"
    LAPSED = "lapsed"
    # A duplicate
    CAST_REPEATED = "cast_repeated"
    LATE_ANSWER = "late_answer"
    PUBLISH_REPEATED = "publish_repeated"
    PARCEL_REPEATED = "parcel_repeated"
    DELIVERED_BEFORE = "delivered_before"
    # A role
    SUPER_NODE = "super_node"
    DEPOSED = "deposed"
    RESIGNED = "resigned"
    ABDICATED = "abdicated"
    # A copy that a process found in its own store
    RECOVERED = "recovered"
    # A record that counts happenings of its kind which have no record of their own
    UNTRACED = "untraced"


REFUSALS: Final = (
    Reason.OUTBOX_FULL,
    Reason.OLDER_THAN_TTL,
    Reason.ABOVE_RATE,
    Reason.NO_PROMISE,
    Reason.DISK_FULL,
    Reason.NOT_AUTHORIZED,
    Reason.FOREIGN_EVENT,
    Reason.BAD_SIGNATURE,
)
"""Why a publisher's own node, or the owner of the topic, does not take an event."""


class SplitRefusal(enum.StrEnum):
    """Why a super-node does not give half of its prefix to a founder."""

    NOT_THE_SHORTEST = "not_the_shortest"
    BUSY = "busy"
    PRESENT = "present"
    PROMISED_TO_ANOTHER = "promised_to_another"
    NOT_PROMISED = "not_promised"
