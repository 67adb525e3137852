"""What is told of messages without asking each is what each says."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given, settings

from p2psub.model.messages import AnyMessage, Message
from p2psub.node.message_traits import aged, weight_of
from tests.oracles.instances import instances_of


@pytest.mark.parametrize("kind", get_args(AnyMessage), ids=lambda kind: kind.__name__)
def test_traits_of_any_message_are_its_own(kind: type[Message]) -> None:
    """Its weight, and how it grows older."""

    @given(instances_of(kind))
    @settings(deadline=None, max_examples=10)
    def check(message: Message) -> None:
        assert weight_of(message) == message.weight
        assert aged(message, 5) == message.aged(5)

    check()
