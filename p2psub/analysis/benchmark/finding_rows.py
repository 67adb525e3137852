"""How a query for DuckDB says what an audit finds: one row per finding, with the columns of every other."""

from __future__ import annotations

from typing import Final


def finding(invariant: str, is_unknown: str, source: str, **shown: str) -> str:
    """One row for each row of the source; what is not `shown` under another name has its own, or is empty."""
    columns = {"process": "process", "sequence": "sequence", "event": "null", "subscription": "null", "cast": "null"}
    listed = ", ".join(f'{value} as "{name}"' for name, value in (columns | shown).items())
    return f"select '{invariant}' as invariant, verdict({is_unknown}) as verdict, {listed} from {source}"


def united(*findings: str, with_: str = "") -> str:
    """The rows of several findings, after what they share."""
    return (f"with {with_} " if with_ else "") + " union all ".join(findings)


PAIR: Final = {"event": "event", "subscription": "subscription"}
