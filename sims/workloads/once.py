"""The workload of Once 4: offers with a price, a category, a discount, a name and a supplier.

A sample space of 1,000 trees of 100 subscriptions each; in a tree a parent covers its one to three children, between
trees there is no covering. A set of subscriptions is made of random trees, from each a random number of 1 to 100.
Subscriptions have 2 to 5 predicates, price and category among them. Half of the events satisfy some subscription.

The paper does not say what keeps trees apart. Here every tree has a category of its own. Another reading, `categories`,
has fewer: then the trees of one category have bands of prices that do not overlap. Nor does it say which subscriptions
of a tree are chosen. Here any are; another reading, `is_connected`, takes them from the root on, so that what is chosen
of a tree hangs together, and SIENA has one root to try for each tree.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Final

from p2psub.model.content import Event, Filter, Moment, Operator, Predicate, Value
from sims.workloads.matching import event_of

TREES: Final = 1_000
TREE_SIZE: Final = 100
CHILDREN_MAX: Final = 3
BAND: Final = 10_000
"""Prices of one tree."""
SUPPLIERS: Final = [f"supplier-{number}" for number in range(200)]
SYLLABLES: Final = ["ka", "to", "mi", "re", "sol", "un", "di", "va"]


@dataclass(frozen=True, slots=True)
class Wish:
    """A subscription before it is a filter; None is a predicate that it does not have."""

    low: int
    high: int
    discount: int | None = None
    name: str | None = None
    suppliers: frozenset[int | str] | None = None


@dataclass(frozen=True, slots=True)
class Branch:
    """A wish and the tree it is of."""

    tree: int
    wish: Wish


class OnceWorkload:
    """Subscriptions and events as in the paper's experiments."""

    def __init__(self, seed: int, categories: int | None = None, *, is_connected: bool = False) -> None:
        self._seed = seed
        self._is_connected = is_connected
        self._categories = categories
        self._random = Random(seed)
        self._drawn: list[Branch] = []

    def filters(self) -> Iterator[Filter]:
        """Random trees, from each a random number of its subscriptions; then what was left out of them."""
        order = list(range(TREES))
        self._random.shuffle(order)
        left: list[Branch] = []
        for tree in order:
            wishes = self._tree(tree)
            if not self._is_connected:
                self._random.shuffle(wishes)
            count = self._random.randint(1, TREE_SIZE)
            left += [Branch(tree, wish) for wish in wishes[count:]]
            yield from map(self._draw, [Branch(tree, wish) for wish in wishes[:count]])
        yield from map(self._draw, left)

    def endless_filters(self) -> Iterator[Filter]:
        """As `filters`, and then more trees than the paper has; of those, one in ten may make events."""
        yield from self.filters()
        for tree in itertools.count(TREES):
            for wish in self._tree(tree):
                branch = Branch(tree, wish)
                yield self._draw(branch) if tree % 10 == 0 else self._filter_of(branch)

    def _draw(self, branch: Branch) -> Filter:
        self._drawn.append(branch)
        return self._filter_of(branch)

    def events(self, count: int) -> Iterator[Event]:
        """Half of them satisfy a random subscription of those drawn, the others nothing."""
        for number in range(count):
            branch = self._random.choice(self._drawn)
            yield event_of(number, self._attributes(branch, is_wanted=number % 2 == 0))

    def _tree(self, tree: int) -> list[Wish]:
        """Breadth first: every wish after one that covers it."""
        random = Random(f"{self._seed} {tree}")
        base = BAND * self._band(tree)
        wishes = [Wish(base + random.randrange(BAND // 10), base + BAND - 1 - random.randrange(BAND // 10))]
        grown = 0
        while len(wishes) < TREE_SIZE:
            for _ in range(min(random.randint(1, CHILDREN_MAX), TREE_SIZE - len(wishes))):
                wishes.append(_narrower(wishes[grown], random))
            grown += 1
        return wishes

    def _filter_of(self, branch: Branch) -> Filter:
        wish = branch.wish
        conjunction = [
            Predicate("category", Operator.EQUAL, self._category(branch.tree)),
            Predicate("price", Operator.GREATER_EQUAL, wish.low),
            Predicate("price", Operator.LESS_EQUAL, wish.high),
        ]
        if wish.discount is not None:
            conjunction.append(Predicate("discount", Operator.GREATER, wish.discount))
        if wish.name is not None:
            conjunction.append(Predicate("name", Operator.PREFIX, wish.name))
        if wish.suppliers is not None:
            conjunction.append(Predicate("supplier", Operator.IN, wish.suppliers))
        return Filter((tuple(conjunction),))

    def _category(self, tree: int) -> str:
        return f"category-{tree if self._categories is None else tree % self._categories}"

    def _band(self, tree: int) -> int:
        return 0 if self._categories is None else tree // self._categories

    def _attributes(self, branch: Branch, *, is_wanted: bool) -> dict[str, Value]:
        random, wish = self._random, branch.wish
        # Below the band of every tree, where no filter wants anything.
        price = random.randint(wish.low, wish.high) if is_wanted else -1 - random.randrange(BAND)
        discount = random.randint(0 if wish.discount is None else wish.discount + 1, 100)
        name = (wish.name or "") + "".join(random.choices(SYLLABLES, k=3))
        supplier = random.choice(sorted(map(str, wish.suppliers)) if wish.suppliers else SUPPLIERS)
        return {
            "price": price,
            "discount": discount,
            "category": self._category(branch.tree),
            "name": name,
            "supplier": supplier,
            "time": Moment(1_800_000_000_000_000 + random.randrange(10**12)),
        }


def _narrower(wish: Wish, random: Random) -> Wish:
    """A wish that the given one covers, and that differs from it: one side or predicate is narrowed."""
    width = wish.high - wish.low
    low, high = wish.low + random.randrange(width // 10 + 1), wish.high - random.randrange(width // 10 + 1)
    discount, name, suppliers = wish.discount, wish.name, wish.suppliers
    match random.randrange(4):
        case 0:
            discount = min(90, (0 if discount is None else discount) + random.randint(1, 10))
        case 1 if len(name or "") < 12:
            name = (name or "") + random.choice(SYLLABLES)
        case 2:
            if suppliers is None:
                suppliers = frozenset(random.sample(SUPPLIERS, 5))
            elif len(suppliers) > 1:
                suppliers = frozenset(sorted(map(str, suppliers))[1:])
        case _:
            high = max(low, high - 1)
    return Wish(low, high, discount, name, suppliers)
