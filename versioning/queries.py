"""One typed function per statement in `sql/`: the only place of the app with a cursor."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from jobs.domain.claim import UNDECLARED, Declaration
from jobs.domain.states import CODES, State
from jobs.statements import Statements

_rows = Statements(Path(__file__).resolve().parent / "sql").rows


class Declared(NamedTuple):
    """Workers that declared the same; those that only fetch are not known to live."""

    declaration: Declaration
    workers: int
    unheard: int


def declarations(
    queues: Collection[str | None], silence_ms: int
) -> dict[str | None, list[Declared]]:
    """Return what workers that run have declared, of those that may fetch a queue; None: any."""
    found: dict[str | None, list[Declared]] = {queue: [] for queue in queues}
    for row in _rows("declarations", {"queues": list(queues), "silence_ms": silence_ms}):
        declaration = UNDECLARED if row[2] == "{}" else Declaration(row[1], row[2])
        found[row[0]].append(Declared(declaration, row[3], row[4]))
    return found


class Waiting(NamedTuple):
    """Available jobs of a route in a queue."""

    route: int
    queue: str
    jobs: int
    now: datetime


def waiting(routes: Sequence[int], *, most: int, lanes: int) -> list[Waiting]:
    """Count what waits, up to bounds; routes in order, the deepest queue first."""
    params = {"routes": list(routes), "most": most, "lanes": lanes}
    return [Waiting(*row) for row in _rows("waiting", params)]


def active(routes: Sequence[int]) -> dict[int, int]:
    """Count what runs by route."""
    return dict(_rows("active", {"routes": list(routes)}))


class Waiter(NamedTuple):
    """A job that waits, and where; `at` is its place in the walk, `version` its own as JSON."""

    id: str
    lane_id: int
    at: int
    enqueued_at: datetime | None
    type: str
    version: str | None
    route: int


def undrawn_lanes(routes: Sequence[int], *, lane: int, limit: int) -> list[int]:
    """Return the next lanes of routes with available jobs, from `lane` on."""
    params = {"routes": list(routes), "lane": lane, "limit": limit}
    return [row[0] for row in _rows("undrawn_lanes", params)]


def undrawn(lane: int, *, seq: int, limit: int) -> list[Waiter]:
    """Return the next available jobs of a lane behind `seq`, which is their place."""
    rows = _rows("undrawn", {"lane": lane, "seq": seq, "limit": limit})
    return [Waiter(*row) for row in rows]


def undrawn_later(kind: int, job_id: str, *, limit: int) -> list[Waiter]:
    """Return the next jobs that are scheduled, pending or retryable; their kind is their place."""
    rows = _rows("undrawn_later", {"kind": kind, "id": job_id, "limit": limit})
    return [Waiter(row[0], row[2], row[1], None, *row[3:]) for row in rows]


def writers(among: Sequence[str] | None) -> list[str]:
    """Return open transactions of others that may store jobs by older terms; None: all of now."""
    return [row[0] for row in _rows("writers", {"among": among})]


class Ended(NamedTuple):
    """How attempts of a route ended."""

    acked: int
    failed: int


class Noted(NamedTuple):
    """Of which routes jobs are noted as touched, and how many at most of a kind."""

    tried: Sequence[int] = ()
    kept: int = 0


def outcomes(
    types: Sequence[str], noted: Noted, *, slot_s: int, batch: int
) -> tuple[dict[int, Ended], bool]:
    """Count what has ended since the last time by route, and tell whether there is more."""
    params = {
        "types": list(types),
        "tried": list(noted.tried),
        "touched": noted.kept,
        "slot_s": slot_s,
        "batch": batch,
    }
    rows = _rows("outcomes", params)
    found = {row[0]: Ended(row[1], row[2]) for row in rows if row[0] is not None}
    return found, any(row[3] for row in rows)


def begin_reading() -> None:
    """Wait for whoever reads outcomes or forgets them; the first time ever places the start."""
    _rows("begin_reading", {})


def forget_outcomes(age_ms: int, *, batch: int) -> None:
    """Delete outcomes that are too old for any window."""
    _rows("forget_outcomes", {"age_ms": age_ms, "batch": batch})


def forget_runs(age_ms: int, *, batch: int) -> None:
    """Delete durations that are too old for any window."""
    _rows("forget_runs", {"age_ms": age_ms, "batch": batch})


def forget_touched(noted: Noted, *, age_ms: int, batch: int) -> None:
    """Delete what is noted of jobs that were touched long ago, or by routes with many later."""
    params = {"routes": list(noted.tried), "kept": noted.kept, "age_ms": age_ms, "batch": batch}
    _rows("forget_touched", params)


def runs(routes: Sequence[int], since: datetime) -> dict[int, dict[int, int]]:
    """Count acknowledged attempts since a minute, by route and bucket of duration."""
    found: dict[int, dict[int, int]] = {}
    for route, bucket, jobs in _rows("runs", {"routes": list(routes), "since": since}):
        found.setdefault(route, {})[bucket] = jobs
    return found


class TouchedJob(NamedTuple):
    """A job whose attempt by a route ended `at`; what is None of one that is gone.

    `version` is JSON as sent, `state` a storage code.
    """

    id: str
    at: datetime
    has_failed: bool
    queue: str | None
    tenant: str | None
    version: str | None
    attempt: int | None
    state: int | None

    @property
    def is_discarded(self) -> bool:
        """It has ended by failing: it may be retried."""
        return self.state == CODES[State.DISCARDED]


def touched(
    routes: Sequence[int], *, failed: bool | None, limit: int, offset: int
) -> list[TouchedJob]:
    """List the last jobs that routes had attempts of, latest first."""
    params = {"routes": list(routes), "failed": failed, "limit": limit, "offset": offset}
    return [TouchedJob(*row) for row in _rows("touched", params)]


def overdue(after_ms: Mapping[int, int], *, lanes: int) -> list[tuple[int, str]]:
    """Return routes and queues whose jobs have waited for so long; `after_ms` is by route."""
    params = {"routes": list(after_ms), "after_ms": list(after_ms.values()), "lanes": lanes}
    return [(row[0], row[1]) for row in _rows("overdue", params)]


class Left(NamedTuple):
    """Jobs of a route in a state; `looked`: how many lanes or jobs were read to count them.

    Without a route it counts what was read of others.
    """

    state: int
    route: int | None
    jobs: int
    looked: int


def left(routes: Sequence[int], *, most: int, looked: int) -> list[Left]:
    """Count the jobs of routes by state, as of one moment and up to bounds."""
    params = {"routes": list(routes), "most": most, "looked": looked}
    return [Left(*row) for row in _rows("left", params)]


def unversioned(job_type: str, *, looked: int) -> list[Left]:
    """Count the jobs of a type that have no version, by state; route 0 is theirs."""
    params = {"type": job_type, "looked": looked}
    return [Left(state, 0, jobs, seen) for state, jobs, seen in _rows("unversioned", params)]


class Dead(NamedTuple):
    """Jobs in the dead letter; `version` is JSON as sent."""

    is_found: bool
    version: str | None
    jobs: int


def dead(job_type: str, *, looked: int) -> list[Dead]:
    """Count a type's jobs in the dead letter by version."""
    return [Dead(*row) for row in _rows("dead", {"type": job_type, "looked": looked})]


class Sent(NamedTuple):
    """Events of jobs that were sent: `kind` 1, 2: jobs that are gone, 0: anything else.

    `version` is JSON as sent, `last_at` when the newest job was made; the rest is of the events.
    """

    kind: int
    version: str | None
    last_at: datetime | None
    oldest: datetime
    newest: datetime
    events: int
    now: datetime


def sent(job_type: str, *, looked: int) -> list[Sent]:
    """Find when a type's jobs were last sent by version, in the newest events."""
    return [Sent(*row) for row in _rows("sent", {"type": job_type, "looked": looked})]
