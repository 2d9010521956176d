"""Try again to begin steps whose jobs were refused. Spec: contract 8.2."""

import logging
from typing import Any

from django.db import Error

from jobs.database import atomic
from jobs.domain.errors import OJSError
from workflows import queries
from workflows.domain.kinds import StepState
from workflows.domain.limits import MAX_RESULTS_BYTES, RETRY_MS
from workflows.queries import StepKey
from workflows.services.advance import propagate
from workflows.services.begin import NotTaken, ResultsTooLarge, take

logger = logging.getLogger("ojs.workflows")


def resume(batch: int = 100) -> int:
    """Begin, postpone or fail each due step of one batch; return the number of steps.

    A retryable refusal postpones the step, any other refusal fails it.
    """
    found = queries.overdue(batch)
    for workflow_id, index, root_id in found:
        with atomic():
            queries.hold(root_id, exclusive=False)
            _resume((workflow_id, index))
    return len(found)


def _resume(step: StepKey) -> None:
    try:
        with atomic():
            take(queries.due([step], MAX_RESULTS_BYTES))
    except Error:
        raise
    except OJSError as problem:
        if problem.retryable:
            queries.postpone(step, RETRY_MS)
        else:
            _fail(step, problem.code, problem.message)
    except ResultsTooLarge as problem:
        _fail(step, "parent_results_too_large", str(problem))
    except NotTaken as problem:
        _fail(step, "not_enqueued", str(problem))
    except Exception:  # middleware of the project may be repaired while the step waits
        logger.exception("workflow.middleware_failed", extra={"workflow_id": step[0]})
        queries.postpone(step, RETRY_MS)


def _fail(step: StepKey, code: str, message: str) -> None:
    error = {"type": code, "code": code, "message": message, "attempt": 0}
    row: dict[str, Any] = {
        "workflow_id": step[0], "index": step[1], "state": StepState.FAILED, "error": error,
    }  # fmt: skip
    propagate(queries.note([row], MAX_RESULTS_BYTES))
