"""The benchmark of a link's queue: what it compares is the same, and it would notice if it were not."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from p2psub.bench.plan import QueuePlan
from p2psub.bench.queue import QueueBench
from p2psub.bench.queue_load import QueueLoad
from p2psub.bench.queue_scans import Chosen, StraightScan, VectorisedScan
from p2psub.cli.bench_queue import EXIT_DIFFERENT
from p2psub.cli.exits import EXIT_REFUSED
from p2psub.cli.main import app
from p2psub.errors import ConfigError
from p2psub.model.instants import SECOND_US, Micros

FIELDS = {"length", "subscriptions", "straight_us", "vectorised_us", "queue_us", "ratio", "same_choice", "scanned"}


def test_the_command_prints_one_result_for_each_queue() -> None:
    """Every choice of a short queue is compared, and all are the same."""
    asked = ["bench", "queue", "--lengths", "1,5,40", "--subscriptions", "1,3", "--pops", "60", "--json"]
    answer = CliRunner().invoke(app, asked)
    assert answer.exit_code == 0, answer.output
    report = json.loads(answer.output)
    assert [(result["length"], result["subscriptions"]) for result in report["results"]] == [
        (1, 1),
        (1, 3),
        (5, 1),
        (5, 3),
        (40, 1),
        (40, 3),
    ]
    for result in report["results"]:
        assert set(result) == FIELDS
        assert result["same_choice"] is True
        assert result["scanned"] == 60
        assert result["ratio"] == pytest.approx(result["straight_us"] / result["queue_us"], rel=0.05)


def test_another_choice_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """By one that is not the first, and by one that is not said to be expired: the exit code says so."""
    choose = StraightScan.choose
    for wrong in (
        lambda chosen: replace(chosen, first=-1),
        lambda chosen: replace(chosen, expired=chosen.expired | {-1}),
    ):
        monkeypatch.setattr(StraightScan, "choose", lambda *asked, wrong=wrong: wrong(choose(*asked)))
        assert not QueueBench(5, 2, seed=1).run(20).same_choice
    answer = CliRunner().invoke(app, ["bench", "queue", "--lengths", "5", "--subscriptions", "1", "--pops", "5"])
    assert answer.exit_code == EXIT_DIFFERENT


def test_both_scans_find_the_same() -> None:
    """Of a queue in which some are expired and their places taken by others. Where two tie, numpy takes either."""
    load = QueueLoad(40, 3, seed=3)
    straight, vectorised = StraightScan(load.link), VectorisedScan(load.link, 40, 3)
    now, dropped, agreed = Micros(3600 * SECOND_US), 0, 0
    numbers: set[int] = set()
    for _ in range(200):
        for _ in range(40 - len(numbers)):
            waiting = load.draw(now)
            numbers.add(waiting.item)
            straight.push(waiting)
            vectorised.push(waiting)
        chosen = straight.choose(now, 1_000_000.0)
        vectorised_chosen = vectorised.choose(now, 1_000_000.0)
        assert chosen.expired == vectorised_chosen.expired
        agreed += chosen == vectorised_chosen
        for number in chosen.expired | ({chosen.first} if chosen.first is not None else set()):
            numbers.remove(number)
            straight.remove(number)
            vectorised.remove(number)
        dropped += len(chosen.expired)
        now = Micros(now + load.transfer_us(50_000))
    assert dropped > 20
    assert agreed > 150


def test_a_scan_of_what_is_all_expired_chooses_none() -> None:
    """And says which."""
    load = QueueLoad(2, 1, seed=1)
    straight, vectorised = StraightScan(load.link), VectorisedScan(load.link, 2, 1)
    for scan in (straight, vectorised):
        load = QueueLoad(2, 1, seed=1)
        for _ in range(2):
            scan.push(load.draw(Micros(0)))
        assert scan.choose(Micros(1000 * SECOND_US), 1.0) == Chosen(None, {1, 2})


@pytest.mark.parametrize(
    ("option", "value"),
    [("--lengths", "0"), ("--lengths", "ten"), ("--subscriptions", "1,0"), ("--pops", "0")],
)
def test_what_cannot_be_measured_is_refused(option: str, value: str) -> None:
    """With the option in the message."""
    answer = CliRunner().invoke(app, ["bench", "queue", option, value])
    assert answer.exit_code == EXIT_REFUSED
    assert option.removeprefix("--") in answer.output


def test_a_plan_names_what_is_wrong_with_it() -> None:
    """Before anything is measured."""
    with pytest.raises(ConfigError, match="lengths"):
        QueuePlan(lengths=())
