"""Values as people type them, and as they are shown."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2psub.api.errors import BadContent
from p2psub.cli.assignments import read_assignment, read_assignments, read_value, spell_value
from p2psub.model.content import Moment, Value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-7", -7),
        ("1.5", 1.5),
        ("-.5e3", -500.0),
        ("2e3", 2000.0),
        ("true", True),
        ("false", False),
        ("True", "True"),
        ("ACME", "ACME"),
        ("", ""),
        ("2026-01-01", "2026-01-01"),
        ("1.2.3", "1.2.3"),
        ("nan", "nan"),
        ("'42'", "42"),
        ("'a\\n'", "a\\n"),
        ('"a\\nb"', "a\nb"),
        ("'", "'"),
        ("@1970-01-01T00:00:01Z", Moment(1_000_000)),
        ("@1970-01-02", Moment(86_400_000_000)),
        ("@1970-01-01T01:00:00+01:00", Moment(0)),
        ("{}", frozenset[str]()),
        ("{red,7}", frozenset(["red", 7])),
        ("{ 'x,y' , \"z}\" , '8' }", frozenset(["x,y", "z}", "8"])),
    ],
)
def test_values_are_read_as_they_look(text: str, value: Value) -> None:
    """Type and value, for everything the help mentions."""
    read = read_value("key", text)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    "text", ["@", "@yesterday", "{", "{a", "{a,,b}", "{a,}", "{a}b", '{"a}', '"open', '"a" b', "{'a'b}"]
)
def test_what_is_no_value_is_told_so(text: str) -> None:
    """By the name of its key, with advice."""
    with pytest.raises(BadContent, match="key"):
        read_value("key", text)


@pytest.mark.parametrize("text", ["price", "=1", ""])
def test_an_assignment_needs_a_name_and_an_equals_sign(text: str) -> None:
    """And says how one looks."""
    with pytest.raises(BadContent, match=r"price=12\.5"):
        read_assignment(text)


def test_a_name_is_given_once() -> None:
    """A shell that took a set apart is found out."""
    assert read_assignments(["a=1", "b=2"]) == {"a": 1, "b": 2}
    with pytest.raises(BadContent, match="quote a set"):
        read_assignments(["tags=red", "tags=7"])


def test_the_first_equals_sign_counts() -> None:
    """A value may hold others."""
    assert read_assignment("formula=a=b") == ("formula", "a=b")


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
values = st.one_of(
    st.booleans(),
    st.integers(-(1 << 63), (1 << 64) - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
    st.builds(Moment, st.integers(-(1 << 63), (1 << 63) - 1)),
    st.frozensets(st.one_of(st.integers(-(1 << 63), (1 << 63) - 1), texts), max_size=5),
)


@given(values)
def test_what_is_shown_can_be_typed(value: Value) -> None:
    """Reading undoes spelling, type and all."""
    read = read_value("key", spell_value(value))
    assert read == value
    assert type(read) is type(value)


@given(values)
def test_what_is_shown_is_harmless(value: Value) -> None:
    """A terminal sees printable characters alone, whoever sent the value."""
    assert spell_value(value).isprintable()


def test_floats_that_are_no_numbers_are_shown_all_the_same() -> None:
    """They cannot be typed, but may arrive; a text of that name is in quotes."""
    assert spell_value(math.nan) == "nan"
    assert spell_value("nan") == '"nan"'
