"""Keep the planner's statistics up to date during a burst.

Queue tables are small when idle and huge soon after. A prepared statement keeps the plan that it
got while they were small, which reads whole tables, until statistics arrive. Autovacuum updates
them up to a minute later. This loop analyzes a table as soon as it doubled, which is seldom.
"""

from jobs import extensions, queries
from jobs.services.storage.tables import core_tables


def refresh_statistics() -> int:
    """Analyze tables that have doubled; returns how many were analyzed."""
    outgrown = queries.outgrown((*core_tables(), *extensions.tables()))
    if outgrown:
        queries.analyze(outgrown)
    return len(outgrown) and len(outgrown) - len(queries.outgrown(outgrown))
