"""Decide in the worker whether a failed attempt is the last; the server has the same rules."""

import json
from typing import Any

from ojs_tasks.context import Context
from ojs_tasks.error_names import is_listed
from ojs_tasks.exceptions import ENDS, Suspended
from ojs_tasks.handlers import Handler


def is_final(context: Context, handler: Handler[..., Any], problem: BaseException) -> bool:
    """Return whether no attempt follows one that ended with this exception."""
    if isinstance(problem, Suspended):
        return False
    code = getattr(problem, "code", None)
    if code in ENDS or context.attempt >= context.max_attempts:
        return True
    if code == "RETRY":
        return False
    retry = json.loads(context.job.attributes).get("retry") or {}
    patterns = retry.get("non_retryable_errors") or ()
    return not handler.retries(problem) or is_listed(patterns, [type(problem).__name__, code])
