"""What is lost, doubled, unwanted or refused, by the books of publishers and subscribers."""

from __future__ import annotations

import sys

from p2psub.model.ids import ID_BYTES, EventId, NodeId, Place
from p2psub.soak.books import PublisherTopic, SoakBooks

ANN, BEN = PublisherTopic("ann", "tea"), PublisherTopic("ben", "tea")
NODES = {stream: NodeId(Place(bytes([place]) * ID_BYTES)) for place, stream in enumerate((ANN, BEN))}


def books() -> SoakBooks:
    """Two publishers and two subscriptions to one topic."""
    return SoakBooks(("ann", "ben"), {0: ("tea",), 1: ("tea",)})


def arrive(kept: SoakBooks, subscription: int, stream: PublisherTopic, number: int) -> None:
    """An event arrives under the id that its publisher's peer gave it."""
    kept.arrive(subscription, stream, number, EventId(NODES.get(stream, NODES[ANN]), 1, number))


def test_what_was_acknowledged_and_arrived_everywhere_is_well() -> None:
    """Every pair once, whoever published it."""
    kept = books()
    for stream in (ANN, BEN):
        kept.acknowledge(stream, kept.publish(stream))
        for subscription in (0, 1):
            arrive(kept, subscription, stream, 0)
    figures = kept.figures()
    assert (figures.published, figures.acknowledged, figures.received) == (2, 2, 4)
    assert (figures.lost, figures.duplicates, figures.unwanted, figures.out_of_order, figures.refused) == (
        0,
        0,
        0,
        0,
        {},
    )


def test_an_acknowledged_event_is_lost_for_each_subscription_that_it_did_not_reach() -> None:
    """The same number of another publisher does not stand in for it."""
    kept = books()
    for stream in (ANN, BEN):
        kept.acknowledge(stream, kept.publish(stream))
    arrive(kept, 0, BEN, 0)
    arrive(kept, 1, BEN, 0)
    arrive(kept, 1, ANN, 0)
    assert (kept.missing, kept.figures().lost) == (1, 1)


def test_an_event_without_an_acknowledgement_is_not_lost() -> None:
    """Refused, or still waiting for an answer; a refusal is counted under its reason, even if the event arrives."""
    kept = books()
    for _ in range(3):
        kept.publish(ANN)
    kept.refuse(ANN, 0, "outbox_full")
    kept.refuse(ANN, 1, "outbox_full")
    arrive(kept, 0, ANN, 0)
    figures = kept.figures()
    assert (figures.published, figures.acknowledged, figures.lost) == (3, 0, 0)
    assert figures.refused == {"outbox_full": 2}
    assert (figures.received, figures.duplicates, figures.unwanted) == (1, 0, 0)


def test_an_event_that_comes_again_is_a_duplicate() -> None:
    """Each time, and for that subscription alone; it is not late as well."""
    kept = books()
    for _ in range(2):
        kept.acknowledge(ANN, kept.publish(ANN))
    for number in (0, 1, 0, 0):
        arrive(kept, 0, ANN, number)
    arrive(kept, 1, ANN, 0)
    figures = kept.figures()
    assert (figures.duplicates, figures.out_of_order, figures.received) == (2, 0, 3)


def test_what_was_not_published_or_not_asked_for_is_unwanted() -> None:
    """A number that is not given yet, a topic of nobody, a publisher of nobody."""
    kept = books()
    kept.publish(ANN)
    arrive(kept, 0, ANN, 1)
    arrive(kept, 0, ANN, -1)
    arrive(kept, 0, PublisherTopic("ann", "milk"), 0)
    arrive(kept, 0, PublisherTopic("eve", "tea"), 0)
    assert (kept.figures().unwanted, kept.figures().received) == (4, 0)


def test_late_arrivals_are_counted_per_stream_and_subscription() -> None:
    """Two publishers have no order between them."""
    kept = books()
    for stream in (ANN, BEN, ANN):
        kept.acknowledge(stream, kept.publish(stream))
    arrive(kept, 0, ANN, 1)
    arrive(kept, 0, BEN, 0)
    arrive(kept, 0, ANN, 0)
    arrive(kept, 1, ANN, 0)
    arrive(kept, 1, ANN, 1)
    assert kept.figures().out_of_order == 1


def test_the_books_of_a_steady_stream_stay_small() -> None:
    """A hundred thousand events, acknowledged and handed to two subscriptions, take less than a byte each."""
    kept = books()
    for _ in range(100_000):
        kept.acknowledge(ANN, number := kept.publish(ANN))
        for subscription in (0, 1):
            arrive(kept, subscription, ANN, number)
    sets = [kept._sent[ANN].acknowledged, *(kept._got[subscription][ANN].received for subscription in (0, 1))]
    assert sum(len(numbers.serialize()) + sys.getsizeof(numbers) for numbers in sets) < 100_000
    assert [len(kept._got[subscription][ANN].order._waiting) for subscription in (0, 1)] == [0, 0]
