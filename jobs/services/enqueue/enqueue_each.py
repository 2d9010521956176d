"""Store the accepted jobs of a request and report each refused job. Spec: contract 11.2."""

from collections.abc import Mapping, Sequence

from jobs import extensions, spans
from jobs.database import atomic
from jobs.domain.access.caller import SYSTEM, Caller
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.errors import OJSError
from jobs.domain.job import Job
from jobs.repeat import repeated
from jobs.services.enqueue import dedupe
from jobs.services.enqueue.enqueue import prepared_drafts
from jobs.services.enqueue.insert import id_taken
from jobs.services.enqueue.store import hold, refusals, store
from jobs.services.read.show import existing


@spans.producing
def enqueue_each(
    drafts: Sequence[JobDraft], caller: Caller = SYSTEM
) -> list[Job | OJSError | None]:
    """Store each draft that is accepted; returns jobs and errors in request order.

    None stands for a dropped draft. All accepted drafts are stored in one transaction.
    """
    answer: list[Job | OJSError | None] = []
    kept: dict[int, JobDraft] = {}
    for n, draft in enumerate(drafts):
        try:
            (prepared,) = prepared_drafts([draft], caller)
        except OJSError as problem:
            answer.append(problem)
            continue
        answer.append(None)
        if prepared is not None:
            kept[n] = prepared
    outcomes = repeated(lambda: _once(list(kept.values()), caller))
    for n, outcome in zip(kept, outcomes, strict=True):
        if isinstance(outcome, OJSError):
            outcome.details.pop("index", None)  # its position in the answer is its index
        answer[n] = outcome
    return answer


def _once(drafts: Sequence[JobDraft], caller: Caller) -> list[Job | OJSError]:
    with atomic():
        return dedupe.once(drafts, caller, lambda new: _in_order(new, caller))


def _in_order(drafts: Sequence[JobDraft], caller: Caller) -> list[Job | OJSError]:
    outcomes = _store_each(dict(enumerate(drafts)), caller)
    return [outcomes[n] for n in range(len(drafts))]


def _store_each(drafts: Mapping[int, JobDraft], caller: Caller) -> dict[int, Job | OJSError]:
    """Store drafts by place; a refused draft gets its error.

    A refusal with an index takes this draft out. A refusal without an index is a limit of a queue
    or a tenant: halving finds how many drafts fit, and these are stored.
    """
    answer, todo = _without_taken(drafts)
    places = list(todo)
    for n, problem in refusals(list(todo.values()), caller).items():
        answer[places[n]] = problem
        del todo[places[n]]
    size = len(todo)
    while todo:
        places = list(todo)[:size]
        try:
            with atomic():
                stored = store([todo[n] for n in places], caller, keep_going=True)
        except OJSError as problem:
            index = problem.details.get("index")
            if index is None and len(places) > 1:
                size = _half(places, todo)
                continue
            first = todo[places[index or 0]]
            refused = [places[index]] if index is not None else _limited_like(first, todo)
            answer.update(dict.fromkeys(refused, problem))
        else:
            answer.update(zip(places, stored, strict=True))
            refused, size = places, size * 2
        for n in refused:
            del todo[n]
    problems = {id(one): one for one in answer.values() if isinstance(one, OJSError)}
    for refusal in problems.values():
        refusal.details.pop("index", None)  # its position in the answer is its index
        extensions.report_refusal(refusal, caller)
    return answer


def _half(places: Sequence[int], todo: Mapping[int, JobDraft]) -> int:
    """Return how many drafts to store next; before the first part, lock for all of them."""
    if len(places) == len(todo):
        hold(list(todo.values()))
    return len(places) // 2


def _limited_like(refused: JobDraft, todo: Mapping[int, JobDraft]) -> list[int]:
    """Return the places of all drafts that share the limits of a draft that was refused alone."""
    return [n for n, d in todo.items() if (d.queue, d.tenant) == (refused.queue, refused.tenant)]


def _without_taken(
    drafts: Mapping[int, JobDraft],
) -> tuple[dict[int, Job | OJSError], dict[int, JobDraft]]:
    """Separate the drafts whose ids are taken, also by an earlier draft of the request."""
    taken = existing([draft.id for draft in drafts.values()])
    answer: dict[int, Job | OJSError] = {}
    todo: dict[int, JobDraft] = {}
    for n, draft in drafts.items():
        if draft.id in taken and draft.unique is None:
            answer[n] = id_taken(draft.id)
        else:
            todo[n] = draft
            taken.add(draft.id)
    return answer, todo
