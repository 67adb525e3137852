"""Weight and age of messages. Most weigh the same and carry no event: what their classes say is not asked of each."""

from __future__ import annotations

from typing import Final

from p2psub.model.messages.base import SMALL, Message

_WEIGHT_OF_MOST: Final = Message.weight
_AGED_AS_MOST: Final = Message.aged


def weight_of(message: Message) -> int:
    """Its `weight`."""
    return SMALL if type(message).weight is _WEIGHT_OF_MOST else message.weight


def aged(message: Message, by_us: int) -> Message:
    """The same after so much waiting, or on its link."""
    return message if type(message).aged is _AGED_AS_MOST else message.aged(by_us)
