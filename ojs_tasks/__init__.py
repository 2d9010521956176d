"""Jobs in Python: handlers, enqueueing and results. A host project imports this package alone."""

from ojs_tasks.context import Context, current_job
from ojs_tasks.decorator import job
from ojs_tasks.exceptions import (
    Discard,
    JobCancelled,
    JobFailed,
    JobNotFound,
    JobTimeout,
    NoServer,
    Refused,
    ResultTimeout,
    Retry,
    ServerUnreachable,
    UncommittedJob,
    UnknownTerm,
)
from ojs_tasks.handle import JobHandle, aget, aresult, get, result
from ojs_tasks.handlers import Handler
from ojs_tasks.signatures import Signature, aenqueue, enqueue

__all__ = [
    "Context", "Discard", "Handler", "JobCancelled", "JobFailed", "JobHandle", "JobNotFound",
    "JobTimeout", "NoServer", "Refused", "ResultTimeout", "Retry", "ServerUnreachable", "Signature",
    "UncommittedJob", "UnknownTerm", "aenqueue", "aget", "aresult", "current_job", "enqueue",
    "get", "job", "result",
]  # fmt: skip
