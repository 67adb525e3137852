"""Lost, delivered, duplicated, unwanted: told apart."""

from __future__ import annotations

from p2psub.demo.market import NUMBER
from p2psub.demo.tally import DeliveryTally
from p2psub.matching.language import parse_filter
from p2psub.model.content import Draft

CHEAP, DEAR, ALL = 0, 1, 2


def make_tally() -> DeliveryTally:
    """Two filters that exclude each other, and one that takes everything."""
    texts = {CHEAP: "price < 10", DEAR: "price >= 10", ALL: ""}
    return DeliveryTally({number: parse_filter(text) for number, text in texts.items()})


def quote(number: int, price: float = 5.0) -> Draft:
    """An event of this number."""
    return Draft("quotes", {NUMBER: number, "price": price})


def test_what_was_acknowledged_is_expected_by_the_filters() -> None:
    """Every subscription that takes the event, and no other."""
    tally = make_tally()
    tally.published(quote(1), 0.0)
    tally.published(quote(2, price=50.0), 0.0)
    tally.acknowledge(quote(1), 2)
    tally.acknowledge(quote(2, price=50.0), 2)
    for number, subscription in ((1, CHEAP), (1, ALL), (2, DEAR)):
        tally.arrived(subscription, quote(number, 5.0 if number == 1 else 50.0), 1.0)
    figures = tally.figures()
    assert (figures.expected, figures.matched, figures.delivered, figures.lost) == (4, 4, 3, 1)
    assert (figures.coverage, tally.missing) == (0.75, 1)


def test_what_was_not_acknowledged_is_not_expected() -> None:
    """It may arrive, and need not."""
    tally = make_tally()
    tally.published(quote(1), 0.0)
    tally.published(quote(2), 0.0)
    tally.arrived(ALL, quote(2), 1.0)
    figures = tally.figures()
    assert (figures.published, figures.acknowledged, figures.expected) == (2, 0, 0)
    assert (figures.delivered, figures.lost, figures.unwanted, figures.latency_p50_ms) == (0, 0, 0, None)


def test_an_arrival_before_the_acknowledgement_counts() -> None:
    """The subscriber is often faster than the answer to the publisher."""
    tally = make_tally()
    tally.published(quote(1), 0.0)
    tally.arrived(CHEAP, quote(1), 0.5)
    tally.acknowledge(quote(1), 2)
    assert tally.missing == 1
    tally.arrived(ALL, quote(1), 1.0)
    assert (tally.missing, tally.figures().lost) == (0, 0)


def test_a_second_arrival_is_a_duplicate() -> None:
    """Handed over three times: two too many; what is missing does not change by it."""
    tally = make_tally()
    tally.published(quote(1), 0.0)
    tally.acknowledge(quote(1), 2)
    for _ in range(3):
        tally.arrived(ALL, quote(1), 1.0)
    figures = tally.figures()
    assert (figures.duplicates, figures.delivered, tally.missing) == (2, 1, 1)


def test_what_nobody_asked_for_is_unwanted() -> None:
    """A filter that does not take it, content that changed on the way, an event that nobody published."""
    tally = make_tally()
    tally.published(quote(1), 0.0)
    tally.acknowledge(quote(1), 2)
    tally.arrived(DEAR, quote(1), 1.0)
    tally.arrived(ALL, quote(1, price=5.5), 1.0)
    tally.arrived(ALL, quote(9), 1.0)
    tally.arrived(ALL, Draft("quotes", {}), 1.0)
    figures = tally.figures()
    assert (figures.unwanted, figures.delivered, figures.lost) == (4, 0, 2)


def test_percentiles_are_of_first_arrivals() -> None:
    """Nearest rank: of 100 spans, the 50th and the 99th."""
    tally = make_tally()
    for number in range(100):
        draft = quote(number)
        tally.published(draft, 0.0)
        tally.acknowledge(draft, 2)
        tally.arrived(ALL, draft, (number + 1) / 1000)
        tally.arrived(ALL, draft, 99.0)
    figures = tally.figures()
    assert (figures.latency_p50_ms, figures.latency_p99_ms) == (50.0, 99.0)
