"""Statements of the enqueue: store jobs, find equal jobs, and make room in queues."""

from collections.abc import Sequence
from datetime import datetime
from enum import IntEnum
from itertools import starmap
from operator import itemgetter
from typing import Any, NamedTuple

import orjson

from jobs.domain.enqueue.duplicates import Candidate
from jobs.domain.states import CODES
from jobs.queries.base import begin_one, run, run_hot
from jobs.queries.lifecycle import Discarded
from jobs.trips import Trip


class Placed(NamedTuple):
    """The result for an enqueued draft; `state` 0: it matched a job with its fingerprint."""

    n: int
    state: int
    created_at: datetime
    scheduled_at: datetime | None
    expires_at: datetime | None
    hit: str | None
    hit_state: int | None
    woken: int | None
    exists: bool | None


class Checking(IntEnum):
    """Whether and where fingerprints of drafts are checked."""

    NONE, HERE, DONE = 0, 1, 2


# Members that rows may leave out: few jobs have them, and a null takes as long to read as a value
ABSENT = {
    "version": None, "visibility_ms": None, "pending": False, "scheduled_at": None,
    "scheduled_in_ms": None, "expires_at": None, "expires_in_ms": None, "request_id": None,
}  # fmt: skip
# Members that many drafts of a request share, so a statement reads them once
SHARED = (
    "type", "queue", "tenant", "lane_id", "priority", "watched", "attributes", "max_attempts",
    "timeout_ms",
)  # fmt: skip
OWN = frozenset({*SHARED, "n", "id", "args", "meta", "bytes", "request_id"})
_shared_of = itemgetter(*SHARED)
ONE = (("drafts", "draft"), ("woken", "draft_woken"))
MANY = (("drafts", "drafts"), ("woken", "drafts_woken"))
UNIQUE = (("drafts", "drafts_unique"), ("woken", "drafts_woken"))


def enqueue(
    drafts: Sequence[dict[str, Any]],
    *,
    config_version: int,
    wake: bool,
    checking: Checking = Checking.NONE,
) -> list[Placed]:
    """Store drafts, rows as `enqueue.sql` reads them, JSON as bytes; answers in request order.

    Members of `ABSENT` may be missing. Stores and returns nothing when `config_version` is not the
    latest version.
    """
    params, parts = _filled(drafts, config_version, checking)
    return _placed(run_hot("enqueue", params | {"wake": wake}, parts))


def begin_enqueue(drafts: Sequence[dict[str, Any]], *, config_version: int) -> Trip[list[Placed]]:
    """Begin to store drafts, as `enqueue` does, on a connection of the pool."""
    params, parts = _filled(drafts, config_version, Checking.NONE)
    return begin_one("enqueue", params | {"wake": True}, parts).then(_placed)


def _filled(
    drafts: Sequence[dict[str, Any]], config_version: int, checking: Checking
) -> tuple[dict[str, Any], tuple[tuple[str, str], ...]]:
    """Return the parameters of the statement, and its parts."""
    params: dict[str, Any] = {"config_version": config_version, "checking": int(checking)}
    if len(drafts) == 1 and checking is Checking.NONE:
        params |= ABSENT
        params |= {k: v.decode() if type(v) is bytes else v for k, v in drafts[0].items()}
        return params, ONE
    if checking is Checking.NONE:
        params["drafts"], params["kinds"] = _divided(drafts)
        return params, MANY
    params["drafts"] = orjson.dumps(drafts, default=orjson.Fragment).decode()
    return params, UNIQUE


def _placed(rows: Sequence[Any]) -> list[Placed]:
    return [Placed(row[0], row[1], rows[0][2], *row[3:]) for row in rows]


def _divided(drafts: Sequence[dict[str, Any]]) -> tuple[str, str]:
    """Return drafts and their kinds as JSON arrays, as the part `drafts` reads them."""
    kinds: dict[tuple[Any, ...], tuple[int, bytes, str | None]] = {}
    own, shared = [], []
    for draft in drafts:
        request = draft.get("request_id")
        key = *_shared_of(draft), request is None
        kind = kinds.get(key)
        if kind is None:
            kind = kinds[key] = len(kinds), draft["meta"], request
            members = dict(zip(SHARED, key, strict=False))
            shared.append({**members, "k": kind[0], "meta": kind[1], "request_id": request})
        number, meta, of_kind = kind
        text = b'{"n":%d,"k":%d,"id":"%b","bytes":%d,"args":%b' % (
            draft["n"], number, draft["id"].encode(), draft["bytes"], draft["args"],
        )  # fmt: skip
        if draft["meta"] != meta:
            text += b',"meta":' + draft["meta"]
        if request != of_kind or not OWN.issuperset(draft):
            rare = {name: value for name, value in draft.items() if name not in OWN}
            text += b"," + orjson.dumps({**rare, "request_id": request})[1:-1]
        own.append(text + b"}")
    kinds_text = orjson.dumps(shared, default=orjson.Fragment).decode()
    return (b"[" + b",".join(own) + b"]").decode(), kinds_text


def hits(
    wanted: Sequence[tuple[str, int, int | None]],
) -> tuple[datetime, dict[str, list[Candidate]]]:
    """Find the stored jobs that (fingerprint, states as bits, period in ms) may match.

    Returns the time of this transaction and the jobs by fingerprint, oldest first. No other
    transaction stores or replaces jobs with these fingerprints until commit.
    """
    params = {
        "keys": [key for key, _, _ in wanted],
        "states": [states for _, states, _ in wanted],
        "periods_ms": [period for _, _, period in wanted],
    }
    found: dict[str, list[Candidate]] = {}
    rows = run("hits", params)
    for _, n, job_id, state, created_at, scheduled_at in rows:
        if n is not None:
            candidate = Candidate(job_id, state, created_at, (scheduled_at, None))
            found.setdefault(wanted[n - 1][0], []).append(candidate)
    return rows[0][0], found


class UniqueJob(NamedTuple):
    """A job that blocks equal jobs; `key` is its fingerprint in hex."""

    key: str
    job_id: str
    type: str
    queue: str
    state: int
    locked_until: datetime | None


def unique_jobs(
    tenant: str | None, *, looked: int, offset: int, limit: int
) -> tuple[list[UniqueJob], int]:
    """List jobs that block equal jobs, and how many there are; see `unique_jobs.sql`."""
    params = {
        "tenant": tenant, "looked": looked, "offset": offset, "limit": limit,
        "states": [state.value for state in CODES],
    }  # fmt: skip
    rows = run("unique_jobs", params)
    return [UniqueJob(*row[:6]) for row in rows], (rows[0][6] if rows else 0)


def hold(ids: Sequence[str]) -> set[str]:
    """Lock live jobs until commit, without waiting; locked and ended jobs are absent."""
    return {row[0] for row in run("hold", {"ids": list(ids)})}


def wait(ids: Sequence[str]) -> int:
    """Wait until no other transaction has these jobs locked; returns how many are live."""
    return int(run("wait", {"ids": list(ids)})[0][0])


def lock_queues(queues: Sequence[str]) -> None:
    """Lock queues against other producers until this transaction ends."""
    run("lock_queues", {"queues": list(queues)})


def oldest(queue: str, number: int) -> list[tuple[str, int]]:
    """Return the available jobs of a queue that wait longest, with their bytes."""
    return [(row[0], row[1]) for row in run("oldest", {"queue": queue, "number": number})]


def heads(lane_id: int, number: int) -> list[str]:
    """Return the next jobs of a lane, at most `number`."""
    return [row[0] for row in run("heads", {"lane_id": lane_id, "number": number})]


def drop(ids: Sequence[str], code: str, message: str, kind: int) -> list["Discarded"]:
    """Discard available jobs; returns the jobs that still were."""
    params = {"ids": list(ids), "code": code, "message": message, "kind": kind}
    return list(starmap(Discarded, run("drop", params)))


def postpone(ids: Sequence[str], until: datetime | None) -> int:
    """Move available jobs to scheduled, until a time or (None) for half their age, 1 s to 30 s."""
    return len(run("postpone", {"ids": list(ids), "until": until}))
