"""What is published and wanted in the default load: quotes with typed attributes, and filters that fit some of them.

An event matches two to six of 64 subscriptions: about three pin its topic, and each of the sixteen without a topic
takes one event in ten.
"""

from __future__ import annotations

from random import Random
from typing import Final

from p2psub.model.content import TOPIC, Filter, Moment, Operator, Predicate, Value

TOPICS: Final = tuple(f"quotes/{n:02d}" for n in range(16))
SYMBOLS: Final = ("ACME", "ACNE", "BOLT", "BORE", "CARE", "CORE", "DUSK", "DAWN")
TAGS: Final = ("asia", "bond", "cash", "debt", "euro", "fund")
DAY_US: Final = 86_400_000_000


def draw_attributes(rng: Random) -> dict[str, Value]:
    """The attributes of one event: every type of content, and now and then one is missing."""
    attributes: dict[str, Value] = {
        "price": round(rng.uniform(0.0, 100.0), 2),
        "quantity": rng.randint(1, 1000),
        "symbol": rng.choice(SYMBOLS),
        "urgent": rng.random() < 0.3,
        "due": Moment(rng.randrange(30) * DAY_US),
        "tags": frozenset(rng.sample(TAGS, rng.randint(0, 3))),
    }
    if rng.random() < 0.2:
        del attributes[rng.choice(sorted(attributes))]
    return attributes


def draw_pinned_filter(rng: Random) -> Filter:
    """A filter that names its topic, or a few, and takes most of what comes under it."""
    if rng.random() < 0.8:
        topic = Predicate(TOPIC, Operator.EQUAL, rng.choice(TOPICS))
    else:
        topic = Predicate(TOPIC, Operator.IN, frozenset(rng.sample(TOPICS, 2)))
    conjunctions = [(topic, *_loose(rng))]
    if rng.random() < 0.1:
        conjunctions.append((Predicate(TOPIC, Operator.EQUAL, rng.choice(TOPICS)), _narrow(rng)))
    return Filter(tuple(conjunctions))


def draw_open_filter(rng: Random) -> Filter:
    """A filter that pins no topic and takes about one event in ten."""
    first = (_narrow(rng),)
    if rng.random() < 0.3:
        return Filter((first, (_narrow(rng), _narrow(rng))))
    return Filter((first,))


def _loose(rng: Random) -> list[Predicate]:
    choices = [
        [],
        [Predicate("price", Operator.GREATER, round(rng.uniform(0.0, 50.0), 2))],
        [Predicate("quantity", Operator.LESS_EQUAL, rng.randint(500, 1000))],
        [Predicate("urgent", Operator.EQUAL, False)],
        [Predicate("symbol", Operator.UNEQUAL, rng.choice(SYMBOLS))],
        [Predicate("due", Operator.GREATER_EQUAL, Moment(rng.randrange(15) * DAY_US))],
        [Predicate("tags", Operator.SUBSET, frozenset(rng.sample(TAGS, 5)))],
    ]
    return rng.choice(choices)


def _narrow(rng: Random) -> Predicate:
    return rng.choice(
        [
            Predicate("price", Operator.LESS, round(rng.uniform(5.0, 15.0), 2)),
            Predicate("quantity", Operator.GREATER, rng.randint(850, 950)),
            Predicate("symbol", Operator.EQUAL, rng.choice(SYMBOLS)),
            Predicate("symbol", Operator.IN, frozenset(rng.sample(SYMBOLS, 1))),
            Predicate("symbol", Operator.PREFIX, rng.choice(SYMBOLS)[:3]),
            Predicate("symbol", Operator.SUFFIX, rng.choice(SYMBOLS)[-3:]),
            Predicate("due", Operator.EQUAL, Moment(rng.randrange(30) * DAY_US)),
            Predicate("tags", Operator.PROPER_SUBSET, frozenset(rng.sample(TAGS, 1))),
        ]
    )
