"""What is no filter ends in an error that says where, what, and what to write instead."""

from __future__ import annotations

import sys
from random import Random

import pytest

from p2psub.errors import P2psubError
from p2psub.matching.language import FilterError, Limits, parse_filter
from p2psub.model.content import Filter

SOUP = [
    *(
        "a",
        "price",
        "topic",
        '"odd name"',
        '"',
        "'text'",
        "'",
        "'it''s'",
        "'\x1b[31m'",
        "5",
        "-2.5",
        "1e9",
        "1e999",
        "9" * 30,
        "5x",
    ),
    *("(", ")", "((((", "))))", "{", "}", ",", "=", "<>", "<=", ">", "!=", "==", "&&", "!", "+", "-", "*", ";", ":p"),
    *("AND", "OR", "NOT", "BETWEEN", "IN", "LIKE", "ESCAPE", "IS", "NULL", "TRUE", "FALSE", "STARTS WITH", "ENDS"),
    *("CONTAINS", "SUBSET OF", "PROPER", "DATE '2026-01-31'", "DATE '2026-02-30'", "TIMESTAMP 'x'", "INFINITY", "%"),
    *(
        "\n",
        "\t",
        "\x00",
        "\x1b[31m",
        "\u200b",
        "\u00a0",
        "é",
        "日本",
        "\U0001f600",
        "\ud800",
        "‘x’",
        "ANDROID",
        "$x.y",
    ),
    *("a = 1", "a = 1 AND", "b LIKE '%a%_%'", "c IN (1, 2, 'x')", "NOT (a < 5)", "d IS NOT NULL"),
]
"""Pieces of filters, whole and broken."""


def fault_of(text: str, limits: Limits | None = None) -> FilterError:
    """The error that a text ends in."""
    with pytest.raises(FilterError) as caught:
        parse_filter(text, {}, limits or Limits())
    return caught.value


def outcome_of(text: str, limits: Limits) -> Filter | FilterError:
    """What a text is read as, or the error that it ends in."""
    try:
        return parse_filter(text, {"p": 1}, limits)
    except FilterError as error:
        return error


@pytest.mark.parametrize(
    ("text", "pointed", "hint"),
    [
        ("price > 5 ADN volume < 3", "ADN", "unknown word; did you mean AND?"),
        ("a LKE 'x'", "LKE", "unknown word; did you mean LIKE?"),
        ("a = 1 b = 2", "b", "AND or OR"),
        ("name = ACME", "ACME", "strings are written with single quotes: 'ACME'"),
        ('name = "ACME"', '"ACME"', "strings are written with single quotes"),
        ("name = ‘ACME’", "‘", "straight single quotes"),
        ("name = 'ACME", "'ACME", "close it"),
        ('"name = 5', '"name', "close it"),
        ("a == 5", "==", "write ="),
        ("a =< 5", "=<", "write <="),
        ("a = 1 && b = 2", "&&", "write AND"),
        ("a = 1 || b = 2", "||", "write OR"),
        ("!a = 1", "!", "write NOT"),
        ("a + 1 > 5", "+", "compare an attribute with a constant"),
        ("a = 5x", "5x", "numbers look like"),
        ("a = 1.2.3", "1.2.3", "numbers look like"),
        ("a = 1;", ";", "leave the ; out"),
        ("a = [1]", "[", "sets {1, 2}"),
        ("a = : p", ":", ":name"),
        ("a = :p", ":p", "give a value for p"),
        ("a = \x1b[31m", "\x1b", "odd name"),
        ("urgent AND a = 1", "urgent", "urgent = TRUE"),
        ("(urgent)", "urgent", "urgent = TRUE"),
        ("'x' IN tags", "IN", "tags CONTAINS 'x'"),
        ("5 = 5", "5", "one side of a comparison is an attribute"),
        ("a = NULL", "NULL", "IS NULL"),
        ("a = (5)", "(5)", "IN for a list"),
        ("a NOT = 5", "=", "<>"),
        ("a NOT 5", "5", "NOT IN"),
        ("a IN 5", "5", "IN ('a', 'b')"),
        ("a IN ()", "()", "IN ('a', 'b')"),
        ("a IN (1 2)", "2", "comma"),
        ("a IN (1,)", ")", "such as 5"),
        ("a STARTS 'x'", "'x'", "STARTS WITH"),
        ("a PROPER OF {1}", "OF", "PROPER SUBSET OF"),
        ("a SUBSET {1}", "{1}", "SUBSET OF"),
        ("a IS 5", "5", "IS NOT NULL"),
        ("a BETWEEN 1, 5", ",", "BETWEEN 1 AND 5"),
        ("a BETWEEN 1 AND 'x'", "'x'", "one type"),
        ("1 < a < 5", "< 5", "BETWEEN 1 AND 5"),
        ("a < TRUE", "TRUE", "= or <>"),
        ("a < {1}", "{1}", "= or <>"),
        ("a CONTAINS TRUE", "TRUE", "single quotes"),
        ("a STARTS WITH 5", "5", "single quotes"),
        ("a SUBSET OF (1.5)", "(1.5)", "IN"),
        ("a LIKE 5", "5", "single quotes"),
        ("a LIKE 'x' ESCAPE 'yy'", "'yy'", "ESCAPE '\\'"),
        ("a LIKE 'x!y' ESCAPE '!'", "'x!y'", "%, _ or itself"),
        ("a LIKE 'x!' ESCAPE '!'", "'x!'", "%, _ or itself"),
        ("a = DATE '2026-02-30'", "DATE", "check year"),
        ("a = DATE 'soon'", "DATE", "DATE '2026-01-31'"),
        ("a = 99999999999999999999", "999", "float"),
        ("a = 1e999", "1e999", "INFINITY"),
        ("(a = 1", "(", "close it"),
        ("a IN (1, 2", "(", "close it"),
        ("tags = {1, 2", "{", "close it"),
        ("a = 1)", ")", "leave it out"),
        ("()", ")", "price > 5"),
        ("AND a = 1", "AND", "begin with an attribute"),
        ("a = 1 AND OR b = 2", "OR", "price > 5"),
        ("a = 1 AND IN = 5", "IN", '"IN"'),
        ("a = 1 AND\n  b > 2 ORR c = 3", "ORR", "did you mean OR?"),
    ],
)
def test_errors_point_at_the_fault_and_give_advice(text: str, pointed: str, hint: str) -> None:
    """Position and caret stand under the fault; the hint says what to write."""
    error = fault_of(text)
    assert text[error.position :].startswith(pointed)
    assert hint in error.hint
    assert error.caret == " " * len(text[: error.position].rpartition("\n")[2]) + "^"
    assert isinstance(error, P2psubError)


@pytest.mark.parametrize("text", ["a =", "a", "NOT", "a = 1 AND", "a BETWEEN 1", "a IN", "a LIKE 'x' ESCAPE", "a NOT"])
def test_a_filter_that_ends_too_early_says_so(text: str) -> None:
    """Every beginning of a filter has advice on how to go on."""
    error = fault_of(text)
    assert error.hint
    assert error.position in (0, len(text))


def test_the_caret_stands_under_wide_characters_and_in_long_lines() -> None:
    """Two columns for a wide character, a window around the fault, and nothing a terminal would obey."""
    assert fault_of("日本 > x").caret == " " * 7 + "^"
    long = fault_of("a = 1 AND " * 50 + "\x1b[31m > 5 AND " + "b = 2 AND " * 50)
    assert len(long.line) <= 72
    assert long.line.isprintable()
    assert long.line[len(long.caret) - 1 :].startswith(" [31m > 5")
    assert str(long).endswith(long.hint)


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        ("text_max", " " * 11),
        ("nodes_max", "a=1 OR b=1"),
        ("depth_max", "(" * 11),
        ("depth_max", "NOT " * 11 + "a = 1"),
        ("depth_max", "NOT (" * 6 + "a = 1" + ")" * 6),
        ("conjunctions_max", " OR ".join("abcdefghijk").replace(" OR", "=1 OR") + "=1"),
        ("conjunctions_max", " AND ".join(["(a=1 OR b=1)"] * 4)),
        ("predicates_max", " AND ".join("abcdefghijk").replace(" AND", "=1 AND") + "=1"),
        ("list_max", f"a IN ({', '.join(['1'] * 11)})"),
        ("list_max", f"a = {{{', '.join(['1'] * 11)}}}"),
        ("like_max", "a LIKE '12345678901'"),
        ("bytes_max", "a = 'x'"),
    ],
)
def test_each_limit_is_named_by_its_error(limit: str, text: str) -> None:
    """At the limit a filter is taken, beyond it refused by name."""
    size = {"nodes_max": 2, "bytes_max": 35}.get(limit, 10)
    error = fault_of(text, Limits(**{limit: size}))
    assert limit in error.message
    assert error.hint
    if limit not in ("conjunctions_max", "depth_max"):
        parse_filter(text, limits=Limits(**{limit: size + 1}))


def test_short_text_that_means_too_many_bytes_is_refused_soon() -> None:
    """What stands once in the text is stored in every conjunction: 128 with four kilobytes each are too much."""
    pairs = " AND ".join(f"(a{n} = 1 OR b{n} = 2)" for n in range(7))
    error = fault_of(f"x = '{'y' * 4_000}' AND {pairs}", Limits())
    assert "bytes_max = 262,144" in error.message
    assert "shorter" in error.hint


@pytest.mark.parametrize(
    "text",
    [
        "(" * 30_000,
        "NOT " * 8_000 + "a = 1",
        "(" * 15_000 + "a = 1" + ")" * 15_000,
        " AND ".join(f"(a{n} = 1 OR b{n} = 2)" for n in range(300)),
        "NOT (" + " OR ".join(f"(a{n} = 1 AND b{n} = 2)" for n in range(300)) + ")",
        "FALSE AND (" + " AND ".join(f"(a{n} = 1 OR b{n} = 2)" for n in range(300)) + ") OR " + "a = 1 OR " * 1_000,
        "a = 1 OR " * 3_600 + "a = 1",
        f"a IN ({','.join(['1'] * 16_000)})",
        f"a IN ({','.join(['1'] * 16_000)}",
        f"a IN ({','.join(['0.5'] * 1_000)}) AND b IN ({','.join(['0.5'] * 1_000)})",
        "a LIKE '" + "%_" * 16_000 + "'",
        "a LIKE '" + "%a" * 16_000 + "x'",
        "a = " + "'" * 32_001,
        "a = " + "1" * 32_000,
        "a = 1." + "1" * 32_000 + "x",
        "a = 1e" + "9" * 32_000,
        "x" * 32_000,
        "\U0001f600" * 32_768,
        "a" * 10**7,
    ],
    ids=lambda text: text[:20],
)
def test_hostile_text_is_refused(text: str) -> None:
    """Deep, long and exponential filters are refused by their size, before they take memory."""
    assert fault_of(text).hint


def test_depth_does_not_come_near_the_stack() -> None:
    """The deepest filter that is allowed is read with little stack left."""
    text = "NOT (a = 1 AND " * 16 + "b = 1" + ")" * 16
    parse_filter(text)

    def at_depth(frames: int) -> None:
        if frames:
            at_depth(frames - 1)
        else:
            parse_filter(text)

    at_depth(sys.getrecursionlimit() - 500)


def test_ten_thousand_hostile_texts_end_in_a_filter_or_an_error() -> None:
    """Any mixture of pieces is read, or refused with a position inside the text and a hint."""
    random = Random(4)
    limits = Limits(text_max=200, nodes_max=30, depth_max=8, conjunctions_max=16, list_max=4, like_max=6)
    read = 0
    for _ in range(10_000):
        text = random.choice(["", " "]).join(random.choices(SOUP, k=random.randint(1, 12)))
        ended = outcome_of(text, limits)
        if isinstance(ended, Filter):
            read += 1
        else:
            assert 0 <= ended.position <= len(text), text
            assert ended.hint, text
            assert (ended.line + ended.message + ended.hint).isprintable(), text
    assert 100 < read < 9_000
