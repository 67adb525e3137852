"""`p2psub check-filter` says what a filter means, and to whom."""

from __future__ import annotations

import json
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from p2psub.cli.filters import EXIT_BAD_FILTER, check_filter

app = typer.Typer()
app.command()(check_filter)


def check(*arguments: str, exit_code: int = 0) -> Any:
    """What the command prints as JSON."""
    result = CliRunner().invoke(app, ["--json", *arguments])
    assert result.exit_code == exit_code, result.output
    return json.loads(result.stdout)


def test_a_filter_is_shown_with_its_key_and_cost() -> None:
    """Normal form as text, pinned topics as key."""
    found = check("price > 5.0 AND topic IN ('b', 'a') AND note LIKE '%x%'")
    assert found == {
        "ok": True,
        "normal_form": "topic IN ('a', 'b') AND note LIKE '%x%' AND price > 5",
        "key": ["a", "b"],
        "cost": {"conjunctions": 1, "predicates": 3, "scans": 1, "bytes": 142},
        "matches": None,
        "why": [],
    }
    assert check("price > 5")["key"] == []


@pytest.mark.parametrize(
    ("text", "event", "matches", "why"),
    [
        ("price > 5", {"price": 6}, True, "price > 5 is true"),
        ("price > 5", {"price": 5}, False, "price > 5 is false: it is 5"),
        ("price > 5", {"price": "6"}, False, "price > 5 is unknown: it is '6'"),
        ("NOT price > 5", {}, False, "price <= 5 is unknown: it is missing"),
        ("price IS NULL", {"price": None}, True, "price IS NULL is true"),
        ("price IS NULL", {"price": 5}, False, "price IS NULL is false: it is 5"),
        ("topic = 'x'", {"topic": "x"}, True, "topic = 'x' is true"),
        ("", {}, True, "TRUE is true"),
        ("due < DATE '2026-02-01'", {"due": "2026-01-31T23:00:00-02:00"}, False, None),
        ("due < DATE '2026-02-01'", {"due": "2026-01-31"}, True, None),
        ("due < DATE '2026-02-01'", {"due": "never"}, False, None),
        ("due < '2026-02-01'", {"due": "2026-01-31"}, True, None),
        ("due IN (DATE '2026-02-01', TIMESTAMP '2026-02-02T00:00:00Z')", {"due": "2026-02-02"}, True, None),
        ("tags SUBSET OF ('a', 'b')", {"tags": ["a"]}, True, None),
        ("tags PROPER SUBSET OF ('a')", {"tags": ["a"]}, False, None),
        ("tags CONTAINS 1", {"tags": [1, "x"]}, True, None),
        ("tags = {}", {"tags": []}, True, None),
        ("due = DATE '2026-02-01'", {"due": {"$date": "2026-02-01"}}, True, None),
    ],
)
def test_an_event_matches_or_not_and_why(text: str, event: object, matches: bool, why: str | None) -> None:
    """Unknown is no match; lists are sets; text is a date where the filter compares with one."""
    found = check(text, "--event", json.dumps(event))
    assert found["matches"] is matches
    assert why is None or found["why"] == [why]


def test_every_term_has_its_reason() -> None:
    """One line per conjunction."""
    found = check("a = 1 OR b = 2", "--event", '{"b": 2}')
    assert found["matches"] is True
    assert found["why"] == ["a = 1 is unknown: it is missing", "b = 2 is true"]


def test_parameters_come_as_json() -> None:
    """Scalars, lists, and dates with a dollar."""
    params = json.dumps({"p": 5, "l": ["a", "b"], "d": {"$date": "2026-01-31T00:00:00Z"}})
    found = check(
        "x > :p AND y IN :l AND z < :d", "--params", params, "--event", '{"x": 6, "y": "a", "z": "2026-01-30"}'
    )
    assert found["normal_form"] == "x > 5 AND y IN ('a', 'b') AND z < DATE '2026-01-31'"
    assert found["matches"] is True


def test_a_bad_filter_ends_with_code_2_and_advice() -> None:
    """As JSON: position, message, hint, and the line with its caret; as text on the error stream."""
    error = check("price > 5 ADN x = 1", exit_code=EXIT_BAD_FILTER)
    assert error["ok"] is False
    assert error["error"] == {
        "position": 10,
        "message": "ADN is unexpected here",
        "hint": "unknown word; did you mean AND?",
        "line": "price > 5 ADN x = 1",
        "caret": "          ^",
    }
    result = CliRunner().invoke(app, ["price > 5 ADN x = 1"])
    assert result.exit_code == EXIT_BAD_FILTER
    assert not result.stdout
    assert "did you mean AND?" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["--event", "{"],
        ["--event", "[]"],
        ["--event", "[" * 100_000],
        ["--event", '{"a": {"b": 1}}'],
        ["--event", '{"a": [1.5]}'],
        ["--event", '{"a": 99999999999999999999999}'],
        ["--event", '{"topic": 5}'],
        ["--params", "5"],
        ["--params", '{"p": {"$date": "soon"}}'],
    ],
)
def test_a_bad_event_or_parameter_ends_with_code_2_and_advice(arguments: list[str]) -> None:
    """Nothing is said of a match that was not tried."""
    error = check("a = 1", *arguments, exit_code=EXIT_BAD_FILTER)
    assert error["ok"] is False
    assert error["error"]["message"]
    assert error["error"]["hint"]


def test_people_get_lines() -> None:
    """Without --json the same is said in words."""
    result = CliRunner().invoke(app, ["price > 5 AND topic = 'x'", "--event", '{"topic": "x", "price": 4}'])
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "normal form  topic = 'x' AND price > 5",
        "key          'x'",
        "cost         predicates: 2, conjunctions: 1, scans of text: 0, bytes: 90",
        "event        does not match",
        "             price > 5 is false: it is 4",
    ]
