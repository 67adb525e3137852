"""The audits once more, as SQL for DuckDB over the same tables: a second opinion, and a measure for Spark.

Written from the definitions in `audits`; all of them rest on `ground`. Every query has one row per finding: which
promise, the verdict, the record, and the things that it is about.
"""

from __future__ import annotations

from typing import Final

from p2psub.analysis.audit_context import D_DIFF_BEATS
from p2psub.analysis.audits.catalogue import AUDITS
from p2psub.analysis.audits.conservation import REMEMBER_BEATS
from p2psub.analysis.audits.copies import LEAVING_BEATS, SEEN_BEATS, SETTLED_BEATS
from p2psub.analysis.audits.rings import JOIN_BEATS
from p2psub.analysis.benchmark.finding_rows import PAIR, finding, united
from p2psub.analysis.benchmark.ground import CALM_US, HOLED, NEEDS_COPIES, SETTINGS
from p2psub.analysis.benchmark.time_queries import BOOKS, LATENESS

COLUMNS: Final = ("invariant", "verdict", "process", "sequence", "event", "subscription", "cast")
"""Of every query, and of every finding on Spark too."""

_REMEMBER_US, _SEEN_US, _SETTLED_US, _LEAVING_US, _JOIN_US, _D_DIFF_US = map(
    SETTINGS.beats, (REMEMBER_BEATS, SEEN_BEATS, SETTLED_BEATS, LEAVING_BEATS, JOIN_BEATS, D_DIFF_BEATS)
)


SEQUENCES: Final = united(
    finding(
        "trace",
        "not is_closed or unread > 0 or (coalesce(said, 0) >= missing and (is_discarding or first_sequence = 1))",
        "holed left join overflown using (process)",
        sequence="last_sequence",
    ),
    finding("trace", "true", "processes where records = 0", sequence="null"),
    finding("trace", "false", "stamped where stamp <= before"),
    with_=f"""holed as (
        select *, node in (from records select node where kind = 'drop' and reason = 'trace_discarded') as is_discarding
        from processes where records > 0 and {HOLED}
    ),
    overflown as (
        select process, sum(count) as said from records
        where kind = 'drop' and reason = 'trace_overflow' group by process
    ),
    stamped as (
        select process, sequence, (wall_us, ticks) as stamp,
            lag((wall_us, ticks)) over (partition by process order by sequence) as before
        from records where place = 0
    )""",
)

LOSSES: Final = united(
    finding("S1", "unknown > 0", "short join debts using (event)", event="event"),
    finding("outcome", "true", "records where kind = 'outcome' and outcome in ('spool_full', 'unreachable')", **PAIR),
)

DELIVERIES: Final = united(
    finding("S2", "false", "twice", process="last[2]", sequence="last[3]", **PAIR),
    finding("S3", "coalesce(from_us <= wall_us, false)", "invented", **PAIR),
    finding("S4", "false", "known where digest is null or digest is distinct from published_digest", **PAIR),
    finding("S3", "false", "beside where is_foreign", **PAIR),
    finding("S3", HOLED, "beside join processes using (process) where not is_foreign and asked is null", **PAIR),
    finding("S3", "false", "beside where not is_foreign and asked > sequence", **PAIR),
    finding("S3", "false", "beside where not is_foreign and ended < sequence", **PAIR),
    with_="""twice as (
        select event, subscription, max((wall_us, process, sequence)) as last
        from delivered group by event, subscription having count(*) > 1
    ),
    published as (
        select event, any_value(digest) as published_digest
        from records where kind = 'publish' and event is not null group by event
    ),
    known as (select * from delivered join published using (event)),
    invented as (
        select delivered.*, from_us
        from delivered anti join published using (event) left join hidden on hidden.process = process_of(event)
    ),
    said as (
        select subscription, min(sequence) filter (kind = 'subscribe') as asked,
            min(sequence) filter (kind = 'unsubscribe') as ended
        from records where kind in ('subscribe', 'unsubscribe') and process = process_of(subscription)
        group by subscription
    ),
    beside as (
        select *, process <> process_of(subscription) as is_foreign from delivered left join said using (subscription)
    )""",
)

_HIDDEN: Final = "few.from_us <= acked_us and few.until_us >= began_us"
_AT_ACK: Final = {"process": "acked_process", "sequence": "acked_sequence", "event": "event"}

COPIES: Final = united(
    finding("S5", _HIDDEN, f"few where copies > durable and stored_us is not null and {NEEDS_COPIES}", **_AT_ACK),
    finding(
        "S5",
        "(from anywhere select from_us <= acked_us and until_us >= began_us)",
        "few where stored_us is null",
        **_AT_ACK,
    ),
    finding("S5", "false", "few where copies is null", **_AT_ACK),
    finding(
        "S5",
        f"({_HIDDEN}) or exists (from cut where cut.from_us <= acked_us and acked_us < cut.until_us)",
        "few join required using (event) where copies < required and coalesce(discharged_us > acked_us, true) "
        f"and {NEEDS_COPIES}",
        **_AT_ACK,
    ),
    finding("S9", "until_us >= began_us", "unheld", event="event"),
    with_=f"""copied as (
        select event, node, min((wall_us, ticks)) as durable_at
        from records where kind in ('store', 'copy') group by event, node
    ),
    counted as (
        select event, count(*) as durable from acks join copied using (event)
        where durable_at <= (acked_us, acked_ticks) group by event
    ),
    few as (
        select acks.*, coalesce(durable, 0) as durable, coalesce(ringed.from_us, homeless.from_us) as from_us,
            coalesce(ringed.until_us, homeless.until_us) as until_us
        from acks left join counted using (event) left join ringed using (cluster) cross join homeless
        where copies is null or copies > coalesce(durable, 0) or stored_us is null or copies < {SETTINGS.copies}
    ),
    members as (
        select cluster, node, min(joined_us) as joined_us,
            max(last_us) + case when arg_max(is_closed, last_us) then -{_LEAVING_US} else {_SEEN_US} end as seen_us
        from (select node, process, cluster, min(wall_us) as joined_us from records where kind = 'ring' group by all)
            join processes using (node, process)
        group by cluster, node
    ),
    required as (
        select event, least({SETTINGS.copies}, count(*) // 2 + 1) as required
        from few join members using (cluster)
        where joined_us + {_SETTLED_US} <= acked_us and acked_us <= seen_us group by event
    ),
    latest as (select arg_max(process, incarnation) as process from processes where records > 0 group by node),
    held as (
        select event from records where kind = 'discharge'
        union all select event from records semi join latest using (process) where kind in ('store', 'copy')
    ),
    unheld as (
        select debts.*, coalesce(ringed.until_us, homeless.until_us) as until_us
        from debts anti join held using (event) left join ringed using (cluster) cross join homeless
        where {NEEDS_COPIES}
    )""",
)

RINGS: Final = united(
    finding("S8", "false", "odd", process="odd[2]", sequence="odd[3]"),
    finding(
        "S8",
        "true",
        f"processes where not {HOLED} and last_us - first_us >= {_JOIN_US} "
        "and process not in (select process from records where kind = 'ring')",
        sequence="last_sequence",
    ),
    with_="""odd as (
        select max((owners, process, sequence, wall_us)) as odd from records where kind = 'table'
        group by epoch_counter, epoch_process, version having min(owners) <> max(owners)
    )""",
)

TERMS: Final = united(
    finding("S10", "false", "shared", process="last[3]", sequence="last[4]"),
    with_="""shared as (
        select max((wall_us, ticks, process, sequence)) as last from records
        where kind = 'role' and reason = 'super_node'
        group by cluster, epoch_counter, epoch_process having min(process) <> max(process)
    )""",
)

BROADCASTS: Final = united(
    finding("S11", "false", "stored"),
    finding("S11", "false", "numbered", process="last[2]", sequence="last[3]", subscription="last[4]"),
    finding("S11", f"from_us <= wall_us + {CALM_US} and until_us >= wall_us - {CALM_US}", "costly", cast='"cast"'),
    with_="""stored as (
        select process, max(sequence) as sequence from records where kind = 'change'
        group by process, change having count(*) > 1
    ),
    numbered as (
        select max((wall_us, process, sequence, subscription)) as last from records where kind = 'number'
        group by change having count(distinct (subscription, subscribed_version, advertised)) > 1
    ),
    stirred as (
        select distinct span_of(us) + unnest([-1, 0, 1]) as span from (
            select wall_us as us from records where kind in ('role', 'directory') union all select ended_us from led
        )
    ),
    settled as (
        select "cast", process, sequence, wall_us, span_of(wall_us) as span from records
        where kind = 'cast' and payload = 'ChangePayload' and span_of(wall_us) not in (select span from stirred)
            and not exists (from cut where cut.from_us <= wall_us and wall_us < cut.until_us)
    ),
    served as (
        select span, count(distinct cluster) as clusters
        from (select distinct span from settled) join led
            on span between span_of(began_us) and span_of(ended_us)
        group by span
    ),
    forwarded as (
        select "cast", count(*) as transfers, max(tries) as tries from records where kind = 'forward' group by "cast"
    ),
    costly as (
        select settled.*, from_us, until_us
        from settled join served using (span) left join forwarded using ("cast") cross join anywhere
        where coalesce(tries, 0) <= 1 and coalesce(transfers, 0) <> clusters - 1
    )""",
)

QUEUES: Final = finding("S13", "false", "records where kind = 'drop' and coalesce(reason, '') = ''")

CONSERVATION: Final = united(
    finding(
        "conservation",
        HOLED,
        f"placed join processes using (process) where is_new and place > 1 and wall_us - before_us < {_REMEMBER_US}",
        cast='"cast"',
    ),
    finding(
        "conservation", HOLED, "placed join processes using (process) where not is_new and place = 1", cast='"cast"'
    ),
    finding(
        "conservation",
        "(select until_us from anywhere) >= began_us",
        "debts left join accounted using (event) where discharged_us is not null and owed > coalesce(known, 0)",
        event="event",
    ),
    finding("conservation", "until_us is not null", "untrue", **PAIR),
    with_="""arrived as (
        select process, "cast", prefix, kind = 'receive' as is_new, sequence, wall_us from records
        where "cast" is not null and (kind = 'receive' or (kind = 'duplicate' and reason = 'cast_repeated'))
    ),
    again as (
        select process, "cast", prefix from arrived group by all having count(*) > 1 or not bool_or(is_new)
    ),
    turned as (
        select arrived.*, (
            select count(*) from records role
            where role.kind = 'role' and role.process = arrived.process and role.sequence < arrived.sequence
        ) as term
        from arrived join again on arrived.process = again.process and arrived."cast" = again."cast"
            and arrived.prefix is not distinct from again.prefix
    ),
    placed as (
        select *, row_number() over arrivals as place, lag(wall_us) over arrivals as before_us
        from turned window arrivals as (partition by process, "cast", prefix, term order by sequence)
    ),
    accounted as (
        select event, count(*) as known from (
            select distinct event, subscription from records
            where kind in ('deliver', 'outcome') and event is not null
        ) group by event
    ),
    unanswered as (
        select subscription from records join processes using (process)
        where kind = 'subscribe' and is_closed and missing = 0 and first_sequence = 1
            and subscription not in (
                select subscription from records where kind = 'verdict' and subscription is not null
            )
    ),
    said as (
        select event, subscription, max((wall_us, process, sequence)) as last
        from records where kind = 'outcome' and outcome = 'delivered'
            and subscription not in (from unanswered)
            and subscription not in (select subscription from records where kind = 'unsubscribe')
        group by event, subscription
    ),
    untrue as (
        select event, subscription, last[2] as process, last[3] as sequence, until_us
        from said anti join delivered using (event, subscription)
            left join hidden on hidden.process = process_of(subscription)
    )""",
)

LIVENESS: Final = united(
    finding(
        "liveness",
        "exists (from cut where cut.from_us <= published_us and published_us < cut.until_us)",
        "late",
        **PAIR,
    ),
    with_=f"""published as (
        select event, wall_us as published_us
        from records where kind = 'publish' and guarantee = 'effectively_once'
    ),
    said as (
        select subscription, min(wall_us) as said_us
        from records where kind = 'verdict' and status = 'stable' and state = 'active' group by subscription
    ),
    stable as (
        select subscription, coalesce(until_us, said_us) as stable_us
        from said left join cut on from_us <= said_us and said_us < until_us
    ),
    given_up as (
        select subscription, min(wall_us) as ended_us from records where kind = 'unsubscribe' group by subscription
    ),
    late as (
        select delivered.*, published_us from delivered join published using (event) join stable using (subscription)
            left join given_up using (subscription) semi join acks using (event)
        where wall_us - published_us > {_D_DIFF_US} and stable_us <= published_us
            and not coalesce(ended_us < published_us + {_D_DIFF_US}, false)
    )""",
)

_QUERIES: Final = (
    SEQUENCES,
    LOSSES,
    DELIVERIES,
    LATENESS,
    BOOKS,
    COPIES,
    RINGS,
    TERMS,
    BROADCASTS,
    QUEUES,
    CONSERVATION,
    LIVENESS,
)
AUDIT_QUERIES: Final = {audit.name: query for audit, query in zip(AUDITS, _QUERIES, strict=True)}
"""By the name of the audit that each stands beside."""
