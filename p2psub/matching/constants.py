"""The constants of a filter: literals read, parameters put in, limits kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from p2psub.matching.faults import FilterError
from p2psub.matching.limits import Limits
from p2psub.matching.literals import BadConstant, constant_of, read_moment, read_number, set_of
from p2psub.model.content import Value

if TYPE_CHECKING:
    from lark import Token
    from lark.tree import ParseTree


class Constant(NamedTuple):
    """A constant and where it was written."""

    value: Value
    at: int


class Constants:
    """Reads the constants of one text."""

    __slots__ = ("_limits", "_params", "_text")

    def __init__(self, text: str, params: Mapping[str, object], limits: Limits) -> None:
        self._text = text
        self._params = params
        self._limits = limits

    def constant(self, tree: ParseTree) -> Constant:
        """One constant, which may be a set."""
        child = tree.children[0]
        if not isinstance(child, str):
            return Constant(self.set(child), place_of(tree))
        with self._complaining(place_of(tree)):
            return Constant(self._literal(child), place_of(tree))

    def set(self, tree: ParseTree) -> frozenset[int | str]:
        """A list, a set, or a parameter that holds one, as a set value."""
        members = self.members(tree)
        with self._complaining(place_of(tree)):
            return set_of([member.value for member in members])

    def members(self, tree: ParseTree) -> list[Constant]:
        """The constants of a list, of a set, or of a parameter that holds one."""
        first = tree.children[0]
        if not isinstance(first, str):
            return self.members(first)
        if first.type == "PARAM":
            return self._members_given(first)
        members = [child for child in tree.children if not isinstance(child, str)]
        self._check_length(len(members), place_of(tree))
        return [self.constant(member) for member in members]

    def _members_given(self, param: Token) -> list[Constant]:
        at, given = param.start_pos or 0, self._given(param)
        if not isinstance(given, list | tuple | set | frozenset):
            raise FilterError(self._text, at, f"parameter {param} is not a list", "hand in a list, a tuple or a set")
        with self._complaining(at):
            return [Constant(self._plain(member), at) for member in given]

    def _literal(self, token: Token) -> Value:
        match token.type:
            case "STRING":
                return token[1:-1].replace("''", "'")
            case "NUMBER":
                return read_number(token)
            case "DATE":
                return read_moment(token[token.index("'") + 1 : -1])
            case "PARAM":
                return self._plain(self._given(token))
            case _:
                return token.type == "TRUE"

    def _given(self, param: Token) -> object:
        at, name = param.start_pos or 0, param[1:]
        if name not in self._params:
            raise FilterError(self._text, at, f"parameter {param} has no value", f"give a value for {name}")
        value = self._params[name]
        if isinstance(value, list | tuple | set | frozenset):
            self._check_length(len(value), at)
        return value

    def _plain(self, value: object) -> Value:
        return constant_of(value, self._limits.text_max)

    def _check_length(self, length: int, at: int) -> None:
        if length > self._limits.list_max:
            message = f"the list has more than {self._limits.list_max} members (limit list_max)"
            raise FilterError(self._text, at, message, "use a range or a prefix, or several subscriptions")

    @contextmanager
    def _complaining(self, at: int) -> Iterator[None]:
        try:
            yield
        except BadConstant as error:
            raise FilterError(self._text, at, error.message, error.hint) from error


def place_of(tree: ParseTree) -> int:
    """Where in the text a part of the tree begins."""
    first = tree.children[0]
    return (first.start_pos or 0) if isinstance(first, str) else place_of(first)
