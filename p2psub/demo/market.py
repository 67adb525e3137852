"""What is published and wanted in the demo: quotes, and filters as a person would write them."""

from __future__ import annotations

from random import Random
from typing import Final

from p2psub.model.content import Draft, Moment, Value

SYMBOLS: Final = ("ACME", "ACNE", "BOLT", "BORE", "CARE", "CORE", "DAWN", "DUSK")
VENUES: Final = ("dark pool", "exchange", "over the counter")
TAGS: Final = ("bond", "cash", "euro", "fund")
NUMBER: Final = "number"
"""The attribute by which an event is known again when it arrives."""

_DAY_US: Final = 86_400_000_000
_FIRST_DAY_US: Final = 20_454 * _DAY_US
"""2026-01-01."""


def draw_event(rng: Random, number: int) -> Draft:
    """One quote; now and then it lacks an attribute, so that some filters are of no opinion."""
    symbol = rng.choice(SYMBOLS)
    attributes: dict[str, Value] = {
        "symbol": symbol,
        "price": round(rng.uniform(1.0, 100.0), 2),
        "quantity": rng.randint(1, 1000),
        "venue": rng.choice(VENUES),
        "urgent": rng.random() < 0.3,
        "due": Moment(_FIRST_DAY_US + rng.randrange(31) * _DAY_US),
        "tags": frozenset(rng.sample(TAGS, rng.randint(0, 3))),
    }
    if rng.random() < 0.1:
        del attributes[rng.choice(sorted(attributes))]
    return Draft(f"quotes/{symbol}", attributes | {NUMBER: number})


def draw_filters(rng: Random, count: int) -> list[str]:
    """Filters of every kind: most pin a topic, the others look at what all topics carry."""
    kinds = (_of_one_topic, _of_two_topics, _by_price, _by_spelling, _by_set, _by_date)
    return [kinds[number % len(kinds)](rng) for number in range(count)]


def _of_one_topic(rng: Random) -> str:
    return f"topic = 'quotes/{rng.choice(SYMBOLS)}' AND price > {rng.randint(10, 50)}"


def _of_two_topics(rng: Random) -> str:
    one, other = rng.sample(SYMBOLS, 2)
    return f"topic IN ('quotes/{one}', 'quotes/{other}') AND NOT venue LIKE 'dark%'"


def _by_price(rng: Random) -> str:
    low = rng.randint(1, 85)
    return f"price BETWEEN {low} AND {low + 10} OR quantity > {rng.randint(900, 980)}"


def _by_spelling(rng: Random) -> str:
    return f"symbol STARTS WITH '{rng.choice(SYMBOLS)[:2]}' AND urgent = TRUE"


def _by_set(rng: Random) -> str:
    return f"tags CONTAINS '{rng.choice(TAGS)}' AND quantity <= {rng.randint(200, 400)}"


def _by_date(rng: Random) -> str:
    return f"due >= DATE '2026-01-{rng.randint(20, 28)}' AND symbol <> '{rng.choice(SYMBOLS)}'"
