"""What a filter demands of those who carry its events: the peak rate, from what publishers advertised (RacsCBPS 3.4).

Every advertisement is a stream of its own that is never faster than it says. If the filter covers it, all of the stream
may be wanted at once, so the peak is no lower; if the two share no event, none of it ever is; in between nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterable

from p2psub.admission.advertisement_graph import AdvertisedFilter, AdvertisementGraph
from p2psub.matching.covering import scope_of
from p2psub.model.content import Filter, pinned_topics
from p2psub.model.rates import RATE_SUM_MAX, Demand


def demand_of(wanted: Filter, advertised: AdvertisementGraph) -> Demand:
    """At least the sum of the advertisements that the filter covers, at most that of all that it may meet."""
    scope = scope_of(wanted)
    met = [one for one in advertised.near(pinned_topics(wanted)) if scope.meets(one.scope)]
    covered = [one for one in met if scope.covers(one.scope)]
    return Demand(_rate_of(covered), _rate_of(met), _publishers_of(covered), _publishers_of(met))


def paper_demand_of(wanted: Filter, advertised: AdvertisementGraph) -> Demand:
    """The paper's reading, formula (1), to compare with: by what covers the filter, and what the filter covers.

    The minimum is the largest of what it covers, not the sum. The maximum leaves out what the filter merely meets
    (theorem 1), so it may be too low; where nothing covers the filter, all that is advertised stands for it. Each
    advertisement counts for a publisher. A filter that no event satisfies demands nothing.
    """
    scope = scope_of(wanted)
    if not scope.conjunctions:
        return Demand(0, 0, 0, 0)
    above, below = advertised.around(scope, pinned_topics(wanted))
    return Demand(
        _told(max((one.rate for one in below), default=0)),
        _told(min((one.rate for one in above), default=_rate_of(advertised))),
        max((one.count for one in below), default=0),
        min((one.count for one in above), default=len(advertised)),
    )


def _rate_of(filters: Iterable[AdvertisedFilter]) -> int:
    return _told(sum(rate for one in filters for rate in one.rates.values()))


def _told(rate: int) -> int:
    # The rates of a liar may add up to more than a message can say.
    return min(rate, RATE_SUM_MAX)


def _publishers_of(filters: Iterable[AdvertisedFilter]) -> int:
    return len({advertisement.node for one in filters for advertisement in one.rates})
