"""Keep the planner's idea of the tables from lagging behind a burst.

Queue tables are small when idle and huge soon after. A prepared statement keeps the plan it got
while they were small, which reads them from end to end, until statistics arrive; autovacuum brings
them up to a minute later. A table that doubled is analyzed at once instead: seldom, as it doubles.
"""

from jobs import queries
from jobs.models import (
    Event,
    Finished,
    Job,
    Lane,
    Later,
    Lease,
    Minute,
    Progress,
    Ready,
    Worker,
)

TABLES = tuple(
    model._meta.db_table
    for model in (Event, Finished, Job, Lane, Later, Lease, Minute, Progress, Ready, Worker)
)


def refresh_statistics() -> int:
    """Analyze tables that have doubled; returns how many have true numbers now."""
    outgrown = queries.outgrown(TABLES)
    if outgrown:
        queries.analyze(outgrown)
    return len(outgrown) and len(outgrown) - len(queries.outgrown(outgrown))
