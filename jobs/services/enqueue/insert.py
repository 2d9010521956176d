"""Insert the rows of admitted drafts with one statement.

Single drafts of several requests share a statement: see jobs/gather.py.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from django.db import DatabaseError, IntegrityError, OperationalError

from jobs import queries
from jobs.connection_pool import is_usable
from jobs.database import atomic, connection, on_commit
from jobs.domain.dispatch.claim import LaneKey
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.enqueue.unique import OnConflict
from jobs.domain.enqueue.written import Writer, Written
from jobs.domain.errors import Duplicate
from jobs.domain.job import Job
from jobs.domain.states import CODES, State
from jobs.domain.wire.times import format_time
from jobs.gather import Gathering
from jobs.queries import Checking
from jobs.services.enqueue import unique
from jobs.services.lanes import configuration, lanes, limits
from jobs.trips import Trip

AVAILABLE = CODES[State.AVAILABLE]
TRIES = 3  # how often a stale lane cache is refilled before the error is raised
BATCHES = 3  # requests with many drafts whose statements run at the same time


def insert(
    config: configuration.Configuration,
    request: str | None,
    drafts: Sequence[JobDraft],
    keys: unique.Keys | None,
    checking: Checking,
) -> unique.Stored:
    """Store drafts in one statement; a draft that matches a stored job returns as `Placed`."""
    writer = Writer()
    texts = [writer.written(draft) for draft in drafts]
    limited = limits.of_drafts(drafts)
    for attempt in range(TRIES):
        try:
            # Inside the caller's transaction this is a savepoint. A taken id must not spoil the
            # transaction, and a new lane must not stay locked while the next try waits for locks
            # that come before lanes.
            with atomic() if connection.in_atomic_block else nullcontext():
                lane_keys = keys_of(drafts, limited, config)
                by_key = lanes.resolve(lane_keys)
                rows = rows_of(drafts, texts, [by_key[key] for key in lane_keys], request)
                if keys is not None:
                    _add_fingerprints(rows, drafts, keys)
                placed = _place(rows, config.version, checking, may_gather=_may_gather(drafts[0]))
        except IntegrityError as problem:
            raise _duplicate(drafts, problem) from problem
        except DatabaseError as problem:
            if not lanes.is_gone(problem) or attempt == TRIES - 1:
                raise
            lanes.clear_cache()
            continue
        return [job_of(drafts[row.n], texts[row.n], row) if row.state else row for row in placed]
    raise AssertionError("the loop returns or raises")


def keys_of(
    drafts: Sequence[JobDraft], limited: Mapping[str, int], config: configuration.Configuration
) -> list[LaneKey]:
    """Return the key of each draft's lane; `limited` has the ids of the limits that drafts name.

    Most drafts of a request share a few lanes.
    """
    places = [
        (draft.queue, draft.priority, draft.tenant, draft.route, draft.type, limited.get(draft.id))
        for draft in drafts
    ]
    keys = {
        place: key_of(draft, place[-1], config.types)
        for place, draft in dict(zip(places, drafts, strict=True)).items()
    }
    return [keys[place] for place in places]


def rows_of(
    drafts: Sequence[JobDraft],
    texts: Sequence[Written],
    lane_ids: Sequence[int],
    request: str | None,
) -> list[dict[str, Any]]:
    """Return the rows of a request's drafts, as the insert reads them."""
    return [
        row_of(n, draft, text, lane_id, request)
        for n, (draft, text, lane_id) in enumerate(zip(drafts, texts, lane_ids, strict=True))
    ]


def _add_fingerprints(
    rows: list[dict[str, Any]], drafts: Sequence[JobDraft], keys: unique.Keys
) -> None:
    for row, draft, key in zip(rows, drafts, keys, strict=True):
        if key is not None and draft.unique is not None:
            row |= {
                "unique_key": key,
                "unique_states": draft.unique.mask,
                "unique_ms": draft.unique.period_ms,
                "unique_ignores": draft.unique.on_conflict is OnConflict.IGNORE,
            }


def _place(
    rows: list[dict[str, Any]], version: int, checking: Checking, *, may_gather: bool
) -> list[queries.Placed]:
    """Store rows. Raises Stale: with a stale configuration version nothing is stored."""
    if may_gather and len(rows) == 1 and checking is Checking.NONE:
        placed = gathering.ask((version, rows[0]))
    else:
        defers = lanes.defers_waking()
        placed = queries.enqueue(rows, config_version=version, checking=checking, wake=not defers)
        if placed and defers:
            lane_ids = sorted({row["lane_id"] for row in rows})
            on_commit(lambda: lanes.wake(lane_ids))
    if not placed:
        raise configuration.Stale
    return placed


def key_of(draft: JobDraft, own: int | None, of_types: Mapping[str, int]) -> LaneKey:
    """Return the key of a draft's lane; `own` is the id of the limit that the draft names."""
    limited = () if own is None else (own,)
    if draft.type in of_types:
        limited = tuple(sorted((*limited, of_types[draft.type])))
    return LaneKey(draft.queue, draft.priority, draft.tenant, draft.route, limited)


def row_of(
    n: int, draft: JobDraft, text: Written, lane_id: int, request: str | None
) -> dict[str, Any]:
    """Return the row of a draft, as the insert reads it."""
    row = {
        "n": n,
        "id": draft.id,
        "type": draft.type,
        "queue": draft.queue,
        "tenant": draft.tenant,
        "lane_id": lane_id,
        "priority": draft.priority,
        "watched": draft.watched,
        "args": text.args,
        "meta": text.meta,
        "attributes": text.attributes,
        "bytes": text.size,
        "max_attempts": draft.retry.max_attempts,
        "timeout_ms": text.timeout_ms,
    }
    if text.version is not None:
        row["version"] = text.version
    if request is not None:
        row["request_id"] = request
    _add_rare(row, draft)
    return row


def _add_rare(row: dict[str, Any], draft: JobDraft) -> None:
    """Add the members that a row may leave out: see `ABSENT` in queries/storing.py."""
    if draft.visibility_ms is not None:
        row["visibility_ms"] = draft.visibility_ms
    if draft.pending:
        row["pending"] = True
    if draft.scheduled_at is not None:
        row["scheduled_at"] = format_time(draft.scheduled_at)
    if draft.scheduled_in_ms is not None:
        row["scheduled_in_ms"] = draft.scheduled_in_ms
    if draft.expires_at is not None:
        row["expires_at"] = format_time(draft.expires_at)
    if draft.expires_in_ms is not None:
        row["expires_in_ms"] = draft.expires_in_ms


def _may_gather(draft: JobDraft) -> bool:
    """Return whether a draft may share a statement with drafts of other threads.

    A draft with an id of its producer may not: an open transaction may hold this id, and all
    threads would wait.
    """
    return not draft.id_given and is_usable()


def _begin(asked: Sequence[tuple[int, dict[str, Any]]]) -> Trip[list[list[queries.Placed]]]:
    """Begin to store rows with their configuration versions; not rows of an older version."""
    latest = max(version for version, _ in asked)
    places = [place for place, (version, _) in enumerate(asked) if version == latest]
    rows = [asked[place][1] | {"n": n} for n, place in enumerate(places)]

    def read(stored: Sequence[queries.Placed]) -> list[list[queries.Placed]]:
        placed: list[list[queries.Placed]] = [[] for _ in asked]
        for one in stored:
            placed[places[one.n]] = [one._replace(n=0)]
        return placed

    return queries.begin_enqueue(rows, config_version=latest).then(read)


def _begin_batch(
    asked: Sequence[tuple[int, list[dict[str, Any]]]],
) -> Trip[list[list[queries.Placed]]]:
    """Begin to store the rows of one request with its configuration version."""
    ((version, rows),) = asked
    return queries.begin_enqueue(rows, config_version=version).then(lambda placed: [placed])


gathering = Gathering(_begin, OperationalError)
batches = Gathering(_begin_batch, OperationalError, most=1, at_once=BATCHES)


def job_of(draft: JobDraft, text: Written, place: queries.Placed) -> Job:
    """Return the job that a draft has become."""
    return Job(
        id=draft.id,
        type=draft.type,
        queue=draft.queue,
        tenant=draft.tenant,
        priority=draft.priority,
        args=text.args,
        meta=text.meta,
        attributes=text.attributes,
        state=place.state,
        attempt=0,
        max_attempts=draft.retry.max_attempts,
        timeout_ms=text.timeout_ms,
        created_at=place.created_at,
        enqueued_at=place.created_at if place.state == AVAILABLE else None,
        scheduled_at=place.scheduled_at,
        expires_at=place.expires_at,
        version=text.version,
        watched=draft.watched,
        warnings=draft.warnings,
    )


def _duplicate(drafts: Sequence[JobDraft], problem: IntegrityError) -> Exception:
    detail = str(getattr(getattr(problem.__cause__, "diag", None), "message_detail", "") or "")
    taken = next(((n, d.id) for n, d in enumerate(drafts) if d.id in detail), None)
    if taken is None:
        return problem
    index, job_id = taken
    duplicate = id_taken(job_id)
    duplicate.details["index"] = index
    return duplicate


def id_taken(job_id: str) -> Duplicate:
    """Return the error for an id that another job has."""
    details = {"existing_job_id": job_id, "field": "id"}
    return Duplicate(f"a job with id {job_id} already exists", details=details)
