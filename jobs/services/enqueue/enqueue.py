"""Store the jobs of a request: prepare its drafts, then store them. Spec: contract 12.1, PUSH."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from jobs import extensions, spans
from jobs.database import connection
from jobs.domain.access.caller import SYSTEM, Caller
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.errors import OJSError
from jobs.domain.job import Job
from jobs.domain.wire.tracing import TRACE
from jobs.extensions import EnqueueHooks, implementers
from jobs.gather import Later
from jobs.middleware import enqueue_wrappers
from jobs.repeat import repeated
from jobs.services.enqueue import backpressure, dedupe, plain
from jobs.services.enqueue.resolve_times import resolve_times
from jobs.services.enqueue.store import store
from ojs_tasks.middleware import Wrapper

Step = Callable[[JobDraft], JobDraft | None]
Prepare = Callable[[JobDraft, Caller], JobDraft | None]


@spans.producing
def enqueue(drafts: Sequence[JobDraft], caller: Caller = SYSTEM) -> list[Job | None]:
    """Store `drafts`, all or none; returns jobs in request order, None for each dropped draft.

    A draft whose policy is `ignore` gets the existing job that it matches (`deduplicated`). An
    ordinary enqueue takes one statement. Admission, deduplication, a match, equal fingerprints in
    the request, a new lane, and a change of a queue's rate limit take more. Inside a caller's
    transaction the jobs become claimable with its commit. Raises OJSError, with an index, when a
    draft is refused or an id is taken; then nothing was stored.
    """
    return _enqueued(drafts, prepared_drafts(drafts, caller), caller)


def enqueue_soon(draft: JobDraft, caller: Caller) -> Later[Job | None] | Job | None:
    """Begin to store one draft, as `enqueue` does; its statement may be shared.

    Raises OJSError as `enqueue` does, now or with the later result.
    """
    if spans.are_made():
        return enqueue([draft], caller)[0]
    (prepared,) = prepared_drafts([draft], caller)
    if prepared is None:
        return None
    begun = plain.begin(prepared, caller)
    if begun is None:
        return _enqueued([draft], [prepared], caller)[0]
    return begun.then(lambda job: job or _enqueued([draft], [prepared], caller)[0])


def enqueue_batch_soon(
    drafts: Sequence[JobDraft], caller: Caller
) -> Later[list[Job | None]] | list[Job | None]:
    """Begin to store the drafts of a request, as `enqueue` does.

    Raises OJSError as `enqueue` does, now or with the later result.
    """
    if spans.are_made():
        return enqueue(drafts, caller)
    prepared = prepared_drafts(drafts, caller)
    kept = [draft for draft in prepared if draft is not None]
    begun = plain.begin_batch(kept, caller) if kept else None
    if begun is None:
        return _enqueued(drafts, prepared, caller)

    def finish(jobs: list[Job] | None) -> list[Job | None]:
        if jobs is None:
            return _enqueued(drafts, prepared, caller)
        stored = iter(jobs)
        return [None if draft is None else next(stored) for draft in prepared]

    return begun.then(finish)


def _enqueued(
    drafts: Sequence[JobDraft], prepared: Sequence[JobDraft | None], caller: Caller
) -> list[Job | None]:
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
    outcomes = dedupe.once(drafts, caller, lambda new: store(new, caller))
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
    """Complete each draft and pass it through middleware and hooks; None if they drop it."""
    if caller.tenant is not None:  # a key bound to a tenant enqueues for this tenant alone
        drafts = [replace(draft, tenant=caller.tenant) for draft in drafts]
    if caller.stamps:
        drafts = [_stamped(draft, caller.stamps) for draft in drafts]
    step: Step = partial(_hooks, _prepares(), caller)
    for wrapper in enqueue_wrappers():
        step = partial(_wrapped, wrapper, step)
    prepared = []
    for n, draft in enumerate(resolve_times(drafts)):
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


def _prepares() -> list[Prepare]:
    return [extension.prepare for extension in implementers(EnqueueHooks.prepare)]


def _hooks(prepares: Sequence[Prepare], caller: Caller, draft: JobDraft) -> JobDraft | None:
    kept: JobDraft | None = draft
    for prepare in prepares:
        if kept is None:
            return None
        kept = prepare(kept, caller)
    return kept


def require_prepared(draft: JobDraft, caller: Caller = SYSTEM) -> None:
    """Check that extensions would prepare a draft now, for a job that is stored later.

    Middleware does not run: it may have side effects. Raises OJSError.
    """
    _hooks(_prepares(), caller, draft)
