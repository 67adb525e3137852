"""S1, no loss: an acknowledged event reaches every subscription it was owed to, or the trace says why not.

By counts: the answer about coverage, event by event. A delivery that was not owed, to a late subscription by replay,
can hide a loss here. Pair by pair (with `--rematch`): nothing hides, a stable subscription that an owner did not know
of is found too (S1b), and each loss names its subscription.

What is not reached is called lost when an owner has let go of it (`discharge`) and no process from which the missing
record could come is silent. Before the discharge it is still owed, which is not a loss: the trace ends too early, or
`liveness` says that it takes too long. What was owed to a process that ended before the discharge is owed no more.

The trace knows nothing of the failure budget, so it cannot judge an outcome `spool_full` or `unreachable`, which only
a network outside the budget may have. They are findings under a name of their own, `outcome`, with verdict `unknown`:
to the operator, who knows what failed, they matter; calling them violated would fail the audit of every network that
was cut for longer than the undelivered TTL.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from p2psub.analysis.answers.coverage import covered
from p2psub.analysis.audit_context import NO_CONTEXT, AuditContext
from p2psub.analysis.audits.findings import finding, united
from p2psub.analysis.debts import debts, is_unread, reached_pairs
from p2psub.analysis.silent_spans import SilentSpans, is_hidden_after
from p2psub.analysis.tables import Tables, process_of
from p2psub.model.outcomes import Outcome
from p2psub.model.records import Kind

NEVER_INSIDE_BUDGET = (Outcome.SPOOL_FULL.value, Outcome.UNREACHABLE.value)


def audit(tables: Tables, context: AuditContext = NO_CONTEXT) -> DataFrame:
    """Losses, and outcomes that need a reason outside the trace."""
    context = context._replace(acks=context.acks_of(tables), silent_spans=context.silent_spans_of(tables))
    owed, silent_spans = debts(context.acks_of(tables)), context.silent_spans_of(tables)
    if context.pairs is None:
        return united([_lost_by_counts(covered(tables, context), owed), _outcomes(tables)])
    # Without its content an event is in no pair.
    unread = _lost_by_counts(covered(tables, context), owed.where(is_unread()))
    lost = _lost_pairs(tables, owed, context.pairs, silent_spans)
    return united([lost, unread, _missed_by_stable(tables, owed, context.pairs, silent_spans), _outcomes(tables)])


def _lost_by_counts(known: DataFrame, debts: DataFrame) -> DataFrame:
    reached = (F.col("delivered") + F.col("ended")).alias("reached")
    short = known.where((F.col("lost") > 0) | (F.col("unknown") > 0)).select("event", "unknown", reached)
    text = "{event}, stored by {process}, was owed to %d subscriptions and is accounted for at %d"
    return finding(short.join(debts, "event"), "S1", text, "owed", "reached", is_unknown=F.col("unknown") > 0)


def _lost_pairs(tables: Tables, debts: DataFrame, pairs: DataFrame, silent_spans: SilentSpans) -> DataFrame:
    missing = pairs.where("is_owed").join(reached_pairs(tables), ["event", "subscription"], "left_anti")
    beside = missing.join(debts, "event")
    is_hidden = is_hidden_after(F.col("began_us"))
    subscriber = process_of(F.col("subscription"))
    beside = silent_spans.with_hidden_of(beside, subscriber).withColumn("is_unknown", is_hidden)
    # Another outcome may be hidden at a peer that held the event, unless a peer was told `delivered`.
    heard = tables.of(Kind.OUTCOME).groupBy("event", "subscription").agg(F.lit(True).alias("is_told"))
    beside = silent_spans.with_hidden_in_ring(beside.join(heard, ["event", "subscription"], "left"))
    beside = beside.withColumn("is_unknown", F.col("is_unknown") | (is_hidden & F.col("is_told").isNull()))
    ends = tables.processes.select(F.col("process").alias("_subscriber"), "last_us")
    beside = beside.join(F.broadcast(ends), subscriber == F.col("_subscriber"), "left")
    is_lost = F.col("discharged_us").isNotNull() & (F.col("last_us") >= F.col("discharged_us"))
    judged = beside.where(F.col("is_unknown") | is_lost)
    text = "{event}, stored by {process}, never reached {subscription}"
    return finding(judged, "S1", text, is_unknown=F.col("is_unknown"))


def _missed_by_stable(tables: Tables, debts: DataFrame, pairs: DataFrame, silent_spans: SilentSpans) -> DataFrame:
    """What is owed by the vector is judged above; here is what the owner acknowledged without knowing of it."""
    missed = pairs.where(F.col("is_stable") & ~F.col("is_owed"))
    missed = missed.join(reached_pairs(tables), ["event", "subscription"], "left_anti")
    beside = silent_spans.with_hidden_of(missed.join(debts, "event"), process_of(F.col("subscription")))
    text = "{process} acknowledged {event} without knowing of the stable subscription {subscription}, which missed it"
    return finding(beside, "S1", text, is_unknown=is_hidden_after(F.col("began_us")))


def _outcomes(tables: Tables) -> DataFrame:
    ended = tables.of(Kind.OUTCOME).where(F.col("outcome").isin(*NEVER_INSIDE_BUDGET))
    text = "{event} for {subscription} ended as %s at {process}: more failed, or for longer, than S1 allows for"
    return finding(ended, "outcome", text, "outcome", is_unknown=F.lit(True))
