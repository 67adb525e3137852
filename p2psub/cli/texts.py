"""What a peer says, in a line for people. What others published is shown so that no terminal obeys it."""

from __future__ import annotations

from p2psub.api.errors import refusal_advice
from p2psub.api.schemas import AdvertisedItem, DemandItem, EventItem, GapItem, PublishResponse, VerdictItem
from p2psub.api.values import value_from_json
from p2psub.cli.assignments import spell_text, spell_value
from p2psub.model.outcomes import VerdictStatus


def outcome_text(outcome: PublishResponse) -> str:
    """What became of a publish."""
    if outcome.copies is None:
        return f"published {outcome.event}: at most once, so copies and matches are not known"
    copies = f"{outcome.copies} {'copy' if outcome.copies == 1 else 'copies'}"
    matched = f"{outcome.matched} {'subscription' if outcome.matched == 1 else 'subscriptions'}"
    return f"published {outcome.event}: {copies}, matched {matched}"


def event_text(event: EventItem) -> str:
    """An event: topic, attributes, and what there is of a body."""
    words = [spell_text(event.topic)]
    words += [
        f"{spell_text(name)}={spell_value(value_from_json(name, value))}" for name, value in event.attributes.items()
    ]
    if event.body is not None:
        words.append(f"body={spell_text(event.body)}")
    if event.body_base64 is not None:
        words.append(f"body_base64={event.body_base64}")
    if event.age_s is not None and event.remaining_s is not None:
        words.append(f"({event.age_s:.3f} s old, {event.remaining_s:.3f} s left)")
    return " ".join(words)


def gap_text(gap: GapItem) -> str:
    """Word of missing events."""
    if not gap.count:
        return f"events may be missing here: {gap.reason}"
    return f"{gap.count} {'event is' if gap.count == 1 else 'events are'} missing here: {gap.reason}"


def verdict_text(said: VerdictItem | AdvertisedItem) -> str:
    """Where a subscription stands, or an advertisement."""
    if isinstance(said, VerdictItem):
        name, done, stored, demand = said.subscription, "subscribed", "stored", _demand_text(said.demand)
    else:
        name, done, stored, demand = said.advertisement, "advertised", "known", ""
    match said.status:
        case VerdictStatus.STABLE:
            return f"{done} as {name}, in every cluster{demand}"
        case VerdictStatus.ACCEPTED:
            return f"{done} as {name}; not yet {stored} in {', '.join(said.unreached) or 'some clusters'}{demand}"
        case VerdictStatus.REFUSED:
            why = "" if said.reason is None else f", {said.reason}"
            return f"{name} was refused{why}; {refusal_advice(said.reason)}"


def _demand_text(demand: DemandItem | None) -> str:
    """What publishers advertise of a subscription; nothing where they advertise nothing of it."""
    if demand is None or not demand.publishers_max:
        return ""
    publishers = _range_text(demand.publishers_min, demand.publishers_max)
    by = f"{publishers} {'publisher' if publishers == '1' else 'publishers'}"
    return f"; advertised: {_range_text(demand.rate_min, demand.rate_max)} a second, by {by}"


def _range_text(least: float, most: float) -> str:
    return f"{most:,.6g}" if least == most else f"{least:,.6g} to {most:,.6g}"
