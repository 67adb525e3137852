"""The extent of an attribute under some predicates: every value that satisfies them all, type by type.

Numbers, dates, truth values, and what order and equality say of texts, are kept exactly. What looks into a text or a
set is kept as the predicate itself (`scans`), and applied where the values are few enough to be listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from p2psub.matching.cuts import DATES, NOTHING, NUMBERS, TEXTS, CutOrder, Cuts, after_prefix, is_within, overlap
from p2psub.matching.implication import entails_of_sets, entails_of_texts
from p2psub.matching.like import Wild, items_of
from p2psub.matching.predicates import compile_filter, is_defined, satisfies
from p2psub.model.content import TOPIC, Filter, Moment, Operator, Predicate, Value

SetValue = frozenset[int | str]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Extent:
    """Values of one attribute. Without arguments: any value, or none at all."""

    numbers: Cuts = (NUMBERS.bottom,)
    texts: Cuts = (TEXTS.bottom,)
    dates: Cuts = (DATES.bottom,)
    bools: frozenset[bool] = frozenset([False, True])
    sets: frozenset[SetValue] | None = None
    """The sets there may be; None: any."""
    scans: tuple[Predicate, ...] = ()
    """What texts and sets must satisfy besides."""
    is_nan: bool = True
    """Whether it may be NaN."""
    is_missing: bool = True
    """Whether the attribute may be missing."""

    @property
    def is_empty(self) -> bool:
        """Whether surely no value is left."""
        ordered = self.numbers or self.texts or self.dates
        return not (ordered or self.bools or self.sets is None or self.sets or self.is_nan or self.is_missing)


_EMPTY: Final = Extent(NOTHING, NOTHING, NOTHING, frozenset(), frozenset(), is_nan=False, is_missing=False)
ANY: Final = Extent()
ANY_TOPIC: Final = replace(_EMPTY, texts=ANY.texts)
"""A topic is there, and is text."""


def only_value(extent: Extent) -> int | float | str | None:
    """The number or text that alone is left, if one is."""
    number, text = len(extent.numbers) == 2, len(extent.texts) == 2
    if number == text or extent.dates or extent.bools or extent.sets != frozenset() or extent.is_missing:
        return None
    if text and not extent.numbers and extent.texts == TEXTS.point(extent.texts[0]):
        return str(extent.texts[0])
    if number and not extent.texts and extent.numbers == NUMBERS.point(extent.numbers[0][0]):
        value: int | float = extent.numbers[0][0]
        return value
    return None


def extent_of(attribute: str, predicates: Iterable[Predicate]) -> Extent:
    """What satisfies all the predicates, which are about this attribute."""
    extent = ANY_TOPIC if attribute == TOPIC else ANY
    for predicate in predicates:
        extent = _both(extent, _satisfying(predicate))
    return _sifted(extent)


def holds(outer: Extent, inner: Extent) -> bool:
    """Whether `outer` has every value of `inner`; exact but for scans, where no may mean that we do not know."""
    return (
        is_within(inner.numbers, outer.numbers)
        and is_within(inner.dates, outer.dates)
        and inner.bools <= outer.bools
        and inner.is_nan <= outer.is_nan
        and inner.is_missing <= outer.is_missing
        and _holds_texts(outer, inner)
        and _holds_sets(outer, inner)
    )


def _holds_texts(outer: Extent, inner: Extent) -> bool:
    if not is_within(inner.texts, outer.texts):
        return False
    if not outer.scans:
        return True
    listed, others = _listed(inner.texts)
    # Listed texts of `inner` were tried on its own scans; those of `outer` must be tried here.
    return all(_passes(outer.scans, text) for text in listed) and (not others or _entails(inner.scans, others, outer))


def _entails(scans: tuple[Predicate, ...], texts: Cuts, outer: Extent) -> bool:
    """Whether texts in these cuts that satisfy the scans surely satisfy those of `outer`."""
    # What the cuts say of the beginning is evidence, too, whatever they come from: so covering is transitive.
    beginning = Predicate("", Operator.PREFIX, _beginning(texts))
    return all(any(entails_of_texts(known, scan) for known in (beginning, *scans)) for scan in outer.scans)


def _beginning(texts: Cuts) -> str:
    """What all texts between the first cut and the last one begin with."""
    low, high = texts[0], texts[-1] if len(texts) % 2 == 0 else ""
    same = next((place for place, (one, other) in enumerate(zip(low, high, strict=False)) if one != other), len(high))
    first = low[: same + 1]
    if not is_within((low, high) if high else (low,), _with_prefix(first)):
        return str(low[:same])
    # After the last character there is, the cut above a prefix is that of the shorter one.
    after = low[same + 1 :]
    return str(first + after[: len(after) - len(after.lstrip("\U0010ffff"))])


def _holds_sets(outer: Extent, inner: Extent) -> bool:
    if inner.sets is not None:
        return all((outer.sets is None or one in outer.sets) and _passes(outer.scans, one) for one in inner.sets)
    return outer.sets is None and all(
        any(entails_of_sets(known, scan) for known in inner.scans) for scan in outer.scans
    )


def overlaps(one: Extent, other: Extent) -> bool:
    """Whether some value may be in both; exact but for scans, where yes may mean that we do not know."""
    return _share_unscanned(one, other) or not _sifted(_both(one, other)).is_empty


def _share_unscanned(one: Extent, other: Extent) -> bool:
    """Whether they share values on which no scan is tried: most pairs do, and then no extent need be made of them."""
    if overlap(one.numbers, other.numbers) or (one.sets is None and other.sets is None):
        return True
    return not (one.scans or other.scans) and bool(overlap(one.texts, other.texts))


def _both(one: Extent, other: Extent) -> Extent:
    sets = other.sets if one.sets is None else one.sets if other.sets is None else _common(one.sets, other.sets)
    return Extent(
        overlap(one.numbers, other.numbers),
        overlap(one.texts, other.texts),
        overlap(one.dates, other.dates),
        _common(one.bools, other.bools),
        sets,
        (*one.scans, *other.scans),
        one.is_nan and other.is_nan,
        one.is_missing and other.is_missing,
    )


def _common(one: frozenset[T], other: frozenset[T]) -> frozenset[T]:
    # Extents are kept in numbers, and even an empty set that is made anew takes room.
    return one if one <= other else other if other <= one else (one & other) or frozenset()


def _sifted(extent: Extent) -> Extent:
    """Without the listed texts and sets that fail a scan."""
    if not extent.scans:
        return extent
    listed, _ = _listed(extent.texts)
    texts = extent.texts
    for text in listed:
        if not _passes(extent.scans, text):
            texts = overlap(texts, TEXTS.outside(TEXTS.point(text)))
    sets = extent.sets
    if sets is not None:
        sets = frozenset([one for one in sets if _passes(extent.scans, one)])
    return replace(extent, texts=texts, sets=sets)


def _listed(texts: Cuts) -> tuple[list[str], Cuts]:
    """The texts that stand alone between two cuts, and the cuts around the others."""
    listed: list[str] = []
    others: list[str] = []
    for place in range(0, len(texts), 2):
        stretch = texts[place : place + 2]
        if stretch == TEXTS.point(stretch[0]):
            listed.append(stretch[0])
        else:
            others += stretch
    return listed, tuple(others)


def _passes(scans: Iterable[Predicate], value: Value) -> bool:
    return all(_is_true(scan, value) for scan in scans)


def _is_true(predicate: Predicate, value: Value) -> bool:
    return satisfies({predicate.attribute: value}, compile_filter(Filter(((predicate,),))))


def _satisfying(predicate: Predicate) -> Extent:
    """Every value that satisfies one predicate."""
    operator, constant = predicate.operator, predicate.constant
    if not is_defined(operator, constant):
        return _EMPTY
    match constant:
        case bool() if operator is Operator.EXISTS:
            return replace(ANY, is_missing=False) if constant else replace(_EMPTY, is_missing=True)
        case bool():
            return replace(_EMPTY, bools=frozenset([constant is (operator is Operator.EQUAL)]))
        case int() | float() if operator in _CUTTING:
            return replace(_EMPTY, numbers=_CUTTING[operator](NUMBERS, constant))
        case Moment():
            return replace(_EMPTY, dates=_CUTTING[operator](DATES, constant))
        case str() if operator in _CUTTING:
            return replace(_EMPTY, texts=_CUTTING[operator](TEXTS, constant))
        case frozenset() if operator in (Operator.IN, Operator.NOT_IN):
            return _within(constant, operator is Operator.IN)
        case frozenset() if operator is Operator.EQUAL:
            return replace(_EMPTY, sets=frozenset([constant]))
        case _:
            return _scanning(predicate)


def _within(members: SetValue, is_in: bool) -> Extent:
    numbers = NUMBERS.points(sorted(member for member in members if isinstance(member, int)))
    texts = TEXTS.points(sorted(member for member in members if isinstance(member, str)))
    if is_in:
        return replace(_EMPTY, numbers=numbers, texts=texts)
    # A value must be comparable with every member, so a mixed list, like an empty one, leaves nothing.
    if bool(numbers) == bool(texts):
        return _EMPTY
    if numbers:
        return replace(_EMPTY, numbers=NUMBERS.outside(numbers))
    return replace(_EMPTY, texts=TEXTS.outside(texts))


def _scanning(predicate: Predicate) -> Extent:
    operator, constant = predicate.operator, predicate.constant
    scans = (predicate,)
    if operator in (Operator.CONTAINS, Operator.NOT_CONTAINS):
        return replace(_EMPTY, texts=ANY.texts if isinstance(constant, str) else NOTHING, sets=None, scans=scans)
    if isinstance(constant, frozenset):
        return replace(_EMPTY, sets=None, scans=scans)
    assert isinstance(constant, str)
    if operator is Operator.NOT_PREFIX:
        return replace(_EMPTY, texts=TEXTS.outside(_with_prefix(constant)))
    if operator is Operator.PREFIX:
        return replace(_EMPTY, texts=_with_prefix(constant))
    texts = _with_prefix(_literal_beginning(constant)) if operator is Operator.LIKE else ANY.texts
    return replace(_EMPTY, texts=texts, scans=scans)


def _with_prefix(prefix: str) -> Cuts:
    return (prefix, *after_prefix(prefix))


def _literal_beginning(pattern: str) -> str:
    beginning = ""
    for item in items_of(pattern):
        if isinstance(item, Wild):
            break
        beginning += item
    return beginning


def _below(order: CutOrder, constant: Value) -> Cuts:
    return order.outside(order.from_(constant))


def _up_to(order: CutOrder, constant: Value) -> Cuts:
    return order.outside(order.beyond(constant))


_CUTTING: Final[dict[Operator, Callable[[CutOrder, Value], Cuts]]] = {
    Operator.LESS: _below,
    Operator.LESS_EQUAL: _up_to,
    Operator.GREATER: CutOrder.beyond,
    Operator.GREATER_EQUAL: CutOrder.from_,
    Operator.EQUAL: CutOrder.point,
    Operator.UNEQUAL: lambda order, constant: order.outside(order.point(constant)),
}
"""How each comparison cuts an ordered type."""
