"""What the audits in SQL rest on, laid once for all of them: silent spans, terms, partitions, and what is owed.

Written from the definitions in `silent_spans`, `terms`, `partitions` and `debts`.
"""

from __future__ import annotations

from typing import Final

from p2psub.analysis.audits.broadcasts import CALM_BEATS
from p2psub.analysis.benchmark.queries import COVERED
from p2psub.analysis.partitions import GIVING_UP_BEATS, MENDING_BEATS, NOTICING_BEATS, PASSING_BEATS
from p2psub.analysis.schemas import KEY_BITS
from p2psub.analysis.settings import Settings
from p2psub.analysis.silent_spans import NEVER_US

SETTINGS: Final = Settings()
"""The traces that DuckDB is asked about are of peers with the defaults."""
CALM_US: Final = SETTINGS.beats(CALM_BEATS)
_NOTICING_US, _GIVING_UP_US, _MENDING_US, _PASSING_US = map(
    SETTINGS.beats, (NOTICING_BEATS, GIVING_UP_BEATS, MENDING_BEATS, PASSING_BEATS)
)
HOLED: Final = "(records = 0 or missing > 0 or first_sequence > 1)"
"""Of a process: whether records before its last one are missing."""
NEEDS_COPIES: Final = "(coalesce(owed > 0, true) or retain_us > 0)"
"""Of an acknowledged event: whether it is owed or retained."""
_SPAN: Final = f"coalesce(min(from_us), {NEVER_US}) as from_us, coalesce(max(until_us), -1) as until_us"

GROUND: Final = (
    f"create or replace macro process_of(thing) as cast(thing >> {KEY_BITS} as integer)",
    "create or replace macro verdict(is_unknown) as case when is_unknown then 'unknown' else 'violated' end",
    f"create or replace macro span_of(us) as us // {CALM_US}",
    """create or replace temp table starts as
    select *, min(entered_us) over (
        partition by node order by incarnation rows between 1 following and unbounded following
    ) as back_us
    from processes left join (
        select process, min(wall_us) as entered_us from records where kind = 'ring' group by process
    ) using (process)""",
    f"""create or replace temp table hidden as
    select * from (
        select process, case when {HOLED} then 0 else last_us end as from_us, case
            when not is_closed then coalesce(greatest(back_us, coalesce(last_us, back_us)), {NEVER_US})
            when missing > 0 then last_us
            when first_sequence > 1 then first_us end as until_us
        from starts
    ) where until_us is not null""",
    f"""create or replace temp table gone as
    select 0 as from_us,
        case when first_sequence > 1 then first_us else coalesce(entered_us, {NEVER_US}) end as until_us
    from starts where process in (from records select process where kind = 'drop' and reason = 'trace_discarded')
    union all
    select 0, {NEVER_US} where exists (
        from records left join (
            select node, min(coalesce(first_us, 0)) as known_us from processes group by node
        ) known on known.node = peer
        where kind = 'acknowledge' and peer is not null and coalesce(known_us > wall_us, true)
    )""",
    f"""create or replace temp table anywhere as select {_SPAN} from (
        from gone union all select from_us, until_us from hidden
    )""",
    """create or replace temp table rings as
    select distinct process, cluster from records where kind in ('ring', 'role') and cluster is not null""",
    f"""create or replace temp table homeless as select {_SPAN} from (
        from gone union all select from_us, until_us from hidden where process not in (select process from rings)
    )""",
    """create or replace temp table ringed as
    select cluster, least(min(hidden.from_us), any_value(homeless.from_us)) as from_us,
        greatest(max(hidden.until_us), any_value(homeless.until_us)) as until_us
    from hidden join rings using (process) cross join homeless group by cluster""",
    """create or replace temp table led as
    with roles as (
        select *, lead(wall_us) over (partition by process order by sequence) as next_us
        from records where kind = 'role'
    )
    select cluster, process, sequence, wall_us as began_us, coalesce(next_us, last_us) as ended_us
    from roles join processes using (process) where reason = 'super_node'""",
    f"""create or replace temp table cut as
    with doubled as (
        select *, max(ended_us) over (
            partition by cluster order by began_us, ended_us rows between unbounded preceding and 1 preceding
        ) as led_until_us from led
    ),
    told as (
        select directory.cluster, standing, wall_us, coalesce(
            lead(wall_us) over (partition by process, directory.cluster order by sequence), last_us
        ) as next_us from records directory join processes using (process) where kind = 'directory'
    ),
    spans as (
        select began_us - {_NOTICING_US} as from_us, least(led_until_us, ended_us) + {_MENDING_US} as until_us
        from doubled where began_us < led_until_us and began_us < ended_us
        union
        select greatest(wall_us, began_us) - {_GIVING_UP_US + _NOTICING_US}, least(next_us, ended_us) + {_MENDING_US}
        from told join led using (cluster)
        where standing <> 'present'
            and least(next_us, ended_us) - greatest(wall_us, began_us) > {_PASSING_US}
    ),
    marked as (
        select *, coalesce(from_us > max(until_us) over (
            order by from_us, until_us rows between unbounded preceding and 1 preceding
        ), true) as is_new from spans
    ),
    grouped as (select *, count(*) filter (is_new) over (order by from_us, until_us) as number from marked)
    select min(from_us) as from_us, max(until_us) as until_us from grouped group by number""",
    """create or replace temp table acks as
    with acked as (
        select event, min((wall_us, ticks, process, sequence)) as ack,
            arg_min({'peer': peer, 'copies': copies, 'matched': matched}, (wall_us, ticks, process, sequence)) as said
        from records where kind = 'acknowledge' group by event
    ),
    published as (
        select event, min(wall_us) as began_us, arg_min(retain_us, wall_us) as retain_us
        from records where kind = 'publish' and event is not null group by event
    ),
    stored as (
        select event, arg_max(
            {'us': wall_us, 'process': process, 'sequence': sequence, 'matched': matched, 'cluster': cluster},
            (coalesce(node = said.peer, false), wall_us, ticks, process, sequence)
        ) as store
        from acked join records using (event)
        where kind = 'store' and (wall_us, ticks) <= (ack[1], ack[2]) group by event
    ),
    let_go as (
        select event, matched, min(wall_us) as discharged_us
        from records where kind = 'discharge' group by event, matched
    )
    select event, coalesce(began_us, 0) as began_us, ack[1] as acked_us, ack[2] as acked_ticks,
        ack[3] as acked_process, ack[4] as acked_sequence, said.copies, store.us as stored_us, store.process,
        store.sequence, coalesce(store.matched, said.matched) as owed, store.cluster,
        coalesce(retain_us, 0) as retain_us, discharged_us
    from acked left join stored using (event) left join published using (event)
        left join let_go on let_go.event = acked.event and let_go.matched = coalesce(store.matched, said.matched)""",
    """create or replace temp view debts as
    select * from acks where stored_us is not null""",
    """create or replace temp view delivered as
    select event, subscription, process, sequence, wall_us, digest
    from records where kind = 'deliver' and event is not null and subscription is not null""",
    f"""create or replace temp table short as
    {COVERED} select event, lost, unknown from covered where lost + unknown > 0""",
)
"""What to say to DuckDB before any audit: silent spans, acknowledged events with what they owe, and missing pairs."""

GROUND_SUMMED: Final = "select count(*), sum(owed), count(stored_us), count(discharged_us) from acks"
"""What both engines must agree on before the audits begin."""
