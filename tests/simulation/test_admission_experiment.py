"""The experiment of RacsCBPS 5 on networks so small that what comes of it can be worked out by hand."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import p2psub.admission
import sims.experiments.admission
from p2psub.admission.ledger import Ledger
from p2psub.admission.reservations import SpreadReservations, StreamReservations
from p2psub.model.instants import SECOND_US
from p2psub.model.rates import RATE_ONE
from sims.experiments.admission.brokers import BROKERS, BrokerLink, BrokerResource, minimal, shortest_from
from sims.experiments.admission.gate import DemandChoice, ShareOf
from sims.experiments.admission.workload import AdvertisementLife, QuotedEvent
from tests.simulation.broker_nets import line, run, turn, wish, workload


def test_an_event_takes_each_broker_and_link_on_its_way_once() -> None:
    """Two subscriptions beyond the second broker share its work and its link."""
    net = line(100, 100, 100, carried_per_s=200)
    tally, _ = run(net, workload([turn(0)], [wish(0), wish(1), wish(1)], subscribers=(1, 2)))
    assert (tally.published, tally.discarded) == (100, 0)
    assert {one: round(us / SECOND_US, 2) for one, us in tally.busy_us.items() if us} == {
        BrokerResource(0, 0): 1.0,
        BrokerResource(0, 1): 0.5,
        BrokerResource(1, 1): 1.0,
        BrokerResource(1, 2): 0.5,
        BrokerResource(2, 2): 1.0,
    }


def test_an_event_that_nobody_wants_is_processed_where_it_is_published() -> None:
    """And nowhere else."""
    tally, _ = run(line(100, 100), workload([turn(0)], [wish(0, name="y"), wish(0, below=0.5)]))
    assert {one for one, us in tally.busy_us.items() if us} == {BrokerResource(0, 0)}


@pytest.mark.parametrize(("service_us", "discarded"), [(5 * SECOND_US, 0), (5 * SECOND_US + 10, 1)])
def test_an_event_waits_for_five_seconds_and_no_longer(service_us: int, discarded: int) -> None:
    """Two come at once; the second waits as long as the first takes."""
    net = line(SECOND_US / service_us, 100)
    both = workload([turn(0, every_s=100), turn(1, every_s=100)], [], publishers=(0, 0))
    tally, _ = run(net, both, seconds=20)
    assert tally.discarded == discarded
    assert tally.processed == 2 - discarded


def test_a_link_that_is_too_slow_discards_as_a_broker_does() -> None:
    """10 a second come and 2 go on, so 10 wait when the wait is five seconds; of the 50 of five seconds 20 may go."""
    tally, _ = run(line(1_000, 1_000, carried_per_s=2), workload([turn(0)], [wish(0)]), seconds=10)
    assert tally.busy_us[BrokerResource(0, 1)] == pytest.approx(10 * SECOND_US, abs=2_000)
    assert tally.processed - tally.published == 19
    assert tally.discarded == pytest.approx(50 - 20, abs=1)


def test_what_was_wanted_when_it_was_published_goes_on() -> None:
    """A subscription that ends keeps no event back; one that begins later gets none of before."""
    of = workload([turn(0, every_s=1)], [wish(0, until_s=2.5), wish(0, at_s=5.5, until_s=7.5)])
    tally, _ = run(line(100, 100), of, seconds=10)
    assert tally.processed - tally.published == 3 + 2


def test_full_refuses_what_does_not_fit_and_then_nothing_is_discarded() -> None:
    """Three streams of ten a second, and brokers with room for two."""
    turns, names = [], ("x", "y", "z")
    for publisher, name in enumerate(names):
        turns.append(turn(publisher, event=QuotedEvent(name, 0.5)))
    of = workload(turns, [wish(n, name=name) for n, name in enumerate(names)], (0, 0, 0), (1, 1, 1))
    net = line(100, 20)
    admitted = {criterion: run(net, of, criterion)[1].subscriptions.admitted for criterion in ("none", "full")}
    assert admitted == {"none": 3, "full": 2}
    assert run(net, of, "full")[0].busy_us[BrokerResource(1, 1)] == pytest.approx(10 * SECOND_US, rel=0.02)


def test_a_percentage_is_of_the_brokers_asked_or_of_all() -> None:
    """One broker of two on the way refuses, of four that there are."""
    net, of = line(100, 5, 100, 100), workload([turn(0)], [wish(0)])
    for criterion, share_of, admitted in (
        ("percent:49", ShareOf.ASKED, 0),
        ("percent:50", ShareOf.ASKED, 1),
        ("percent:24", ShareOf.ALL, 0),
        ("percent:25", ShareOf.ALL, 1),
    ):
        assert run(net, of, criterion, share_of=share_of)[1].subscriptions.admitted == admitted


@pytest.mark.parametrize(("demand", "admitted"), [("paper", 1), ("route", 2), ("shared", 4)])
def test_demands_differ_in_what_they_have_room_for(demand: str, admitted: int) -> None:
    """Four subscriptions to one stream of ten: at the far broker 15, on the way 30, which the publisher takes 10 of."""
    net = line(30, 30, 15)
    of = workload([turn(0)], [wish(n) for n in range(4)], subscribers=(1, 1, 1, 1))
    assert run(net, of, "full", DemandChoice(demand))[1].subscriptions.admitted == admitted


def test_room_comes_back_when_a_subscription_ends() -> None:
    """For the next one in the same instant."""
    of = workload(
        [turn(0), turn(1, event=QuotedEvent("y", 0.5))],
        [wish(0, until_s=4), wish(1, at_s=3, until_s=4, name="y"), wish(1, at_s=4, name="y")],
        publishers=(0, 0),
        subscribers=(1, 1),
    )
    subscriptions = run(line(100, 10), of, "full")[1].subscriptions
    assert (subscriptions.asked, subscriptions.admitted) == (3, 2)


def test_an_advertisement_that_changes_may_come_where_no_room_is_left() -> None:
    """It was not there when the subscription was admitted. Where it is voted on, it is refused for a turn."""
    of = workload(
        [turn(0), turn(1, event=QuotedEvent("w", 0.5)), turn(0, 10), turn(1, 10)], [wish(0)], publishers=(0, 0)
    )
    for is_voting, admitted in ((False, 4), (True, 3)):
        tally, gate = run(line(100, 12), of, "full", seconds=30, is_voting_on_advertisements=is_voting)
        assert (gate.subscriptions.admitted, gate.advertisements.admitted) == (1, admitted)
        assert tally.published == 100 * admitted
        assert (tally.discarded > 0) is not is_voting


def test_shortest_ways_and_the_minimal_tree_are_what_they_say() -> None:
    """A ring of all brokers with one long link: the tree leaves it out, the ways of its ends take it."""
    links = [BrokerLink((n, (n + 1) % BROKERS), 3.0 if n == 0 else 1.0) for n in range(BROKERS)]
    assert minimal(links) == links[1:]
    assert shortest_from(0, links)[1] == 0
    assert shortest_from(0, minimal(links))[1] == 2


def defined_in(package: Path) -> set[str]:
    """Names of the public classes and functions of a package."""
    kinds = (ast.ClassDef, ast.FunctionDef)
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in package.rglob("*.py")]
    return {node.name for tree in trees for node in tree.body if isinstance(node, kinds) and node.name[0] != "_"}


def test_the_experiment_admits_by_the_product() -> None:
    """It defines no graph, demand, ledger or criterion of its own."""
    product = defined_in(Path(next(iter(p2psub.admission.__path__))))
    assert {"AdvertisementGraph", "paper_demand_of", "Ledger", "Criterion", "StreamReservations"} <= product
    assert not product & defined_in(Path(next(iter(sims.experiments.admission.__path__))))
    _, gate = run(line(100, 100), workload([turn(0)], [wish(0)]), "full")
    assert isinstance(gate._ledger, Ledger)
    assert isinstance(gate._reservations, StreamReservations)
    _, gate = run(line(100, 100), workload([turn(0)], [wish(0)]), "full", DemandChoice.PAPER)
    assert isinstance(gate._reservations, SpreadReservations)


def test_what_stands_to_the_end_is_reserved_at_the_end() -> None:
    """Of each stream its rate, along its way; what ended or was withdrawn is not there any more."""
    of = workload([turn(0), turn(0, 10, event=QuotedEvent("y", 0.5))], [wish(0, until_s=5), wish(0, at_s=5, name="y")])
    _, gate = run(line(100, 100), of, "full", seconds=15)
    assert gate._ledger.reserved() == dict.fromkeys(line(1, 1).way(0, 1), 10 * RATE_ONE)


def test_an_advertisement_may_stand_for_all_turns() -> None:
    """Then one is asked for, however many turns there are."""
    of = workload([turn(0), turn(0, 10), turn(0, 20)], [])
    for advertisements, asked in ((AdvertisementLife.FIXED, 1), (AdvertisementLife.CHANGING, 3)):
        _, gate = run(line(100, 100), of, "full", seconds=30, advertisements=advertisements)
        assert gate.advertisements.asked == asked
