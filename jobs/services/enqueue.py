"""Store jobs. Spec: core PUSH, contract 1.7, 2.2, 11.1, 12.1."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.utils.module_loading import import_string

from jobs import extensions, queries
from jobs.conf import conf
from jobs.domain import jsonio
from jobs.domain.caller import SYSTEM, Caller
from jobs.domain.claim import LaneKey
from jobs.domain.envelope import JobDraft, attributes
from jobs.domain.errors import Duplicate
from jobs.domain.job import Job
from jobs.domain.states import CODES, State
from jobs.domain.times import format_time
from jobs.services import lanes
from jobs.services.settle import settle

AVAILABLE = CODES[State.AVAILABLE]
TRIES = 3  # how often a stale lane cache is refilled before the problem is passed on


def enqueue(drafts: Sequence[JobDraft], caller: Caller = SYSTEM) -> list[Job | None]:
    """Store `drafts`, all or none; returns them in request order, None where one was dropped.

    One statement; inside a caller's transaction the jobs become claimable with its commit. Raises
    OJSError when an extension refuses or an id is taken; nothing was stored then.
    """
    if caller.tenant is not None:  # a key bound to a tenant enqueues for no other
        drafts = [replace(draft, tenant=caller.tenant) for draft in drafts]
    prepared = [_prepare(draft, caller) for draft in settle(drafts)]
    kept = [draft for draft in prepared if draft is not None]
    stored = iter(_store(kept, caller) if kept else ())
    return [None if draft is None else next(stored) for draft in prepared]


def _prepare(draft: JobDraft, caller: Caller) -> JobDraft | None:
    chain: Callable[[JobDraft], JobDraft | None] = lambda job: _hooks(job, caller)  # noqa: E731
    for path in reversed(conf().enqueue_middleware):
        chain = _link(import_string(path), chain)
    return chain(draft)


def _link(
    wrapper: Callable[..., JobDraft | None], following: Callable[[JobDraft], JobDraft | None]
) -> Callable[[JobDraft], JobDraft | None]:
    return lambda job: wrapper(job, following)


def _hooks(draft: JobDraft, caller: Caller) -> JobDraft | None:
    kept: JobDraft | None = draft
    for prepare in extensions.having("prepare"):
        kept = prepare(kept, caller)
        if kept is None:
            return None
    return kept


def _store(drafts: list[JobDraft], caller: Caller) -> list[Job]:
    gates = [extension for extension in extensions.installed() if extension.gates(drafts, caller)]
    if not gates:
        return _insert(drafts)
    with transaction.atomic():
        for extension in gates:
            extension.admit(drafts, caller)
        return _insert(drafts)


def _insert(drafts: list[JobDraft]) -> list[Job]:
    written = [_write(draft) for draft in drafts]
    for attempt in range(TRIES):
        by_key = lanes.resolve(_key(draft) for draft in drafts)
        rows = [
            _row(n, draft, text, by_key[_key(draft)])
            for n, (draft, text) in enumerate(zip(drafts, written, strict=True))
        ]
        try:
            placed = _execute(rows, set(by_key.values()))
        except IntegrityError as problem:
            raise _duplicate(drafts, problem) from problem
        except DatabaseError as problem:
            if not lanes.is_gone(problem) or attempt == TRIES - 1:
                raise
            lanes.forget()
            continue
        return [
            _job(draft, text, place)
            for draft, text, place in zip(drafts, written, placed, strict=True)
        ]
    raise AssertionError("the loop returns or raises")


def _execute(rows: list[dict[str, Any]], lane_ids: set[int]) -> list[queries.Placed]:
    if not connection.in_atomic_block:
        return queries.enqueue(jsonio.dumps(rows), wake=True)
    with transaction.atomic():  # a savepoint: a taken id must not spoil the host's transaction
        if not lanes.defers_waking():
            return queries.enqueue(jsonio.dumps(rows), wake=True)
        placed = queries.enqueue(jsonio.dumps(rows), wake=False)
    transaction.on_commit(lambda: lanes.wake(sorted(lane_ids)))
    return placed


def _key(draft: JobDraft) -> LaneKey:
    return LaneKey(draft.queue, draft.priority, draft.tenant, draft.route)


@dataclass(frozen=True, slots=True)
class _Written:
    """A draft's JSON members, serialized once for the database and the answer."""

    args: bytes
    meta: bytes
    attributes: bytes
    timeout_ms: int


def _write(draft: JobDraft) -> _Written:
    shown = attributes(draft)
    return _Written(
        jsonio.dumps(draft.args), jsonio.dumps(draft.meta), jsonio.dumps(shown), shown["timeout_ms"]
    )


def _row(n: int, draft: JobDraft, written: _Written, lane_id: int) -> dict[str, Any]:
    return {
        "n": n,
        "id": draft.id,
        "type": draft.type,
        "queue": draft.queue,
        "tenant": draft.tenant,
        "lane_id": lane_id,
        "priority": draft.priority,
        "version": draft.version,
        "watched": draft.watched,
        "args": orjson.Fragment(written.args),
        "meta": orjson.Fragment(written.meta),
        "attributes": orjson.Fragment(written.attributes),
        "max_attempts": draft.retry.max_attempts,
        "timeout_ms": written.timeout_ms,
        "visibility_ms": draft.visibility_ms,
        "pending": draft.pending,
        "scheduled_at": draft.scheduled_at and format_time(draft.scheduled_at),
        "scheduled_in_ms": draft.scheduled_in_ms,
        "expires_at": draft.expires_at and format_time(draft.expires_at),
        "expires_in_ms": draft.expires_in_ms,
    }


def _job(draft: JobDraft, written: _Written, place: queries.Placed) -> Job:
    return Job(
        id=draft.id,
        type=draft.type,
        queue=draft.queue,
        tenant=draft.tenant,
        priority=draft.priority,
        args=written.args,
        meta=written.meta,
        attributes=written.attributes,
        state=place.state,
        attempt=0,
        max_attempts=draft.retry.max_attempts,
        timeout_ms=written.timeout_ms,
        created_at=place.created_at,
        enqueued_at=place.created_at if place.state == AVAILABLE else None,
        scheduled_at=place.scheduled_at,
        expires_at=place.expires_at,
        version=draft.version,
        watched=draft.watched,
    )


def _duplicate(drafts: Sequence[JobDraft], problem: IntegrityError) -> Exception:
    detail = str(getattr(getattr(problem.__cause__, "diag", None), "message_detail", "") or "")
    taken = next(((n, d.id) for n, d in enumerate(drafts) if d.id in detail), None)
    if taken is None:
        return problem
    index, job_id = taken
    details: dict[str, Any] = {"existing_job_id": job_id, "field": "id"}
    if len(drafts) > 1:
        details["index"] = index
    return Duplicate(f"a job with id {job_id} already exists", details=details)
