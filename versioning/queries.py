"""Run the statements in `sql/`, one typed function each; no other module has a cursor."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from jobs.domain.dispatch.claim import UNDECLARED, Declaration
from jobs.domain.states import CODES, State
from jobs.statements import Statements

_rows = Statements(Path(__file__).resolve().parent / "sql").rows


class Declared(NamedTuple):
    """Workers with the same declaration; `unheard` workers only FETCH and may be dead."""

    declaration: Declaration
    workers: int
    unheard: int


def declarations(
    queues: Collection[str | None], silence_ms: int
) -> dict[str | None, list[Declared]]:
    """Return the declarations of live workers by queue that they may fetch; None: any queue."""
    found: dict[str | None, list[Declared]] = {queue: [] for queue in queues}
    for row in _rows("declarations", {"queues": list(queues), "silence_ms": silence_ms}):
        declaration = UNDECLARED if row[2] == "{}" else Declaration(row[1], row[2])
        found[row[0]].append(Declared(declaration, row[3], row[4]))
    return found


class Waiting(NamedTuple):
    """Available jobs of a version key in a queue."""

    route: int
    queue: str
    jobs: int
    now: datetime


def waiting(routes: Sequence[int], *, most: int, lanes: int) -> list[Waiting]:
    """Count available jobs, up to bounds; version keys in order, the deepest queue first."""
    params = {"routes": list(routes), "most": most, "lanes": lanes}
    return [Waiting(*row) for row in _rows("waiting", params)]


def active(routes: Sequence[int]) -> dict[int, int]:
    """Count active jobs by version key."""
    return dict(_rows("active", {"routes": list(routes)}))


class Waiter(NamedTuple):
    """A waiting job: `at` is its position in the walk, `version` its own version as JSON."""

    id: str
    lane_id: int
    at: int
    enqueued_at: datetime | None
    type: str
    version: str | None
    route: int


def undrawn_lanes(routes: Sequence[int], *, lane: int, limit: int) -> list[int]:
    """Return the next lanes of version keys with available jobs, from `lane` on."""
    params = {"routes": list(routes), "lane": lane, "limit": limit}
    return [row[0] for row in _rows("undrawn_lanes", params)]


def undrawn(lane: int, *, seq: int, limit: int) -> list[Waiter]:
    """Return the next available jobs of a lane after `seq`; `at` is their `seq`."""
    rows = _rows("undrawn", {"lane": lane, "seq": seq, "limit": limit})
    return [Waiter(*row) for row in rows]


def undrawn_later(kind: int, job_id: str, *, limit: int) -> list[Waiter]:
    """Return the next scheduled, pending or retryable jobs; `at` is their kind."""
    rows = _rows("undrawn_later", {"kind": kind, "id": job_id, "limit": limit})
    return [Waiter(row[0], row[2], row[1], None, *row[3:]) for row in rows]


def writers(among: Sequence[str] | None) -> list[str]:
    """Return open transactions that may store jobs under an older configuration.

    None: search all of now; else return the part of `among` that is still open.
    """
    return [row[0] for row in _rows("writers", {"among": among})]


class Ended(NamedTuple):
    """Ended attempts of a version key."""

    acked: int
    failed: int


class Noted(NamedTuple):
    """Version keys whose jobs are recorded as touched, and the bound for each kind."""

    tried: Sequence[int] = ()
    kept: int = 0


def outcomes(
    types: Sequence[str], noted: Noted, *, slot_s: int, batch: int
) -> tuple[dict[int, Ended], bool]:
    """Count by version key the attempts that ended since the last call; also whether more wait."""
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
    """Lock the reading and deletion of outcomes; the first call ever sets the start position."""
    _rows("begin_reading", {})


def forget_outcomes(age_ms: int, *, batch: int) -> None:
    """Delete outcomes that are too old for any window."""
    _rows("forget_outcomes", {"age_ms": age_ms, "batch": batch})


def forget_runs(age_ms: int, *, batch: int) -> None:
    """Delete run times that are too old for any window."""
    _rows("forget_runs", {"age_ms": age_ms, "batch": batch})


def forget_touched(noted: Noted, *, age_ms: int, batch: int) -> None:
    """Delete touched jobs that are too old or beyond the bound of their version key."""
    params = {"routes": list(noted.tried), "kept": noted.kept, "age_ms": age_ms, "batch": batch}
    _rows("forget_touched", params)


def runs(routes: Sequence[int], since: datetime) -> dict[int, dict[int, int]]:
    """Count acknowledged attempts since a minute, by version key and bucket of run time."""
    found: dict[int, dict[int, int]] = {}
    for route, bucket, jobs in _rows("runs", {"routes": list(routes), "since": since}):
        found.setdefault(route, {})[bucket] = jobs
    return found


class TouchedJob(NamedTuple):
    """A job with an attempt of a version key that ended `at`; null members: the job is deleted.

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
        """Whether it is discarded, so that an operator may retry it."""
        return self.state == CODES[State.DISCARDED]


def touched(
    routes: Sequence[int], *, failed: bool | None, limit: int, offset: int
) -> list[TouchedJob]:
    """List the last jobs with attempts of version keys, latest first."""
    params = {"routes": list(routes), "failed": failed, "limit": limit, "offset": offset}
    return [TouchedJob(*row) for row in _rows("touched", params)]


def overdue(after_ms: Mapping[int, int], *, lanes: int) -> list[tuple[int, str]]:
    """Return version keys and queues with overdue jobs; `after_ms` is by version key."""
    params = {"routes": list(after_ms), "after_ms": list(after_ms.values()), "lanes": lanes}
    return [(row[0], row[1]) for row in _rows("overdue", params)]


class Left(NamedTuple):
    """Jobs of a version key in a state; `looked` counts the lanes or jobs that were read for it.

    Without a version key, `looked` counts jobs of other version keys.
    """

    state: int
    route: int | None
    jobs: int
    looked: int


def left(routes: Sequence[int], *, most: int, looked: int) -> list[Left]:
    """Count the jobs of version keys by state, in one snapshot and up to bounds."""
    params = {"routes": list(routes), "most": most, "looked": looked}
    return [Left(*row) for row in _rows("left", params)]


def unversioned(job_type: str, *, looked: int) -> list[Left]:
    """Count the unversioned jobs of a type by state, as jobs of version key 0."""
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
    """Events of sent jobs: `kind` 1; 2 if the job is deleted; 0: other events.

    `version` is JSON as sent, `last_at` the creation of the newest job. The other members are about
    the events.
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
