"""The answers once more, as SQL for DuckDB over the same tables: a second opinion, and a measure for Spark.

Written from the definitions in `answers`, with grouping and histograms as they suit DuckDB; each query has the columns
of the answer it stands beside.
"""

from __future__ import annotations

import math
from typing import Final

from p2psub.analysis.answers.histograms import PERCENTILES, WIDTH

_BUCKET: Final = f"cast(sign(us) * floor(ln(abs(us) + 1.0) * {1 / math.log1p(WIDTH)!r}) as int)"

MACROS: Final = ("create macro is_many(reason) as coalesce(reason = 'untraced', false)",)
"""What must be said to DuckDB before the queries."""

_SILENCE: Final = """
    starts as (
        select *, min(entered_us) over (
            partition by node order by incarnation rows between 1 following and unbounded following
        ) as back_us
        from processes left join (
            select process, min(wall_us) as entered_us from records where kind = 'ring' group by process
        ) using (process)
    ),
    silence as (
        select max(us) as silent_until_us from (
            select case when back_us is null then 9223372036854775807 else greatest(back_us, last_us) end as us
            from starts where not is_closed
            union all select last_us from starts where missing > 0
            union all select first_us from starts where first_sequence > 1
            union all select coalesce(entered_us, 9223372036854775807) from starts
            where first_sequence = 1 and process in (
                select process from records where kind = 'drop' and reason = 'trace_discarded'
            )
            union all select 9223372036854775807 from records
            left join (select node, min(coalesce(first_us, 0)) as known_us from processes group by node) known
                on known.node = peer
            where kind = 'acknowledge' and peer is not null and coalesce(known_us > wall_us, true)
        )
    )"""

_COVERAGE: Final = """
    unanswered as (
        select distinct subscription from records join processes using (process)
        where kind = 'subscribe' and is_closed and missing = 0 and first_sequence = 1
            and subscription not in (
                select subscription from records where kind = 'verdict' and subscription is not null
            )
    ),
    pairs as (
        select event, subscription, bool_or(kind = 'deliver') as is_delivered
        from records
        where event is not null and (kind = 'deliver'
            or (kind = 'outcome' and outcome <> 'delivered' and outcome <> 'deferred')
            or (kind = 'outcome' and outcome = 'delivered' and subscription in (from unanswered)))
        group by event, subscription
    ),
    served as (
        select event, count(*) filter (is_delivered) as delivered, count(*) filter (not is_delivered) as ended
        from pairs group by event
    ),
    acks as (
        select event, min((wall_us, ticks)) as acked, arg_min(peer, (wall_us, ticks, process, sequence)) as named,
            arg_min(matched, (wall_us, ticks, process, sequence)) as repeated
        from records where kind = 'acknowledge' group by event
    ),
    stored as (
        select event, arg_max(matched, (coalesce(node = named, false), wall_us, ticks, process, sequence)) as counted
        from acks join records using (event)
        where kind = 'store' and (wall_us, ticks) <= acked group by event
    ),
    owing as (
        select event, coalesce(counted, repeated) as owed from acks left join stored using (event)
    ),
    let_go as (
        select distinct event from owing join records using (event) where kind = 'discharge' and matched = owed
    ),
    told as (
        select
            event,
            max(promise) as guarantee,
            min(wall_us) filter (kind = 'publish') as published_us,
            case when max(promise) = 'at_most_once'
                then sum(matched) filter (kind = 'match') else max(matched) filter (kind = 'match') end as matched
        from (
            select *, case when kind = 'store' then 'effectively_once' else guarantee end as promise
            from records where event is not null and kind in ('publish', 'match', 'store', 'acknowledge')
        )
        group by event
    ),
    judged as (
        select
            event,
            guarantee,
            coalesce(delivered, 0) as delivered,
            coalesce(ended, 0) as ended,
            matched,
            case when guarantee = 'at_most_once' then coalesce(matched, 0) else owed end as expected,
            event in (from let_go) as is_discharged,
            guarantee = 'effectively_once' as is_promised,
            coalesce(coalesce(published_us, 0) <= silent_until_us, false) as may_be_hidden
        from told full join served using (event) left join owing using (event) cross join silence
    ),
    missed as (
        select
            *,
            greatest(coalesce(expected - delivered - ended, 0), 0) as missing,
            greatest(coalesce(delivered + ended - expected, 0), 0) as beyond
        from judged
    ),
    classed as (
        select
            *,
            case when is_promised and not may_be_hidden and is_discharged then missing else 0 end as lost,
            case when may_be_hidden then missing else 0 end as unknown,
            case when is_promised and not may_be_hidden and not is_discharged then missing else 0 end as still_owed,
            case when not is_promised and not may_be_hidden then missing else 0 end as missed
        from missed
    ),
    covered as (
        select *, case when expected is not null then greatest(expected - ended - unknown - still_owed, 0) end as claims
        from classed
    )"""

COVERED: Final = f"with {_SILENCE}, {_COVERAGE}"
"""What begins a query about what became of events, one row each."""

_HISTOGRAM: Final = f"""{_BUCKET} as bucket, count(*) as spans, min(us) as least_us, max(us) as greatest_us,
        sum(us) as sum_us"""

_SUMMED_BUCKETS: Final = """bucket, sum(spans) as spans, min(least_us) as least_us, max(greatest_us) as greatest_us,
        sum(sum_us) as sum_us"""


def _percentiles(by: str) -> str:
    at = ", ".join(
        f'min(greatest_us) filter (up_to >= ceil("all" * {share})) as {name}_us' for name, share in PERCENTILES.items()
    )
    return f"""
    select {by}, cast(sum(spans) as bigint) as count, min(least_us) as min_us, {at}, max(greatest_us) as max_us,
        cast(sum(sum_us) as double) / sum(spans) as mean_us
    from (
        select *, sum(spans) over (partition by {by} order by bucket) as up_to,
            sum(spans) over (partition by {by}) as "all"
        from buckets
    )
    group by {by} order by {by}"""


COVERAGE: Final = f"""
    {COVERED},
    sums as (
        select guarantee, count(*) as events, sum(coalesce(expected, matched, 0)) as matched,
            coalesce(sum(expected), 0) as expected, sum(delivered) as delivered, sum(ended) as ended,
            sum(missing) as missing, sum(lost) as lost, sum(unknown) as unknown, sum(still_owed) as still_owed,
            sum(missed) as missed, sum(beyond) as beyond, coalesce(sum(claims), 0) as claims
        from covered group by guarantee
    )
    select *, case when claims > 0 then (claims - lost - missed) / claims end as coverage
    from sums order by guarantee nulls first"""

CASTS: Final = f"""
    with {_SILENCE},
    roles as (
        select *, lead(wall_us) over own as next_us from records where kind = 'role'
        window own as (partition by process order by sequence)
    ),
    terms as (
        select cluster, process, wall_us as began_us, coalesce(next_us, last_us) as ended_us
        from roles left join processes using (process) where reason = 'super_node'
    ),
    started as (
        select "cast", min(wall_us) as started_us, max(process) as process,
            case when bool_or(payload = 'ChangePayload') then 'ChangePayload' else 'EventPayload' end as payload
        from records where kind = 'cast' group by "cast"
    ),
    acting as (
        select "cast", count(distinct cluster) as others
        from started join terms on began_us <= started_us and started_us <= ended_us
        where payload = 'ChangePayload' and not exists (
            select 1 from terms own
            where own.process = started.process and own.cluster = terms.cluster
                and own.began_us <= started_us and started_us <= own.ended_us
        )
        group by "cast"
    ),
    sent as (
        select "cast", count(*) as transfers, count(distinct peer) as addressed
        from records where kind = 'forward' group by "cast"
    ),
    got as (
        select "cast", count(distinct node) as reached, max(hops) as hops, max(wall_us) as last_us
        from records where kind = 'receive' group by "cast"
    ),
    again as (
        select "cast", count(*) as duplicates
        from records where kind = 'duplicate' and reason = 'cast_repeated' group by "cast"
    ),
    counted as (
        select payload, hops, last_us - started_us as duration_us, coalesce(transfers, 0) as transfers,
            coalesce(duplicates, 0) as duplicates, coalesce(reached, 0) as reached,
            greatest(coalesce(case when payload = 'ChangePayload' then others else addressed end, 0),
                     coalesce(reached, 0)) as expected,
            coalesce(started_us <= silent_until_us, false) as may_be_hidden
        from started left join sent using ("cast") left join got using ("cast") left join again using ("cast")
            left join acting using ("cast") cross join silence
    ),
    sums as (
        select payload, count(*) as casts, sum(expected) as expected, sum(reached) as reached,
            sum(expected - reached) as missing,
            sum(case when may_be_hidden then expected - reached else 0 end) as unknown, sum(transfers) as transfers,
            sum(transfers - expected) as excess, sum(duplicates) as duplicates, max(hops) as hops_max,
            max(duration_us) as duration_us_max, count(*) filter (transfers = expected) as without_excess
        from counted group by payload
    )
    select *, case when expected - unknown > 0 then reached / (expected - unknown) end as coverage,
        transfers / casts as messages_per_cast
    from sums order by payload"""

DUPLICATES: Final = """
    with counts as (
        select node, kind, reason, sum(coalesce(count, 1)) as times
        from records where kind = 'duplicate' group by node, kind, reason
        union all
        select node, kind, null, count(*) from records where kind in ('receive', 'store') group by node, kind
        union all
        select node, kind, null, sum(case when is_many(reason) then count else 1 end)
        from records where kind = 'deliver' group by node, kind
    ),
    per_node as (
        select node, coalesce(sum(times) filter (kind <> 'duplicate'), 0) as new,
            coalesce(sum(times) filter (kind = 'duplicate'), 0) as repeated,
            coalesce(sum(times) filter (kind = 'receive'), 0) as casts_new,
            coalesce(sum(times) filter (reason = 'cast_repeated'), 0) as casts_repeated
        from counts group by node
    )
    select node, id, new, repeated, case when new > 0 then repeated / new end as rate, casts_new, casts_repeated,
        case when casts_new > 0 then casts_repeated / casts_new end as casts_rate
    from per_node left join nodes using (node) order by node"""

LATENCY: Final = f"""
    with published as (
        select event, guarantee, wall_us as published_us from records where kind = 'publish' and event is not null
    ),
    delivered as (select event, wall_us from records where kind = 'deliver' and event is not null),
    per_guarantee as (
        select measure, guarantee, {_HISTOGRAM} from (
            select 'delivery' as measure, guarantee, wall_us - published_us as us
            from delivered join published using (event)
            union all
            select 'D_diff', guarantee, last_us - published_us
            from (select event, max(wall_us) as last_us from delivered group by event) join published using (event)
        ) where us is not null group by measure, guarantee, bucket
    ),
    asked as (select subscription, min(wall_us) as us from records where kind = 'subscribe' group by subscription),
    stable as (
        select subscription, min(wall_us) as us from records
        where kind = 'verdict' and status = 'stable' and state = 'active' group by subscription
    ),
    buckets as (
        select * from per_guarantee
        union all
        select measure, 'all', {_SUMMED_BUCKETS} from per_guarantee group by measure, bucket
        union all
        select 'D_sub', 'all', {_HISTOGRAM}
        from (select stable.us - asked.us as us from asked join stable using (subscription)) group by bucket
    )
    {_percentiles("measure, guarantee")}"""

DELAYS: Final = f"""
    with stored as (
        select event, min(wall_us) as stored_us from records where kind = 'store' group by event
    ),
    published as (
        select event, min(wall_us) as published_us from records
        where kind = 'publish' and event is not null group by event
    ),
    acknowledged as (
        select event, min(wall_us) as acknowledged_us from records where kind = 'acknowledge' group by event
    ),
    hops as (
        select max(sent.wall_us) as sent_us, max(got.wall_us) as got_us
        from records sent join records got
            on sent."cast" = got."cast" and sent.prefix = got.prefix and sent.node = got.peer and sent.peer = got.node
        where sent.kind = 'forward' and got.kind = 'receive' and sent.wall_us <= got.wall_us
        group by sent."cast", sent.prefix, sent.node, sent.peer
    ),
    buckets as (
        select stage, {_HISTOGRAM} from (
            select 'publish to store' as stage, stored_us - published_us as us from published join stored using (event)
            union all
            select 'store to acknowledge', acknowledged_us - stored_us from stored join acknowledged using (event)
            union all
            select 'store to deliver', wall_us - stored_us
            from stored join records using (event) where kind = 'deliver'
            union all
            select 'forward to receive', got_us - sent_us from hops
        ) group by stage, bucket
    )
    {_percentiles("stage")}"""

LOAD: Final = """
    with work as (
        select node, kind, count(*) as records, count(*) as times
        from records where kind not in ('publish', 'match', 'deliver') group by node, kind
        union all
        select node, kind, count(*), sum(case when is_many(reason) then count else 1 end)
        from records where kind in ('publish', 'match', 'deliver') group by node, kind
    )
    select node, id, sum(records) as records,
        coalesce(sum(times) filter (kind = 'publish'), 0) as published,
        coalesce(sum(times) filter (kind = 'store'), 0) as owned,
        coalesce(sum(times) filter (kind = 'copy'), 0) as kept,
        coalesce(sum(times) filter (kind = 'deliver'), 0) as delivered,
        coalesce(sum(times) filter (kind = 'forward'), 0) as forwarded,
        coalesce(sum(times) filter (kind = 'receive'), 0) as received
    from work left join nodes using (node) group by node, id order by node"""

CONSERVATION: Final = f"""
    {COVERED},
    sent as (select peer as node, count(*) as sent from records where kind = 'forward' group by peer),
    got as (
        select node, count(*) filter (kind = 'receive') as taken, count(*) filter (kind = 'duplicate') as other
        from records where kind = 'receive' or (kind = 'duplicate' and reason = 'cast_repeated') group by node
    ),
    both_ as (
        select node, coalesce(sent, 0) as total, coalesce(taken, 0) as taken, coalesce(other, 0) as other
        from sent full join got using (node)
    )
    select 'received' as law, id as "at", total, taken, other, 0 as open, total - taken - other as difference
    from both_ left join nodes using (node)
    union all
    select 'matched', guarantee, sum(expected + beyond), sum(delivered), sum(ended),
        sum(lost + unknown + still_owed + missed),
        sum(expected + beyond) - sum(delivered) - sum(ended) - sum(lost + unknown + still_owed + missed)
    from covered where expected is not null group by guarantee
    order by 1, 2"""

EARNINGS: Final = """
    with said as (
        select event, subscription, kind = 'deliver' or coalesce(outcome = 'delivered', false) as took, *
        from records where event is not null and guarantee is distinct from 'at_most_once'
            and (kind = 'deliver' or (kind = 'outcome'
                and outcome in ('delivered', 'expired', 'hopeless', 'unreachable', 'spool_full')))
    ),
    pairs as (
        select event, subscription, bool_or(took) as took,
            max(coalesce(earned, 1000000)) filter (took) as earned,
            arg_max(
                (outcome, reason), (coalesce(earned, 0), outcome, coalesce(reason, ''))
            ) filter (not took) as missed,
            max(coalesce(earned, 0)) filter (not took) as cost,
            max(age_us) filter (kind = 'deliver') as taken_us, max(age_us) filter (not took) as missed_us
        from said group by event, subscription
    )
    select if(took, 'on_time', missed[1]) as ended, if(took, null, missed[2]) as reason, count(*) as pairs,
        sum(if(took, earned, 0)) / 1e6 as earned, sum(if(took, 0, -cost)) / 1e6 as penalties,
        max(if(took, taken_us, missed_us)) as age_max_us
    from pairs group by 1, 2 order by 1, 2"""

QUERIES: Final = {
    "coverage": COVERAGE,
    "casts": CASTS,
    "duplicates": DUPLICATES,
    "latency": LATENCY,
    "delays": DELAYS,
    "load": LOAD,
    "earnings": EARNINGS,
    "conservation": CONSERVATION,
}
