"""Status pages as text."""

from __future__ import annotations

from p2psub.api.pages import BooksPage, ClusterPage, CubePage, StreamPage, SubscriptionBooksPage, SubscriptionsPage
from p2psub.api.tables import cube_text, subscriptions_text, table
from p2psub.model.content import Guarantee
from p2psub.model.graycode import Prefix
from p2psub.model.ids import ClusterId
from p2psub.model.outcomes import VerdictStatus
from p2psub.model.reasons import Reason


def test_columns_are_as_wide_as_they_need_be() -> None:
    """Nothing is a dash, and lines have no blanks at their ends."""
    assert table(("a", "long name"), [("longer", None), (1, "x")]) == "a       long name\nlonger  -\n1       x\n"


def test_what_others_wrote_cannot_move_the_cursor() -> None:
    """A cell is one line of printable characters."""
    assert table(("a",), [("x\x1b[2J\n",)]) == "a\nx?[2J?\n"


def test_the_cube_is_in_the_order_of_its_prefixes() -> None:
    """The only cluster owns the whole cube; one that fills says so."""
    whole = CubePage(
        cluster=ClusterId("a"), prefix=Prefix(""), filling=False, clusters=(ClusterPage(ClusterId("a"), Prefix("")),)
    )
    assert "(whole cube)  ours" in cube_text(whole)
    pages = (ClusterPage(ClusterId("a"), Prefix("1")), ClusterPage(ClusterId("b"), Prefix("0")))
    filling = CubePage(cluster=ClusterId("a"), prefix=Prefix("1"), filling=True, clusters=pages)
    assert cube_text(filling).splitlines()[1:] == ["b        0", "a        1       ours, filling"]


def test_subscriptions_of_others_are_listed_too() -> None:
    """Those through the control API in detail, each once."""
    stream = StreamPage(subscription="s1", filter="a = 1", status=VerdictStatus.STABLE, events=2, missed=0)
    text = subscriptions_text(SubscriptionsPage(active=("s1", "s2"), streams=(stream,)))
    assert [line.split() for line in text.splitlines()[1:]] == [
        ["s1", "stable", "2", "0", "a", "=", "1"],
        ["s2", "-", "-", "-", "-"],
    ]


def test_books_follow_the_subscriptions_where_there_are_any() -> None:
    """In decimals, with why pairs were not handed over."""
    expired = {Reason.DEADLINE: 1, Reason.CHANNEL_FULL: 2}
    sums = BooksPage(on_time=3, expired=expired, earned=4.5, penalties=0.15, earning=4.35)
    books = SubscriptionBooksPage(subscription="s9", guarantee=Guarantee.EFFECTIVELY_ONCE, books=sums)
    text = subscriptions_text(SubscriptionsPage(active=("s1",), streams=(), books=(books,)))
    line = "s9        effectively_once  3        3 (deadline 1, channel_full 2)  4.50    0.15"
    assert text.splitlines()[-1] == line
