"""Workflows and steps as read for display."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple


class FlowRow(NamedTuple):
    """A workflow; until a nested workflow begins, the state of its step counts."""

    id: str
    root_id: str
    parent_id: str | None
    parent_step: int | None
    parent_job_id: str | None
    kind: int
    state: int
    name: str
    tenant: str
    members: int
    completed: int
    failed: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step with the details of its live job; JSON as text.

    `has_result` without `result` means: the server left the result out because all results together
    were too large.
    """

    workflow_id: str
    index: int
    name: str
    type: str
    callback: int
    state: int
    is_active: bool
    later: int | None  # state code of a job that is scheduled, pending or retryable
    depends_on: list[int]
    child_id: str | None
    job_id: str | None
    started_at: datetime | None
    finished_at: datetime | None
    has_result: bool
    result: str | None
    error: str | None
    progress: float | None
