"""Store jobs that were sent with `unique`. Spec: contract 6.3, 11.1, 27 (order at enqueue).

Drafts without admission whose fingerprints differ take one statement, which checks under its own
locks. All other drafts take a transaction: lock the fingerprints, read the existing jobs, decide,
lock the jobs to be replaced, then cancel, admit and store.

A transaction that ends a job and enqueues a follow-up locks a job before a fingerprint. To avoid a
deadlock, this code never waits for a job while it holds a fingerprint. If another transaction has
locked the job, this transaction rolls back, waits for the job, and begins anew.

Admission and the making of lanes take their locks after the fingerprints, against the lock order. A
bulk request in parts holds the locks of admission before fingerprints, so both may deadlock.
PostgreSQL then ends one transaction, and `jobs/repeat.py` repeats it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from jobs import queries
from jobs.database import atomic
from jobs.domain.access.caller import Caller
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.enqueue.duplicates import Asked, Candidate, Decision, decide
from jobs.domain.enqueue.unique import (
    REPLACING,
    OnConflict,
    Subject,
    UniquePolicy,
    fingerprint,
    missing_argument,
)
from jobs.domain.errors import Duplicate, InvalidRequest, OJSError
from jobs.domain.job import Job
from jobs.domain.states import CODES, State, state_of
from jobs.queries import Checking
from jobs.services.outcome.cancel import end
from jobs.services.read.show import show_many

TRIES = 20  # how often a job to be replaced may be locked elsewhere, or change
REASON = "replaced by a job with the same fingerprint"

MOST = 2_000  # fingerprints that a list reads

Stored = list[Job | queries.Placed]  # a Placed: the draft matched a stored job
# stores drafts with their fingerprints; the answer is in order
Insert = Callable[[Sequence[JobDraft], "Keys | None", Checking], Stored]
Keys = list[str | None]  # fingerprints by position, None without a policy


@dataclass(frozen=True, slots=True)
class InsertSteps:
    """The steps that store drafts: `admit`, if an extension or a bound needs it, then `insert`."""

    insert: Insert
    admit: Callable[[Sequence[JobDraft]], None] | None


def store(
    drafts: Sequence[JobDraft], steps: InsertSteps, caller: Caller, *, keep_going: bool = False
) -> list[Job | OJSError]:
    """Store drafts, or answer with the jobs that they match; in order.

    Raises Duplicate for the first refused draft, with its index. With `keep_going` the other drafts
    are stored, and the refused draft gets its error.
    """
    keys = fingerprints(drafts)
    named = [key for key in keys if key is not None]
    if steps.admit is None and len(named) == len(set(named)) and not keep_going:
        placed = steps.insert(drafts, keys, Checking.HERE)
        hits = {row.n: row for row in placed if not isinstance(row, Job)}
        if not hits:
            return [job for job in placed if isinstance(job, Job)]
        if (answer := _without_replacing(drafts, keys, placed, hits)) is not None:
            return answer
    return _in_transaction(drafts, keys, steps, caller, keep_going=keep_going)


def unique_jobs(
    tenant: str | None, *, limit: int, offset: int
) -> tuple[list[queries.UniqueJob], int]:
    """List jobs that block equal jobs by their own policy; a page and the total up to MOST."""
    return queries.unique_jobs(tenant, looked=MOST, offset=offset, limit=limit)


def fingerprints(drafts: Sequence[JobDraft]) -> Keys:
    """Return the fingerprint of each draft. Raises InvalidRequest with the index of each error."""
    keys: Keys = []
    problems: list[InvalidRequest] = []
    for index, draft in enumerate(drafts):
        try:
            keys.append(
                None if draft.unique is None else fingerprint(draft.unique, _subject(draft))
            )
        except KeyError as problem:
            found = InvalidRequest.of_problems([missing_argument(str(problem.args[0]))])
            found.details["index"] = index
            problems.append(found)
    if problems:
        raise OJSError.first_of(problems)
    return keys


def _subject(draft: JobDraft) -> Subject:
    return Subject(draft.type, draft.queue, draft.args, draft.meta, draft.tenant, draft.version)


def _without_replacing(
    drafts: Sequence[JobDraft], keys: Keys, placed: Stored, hits: dict[int, queries.Placed]
) -> list[Job | OJSError] | None:
    """Answer for one statement that found matches; None if a match is to be replaced."""
    for n, row in sorted(hits.items()):
        if _policy(drafts[n]).on_conflict is OnConflict.REJECT:
            raise _duplicate(n, keys[n], str(row.hit), row.hit_state or 0)
    if any(_policy(drafts[n]).on_conflict in REPLACING for n in hits):
        return None
    by_place = {row.n: row.hit for row in hits.values()}
    existing = {job.id: job for job in show_many([str(hit) for hit in by_place.values()])}
    others = iter(job for job in placed if isinstance(job, Job))
    answer: list[Job | OJSError] = []
    for n in range(len(drafts)):
        hit = by_place.get(n)
        answer.append(next(others) if hit is None else replace(existing[hit], deduplicated=True))
    return answer


def _policy(draft: JobDraft) -> UniquePolicy:
    assert draft.unique is not None  # noqa: S101 - hits have a policy
    return draft.unique


def _in_transaction(
    drafts: Sequence[JobDraft], keys: Keys, steps: InsertSteps, caller: Caller, *, keep_going: bool
) -> list[Job | OJSError]:
    for attempt in range(1, TRIES + 1):
        try:
            with atomic():
                request = _Request(drafts, keys, steps, caller, is_last=attempt == TRIES)
                return request.run(keep_going=keep_going)
        except _InUse as problem:
            queries.wait(problem.ids)
    raise AssertionError("the loop returns or raises")


class _InUse(Exception):
    """A job to be replaced is locked by another transaction, or has changed: roll back."""

    def __init__(self, ids: list[str]) -> None:
        super().__init__()
        self.ids = ids


class _Request:
    """One request inside its transaction. The last try waits for jobs and may meet a deadlock."""

    def __init__(
        self,
        drafts: Sequence[JobDraft],
        keys: Keys,
        steps: InsertSteps,
        caller: Caller,
        *,
        is_last: bool,
    ) -> None:
        self.drafts, self.keys, self.steps, self.caller = drafts, keys, steps, caller
        self.is_last = is_last

    def run(self, *, keep_going: bool) -> list[Job | OJSError]:
        now, candidates = queries.hits(_wanted(self.drafts, self.keys))
        asked = [
            Asked(draft.unique, key, _as_candidate(draft, now))
            for draft, key in zip(self.drafts, self.keys, strict=True)
        ]
        decision = decide(asked, candidates, now)
        refused = self._refusals(decision)
        if refused and not keep_going:
            raise refused[min(refused)]
        kept = {
            n: draft if verdict.schedule is None else _rescheduled(draft, verdict.schedule)
            for n, (draft, verdict) in enumerate(zip(self.drafts, decision.verdicts, strict=True))
            if verdict.hit is None
        }
        stored = self._stored(kept, decision)
        existing = self._existing(decision, stored)
        answer: list[Job | OJSError] = []
        for n, verdict in enumerate(decision.verdicts):
            if n in refused:
                answer.append(refused[n])
            elif verdict.hit is not None:
                answer.append(replace(existing[verdict.hit.id], deduplicated=True))
            else:
                answer.append(existing.get(stored[n].id, stored[n]))
        return answer

    def _refusals(self, decision: Decision) -> dict[int, OJSError]:
        return {
            n: _duplicate(n, self.keys[n], verdict.hit.id, verdict.hit.state)
            for n, verdict in enumerate(decision.verdicts)
            if verdict.hit is not None and verdict.is_refused
        }

    def _stored(self, kept: dict[int, JobDraft], decision: Decision) -> dict[int, Job]:
        """Cancel, admit and store; then cancel the jobs that later jobs of the request replace."""
        own = {draft.id for draft in kept.values()}
        replaced = [job_id for job_id in decision.cancels if job_id not in own]
        if replaced and not self.is_last:
            missing = set(replaced) - queries.hold(replaced)
            if missing:
                raise _InUse(sorted(missing))
        self._cancel(replaced)
        if not kept:
            return {}
        drafts = list(kept.values())
        if self.steps.admit is not None:
            self.steps.admit(drafts)
        keys = [self.keys[n] for n in kept]
        placed = self.steps.insert(drafts, keys, Checking.DONE)
        self._cancel([job_id for job_id in decision.cancels if job_id in own])
        jobs = [job for job in placed if isinstance(job, Job)]
        return dict(zip(kept, jobs, strict=True))

    def _cancel(self, ids: list[str]) -> None:
        if ids:
            end(ids, self.caller.name, REASON)

    def _existing(self, decision: Decision, stored: dict[int, Job]) -> dict[str, Job]:
        """Read the matched jobs, and the jobs that the same request stored and replaced."""
        hit = {verdict.hit.id for verdict in decision.verdicts if verdict.hit is not None}
        replaced = {job.id for job in stored.values()} & set(decision.cancels)
        wanted = sorted(hit | replaced)
        return {job.id: job for job in show_many(wanted)} if wanted else {}


def _wanted(drafts: Sequence[JobDraft], keys: Keys) -> list[tuple[str, int, int | None]]:
    """Merge the policies of each fingerprint: the union of states, the longest period."""
    joined: dict[str, tuple[int, int | None]] = {}
    for draft, key in zip(drafts, keys, strict=True):
        if key is None or draft.unique is None:
            continue
        # a job that this request cancels may be a match for a later draft of the request
        states, period = draft.unique.mask, draft.unique.period_ms
        if key in joined:
            before, longest = joined[key]
            states |= before
            period = None if period is None or longest is None else max(period, longest)
        joined[key] = states, period
    return [(key, states, period) for key, (states, period) in joined.items()]


def _as_candidate(draft: JobDraft, now: datetime) -> Candidate:
    """Return the state and times of a draft once it is stored."""
    due = draft.scheduled_at
    if draft.scheduled_in_ms is not None:
        due = now + timedelta(milliseconds=draft.scheduled_in_ms)
    state = State.AVAILABLE
    if draft.pending:
        state = State.PENDING
    elif due is not None and due > now:
        state = State.SCHEDULED
    return Candidate(draft.id, CODES[state], now, (draft.scheduled_at, draft.scheduled_in_ms))


def _rescheduled(draft: JobDraft, schedule: tuple[datetime | None, int | None]) -> JobDraft:
    return replace(draft, scheduled_at=schedule[0], scheduled_in_ms=schedule[1])


def _duplicate(index: int, key: str | None, job_id: str, state: int) -> Duplicate:
    name = state_of(state).value
    details: dict[str, Any] = {
        "existing_job_id": job_id,
        "existing_job_state": name,
        "unique_key": key,
        "index": index,
    }
    return Duplicate(f"job {job_id} with the same fingerprint is {name}", details=details)
