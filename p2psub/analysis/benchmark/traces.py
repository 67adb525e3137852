"""A synthetic trace of any size, already compacted: the load of `p2psub bench analyze`.

Made by DuckDB out of numbers alone, so that 10^8 rows take minutes. Events with 0 to 6 claims each, one in ten
`at_most_once`; every fourth goes through the cube as a multicast; one change in a thousand events is broadcast. Of the
hand-overs one in a thousand is lost, one in a thousand comes too late, one in a hundred ended otherwise, one in a
thousand is repeated; of the acknowledgements two in a thousand have fewer copies than they should. So audits have
something to find, and most of what they look at is sound.

Eight events of one publisher in a row share their fate and are a run in every record but `publish`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import duckdb
from pyspark.sql.types import BinaryType, BooleanType, DataType, IntegerType, LongType, StringType

from p2psub.analysis.schemas import KEY_BITS, NODES, PROCESSES, RECORDS

NODES_COUNT: Final = 1_000
CLUSTERS: Final = 32
SUBSCRIPTIONS: Final = 50
"""Of each node."""
_RECORDS_PER_EVENT: Final = 14.2
_FANOUT: Final = 7
_RUN: Final = 8
"""Events in a run; the last of a publisher may be shorter."""
_BEGIN_US: Final = 1_700_000_000_000_000
_BETWEEN_US: Final = 100
_BEFORE_US: Final = 20_000_000
"""So long before the first event all peers are in their rings."""
_TURNS: Final = 32


def write_trace(path: Path, rows: int) -> int:
    """Write `records/kind=.../`, `processes/` and `nodes/` of about so many rows; returns how many there are."""
    with duckdb.connect() as connection:
        connection.execute("set preserve_insertion_order = true")
        events = max(int(rows / _RECORDS_PER_EVENT), 1)
        _prepare(connection, events)
        for kind, query in _KINDS.items():
            directory = path / "records" / f"kind={kind}"
            directory.mkdir(parents=True)
            connection.execute(f"copy ({_filled(query)}) to '{directory}' (format parquet, file_size_bytes '64MB')")
        for name, query in (("processes", _processes(events)), ("nodes", _NODES)):
            (path / name).mkdir()
            connection.execute(f"copy ({query}) to '{path / name / 'all.parquet'}' (format parquet)")
        files = path / "records" / "*" / "*.parquet"
        counted = connection.execute(f"select count(*) from read_parquet('{files}')").fetchone()
        assert counted is not None
        return int(counted[0])


def _prepare(connection: duckdb.DuckDBPyConnection, events: int) -> None:
    per_node = -(-events // NODES_COUNT)
    connection.execute("create macro dice(i, salt, sides) as cast(hash(i, salt) % sides as bigint)")
    connection.execute("create macro wait(i, salt) as cast(200 * exp(dice(i, salt, 1000) / 130.0) as bigint)")
    connection.execute(f"create macro key(process, n) as (cast(process as bigint) << {KEY_BITS}) + n")
    connection.execute(f"create macro super_node(n) as (n % {CLUSTERS}) + 1")
    connection.execute(f"""
        create view events as
        select i, i // {per_node} + 1 as publisher, key(i // {per_node} + 1, i % {per_node} + 1) as event,
            i % {per_node} % {_RUN} as place, i - place as run, {_BEGIN_US} + i * {_BETWEEN_US} as us,
            dice(run, 'claims', {_FANOUT}) as claims, dice(run, 'guarantee', 10) > 0 as is_promised,
            dice(run, 'owner', {NODES_COUNT}) + 1 as owner,
            {_BEGIN_US} + (run + {_RUN}) * {_BETWEEN_US} + wait(run, 'match') as matched_us
        from range({events}) r(i)""")
    connection.execute(f"""
        create view pairs as
        select *, (dice(run, 'first', {NODES_COUNT}) + 37 * claim) % {NODES_COUNT} + 1 as subscriber,
            key(subscriber, dice(run, claim, {SUBSCRIPTIONS}) + 1) as subscription,
            dice(run, 1000 + claim, 1000) as fate, matched_us + wait(run, 2000 + claim) as delivered_us
        from (select *, unnest(range(claims)) as claim from events)""")
    connection.execute(f"""
        create view casts as
        select i, super_node(owner) as root, key(root, 2 * i + 1) as "cast", matched_us + place as us, 3 as receivers,
            0 as is_change, 'EventPayload' as payload from events where i % 4 = 0
        union all
        select i, super_node(owner), key(super_node(owner), 2 * i + 2), matched_us + place, {CLUSTERS - 1}, 1,
            'ChangePayload' from events where i % 1000 = 0""")
    connection.execute("""
        create view hops as
        select *, super_node(root + hop) as receiver, us + 10 * hop as sent_us, sent_us + wait(i, 3000 + hop) as got_us
        from (select *, unnest(range(1, receivers + 1)) as hop from casts)""")


def _filled(query: str) -> str:
    """The query's columns in the order of the schema; what it does not name is null."""
    nulls = ", ".join(f"cast(null as {_sql(field.dataType)}) as {field.name}" for field in _COLUMNS)
    columns = ", ".join(f'cast("{field.name}" as {_sql(field.dataType)}) as "{field.name}"' for field in _COLUMNS)
    return f"select {columns} from (select * from ({query}) union all by name select {nulls} where false)"


_COLUMNS: Final = [field for field in RECORDS.fields if field.name != "kind"]


def _sql(type_: DataType) -> str:
    match type_:
        case LongType():
            return "bigint"
        case IntegerType():
            return "integer"
        case StringType():
            return "varchar"
        case BooleanType():
            return "boolean"
        case BinaryType():
            return "blob"
        case _:
            raise TypeError(f"no column of a synthetic trace is a {type_}")


def _by(node: str, wall_us: str, turn: str, place: str = "0") -> str:
    """By whom and when; `turn` tells apart what a process writes within one microsecond, `place` what one record says.

    All events of a run have one owner, and happen to it at one time: so they have one sequence number, as a record has.
    """
    sequence = f"({wall_us} - {_BEGIN_US - _BEFORE_US}) * {_TURNS} + {turn}"
    who, when = f"{node} as node, {node} as process", f"{wall_us} as wall_us, {turn} as ticks"
    return f"{who}, {sequence} as sequence, {when}, {place} as place"


_GUARANTEE: Final = "case when is_promised then 'effectively_once' else 'at_most_once' end"
_DIGEST: Final = "unhex(sha256(cast(i as varchar)))"
_KEPT_US: Final = "matched_us + 300 + wait(run, copy)"
_ACKED_US: Final = "matched_us + 600 + wait(run, 0) + wait(run, 1)"
_CLUSTER: Final = f"'c' || n % {CLUSTERS} as cluster"
_CHANGE: Final = "'[[\"c' || root || '\"],' || i || ']' as change"
_ALL_NODES: Final = f"range(1, {NODES_COUNT + 1}) r(n)"
_SUPER_NODES: Final = f"range(1, {CLUSTERS + 1}) r(n)"
_SUBSCRIBED: Final = f"{_ALL_NODES}, range(1, {SUBSCRIPTIONS + 1}) s(m)"
_KINDS: Final = {
    "publish": f"""select {_by("publisher", "us", "2")}, event, {_GUARANTEE} as guarantee, {_DIGEST} as digest
        from events""",
    "match": f"""select {_by("owner", "matched_us", "3", "place")}, event, claims as matched, {_GUARANTEE} as guarantee
        from events""",
    "store": f"""select {_by("owner", "matched_us + 5", "4", "place")}, event, claims as matched,
        'c' || owner % {CLUSTERS} as cluster from events where is_promised""",
    "copy": f"""select {_by(f"(owner + copy) % {NODES_COUNT} + 1", _KEPT_US, "5", "place")}, event
        from (select *, unnest([0, 1]) as copy from events) where is_promised and dice(run, 'copy', 1000) > copy""",
    "acknowledge": f"""select {_by("publisher", _ACKED_US, "6", "place")}, event, owner as peer,
        claims as matched, if(dice(run, 'copies', 1000) > 0, 3, 2) as copies from events where is_promised""",
    "deliver": f"""select {_by("subscriber", "delivered_us + if(fate = 12, 90000000, 0)", "7 + again", "place")}, event,
        subscription, {_DIGEST} as digest
        from (select *, unnest(range(if(fate = 11, 2, 1))) as again from pairs) where fate > 10""",
    "outcome": f"""select {_by("owner", "delivered_us + 400", "9", "place")}, event, subscription,
        if(fate > 10, 'delivered', if(dice(run, 'late', 100) = 0, 'expired', 'ended')) as outcome
        from pairs where fate > 0 and is_promised""",
    "discharge": f"""select {_by("owner", "matched_us + 900000", "10", "place")}, event, claims as matched
        from events where is_promised and dice(run, 'discharge', 1000) > 0""",
    "cast": f"""select {_by("root", "us", "11 + is_change")}, "cast", payload from casts""",
    "forward": f"""select {_by("root", "sent_us", "13 + is_change")}, "cast", receiver as peer, bin(hop) as prefix,
        1 as tries from hops""",
    "receive": f"""select {_by("receiver", "got_us", "15 + is_change")}, "cast", root as peer, bin(hop) as prefix,
        hop % 5 + 1 as hops from hops""",
    "change": f"""select {_by("receiver", "got_us + 20 + again", "17")}, {_CHANGE},
        'c' || receiver % {CLUSTERS} as cluster
        from (select *, unnest(range(if(dice(i, hop, 1000) = 0, 2, 1))) as again from hops) where is_change = 1""",
    "number": f"""select {_by("root", "us", "18")}, {_CHANGE}, key(root, i % {SUBSCRIPTIONS} + 1) as subscription,
        1 as subscribed_version from casts where is_change = 1""",
    "duplicate": f"""select {_by("receiver", "got_us + 9", "19 + is_change")}, "cast", null as event, root as peer,
        bin(hop) as prefix, 'cast_repeated' as reason from hops where dice(i, hop, 100) = 0
        union all
        select {_by("owner", "matched_us + 9", "21", "place")}, null, event, publisher, null, 'publish_repeated'
        from events where dice(run, 'again', 100) = 0""",
    "drop": f"""select {_by("subscriber", "delivered_us", "22", "place")}, event, subscription,
        if(dice(run, 'drop', 100) > 0, 'channel_full', null) as reason from pairs where fate <= 10""",
    "ring": f"select {_by('n', str(_BEGIN_US - _BEFORE_US), '1')}, {_CLUSTER} from {_ALL_NODES}",
    "table": f"""select {_by("n", f"{_BEGIN_US - _BEFORE_US} + m", "2")}, 1 as epoch_counter,
        super_node(n) as epoch_process, m as version,
        {NODES_COUNT // CLUSTERS} + if(dice(n, m, 1000) = 0, 1, 0) as owners
        from {_ALL_NODES}, range(1, 20) s(m)""",
    "role": f"""select {_by("n", str(_BEGIN_US - _BEFORE_US), "3")}, {_CLUSTER}, 1 as epoch_counter,
        n as epoch_process, 'super_node' as reason from {_SUPER_NODES}""",
    "subscribe": f"""select {_by("n", f"{_BEGIN_US - 9_000_000} + m", "1")}, key(n, m) as subscription
        from {_SUBSCRIBED}""",
    "verdict": f"""select {_by("n", f"{_BEGIN_US - 9_000_000} + m + wait(n, m)", "2")}, key(n, m) as subscription,
        'stable' as status, 'active' as state from {_SUBSCRIBED}""",
}
_NODES: Final = f"select cast(n as integer) as node, sha1(cast(n as varchar)) as id from {_ALL_NODES}"


def _processes(events: int) -> str:
    """All of them ran from beginning to end, and closed."""
    began_us, ended_us = _BEGIN_US - _BEFORE_US, _BEGIN_US + events * _BETWEEN_US + 200_000_000
    return f"""
    select cast(n as integer) as process, cast(n as integer) as node, cast(1 as bigint) as incarnation,
        cast(1 as bigint) as records, cast(1 as bigint) as first_sequence, cast(1 as bigint) as last_sequence,
        cast({began_us} as bigint) as first_us, cast({ended_us} as bigint) as last_us, true as is_closed,
        cast(0 as bigint) as missing, cast(0 as bigint) as unread from {_ALL_NODES}"""


assert (len(NODES), len(PROCESSES)) == (2, 11), "the tables that are written here by hand"
