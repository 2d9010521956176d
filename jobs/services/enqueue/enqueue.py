"""Store jobs. Spec: core PUSH, contract 1.7, 2.2, 11.1, 12.1."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

from django.db import (
    DEFAULT_DB_ALIAS,
    DatabaseError,
    IntegrityError,
    OperationalError,
    connection,
    connections,
    transaction,
)

from jobs import extensions, queries, spans
from jobs.conf import conf
from jobs.domain.caller import SYSTEM, Caller
from jobs.domain.claim import LaneKey
from jobs.domain.envelope import JobDraft
from jobs.domain.errors import Duplicate, OJSError
from jobs.domain.job import Job
from jobs.domain.states import CODES, State
from jobs.domain.times import format_time
from jobs.domain.tracing import TRACE
from jobs.domain.unique import OnConflict
from jobs.domain.written import Written, written
from jobs.extensions import EnqueueHooks, implementers
from jobs.middleware import Wrapper, enqueue_wrappers
from jobs.queries import Checking
from jobs.repeat import repeated
from jobs.services.enqueue import backpressure, repeats, unique
from jobs.services.enqueue.gather import Gathering
from jobs.services.enqueue.settle import settle
from jobs.services.lanes import lanes, limits, terms
from jobs.services.lanes.queue_config import configure
from jobs.spare import borrowed

AVAILABLE = CODES[State.AVAILABLE]
Step = Callable[[JobDraft], JobDraft | None]
TRIES = 3  # how often a stale lane cache is refilled before the error is raised


@spans.producing
def enqueue(drafts: Sequence[JobDraft], caller: Caller = SYSTEM) -> list[Job | None]:
    """Store `drafts`, all or none; returns jobs in request order, None for each dropped draft.

    A draft whose policy is `ignore` gets the existing job that it matches (`deduplicated`). The
    enqueue takes one statement. Inside a caller's transaction the jobs become claimable with its
    commit. Raises OJSError, with an index, when a draft is refused or an id is taken; then nothing
    was stored.
    """
    prepared = prepared_drafts(drafts, caller)
    places = [n for n, draft in enumerate(prepared) if draft is not None]
    kept = [draft for draft in prepared if draft is not None]
    try:
        stored = iter(_stored(kept, caller) if kept else ())
    except OJSError as problem:
        if not connection.in_atomic_block:  # the host's transaction will roll back
            extensions.report_refusal(problem, caller)
        raise _placed(problem, places, is_many=len(drafts) > 1) from problem.__cause__
    return [None if draft is None else _job_of(next(stored)) for draft in prepared]


def _stored(drafts: Sequence[JobDraft], caller: Caller) -> list[Job | OJSError]:
    return backpressure.or_wait(lambda: repeated(lambda: _once(drafts, caller)), caller)


def _once(drafts: Sequence[JobDraft], caller: Caller) -> list[Job | OJSError]:
    outcomes = repeats.once(drafts, caller, lambda new: store(new, caller))
    for outcome in outcomes:
        if isinstance(outcome, OJSError):  # the job of the repeated request is gone
            raise outcome
    return outcomes


def _placed(problem: OJSError, places: Sequence[int], *, is_many: bool) -> OJSError:
    """Replace an index among the kept drafts by the index in the request."""
    if "index" in problem.details:
        index = places[problem.details.pop("index")]
        for other in problem.details.get("errors", ()):
            if "index" in other:
                other["index"] = places[other["index"]]
        if is_many:
            problem.details["index"] = index
    return problem


def _job_of(outcome: Job | OJSError) -> Job:
    assert isinstance(outcome, Job)  # noqa: S101 - refusals were raised
    return outcome


# --- before the transaction -----------------------------------------------------------------------


def prepared_drafts(drafts: Sequence[JobDraft], caller: Caller) -> list[JobDraft | None]:
    """Make times absolute and pass each draft through the chain; None for each dropped draft."""
    if caller.tenant is not None:  # a key bound to a tenant enqueues for this tenant alone
        drafts = [replace(draft, tenant=caller.tenant) for draft in drafts]
    if caller.stamps:
        drafts = [_stamped(draft, caller.stamps) for draft in drafts]
    step: Step = partial(_hooks, caller=caller)
    for wrapper in enqueue_wrappers():
        step = partial(_wrapped, wrapper, step)
    prepared = []
    for n, draft in enumerate(settle(drafts)):
        try:
            prepared.append(_prepare(draft, step))
        except OJSError as problem:
            if len(drafts) > 1:
                problem.details.setdefault("index", n)
            raise
    return prepared


def _stamped(draft: JobDraft, stamps: Mapping[str, str]) -> JobDraft:
    """Add the request's trace and id to the job. A trace of the job itself is never mixed in."""
    if "traceparent" in draft.meta or "tracestate" in draft.meta:
        stamps = {name: text for name, text in stamps.items() if name not in TRACE}
    return replace(draft, meta={**stamps, **draft.meta})


def _prepare(draft: JobDraft, step: Step) -> JobDraft | None:
    job_id = draft.id
    kept = step(draft)
    if kept is not None and (not isinstance(kept, JobDraft) or kept.id != job_id):
        raise TypeError("enqueue middleware must return the draft, with its id, or None")
    return kept


def _wrapped(wrapper: Wrapper, following: Step, draft: JobDraft) -> JobDraft | None:
    kept: JobDraft | None = wrapper(draft, following)
    return kept


def _hooks(draft: JobDraft, caller: Caller) -> JobDraft | None:
    kept: JobDraft | None = draft
    for extension in implementers(EnqueueHooks.prepare):
        if kept is None:
            return None
        kept = extension.prepare(kept, caller)
    return kept


# --- storing --------------------------------------------------------------------------------------


def store(
    drafts: Sequence[JobDraft], caller: Caller, *, keep_going: bool = False
) -> list[Job | OJSError]:
    """Store prepared drafts, in order; see `unique.store` for `keep_going`."""
    return terms.by_latest(lambda: _store(drafts, caller, keep_going=keep_going))


def _store(drafts: Sequence[JobDraft], caller: Caller, *, keep_going: bool) -> list[Job | OJSError]:
    known = terms.of_queues({draft.queue for draft in drafts})
    for queue, rate in terms.rates(known, drafts).items():
        configure(queue, {"rate_limit": rate})
    return _store_by(known, terms.apply(known, drafts), caller, keep_going=keep_going)


def hold(drafts: Sequence[JobDraft]) -> None:
    """Take the locks that `store` takes before lanes, for a request that is stored in parts.

    Each part takes its locks in order, but would take them after the lanes of the part before it.
    """
    for extension in implementers(EnqueueHooks.lock_admission):
        extension.lock_admission(drafts)
    backpressure.hold(drafts)


def require_accepted(drafts: Sequence[JobDraft], caller: Caller = SYSTEM) -> None:
    """Check that extensions would accept these drafts now, for jobs that are stored later.

    Raises OJSError.
    """
    try:
        _refuse(refusals(drafts, caller), len(drafts))
    except OJSError as problem:
        if len(drafts) == 1:
            problem.details.pop("index", None)
        raise


def require_prepared(draft: JobDraft, caller: Caller = SYSTEM) -> None:
    """Check that extensions would prepare a draft now, for a job that is stored later.

    Middleware does not run: it may have side effects. Raises OJSError.
    """
    _hooks(draft, caller)


def refusals(drafts: Sequence[JobDraft], caller: Caller) -> dict[int, OJSError]:
    """Return the reasons for which extensions refuse drafts, by position."""

    def run() -> dict[int, OJSError]:
        known = terms.of_queues({draft.queue for draft in drafts})
        return _refusals(drafts, caller, known.version)

    return terms.by_latest(run)


def _refusals(drafts: Sequence[JobDraft], caller: Caller, version: int) -> dict[int, OJSError]:
    """Return refusals. Raises Stale if they follow from a stale configuration version."""
    found = extensions.refusals(drafts, caller, version)
    if found and terms.version() != version:
        raise terms.Stale
    return found


def _refuse(found: Mapping[int, OJSError], number: int) -> None:
    for n, problem in found.items():
        problem.details["index"] = n
    if number == 1 and found:
        raise found[0]
    if found:
        raise OJSError.first_of([found[n] for n in sorted(found)])


def _store_by(
    known: terms.Terms, drafts: list[JobDraft], caller: Caller, *, keep_going: bool
) -> list[Job | OJSError]:
    _refuse(_refusals(drafts, caller, known.version), len(drafts))
    for extension in implementers(EnqueueHooks.assign_version_keys):
        extension.assign_version_keys(drafts, known.version)
    admitting = [
        extension
        for extension in implementers(EnqueueHooks.needs_admission)
        if extension.needs_admission(drafts, caller, known.version)
    ]
    is_limited = admitting or backpressure.is_bounded(known, drafts)
    admit = partial(_admit, admitting, known, caller) if is_limited else None
    insert = partial(_insert, known, caller.request_id)
    if any(draft.unique is not None for draft in drafts):
        return unique.store(drafts, unique.Way(insert, admit), caller, keep_going=keep_going)
    if admit is None:
        return _jobs(insert(drafts, None, Checking.NONE))
    with transaction.atomic():
        admit(drafts)
        return _jobs(insert(drafts, None, Checking.NONE))


def _admit(
    admitting: Sequence[EnqueueHooks],
    known: terms.Terms,
    caller: Caller,
    drafts: Sequence[JobDraft],
) -> None:
    for extension in admitting:
        # fewer drafts than before: duplicates are not stored
        if extension.needs_admission(drafts, caller, known.version):
            extension.admit(drafts, caller)
    backpressure.admit(backpressure.bounds(known, drafts), caller)


def _jobs(stored: unique.Stored) -> list[Job | OJSError]:
    return [job for job in stored if isinstance(job, Job)]


def _insert(
    known: terms.Terms,
    request: str | None,
    drafts: Sequence[JobDraft],
    keys: unique.Keys | None,
    checking: Checking,
) -> unique.Stored:
    """Store drafts in one statement; a draft that matches a stored job returns as `Placed`."""
    texts = [written(draft) for draft in drafts]
    limited = limits.of_drafts(drafts)
    for attempt in range(TRIES):
        lane_keys = [_key(draft, limited.get(draft.id), known.types) for draft in drafts]
        try:
            # Inside the caller's transaction this is a savepoint. A taken id must not spoil the
            # transaction, and a new lane must not stay locked while the next try waits for locks
            # that come before lanes.
            with transaction.atomic() if connection.in_atomic_block else nullcontext():
                by_key = lanes.resolve(lane_keys)
                rows = [
                    _row(n, draft, text, by_key[key], request)
                    for n, (draft, text, key) in enumerate(
                        zip(drafts, texts, lane_keys, strict=True)
                    )
                ]
                if keys is not None:
                    _add_fingerprints(rows, drafts, keys)
                placed = _place(rows, known.version, checking, may_gather=_may_gather(drafts[0]))
        except IntegrityError as problem:
            raise _duplicate(drafts, problem) from problem
        except DatabaseError as problem:
            if not lanes.is_gone(problem) or attempt == TRIES - 1:
                raise
            lanes.clear_cache()
            continue
        return [_job(drafts[row.n], texts[row.n], row) if row.state else row for row in placed]
    raise AssertionError("the loop returns or raises")


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
        placed = _gathering.ask((version, rows[0]))
    else:
        defers = lanes.defers_waking()
        placed = queries.enqueue(rows, terms=version, checking=checking, wake=not defers)
        if placed and defers:
            lane_ids = sorted({row["lane_id"] for row in rows})
            transaction.on_commit(lambda: lanes.wake(lane_ids))
    if not placed:
        raise terms.Stale
    return placed


def _key(draft: JobDraft, own: int | None, of_types: Mapping[str, int]) -> LaneKey:
    limited = () if own is None else (own,)
    if draft.type in of_types:
        limited = tuple(sorted((*limited, of_types[draft.type])))
    return LaneKey(draft.queue, draft.priority, draft.tenant, draft.route, limited)


def _row(
    n: int, draft: JobDraft, text: Written, lane_id: int, request: str | None
) -> dict[str, Any]:
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
    threads would wait. Where connections end with each request, the pool would have to connect
    anew.
    """
    if draft.id_given or not conf().gather_enqueues:
        return False
    mine = connections[DEFAULT_DB_ALIAS]
    return mine.settings_dict["CONN_MAX_AGE"] is None and not mine.in_atomic_block


def _store_gathered(
    asked: Sequence[tuple[int, dict[str, Any]]],
) -> list[list[queries.Placed]]:
    """Store rows, each with its configuration version; rows of an older version are not stored."""
    with borrowed() as lent:
        if len(asked) == 1:
            version, row = asked[0]
            return [queries.enqueue([row], terms=version, wake=True, on=lent)]
        latest = max(version for version, _ in asked)
        places = [place for place, (version, _) in enumerate(asked) if version == latest]
        rows = [asked[place][1] | {"n": n} for n, place in enumerate(places)]
        stored = queries.enqueue(rows, terms=latest, wake=True, on=lent)
    placed: list[list[queries.Placed]] = [[] for _ in asked]
    for one in stored:
        placed[places[one.n]] = [one._replace(n=0)]
    return placed


_gathering = Gathering(_store_gathered, OperationalError)


def _job(draft: JobDraft, text: Written, place: queries.Placed) -> Job:
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
