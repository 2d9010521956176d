"""Answer drafts that were stored before with the jobs that they became.

An extension names the requests that may repeat, such as federated jobs by their federation id. All
other requests pass through.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from jobs.database import atomic
from jobs.domain.access.caller import Caller
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.errors import Duplicate, OJSError
from jobs.domain.job import Job
from jobs.extensions import Deduplication, EnqueueHooks, implementers
from jobs.services.read.show import show_many

Outcome = Job | OJSError
Store = Callable[[Sequence[JobDraft]], Sequence[Outcome]]


def once(drafts: Sequence[JobDraft], caller: Caller, store: Store) -> list[Outcome]:
    """Store the drafts that were not stored before; returns outcomes in order.

    A draft that was stored before gets its job (`deduplicated`), or a refusal if the job is gone.
    The check and the insert are one transaction, so no other request stores the same draft
    meanwhile.
    """
    asked = [
        found
        for extension in implementers(EnqueueHooks.dedupe)
        if (found := extension.dedupe(drafts, caller))
    ]
    if not asked:
        return list(store(drafts))
    with atomic():
        before: dict[int, str] = {}
        for one in asked:
            before = {**one.find_stored(), **before}
        places = [n for n in range(len(drafts)) if n not in before]
        stored = store([drafts[n] for n in places]) if places else ()
        outcomes = dict(zip(places, stored, strict=True))
        _record(asked, outcomes)
    repeated = _repeated(drafts, before, outcomes)
    return [outcomes[n] if n in outcomes else repeated[n] for n in range(len(drafts))]


def _record(asked: Sequence[Deduplication], outcomes: Mapping[int, Outcome]) -> None:
    became = {n: one.id if isinstance(one, Job) else None for n, one in outcomes.items()}
    for one in asked:
        one.record(became)


def _repeated(
    drafts: Sequence[JobDraft], repeats: Mapping[int, str], outcomes: Mapping[int, Outcome]
) -> dict[int, Outcome]:
    """Return the answers to repeats; a repeat of a new draft of the request shares its outcome."""
    found = {job.id: job for job in show_many(sorted(set(repeats.values())))} if repeats else {}
    here = {drafts[n].id: outcome for n, outcome in outcomes.items()}
    answer: dict[int, Outcome] = {}
    for n, job_id in repeats.items():
        before = found.get(job_id) or here.get(job_id)
        if isinstance(before, Job):
            answer[n] = replace(before, deduplicated=True)
        else:
            answer[n] = before or _gone(n, job_id)
    return answer


def _gone(n: int, job_id: str) -> Duplicate:
    details = {"existing_job_id": job_id, "index": n}
    return Duplicate(
        f"the request created job {job_id}, which is not here any more", details=details
    )
