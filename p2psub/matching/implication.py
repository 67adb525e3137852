"""When one comparison of a text, or of a set, entails another: some cases that are sure, by no means all."""

from __future__ import annotations

import itertools

from p2psub.matching.like import Wild, items_of
from p2psub.model.content import Operator, Predicate


def entails_of_texts(known: Predicate, asked: Predicate) -> bool:
    """Whether every text that satisfies `known` satisfies `asked`. False may mean that we do not see it."""
    if known.operator is asked.operator and known.constant == asked.constant:
        return True
    constant = asked.constant
    if not isinstance(constant, str) or not isinstance(known.constant, str):
        return False
    match asked.operator:
        case Operator.CONTAINS:
            return any(constant in piece for piece in _pieces(known))
        case Operator.LIKE:
            inner = _inner_text(constant)
            return inner is not None and any(inner in piece for piece in _pieces(known))
        case Operator.SUFFIX:
            return (_pieces(known)[-1]).endswith(constant) if _has_known_end(known) else False
        case Operator.NOT_CONTAINS:
            return known.operator is Operator.NOT_CONTAINS and known.constant in constant
        case Operator.NOT_SUFFIX:
            if known.operator is Operator.NOT_CONTAINS:
                return known.constant in constant
            if known.operator is Operator.NOT_SUFFIX:
                return constant.endswith(known.constant)
            return _has_known_end(known) and not _can_end_alike(_pieces(known)[-1], constant)
        case _:
            return False


def _pieces(known: Predicate) -> list[str]:
    """Texts that are surely part of the value, the last one last."""
    constant = str(known.constant)
    match known.operator:
        case Operator.PREFIX | Operator.SUFFIX | Operator.CONTAINS:
            return [constant]
        case Operator.LIKE:
            runs = itertools.groupby(items_of(constant), lambda item: isinstance(item, Wild))
            return ["".join(map(str, run)) for is_wild, run in runs if not is_wild]
        case _:
            return []


def _has_known_end(known: Predicate) -> bool:
    if known.operator is Operator.LIKE:
        items = items_of(str(known.constant))
        return bool(items) and isinstance(items[-1], str)
    return known.operator is Operator.SUFFIX


def _can_end_alike(one: str, other: str) -> bool:
    return one.endswith(other) or other.endswith(one)


def _inner_text(pattern: str) -> str | None:
    """The x of a pattern %x%."""
    items = items_of(pattern)
    is_scan = len(items) > 1 and items[0] is Wild.ANY and items[-1] is Wild.ANY
    inner = items[1:-1]
    return "".join(map(str, inner)) if is_scan and all(isinstance(item, str) for item in inner) else None


def entails_of_sets(known: Predicate, asked: Predicate) -> bool:  # noqa: PLR0912, a table of operators
    """Whether every set that satisfies `known` satisfies `asked`. False may mean that we do not see it."""
    if known.operator is asked.operator and known.constant == asked.constant:
        return True
    asks = asked.constant
    match known.operator, known.constant:
        case Operator.SUBSET | Operator.PROPER_SUBSET, frozenset() as bound:
            is_proper = known.operator is Operator.PROPER_SUBSET
            match asked.operator, asks:
                case Operator.SUBSET, frozenset():
                    return bound <= asks
                case Operator.PROPER_SUBSET, frozenset():
                    return bound < asks or (is_proper and bound <= asks)
                case Operator.UNEQUAL, frozenset():
                    return not asks <= bound or (is_proper and asks == bound)
                case Operator.NOT_CONTAINS, _:
                    return asks not in bound
        case Operator.CONTAINS, member:
            match asked.operator, asks:
                case ((Operator.UNEQUAL | Operator.NOT_SUBSET | Operator.NOT_PROPER_SUBSET), frozenset()):
                    return member not in asks
        case Operator.NOT_CONTAINS, member:
            match asked.operator, asks:
                case Operator.UNEQUAL, frozenset():
                    return member in asks
        case Operator.NOT_SUBSET, frozenset() as bound:
            match asked.operator, asks:
                case ((Operator.NOT_SUBSET | Operator.NOT_PROPER_SUBSET | Operator.UNEQUAL), frozenset()):
                    return asks <= bound
        case Operator.NOT_PROPER_SUBSET, frozenset() as bound:
            match asked.operator, asks:
                case Operator.NOT_PROPER_SUBSET, frozenset():
                    return asks <= bound
                case ((Operator.NOT_SUBSET | Operator.UNEQUAL), frozenset()):
                    return asks < bound
    return False
