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
    SignalTimeout,
    StepError,
    Suspended,
    UncommittedJob,
    UnknownTerm,
    WorkflowCancelled,
    WorkflowFailed,
    WorkflowNotFound,
)
from ojs_tasks.handle import JobHandle, aget, aresult, get, result
from ojs_tasks.handlers import Handler
from ojs_tasks.periodic import periodic
from ojs_tasks.signatures import Signature, aenqueue, enqueue
from ojs_tasks.steps import step
from ojs_tasks.workflow_handle import WorkflowHandle, aget_workflow, get_workflow
from ojs_tasks.workflows import Workflow, batch, chain, group

__all__ = [
    "Context", "Discard", "Handler", "JobCancelled", "JobFailed", "JobHandle", "JobNotFound",
    "JobTimeout", "NoServer", "Refused", "ResultTimeout", "Retry", "ServerUnreachable",
    "SignalTimeout", "Signature", "StepError", "Suspended", "UncommittedJob", "UnknownTerm",
    "Workflow", "WorkflowCancelled", "WorkflowFailed", "WorkflowHandle", "WorkflowNotFound",
    "aenqueue", "aget", "aget_workflow", "aresult", "batch", "chain", "current_job", "enqueue",
    "get", "get_workflow", "group", "job", "periodic", "result", "step",
]  # fmt: skip
