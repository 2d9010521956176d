"""Keep the planner's idea of the tables from lagging behind a burst.

Queue tables are small when idle and huge soon after. A prepared statement keeps the plan it got
while they were small, which reads them from end to end, until statistics arrive; autovacuum brings
them up to a minute later. A table that doubled is analyzed at once instead: seldom, as it doubles.
"""

from django.apps import apps

from jobs import extensions, queries


def refresh_statistics() -> int:
    """Analyze tables that have doubled; returns how many have true numbers now."""
    own = [model._meta.db_table for model in apps.get_app_config("ojs_jobs").get_models()]
    outgrown = queries.outgrown((*own, *extensions.tables()))
    if outgrown:
        queries.analyze(outgrown)
    return len(outgrown) and len(outgrown) - len(queries.outgrown(outgrown))
