"""Store the jobs of due steps. Spec: contract 8.2, 8.3, 12.1.

The transaction that ends a dependency also stores the job of the waiting step. A refused job must
not undo that end: the step stays due. A loop tries again until the job is accepted, or is refused
for good, which fails the step.
"""

import logging
from collections.abc import Sequence

import orjson
from django.db import Error

from jobs.database import atomic
from jobs.domain.access.caller import Caller
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.envelope import parse_job
from jobs.domain.errors import OJSError
from jobs.domain.wire import jsonio
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.enqueue.store import hold
from jobs.services.lanes.envelopes import stored_limits
from workflows import queries
from workflows.domain.envelope import member
from workflows.domain.limits import MAX_RESULTS_BYTES
from workflows.queries import Due, Moved

logger = logging.getLogger("ojs.workflows")


class ResultsTooLarge(Exception):
    """The parents' results exceed the limit for one job."""


class NotTaken(Exception):
    """Middleware dropped the job, or uniqueness returned another job."""


def begin(steps: Sequence[Moved]) -> None:
    """Store the jobs of due steps, and of the first steps of nested workflows.

    If one job is refused, all steps stay due.
    """
    found = list(steps)
    children = [step.child_id for step in found if step.child_id is not None]
    while children:
        inner = queries.enter(children)
        found += inner
        children = [step.child_id for step in inner if step.child_id is not None]
    jobs = [(step.workflow_id, step.index) for step in found if step.child_id is None]
    if not jobs:
        return
    try:
        with atomic():
            take(queries.due(jobs, MAX_RESULTS_BYTES))
    except Error:
        raise  # the transaction is aborted or the connection lost: no step has begun
    except (OJSError, ResultsTooLarge, NotTaken) as problem:
        logger.info("workflow.refused", extra={"steps": len(jobs), "reason": str(problem)})
    except Exception:  # middleware of the project must not keep workers from ending their jobs
        logger.exception("workflow.middleware_failed", extra={"steps": len(jobs)})


def take(due: Sequence[Due]) -> None:
    """Store the jobs of due steps, all or none, in the caller's transaction.

    Raises OJSError as `enqueue` does, ResultsTooLarge, NotTaken.
    """
    by_caller: dict[str, list[tuple[Due, JobDraft]]] = {}
    for step in due:
        by_caller.setdefault(step.caller, []).append((step, _draft(step)))
    if len(by_caller) > 1:  # several parts: the locks of all come before the lanes of the first
        hold([draft for wanted in by_caller.values() for _, draft in wanted])
    for caller, wanted in by_caller.items():
        jobs = enqueue([draft for _, draft in wanted], Caller(**orjson.loads(caller)))
        for (_, draft), job in zip(wanted, jobs, strict=True):
            if job is None or job.id != draft.id:
                raise NotTaken("the job was dropped or is a duplicate of another job")
        queries.begun((step.workflow_id, step.index, draft.id) for step, draft in wanted)


def _draft(step: Due) -> JobDraft:
    if step.bytes > MAX_RESULTS_BYTES:
        raise ResultsTooLarge(
            f"the results for this job have {step.bytes} bytes, more than {MAX_RESULTS_BYTES};"
            " return references to large results"
        )
    draft = parse_job(jsonio.loads(step.request.encode()), limits=stored_limits())
    return member(draft, step.workflow_id, step.index, step.results)
