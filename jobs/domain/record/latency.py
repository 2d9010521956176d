"""Latencies in fixed buckets whose bounds grow by a fifth each. Spec: contract 32.6.

Bucket n holds latencies above 1.2 to the power of n - 1 and up to 1.2 to the power of n
milliseconds. Bucket 0 holds all latencies up to one. The statement
`sql/record/aggregate_events.sql` assigns the buckets.
"""

from collections.abc import Mapping
from typing import Final

GROWTH: Final = 1.2


def percentile(jobs: Mapping[int, int], share: float) -> float:
    """Return the milliseconds that `share` of the jobs (by bucket) did not exceed; 0 for none.

    It returns the middle of a bucket, so it is less than a tenth away from the true value.
    """
    wanted = share * sum(jobs.values())
    counted = 0
    for bucket in sorted(jobs):
        counted += jobs[bucket]
        if counted >= wanted:
            return round(GROWTH ** (bucket - 0.5), 1) if bucket > 0 else 1.0
    return 0.0
