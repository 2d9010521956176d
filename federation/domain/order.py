"""The order of copies of a job: last writer wins. Spec: federation 5.2, contract 23.6.

For one origin and job, the higher revision is the newer state. Between jobs, the later
`enqueued_at` wins, to the millisecond. Both orders are total. So regions with the same copies
agree, in whatever order the copies arrived.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol, TypeVar

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MAX_SKEW: Final = timedelta(seconds=60)


class Copy(Protocol):
    """The attributes of a copy that the order uses."""

    @property
    def federation_id(self) -> str: ...
    @property
    def origin_region(self) -> str: ...
    @property
    def job_id(self) -> str: ...
    @property
    def enqueued_at(self) -> datetime: ...
    @property
    def revision(self) -> int: ...


C = TypeVar("C", bound=Copy)


def milliseconds(at: datetime) -> int:
    """Return the whole milliseconds since 1970 of an aware time, rounded down."""
    return (at - EPOCH) // timedelta(milliseconds=1)


def is_newer(one: Copy, other: Copy) -> bool:
    """Return whether `one` is a later state of the same job than `other`."""
    return one.revision > other.revision


def place(copy: Copy) -> tuple[int, str, str, str]:
    """Return the sort key for copies of different jobs: the greatest wins.

    The federation id breaks a tie, as the spec demands. Copies of one federation id differ by their
    origin (D-FED-4), and by the job's own id if one region has two.
    """
    return milliseconds(copy.enqueued_at), copy.federation_id, copy.origin_region, copy.job_id


def latest(copies: Iterable[C]) -> list[C]:
    """Return the newest state of each job, one for each origin and job id."""
    found: dict[tuple[str, str], C] = {}
    for copy in copies:
        key = (copy.origin_region, copy.job_id)
        if key not in found or is_newer(copy, found[key]):
            found[key] = copy
    return list(found.values())


def winner(copies: Iterable[C]) -> C:
    """Return the winning copy of a federated job. Raises ValueError without copies."""
    return max(latest(copies), key=place)


def is_skewed(enqueued_at: datetime, received_at: datetime) -> bool:
    """Return whether a time is so far ahead that a clock must be wrong. Spec: contract 23.6."""
    return enqueued_at - received_at > MAX_SKEW
