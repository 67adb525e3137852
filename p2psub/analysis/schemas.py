"""What the analysis reads: traces as three flat tables, sorted and compacted.

Names of 20 bytes are replaced by small numbers, so that 10^8 records can be grouped and joined cheaply and exactly:

    node       number of a peer                    -> table `nodes`
    process    number of one start of a peer       -> table `processes`
    key        process << KEY_BITS | sequence: an event, a subscription or a cast

Numbers hold within one compaction; whatever a person reads names the peer in hex.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

KEY_BITS: Final = 36
"""Of a key's 63 bits: 2**36 events of one start of a peer, 2**27 starts."""


def _table(**columns: DataType) -> StructType:
    return StructType([StructField(name, type_) for name, type_ in columns.items()])


NODES: Final = _table(
    node=IntegerType(),
    id=StringType(),  # 40 hex digits
)

PROCESSES: Final = _table(
    process=IntegerType(),
    node=IntegerType(),
    incarnation=LongType(),
    records=LongType(),  # how many were read; 0: others speak of it, but it left no trace
    first_sequence=LongType(),
    last_sequence=LongType(),
    first_us=LongType(),
    last_us=LongType(),
    is_closed=BooleanType(),  # ended with a `close` record; else it was cut, and what followed is unknown
    missing=LongType(),  # records between the first and the last that are not there
    unread=LongType(),  # its segments that were skipped
)

RECORDS: Final = _table(
    kind=StringType(),  # the partition: a question reads the kinds it is about
    node=IntegerType(),
    process=IntegerType(),
    sequence=LongType(),
    wall_us=LongType(),
    ticks=IntegerType(),
    cluster=StringType(),
    epoch_counter=LongType(),
    epoch_process=IntegerType(),
    event=LongType(),  # key
    subscription=LongType(),  # key
    cast=LongType(),  # key
    peer=IntegerType(),  # node
    change=StringType(),  # name of a numbered change, equal when the changes are
    vector=StringType(),  # JSON
    prefix=StringType(),
    reason=StringType(),
    outcome=StringType(),
    count=LongType(),  # of happenings that the record stands for
    place=IntegerType(),  # of the event in the run that the record speaks of, from 0: a run is a row per event
    age_us=LongType(),  # of the event, where a pair ends
    earned=LongType(),  # by the pair, in millionths; a penalty is below 0
    guarantee=StringType(),  # of the event
    matched=LongType(),
    copies=IntegerType(),
    digest=BinaryType(),
    payload=StringType(),
    hops=IntegerType(),
    tries=IntegerType(),
    status=StringType(),
    state=StringType(),  # of the subscription
    unreached=IntegerType(),
    version=LongType(),  # of the table, or of the entry of the directory
    owners=IntegerType(),
    standing=StringType(),
    heartbeat_us=LongType(),
    copies_required=IntegerType(),
    topic=StringType(),  # of `published`
    retain_us=LongType(),  # of `published`
    timeout_us=LongType(),  # of `published`; 0: none
    published=StringType(),  # JSON of the event
    subscribed_version=LongType(),  # of `subscribed`
    is_replayed=BooleanType(),  # of `subscribed`: whether it asks for what is retained
    deadline_us=LongType(),  # of the bid of `subscribed`, as the next two; 0: none
    price=LongType(),
    penalty=LongType(),
    subscribed=StringType(),  # JSON of the subscription
    advertised=StringType(),  # JSON of the advertisement
    booked_on_time=LongType(),  # of `books`, as the next three
    booked_expired=LongType(),
    booked_earned=LongType(),
    booked_penalties=LongType(),
)

VIOLATIONS: Final = _table(
    invariant=StringType(),  # S1 ... S13, liveness, conservation, trace
    verdict=StringType(),  # violated, or unknown where a cut tail may hold the answer
    text=StringType(),  # what is wrong, for a person
    wall_us=LongType(),
    process=IntegerType(),  # with `sequence`: the record that shows it
    sequence=LongType(),
    event=LongType(),
    subscription=LongType(),
    cast=LongType(),
    cluster=StringType(),
)
