"""The audits of time and of books once more, as SQL for DuckDB."""

from __future__ import annotations

from typing import Final

from p2psub.analysis.audits.lateness import DRIFT_SHARE
from p2psub.analysis.benchmark.finding_rows import PAIR, finding, united
from p2psub.analysis.benchmark.ground import HOLED

LATENESS: Final = united(
    finding("S18", "deadline_us is null or timeout_us is null", "expired where limit_us is null", **PAIR),
    finding(
        "S18",
        "deadline_us is null or timeout_us is null",
        f"expired where age_us < limit_us - limit_us // {DRIFT_SHARE}",
        **PAIR,
    ),
    finding("S18", "false", "given where timeout_us > 0 and age_us > timeout_us", **PAIR),
    finding(
        "S18",
        "false",
        """given where deadline_us > 0 and age_us > deadline_us
            and not (is_replayed and coalesce(retain_us, 1) > 0)""",
        **PAIR,
    ),
    with_="""of_events as (
        select event, any_value(timeout_us) as timeout_us, any_value(retain_us) as retain_us
        from records where kind = 'publish' and timeout_us is not null group by event
    ),
    of_bids as (
        select subscription, any_value(deadline_us) as deadline_us, any_value(is_replayed) as is_replayed
        from records where kind = 'subscribe' and deadline_us is not null group by subscription
    ),
    pressed as (
        select *, least(nullif(timeout_us, 0), nullif(deadline_us, 0)) as limit_us from (
            select kind, outcome, event, subscription, process, sequence, age_us
            from records where kind in ('outcome', 'deliver') and event is not null
        ) left join of_events using (event) left join of_bids using (subscription)
    ),
    expired as (from pressed where kind = 'outcome' and outcome = 'expired'),
    given as (from pressed where kind = 'deliver')""",
)

BOOKS: Final = united(
    finding("S19", HOLED, "compared join processes using (process) where books <> pairs"),
    finding(
        "S19",
        "false",
        """settled join bids using (subscription)
            where amount <> case when is_on_time then price when coalesce(reason = 'channel_full', false) then 0
                else -penalty end and not (is_replayed and not is_on_time and amount = 0)""",
        **PAIR,
    ),
    with_="""settled as (
        select process, event, subscription, sequence, reason, outcome = 'delivered' as is_on_time,
            coalesce(earned, if(outcome = 'delivered', 1000000, 0)) as amount
        from records where kind = 'outcome' and event is not null
            and outcome in ('delivered', 'expired', 'hopeless', 'unreachable', 'spool_full')
    ),
    bids as (
        select subscription, any_value(price) as price, any_value(penalty) as penalty,
            any_value(is_replayed) as is_replayed
        from records where kind = 'subscribe' and price is not null group by subscription
    ),
    told as (
        select process, max(sequence) as sequence, arg_max(
            (booked_on_time, booked_expired, booked_earned, booked_penalties), sequence
        ) as books
        from records where kind = 'books' and guarantee = 'effectively_once' group by process
    ),
    stored_again as (select event from records where kind = 'store' group by event having count(*) > 1),
    counted as (
        select process, is_on_time, amount from (
            select settled.*, row_number() over (
                partition by process, event, subscription order by settled.sequence
            ) as turn
            from settled join told using (process) where settled.sequence < told.sequence
        ) where turn = 1 or event in (from stored_again)
    ),
    summed as (
        select process, (
            count(*) filter (is_on_time), count(*) filter (not is_on_time),
            cast(coalesce(sum(amount) filter (is_on_time), 0) as bigint),
            cast(coalesce(-sum(amount) filter (not is_on_time), 0) as bigint)
        ) as pairs
        from counted group by process
    ),
    compared as (
        select process, told.sequence, books, coalesce(pairs, (0, 0, 0, 0)) as pairs
        from told left join summed using (process)
    )""",
)
