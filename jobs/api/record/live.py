"""Special streams: one job's progress, and the numbers of the whole system.

Spec: contract 25.5, 29.
"""

from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

from django.db import connections
from rest_framework.request import Request

from jobs.api.jobs.jobs import JobDetail
from jobs.api.openapi import operation
from jobs.api.record.follow import Plan, follow, last_event_id, opened
from jobs.api.record.frames import frame, shutdown_frame
from jobs.api.record.streams import StreamView, is_end
from jobs.api.schemas import text
from jobs.api.wire.answer import Answer
from jobs.api.wire.media import STREAM_TYPE
from jobs.api.workers.progress import encode_progress
from jobs.conf import conf
from jobs.domain.job import Job
from jobs.domain.record.events import Kind
from jobs.domain.states import State, state_of
from jobs.domain.wire.times import format_time
from jobs.services.health.vitals import Vital, Vitals
from jobs.services.read.show import show
from jobs.services.record.events import EventFilter, StoredEvent, event_name, latest
from jobs.stream.subscription import Scope, SharedEvent, Subscription

LAST = 1
MOST_EVENTS_PER_S = 50  # of jobs; further events are left out
JOBS = (Kind.ENQUEUED, Kind.COMPLETED, Kind.FAILED, Kind.CANCELLED)
OTHERS = {
    Kind.WORKER_STARTED: "worker.joined",
    Kind.WORKER_STOPPED: "worker.left",
    Kind.QUEUE_PAUSED: "queue.paused",
    Kind.QUEUE_RESUMED: "queue.resumed",
}
STREAM = {"media": {STREAM_TYPE: text()}, "refusals": (429,)}

vitals = Vitals()


class ProgressStream(JobDetail, StreamView):
    """The progress of one job, until it ends."""

    http_method_names = ["get", "options"]

    @operation("streamProgress", {200: None, 204: None}, media=STREAM["media"], refusals=(404, 429))
    def get(self, request: Request, job_id: str) -> Any:
        """Follow the progress of a job as server-sent events.

        Each report is sent twice, unnamed and as `progress`; the end is sent as `completed`,
        `failed` or `cancelled`. A client that reconnects after the end gets 204.
        """
        if self.visible(job_id).finished_at is not None and last_event_id(self):
            return Answer(None, status=204)
        return follow(
            self,
            Plan(
                f"progress:{job_id}",
                Scope(job_id=job_id),
                EventFilter(job_id=job_id),
                _progress_frames,
                lambda _is_resumed: self._opening(job_id),
                is_end,
                is_replayed=False,
            ),
        )

    def _opening(self, job_id: str) -> tuple[bytes, bool]:
        """Return the frame of the job's present progress."""
        job = self.visible(job_id)
        found, _ = latest(EventFilter(job_id=job_id), limit=LAST)
        number = found[0].place.number if found else None
        return _twice(job, number), job.finished_at is not None


def _progress_frames(event: StoredEvent) -> bytes:
    """Return a frame of the stored progress: the event itself has neither fraction nor data."""
    if event.job_id is None or not (event.kind == Kind.PROGRESS or is_end(event)):
        return b""
    try:
        return _twice(show(event.job_id), event.place.number)
    finally:
        connections.close_all()


def _twice(job: Job, number: int | None) -> bytes:
    state = state_of(job.state)
    ends = {State.COMPLETED: "completed", State.DISCARDED: "failed", State.CANCELLED: "cancelled"}
    shown = encode_progress(job)
    return frame(None, shown, number) + frame(ends.get(state, "progress"), shown, number)


class StatsStream(StreamView):
    """The numbers and events of the whole system."""

    @operation("streamStats", {200: None}, **STREAM)
    def get(self, request: Request) -> Any:
        """Follow the whole system as server-sent events.

        `metrics` comes at once and every two seconds; events of jobs are left out beyond 50 a
        second.
        """
        kinds = {*map(int, JOBS), *map(int, OTHERS)}
        member = Subscription(Scope(), lambda event: event.kind in kinds)
        return opened(self, member, lambda is_welcome: _stats_frames(member, is_welcome))


def _stats_frames(member: Subscription, is_welcome: Callable[[], bool]) -> Iterator[bytes]:
    yield b"retry: 3000\n\n"
    due, left, second = 0.0, MOST_EVENTS_PER_S, monotonic()
    while not member.ended:
        now = monotonic()
        if now >= second + 1:
            left, second = MOST_EVENTS_PER_S, now
        chunk = b""
        if now >= due:
            due = now + conf().stream_stats_ms / 1000
            if not is_welcome():
                return
            chunk = _metrics_frame()
        batch, _ = member.take(max(0.0, due - monotonic()))
        shown = [shared for shared in batch if shared.event.kind in OTHERS]
        jobs = [shared for shared in batch if shared.event.kind not in OTHERS][:left]
        left -= len(jobs)
        chunk += b"".join(map(_stats_event, shown + jobs))
        if chunk:
            yield chunk
    yield shutdown_frame(member.ended)


def _metrics_frame() -> bytes:
    try:
        return frame("metrics", encode_vitals(vitals.now(conf().stream_stats_ms / 1000)))
    finally:
        connections.close_all()


def encode_vitals(now: Vital) -> dict[str, Any]:
    """Encode the numbers as the admin UI reads them: camel case inside `workers.active`."""
    return {
        "queues": [
            {
                "queue": name,
                **{
                    state.value: jobs.get(state, 0)
                    for state in (
                        State.AVAILABLE, State.ACTIVE, State.SCHEDULED, State.RETRYABLE,
                    )
                },
            }
            for name, jobs in now.queues
        ],
        "throughput": {
            "processed_per_second": now.processed_per_second,
            "failed_per_second": now.failed_per_second,
            "enqueued_per_second": now.enqueued_per_second,
        },
        "workers": {
            "total": now.workers_total,
            "active": [
                {
                    "id": worker.id,
                    "state": worker.state,
                    "activeJobs": worker.active_jobs,
                    "lastHeartbeatAt": worker.last_heartbeat_at
                    and format_time(worker.last_heartbeat_at),
                }
                for worker in now.workers
            ],
        },
        "error_rate": now.error_rate,
    }  # fmt: skip


def _stats_event(shared: SharedEvent) -> bytes:
    event = shared.event
    error = event.data.get("error")
    shown = {
        "job_id": event.job_id,
        "job_type": event.type,
        "type": event.type,
        "queue": event.queue,
        "worker_id": event.worker_id,
        "attempt": event.attempt,
        "timestamp": format_time(event.at),
        "duration": event.took_ms,
        "error": _text(error) if error else None,
    }
    name = OTHERS.get(Kind(event.kind)) or event_name(event)
    return frame(name, {key: value for key, value in shown.items() if value is not None})


def _text(error: object) -> str:
    """Return an error as one line: the admin UI shows text only."""
    if not isinstance(error, dict):
        return str(error)
    return ": ".join(str(error[key]) for key in ("type", "message") if error.get(key))
