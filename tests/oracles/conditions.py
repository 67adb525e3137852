"""The filter language once more: its own tree, its own three-valued reading, and its own way to write text."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from random import Random
from typing import Union

from p2psub.model.content import Event, Moment, Value
from tests.oracles.linear import family, is_like

Truth = bool | None
"""None is unknown."""


@dataclass(frozen=True)
class Compare:
    """`name symbol constant`, also for STARTS WITH, ENDS WITH and CONTAINS."""

    name: str
    symbol: str
    constant: Value


@dataclass(frozen=True)
class Between:
    """`name BETWEEN low AND high`."""

    name: str
    low: Value
    high: Value


@dataclass(frozen=True)
class Within:
    """`name IN (…)`."""

    name: str
    members: tuple[Value, ...]


@dataclass(frozen=True)
class Like:
    """`name LIKE 'pattern' ESCAPE 'x'`."""

    name: str
    pattern: str
    escape: str | None


@dataclass(frozen=True)
class IsNull:
    """`name IS NULL`."""

    name: str


@dataclass(frozen=True)
class Always:
    """TRUE or FALSE."""

    truth: bool


@dataclass(frozen=True)
class Not:
    """NOT."""

    part: Node


@dataclass(frozen=True)
class And:
    """AND of two or more."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Or:
    """OR of two or more."""

    parts: tuple[Node, ...]


Node = Union[Compare, Between, Within, Like, IsNull, Always, Not, And, Or]  # noqa: UP007, some are not defined yet


def evaluate(node: Node, event: Event) -> Truth:
    """What a condition is for an event: true, false or unknown."""
    match node:
        case Always(truth):
            return truth
        case Not(part):
            return opposite(evaluate(part, event))
        case And(parts):
            return all_of([evaluate(part, event) for part in parts])
        case Or(parts):
            return opposite(all_of([opposite(evaluate(part, event)) for part in parts]))
        case IsNull(name):
            return value_of(event, name) is None
        case _:
            value = value_of(event, node.name)
            return None if value is None else leaf(node, value)


def value_of(event: Event, name: str) -> Value | None:
    """The attribute, if there is one."""
    return event.topic if name == "topic" else event.attributes.get(name)


def leaf(node: Compare | Between | Within | Like, value: Value) -> Truth:
    """One comparison of a value that is there."""
    match node:
        case Like(_, pattern, escape):
            return is_like(value, pattern, escape) if isinstance(value, str) else None
        case Between(_, low, high):
            return all_of([compare(value, ">=", low), compare(value, "<=", high)])
        case Within(_, members):
            return opposite(all_of([compare(value, "<>", member) for member in members]))
        case Compare(_, symbol, constant):
            return compare(value, symbol, constant)


def opposite(truth: Truth) -> Truth:
    """NOT."""
    return None if truth is None else not truth


def all_of(truths: list[Truth]) -> Truth:
    """AND."""
    return False if False in truths else None if None in truths else True


def compare(value: Value, symbol: str, constant: Value) -> Truth:  # noqa: PLR0912, a table of operators
    """`value symbol constant`, unknown where types do not go together or a number is none."""
    kinds = family(value), family(constant)
    if isinstance(value, float) and math.isnan(value):
        return None
    if symbol == "CONTAINS":
        if kinds == ("text", "text"):
            return str(constant) in str(value)
        if isinstance(value, frozenset) and kinds[1] in ("number", "text"):
            return any(family(member) == kinds[1] and member == constant for member in value)
        return None
    if kinds[0] != kinds[1]:
        return None
    match symbol:
        case "=":
            return value == constant
        case "<>":
            return value != constant
        case "STARTS WITH":
            return str(value).startswith(str(constant))
        case "ENDS WITH":
            return str(value).endswith(str(constant))
        case "SUBSET OF":
            return value <= constant  # type: ignore[operator]
        case "PROPER SUBSET OF":
            return value <= constant and value != constant  # type: ignore[operator]
        case "<":
            return value < constant  # type: ignore[operator]
        case ">":
            return constant < value  # type: ignore[operator]
        case "<=":
            return not constant < value  # type: ignore[operator]
        case _:
            return not value < constant  # type: ignore[operator]


RESERVED = {"AND", "BETWEEN", "FALSE", "IN", "INFINITY", "IS", "LIKE", "NOT", "NULL", "OR", "TRUE"}
MIRRORED = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


@dataclass
class Scribe:
    """Writes a tree as text in one of the many ways there are; `params` are the values it left out of it."""

    random: Random
    params: dict[str, object] = field(default_factory=dict)

    def write(self, node: Node) -> str:
        """The whole condition."""
        match node:
            case Always(truth):
                text = self.word("TRUE" if truth else "FALSE")
            case Not(part):
                text = self.negation(part)
            case And(parts):
                text = self.join([self.inside(part, (Or,)) for part in parts], "AND")
            case Or(parts):
                text = self.join([self.inside(part, ()) for part in parts], "OR")
            case IsNull(name):
                text = f"{self.name(name)} {self.word('IS NULL')}"
            case _:
                text = f"{self.name(node.name)} {self.test(node)}"
                if isinstance(node, Compare) and node.symbol in MIRRORED and self.random.random() < 0.2:
                    text = f"{self.constant(node.constant)} {MIRRORED[node.symbol]} {self.name(node.name)}"
        return f"({text})" if self.random.random() < 0.1 else text

    def negation(self, part: Node) -> str:
        """NOT before the condition, or inside of it where it may stand there."""
        is_inner = self.random.random() < 0.5
        if isinstance(part, IsNull) and is_inner:
            return f"{self.name(part.name)} {self.word('IS NOT NULL')}"
        if isinstance(part, Within | Between | Like) and is_inner:
            return f"{self.name(part.name)} {self.word('NOT')} {self.test(part)}"
        if isinstance(part, Compare) and part.symbol not in MIRRORED and is_inner:
            return f"{self.name(part.name)} {self.word('NOT')} {self.test(part)}"
        return f"{self.word('NOT')} {self.inside(part, (And, Or))}"

    def inside(self, part: Node, weaker: tuple[type, ...]) -> str:
        """A part, in parentheses if it binds weaker than what is around it."""
        text = self.write(part)
        return f"({text})" if isinstance(part, weaker) else text

    def join(self, parts: list[str], word: str) -> str:
        """Parts with a word between them."""
        return self.random.choice([" ", "\n", "\t "]).join([f" {self.word(word)} ".join(parts)])

    def test(self, node: Compare | Between | Within | Like) -> str:
        """What stands behind the name."""
        match node:
            case Between(_, low, high):
                text = f"{self.word('BETWEEN')} {self.constant(low)} {self.word('AND')} {self.constant(high)}"
            case Within(_, members):
                text = f"{self.word('IN')} {self.list(members)}"
            case Like(_, pattern, escape):
                text = f"{self.word('LIKE')} {self.constant(pattern)}"
                if escape is not None:
                    text += f" {self.word('ESCAPE')} {self.constant(escape)}"
            case Compare(_, symbol, frozenset() as members) if "SUBSET" in symbol:
                text = f"{self.word(symbol)} {self.list(tuple(members))}"
            case Compare(_, symbol, constant):
                text = f"{self.word(symbol)} {self.constant(constant)}"
        return text

    def list(self, members: tuple[Value, ...]) -> str:
        """A list of constants."""
        if self.random.random() < 0.2:
            return self.param(list(members))
        text = self.random.choice([",", ", ", " ,\n"]).join(self.constant(member) for member in members)
        return f"({text})" if self.random.random() < 0.7 else f"{{{text}}}"

    def word(self, word: str) -> str:
        """A word of the language, in any case."""
        return self.random.choice([word, word.lower(), word.title()])

    def name(self, name: str) -> str:
        """An attribute, quoted if need be."""
        is_plain = name.isascii() and name.isidentifier() and name.upper() not in RESERVED
        return name if is_plain and self.random.random() < 0.8 else '"' + name.replace('"', '""') + '"'

    def param(self, value: object) -> str:
        """A parameter instead of a constant."""
        name = f"p{len(self.params)}"
        self.params[name] = value
        return ":" + name

    def constant(self, value: Value) -> str:
        """A constant; each type has several writings."""
        if self.random.random() < 0.1:
            return self.param(value)
        match value:
            case bool():
                return self.word("TRUE" if value else "FALSE")
            case float() if math.isinf(value):
                return ("-" if value < 0 else "") + self.word("INFINITY")
            case int():
                return self.random.choice([f"{value}", f"{value:+}", f"{value}"])
            case float():
                return self.random.choice([repr(value), f"{value:.17e}"])
            case str():
                return "'" + value.replace("'", "''") + "'"
            case Moment():
                return self.date(value)
            case _:
                return "{" + ", ".join(self.constant(member) for member in value) + "}"

    def date(self, moment: Moment) -> str:
        """A date in some zone."""
        zone = self.random.choice([UTC, timezone(timedelta(hours=5, minutes=30)), timezone(timedelta(hours=-8))])
        date = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=moment.us)).astimezone(zone)
        text = date.isoformat(self.random.choice(["T", " "]))
        return f"{self.word('TIMESTAMP')}{self.random.choice(['', ' '])}'{text.replace('+00:00', 'Z')}'"
