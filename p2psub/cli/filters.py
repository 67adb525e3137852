"""`p2psub check-filter`: what a filter means, where it is stored, what it costs, and whether it takes an event."""

from __future__ import annotations

import dataclasses
import json
import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from p2psub.api.errors import BadContent, Refusal
from p2psub.api.values import moment_from_text, value_from_json, values_from_json
from p2psub.matching.language import FilterError, parse_filter, print_filter
from p2psub.matching.linear import matches
from p2psub.matching.literals import write
from p2psub.matching.normal_form import negated, normal_form
from p2psub.matching.predicates import content_of
from p2psub.matching.printer import print_predicate
from p2psub.model.content import TOPIC, Event, Filter, Moment, Operator, Predicate, pinned_topics
from p2psub.model.ids import EventId, NodeId, Place

EXIT_BAD_FILTER = 2

_SCANS = (Operator.CONTAINS, Operator.NOT_CONTAINS, Operator.LIKE, Operator.NOT_LIKE)
_NO_EVENT = EventId(NodeId(Place(bytes(20))), 0, 0)


@dataclass(frozen=True, slots=True)
class FilterFinding:
    """What there is to say of a filter; `matches` and `why` (conjunction by conjunction) only with an event."""

    normal_form: str
    key: list[str]
    """The topics it is stored under; none means a wildcard shard."""
    cost: dict[str, int]
    matches: bool | None
    why: list[str]


def check_filter(
    expression: Annotated[str, typer.Argument(metavar="EXPR", help='The filter, such as "price > 5".')],
    event: Annotated[str | None, typer.Option(help="Topic and attributes as one JSON object: does it match?")] = None,
    params: Annotated[str | None, typer.Option(help="Values of the filter's :names as a JSON object.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Check a filter: its normal form, its key, its cost, and whether and why it takes an event."""
    try:
        wanted = parse_filter(expression, _params(params))
        happened = None if event is None else _event(event, wanted)
    except (FilterError, Refusal) as error:
        _complain(error, as_json)
        raise typer.Exit(EXIT_BAD_FILTER) from error
    found = FilterFinding(
        normal_form=print_filter(wanted),
        key=list(pinned_topics(wanted)),
        cost=_cost(wanted),
        matches=None if happened is None else matches(wanted, happened),
        why=[] if happened is None else [_verdict(conjunction, happened) for conjunction in wanted.conjunctions],
    )
    if as_json:
        print(json.dumps({"ok": True, **dataclasses.asdict(found)}))
    else:
        _print(found)


def _params(given: str | None) -> dict[str, object]:
    read = {} if given is None else _object("--params", given)
    return {name: value_from_json(name, value) if isinstance(value, dict) else value for name, value in read.items()}


def _event(given: str, wanted: Filter) -> Event:
    """An event as JSON: a list is a set, and text is a date where the filter compares with one."""
    dated = {p.attribute for conjunction in wanted.conjunctions for p in conjunction if isinstance(p.constant, Moment)}
    plain: dict[str, object] = {}
    for name, value in _object("--event", given).items():
        if isinstance(value, list):
            plain[name] = {"$set": value}
        elif isinstance(value, str) and name in dated and _is_date(value):
            plain[name] = {"$date": value}
        elif value is not None:
            plain[name] = value
    topic = plain.pop(TOPIC, "")
    if not isinstance(topic, str):
        raise BadContent("the topic is not text", 'write {"topic": "quotes/ACME", …}')
    return Event(_NO_EVENT, topic, values_from_json(plain))


def _object(option: str, given: str) -> dict[str, object]:
    try:
        read = json.loads(given)
    except (ValueError, RecursionError) as error:
        raise BadContent(f"{option} is not valid JSON: {error}", "write an object, such as '{\"price\": 5}'") from error
    if not isinstance(read, dict):
        raise BadContent(f"{option} is JSON, but not an object", "write an object, such as '{\"price\": 5}'")
    return read


def _is_date(text: str) -> bool:
    try:
        moment_from_text("", text)
    except BadContent:
        return False
    return True


def _cost(wanted: Filter) -> dict[str, int]:
    predicates = [predicate for conjunction in wanted.conjunctions for predicate in conjunction]
    scans = sum(predicate.operator in _SCANS for predicate in predicates)
    return {
        "conjunctions": len(wanted.conjunctions),
        "predicates": len(predicates),
        "scans": scans,
        "bytes": wanted.weight,
    }


def _verdict(conjunction: tuple[Predicate, ...], happened: Event) -> str:
    """Why a conjunction holds or not, by its first predicate that does not."""
    for predicate in conjunction:
        if not matches(Filter(((predicate,),)), happened):
            value = content_of(happened).get(predicate.attribute)
            is_false = matches(normal_form(negated(predicate)), happened)
            found = "it is missing" if value is None else f"it is {write(value)}"
            return f"{print_predicate(predicate)} is {'false' if is_false else 'unknown'}: {found}"
    return f"{print_filter(Filter((conjunction,)))} is true"


def _complain(error: FilterError | Refusal, as_json: bool) -> None:
    if not as_json:
        print(f"p2psub: {error}", file=sys.stderr)
    elif isinstance(error, FilterError):
        fields = {name: getattr(error, name) for name in ("position", "message", "hint", "line", "caret")}
        print(json.dumps({"ok": False, "error": fields}))
    else:
        print(json.dumps({"ok": False, "error": {"position": None, "message": error.message, "hint": error.advice}}))


def _print(found: FilterFinding) -> None:
    print(f"normal form  {found.normal_form}")
    print(f"key          {', '.join(map(repr, found.key)) or 'a wildcard shard: it pins no topic'}")
    costs = "predicates: {predicates}, conjunctions: {conjunctions}, scans of text: {scans}, bytes: {bytes}"
    print(f"cost         {costs.format(**found.cost)}")
    if found.matches is not None:
        print(f"event        {'matches' if found.matches else 'does not match'}")
        for reason in found.why:
            print(f"             {reason}")
