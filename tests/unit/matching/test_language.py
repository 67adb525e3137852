"""What the filter language reads, by example: text on the left, its normal form on the right."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from p2psub.matching.language import FilterError, Limits, parse_filter, print_filter
from p2psub.model.content import Filter, Moment, Operator, Predicate, pinned_topics
from tests.oracles.instances import exact


@pytest.mark.parametrize(
    ("text", "normal_form"),
    [
        ("", "TRUE"),
        (" \n\t", "TRUE"),
        ("TRUE", "TRUE"),
        ("not true", "FALSE"),
        ("FALSE OR a = 1", "a = 1"),
        ("FALSE AND a = 1", "FALSE"),
        ("price > 5 AND topic = 'quotes/ACME'", "topic = 'quotes/ACME' AND price > 5"),
        ("5 < price", "price > 5"),
        ("price != 5", "price <> 5"),
        (
            "a = 1.0 AND b = 2.50 AND c = +3 AND d = -.5 AND e = 1E3",
            "a = 1 AND b = 2.5 AND c = 3 AND d = -0.5 AND e = 1000",
        ),
        ("a < INFINITY AND a > -infinity", "a < INFINITY AND a > -INFINITY"),
        ("urgent <> TRUE", "urgent = FALSE"),
        ("NOT urgent = FALSE", "urgent = TRUE"),
        ("name = 'it''s'", "name = 'it''s'"),
        ('"odd name" = 1 AND "quo""te" = 2', '"odd name" = 1 AND "quo""te" = 2'),
        ("date > DATE '2026-01-31'", "date > DATE '2026-01-31'"),
        ("at = timestamp '2026-01-31T10:00:00.5+02:00'", "at = TIMESTAMP '2026-01-31T08:00:00.500000Z'"),
        ("at = TIMESTAMP '2026-01-31 10:00'", "at = TIMESTAMP '2026-01-31T10:00:00Z'"),
        ("starts STARTS WITH 'x' AND of ENDS WITH 'y'", "\"of\" ENDS WITH 'y' AND \"starts\" STARTS WITH 'x'"),
        ("a BETWEEN 1 AND 5 AND b = 2", "a <= 5 AND a >= 1 AND b = 2"),
        ("a NOT BETWEEN 1 AND 5", "a < 1 OR a > 5"),
        ("a IN (3, 1, 2, 1.0)", "a IN (1, 2, 3)"),
        ("a IN ('x')", "a = 'x'"),
        ("a IN (1, 2.5, DATE '2026-01-31')", "a = 1 OR a = 2.5 OR a = DATE '2026-01-31'"),
        ("a NOT IN (1, 2, 2.5)", "a <> 2.5 AND a NOT IN (1, 2)"),
        ("tags SUBSET OF ('a', 1)", "tags SUBSET OF {1, 'a'}"),
        ("tags NOT PROPER SUBSET OF {}", "tags NOT PROPER SUBSET OF {}"),
        ("tags = {'b', 'a', 'b'}", "tags = {'a', 'b'}"),
        ("tags CONTAINS 5 AND NOT tags CONTAINS 'x'", "tags CONTAINS 5 AND tags NOT CONTAINS 'x'"),
        ("a IS NULL OR b IS NOT NULL", "a IS NULL OR b IS NOT NULL"),
        ("NOT (a IS NULL)", "a IS NOT NULL"),
        ("NOT (a < 5 OR b >= 'x')", "a >= 5 AND b < 'x'"),
        ("NOT (a STARTS WITH 'x' AND NOT b ENDS WITH 'y')", "a NOT STARTS WITH 'x' OR b ENDS WITH 'y'"),
        ("a = 1 OR b = 2 AND c = 3", "a = 1 OR (b = 2 AND c = 3)"),
        ("(a = 1 OR b = 2) AND c = 3", "(a = 1 AND c = 3) OR (b = 2 AND c = 3)"),
        ("(a = 1 OR b = 2) AND (a = 1 OR b = 2)", "a = 1 OR b = 2"),
        ("a = 1 OR a = 1 AND b = 2", "a = 1"),
        ("a = 1 AND a = TRUE AND a = '1'", "a = '1' AND a = 1 AND a = TRUE"),
    ],
)
def test_normal_forms(text: str, normal_form: str) -> None:
    """Each text has this normal form, and so does the normal form itself."""
    assert print_filter(parse_filter(text)) == normal_form
    assert exact(parse_filter(normal_form)) == exact(parse_filter(text))


@pytest.mark.parametrize(
    ("pattern", "normal_form"),
    [
        ("'quotes/%'", "a STARTS WITH 'quotes/'"),
        ("'%/ACME'", "a ENDS WITH '/ACME'"),
        ("'ACME'", "a = 'ACME'"),
        ("''", "a = ''"),
        ("'%'", "a STARTS WITH ''"),
        ("'%%'", "a STARTS WITH ''"),
        ("'%x%'", "a LIKE '%x%'"),
        ("'x%_%_y'", "a LIKE 'x__%y'"),
        ("'50!%' ESCAPE '!'", "a = '50%'"),
        ("'!_%' ESCAPE '!'", "a STARTS WITH '_'"),
        ("'_!%' ESCAPE '!'", "a LIKE '_\\%' ESCAPE '\\'"),
        ("'_\\'", "a LIKE '_\\\\' ESCAPE '\\'"),
        ("'_!!' ESCAPE '!'", "a LIKE '_!'"),
    ],
)
def test_patterns(pattern: str, normal_form: str) -> None:
    """LIKE becomes the simplest comparison that means the same; `%x%` is text alone, where CONTAINS also knows sets."""
    assert print_filter(parse_filter(f"a LIKE {pattern}")) == normal_form
    assert parse_filter(normal_form) == parse_filter(f"a LIKE {pattern}")


def test_parameters_are_constants() -> None:
    """A parameter stands wherever a constant does, and for a whole list."""
    zone = timezone(timedelta(hours=2))
    wanted = parse_filter(
        "price > :least AND symbol IN :symbols AND due < :due AND (n IN (:one, 2) OR tags SUBSET OF :tags)",
        {
            "least": 5.0,
            "symbols": ["A", "it's"],
            "due": datetime(2026, 1, 31, 2, tzinfo=zone),
            "one": 1,
            "tags": {"x", 3},
        },
    )
    common = "due < DATE '2026-01-31' AND {} AND price > 5 AND symbol IN ('A', 'it''s'){}"
    other = "(due < DATE '2026-01-31' AND price > 5 AND symbol IN ('A', 'it''s') AND tags SUBSET OF {3, 'x'})"
    assert print_filter(wanted) == f"({common.format('n IN (1, 2)', '')}) OR {other}"


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (math.nan, "NaN"),
        (2**64, "64 bits"),
        (None, "None is not a valid constant"),
        (1j, "complex"),
        ("\ud800", "Unicode"),
        ([1.5], "whole numbers and text"),
        ({True}, "whole numbers and text"),
        (list(range(2_000)), "list_max"),
        ("x" * 40_000, "text_max"),
        (Moment(2**64), "64 bits"),
    ],
)
def test_parameters_that_cannot_travel_are_refused(value: object, complaint: str) -> None:
    """The error points at the parameter."""
    with pytest.raises(FilterError, match=complaint) as caught:
        parse_filter("a = 1 AND b = :p", {"p": value})
    assert caught.value.position == 14


def test_whole_numbers_of_64_bits() -> None:
    """The range of the wire, both signed and unsigned, and no more; what is beyond is advised to be a float."""
    for number in (-(2**63), 2**64 - 1):
        assert parse_filter(f"a = {number}").conjunctions[0][0].constant == number
    for number in (-(2**63) - 1, 2**64, 10**5_000):
        with pytest.raises(FilterError, match="float"):
            parse_filter(f"a = {'9' * 5_001 if number == 10**5_000 else number}")


def test_zeros_before_a_number_do_not_make_it_another() -> None:
    """However many: Python itself refuses to read so many digits."""
    for sign, normal_form in (("", "a = 7"), ("+", "a = 7"), ("-", "a = -7")):
        assert print_filter(parse_filter(f"a = {sign}{'0' * 5000}7")) == normal_form
    assert print_filter(parse_filter("a = " + "0" * 5000)) == "a = 0"


def test_dates_at_the_ends_of_the_calendar() -> None:
    """The first and the last date, in zones that carry them beyond, are read and printed."""
    for text in ("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59.999999-23:59"):
        wanted = parse_filter(f"a = TIMESTAMP '{text}'")
        expected = datetime.fromisoformat(text) - datetime(1970, 1, 1, tzinfo=UTC)
        assert wanted.conjunctions[0][0].constant == Moment(expected // timedelta(microseconds=1))
        assert parse_filter(print_filter(wanted)) == wanted


def test_pinned_topics_show_through_the_language() -> None:
    """However a topic is pinned, the filter is stored under it."""
    assert pinned_topics(parse_filter("topic LIKE 'a' AND x > 1 OR topic IN ('b', 'c')")) == ("a", "b", "c")
    assert pinned_topics(parse_filter("topic = 'a' OR x > 1")) == ()


def test_printing_what_no_text_says() -> None:
    """A predicate that nothing satisfies is FALSE; it does not make printing fail."""
    nothing = [
        Predicate("a", Operator.PREFIX, 5),
        Predicate("a", Operator.EQUAL, math.nan),
        Predicate("a", Operator.IN, frozenset()),
        Predicate("a", Operator.LESS, True),
    ]
    assert print_filter(Filter(tuple((predicate,) for predicate in nothing))) == "FALSE OR FALSE OR FALSE OR FALSE"
    assert print_filter(Filter(())) == "FALSE"
    assert parse_filter("FALSE") == Filter(())
    assert parse_filter(print_filter(Filter())) == Filter()
    assert print_filter(Filter(((Predicate("a", Operator.LIKE, "%%_\\"),),))) == "a LIKE '_%\\\\' ESCAPE '\\'"


def test_limits_are_the_callers() -> None:
    """Who wants larger filters says so."""
    text = " AND ".join(f"(a{n} = 1 OR b{n} = 1)" for n in range(10))
    with pytest.raises(FilterError, match="conjunctions_max = 256"):
        parse_filter(text)
    assert (
        len(
            parse_filter(
                text, limits=Limits(conjunctions_max=1_024, predicates_max=10_240, bytes_max=1 << 20)
            ).conjunctions
        )
        == 1_024
    )


def test_the_manual_is_true() -> None:
    """Every row under "Normal form" in docs/filters.md is so, and every comparison in its table can be written."""
    manual = (Path(__file__).parents[3] / "docs" / "filters.md").read_text(encoding="utf-8")
    comparisons, normal_forms = (manual.partition(title)[2].partition("\n## ")[0] for title in ("## Comp", "## Normal"))
    rows = re.findall(r"^\| `(.+)` \| `(.+)` \|$", normal_forms, re.MULTILINE)
    assert rows
    for text, normal_form in rows:
        assert print_filter(parse_filter(text)) == normal_form
    written = [text for cell in re.findall(r"^\| (`a .+?) \|", comparisons, re.MULTILINE) for text in cell.split("`")]
    written = [text for text in written if text.startswith("a ")]
    assert len(written) > 10
    for text in written:
        parse_filter(text)
