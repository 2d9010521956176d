"""The context of a running handler, without a worker."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from ojs_tasks import Context, current_job
from ojs_tasks.context import Report, run_as_current


@dataclass(frozen=True)
class Claimed:
    """A claimed job, as any worker may have it."""

    id: str = "1"
    type: str = "a.one"
    queue: str = "mail"
    attempt: int = 2
    max_attempts: int = 3
    timeout_ms: int = 1000
    args: bytes = b"[]"
    meta: bytes = b'{"tenant_id":"north"}'
    attributes: str = (
        '{"workflow_id":"w","parent_results":[18446744073709551616],"last_checkpoint":{"at":5}}'
    )
    version: str | None = None
    priority: int = 0
    errors: str | None = None
    created_at: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    scheduled_at: datetime | None = None
    started_at: datetime | None = None


class Reports:
    """Keeps reports."""

    def __init__(self) -> None:
        """Begin without a report."""
        self.kept: list[tuple[str, Report]] = []

    def report(self, context: Context, report: Report) -> None:
        """Keep a report."""
        self.kept.append((context.id, report))

    async def areport(self, context: Context, report: Report) -> None:
        """Keep a report of a coroutine."""
        self.kept.append((f"{context.id} of a coroutine", report))

    def save(self, context: Context, state: bytes, taken: Sequence[int]) -> None:
        """Refuse: no test saves a checkpoint here."""
        raise NotImplementedError

    async def asave(self, context: Context, state: bytes, taken: Sequence[int]) -> None:
        """Refuse as `save` does."""
        raise NotImplementedError


def test_the_context_shows_the_job() -> None:
    context = Context(Claimed(), "w1")

    assert (context.id, context.type, context.queue) == ("1", "a.one", "mail")
    assert (context.attempt, context.max_attempts) == (2, 3)
    assert context.meta == {"tenant_id": "north"}
    assert (context.workflow_id, context.parent_results) == ("w", [2**64])
    assert context.last_checkpoint == {"at": 5}


def test_progress_goes_to_the_reporter_of_the_worker() -> None:
    reports = Reports()

    Context(Claimed(), "w1", reporter=reports).progress(0.5, "half", checkpoint=[1])

    assert reports.kept == [("1", Report(0.5, "half", None, [1]))]


def test_progress_of_a_coroutine_goes_to_the_reporter_of_the_worker() -> None:
    reports = Reports()

    asyncio.run(Context(Claimed(), "w1", reporter=reports).aprogress(0.5, data={"rows": 1}))

    assert reports.kept == [("1 of a coroutine", Report(0.5, None, {"rows": 1}))]


def test_progress_without_a_reporter_is_dropped() -> None:
    Context(Claimed(), "w1").progress(0.5)
    asyncio.run(Context(Claimed(), "w1").aprogress(0.5))


def test_the_context_is_current_while_its_handler_runs() -> None:
    context = Context(Claimed(), "w1")

    assert run_as_current(context, lambda _: current_job()) is context
    with pytest.raises(RuntimeError, match="no job is running"):
        current_job()
