"""Note counts that were wrong, for the rule about drift."""

from collections.abc import Mapping

from attention.models import Drifted


def note(counts: Mapping[str, int]) -> None:
    """Store how many counts of each table differed, in the caller's transaction."""
    Drifted.objects.bulk_create(
        [Drifted(table=table, counts=number) for table, number in sorted(counts.items())],
        ignore_conflicts=True,
    )
