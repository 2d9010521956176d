"""Every core route, in the order of contract 3.2."""

from typing import cast

from django.http import HttpRequest, HttpResponse
from django.urls import include, path, re_path, resolve

from jobs.api.admin.operations import AdminBulkPreview
from jobs.api.admin.workers import AdminWorkers
from jobs.api.jobs.admin_bulk import AdminBulkCancel, AdminBulkDelete, AdminBulkRetry
from jobs.api.jobs.bulk import BulkCancel, BulkDelete, BulkEnqueue, BulkRetry
from jobs.api.jobs.dead_letter import (
    DeadLetterCollection,
    DeadLetterJob,
    DeadLetterPurge,
    DeadLetterRetry,
    DeadLetterRetryAll,
    DeadLetterStats,
)
from jobs.api.jobs.jobs import (
    JobActivation,
    JobBatch,
    JobCollection,
    JobDetail,
    JobResult,
    JobRetries,
)
from jobs.api.jobs.unique import UniqueJobs
from jobs.api.problems import plain_error
from jobs.api.queues.queue_config import AdminQueueConfig, AdminQueueRateLimit, QueueConfig
from jobs.api.queues.queue_purge import AdminQueueJobs, QueuePurge
from jobs.api.queues.queues import (
    QueueCollection,
    QueueDetail,
    QueuePause,
    QueuePriorities,
    QueueResume,
    QueueStatistics,
)
from jobs.api.queues.rate_limits import RateLimitCollection, RateLimitDetail
from jobs.api.record.events import JobHistory
from jobs.api.record.live import ProgressStream, StatsStream
from jobs.api.record.streams import AllEvents, Events, JobEvents, QueueEvents
from jobs.api.server.docs import Docs, OpenAPIDocument
from jobs.api.server.health import Alive, HealthView, Ready, WorkerHealth
from jobs.api.server.manifest import Manifest
from jobs.api.server.metrics import Metrics, MetricsSummary
from jobs.api.server.middleware import MiddlewareChains
from jobs.api.server.spa import admin_ui
from jobs.api.server.system import Reset
from jobs.api.workers.progress import JobProgress, WorkerProgress
from jobs.api.workers.workers import (
    AckBatch,
    AckJob,
    AckOwnPath,
    FetchJobs,
    Heartbeat,
    NackBatch,
    NackJob,
    NackOwnPath,
    OneWorker,
    RegisterWorker,
)
from jobs.conf import conf
from jobs.domain.errors import NotFound


def short_path(request: HttpRequest, rest: str) -> HttpResponse:
    """Answer /v1/… as /ojs/v1/…, the paths of the command line client. Spec: contract 24.6."""
    if not conf().short_paths:
        return unknown_path(request)
    mount = request.path_info.removesuffix(f"/v1/{rest}")
    found = resolve(f"{mount}/ojs/v1/{rest}")
    request.resolver_match = found
    return cast("HttpResponse", found.func(request, *found.args, **found.kwargs))


def unknown_path(request: HttpRequest) -> HttpResponse:
    """Answer any other path below /ojs in the OJS shape."""
    return plain_error(NotFound(f"no resource at {request.path[:200]}"), request)


urlpatterns = [
    path("ojs/manifest", Manifest.as_view(), name="ojs-manifest"),
    path("ojs/v1/health", HealthView.as_view(), name="ojs-health"),
    path("ojs/v1/jobs", JobCollection.as_view(), name="ojs-jobs"),
    path("ojs/v1/jobs/batch", JobBatch.as_view(), name="ojs-jobs-batch"),
    path("ojs/v1/jobs/bulk", BulkEnqueue.as_view(), name="ojs-bulk"),
    path("ojs/v1/jobs/bulk/cancel", BulkCancel.as_view(), name="ojs-bulk-cancel"),
    path("ojs/v1/jobs/bulk/retry", BulkRetry.as_view(), name="ojs-bulk-retry"),
    path("ojs/v1/jobs/bulk/delete", BulkDelete.as_view(), name="ojs-bulk-delete"),
    path("ojs/v1/jobs/<str:job_id>", JobDetail.as_view(), name="ojs-job"),
    path("ojs/v1/jobs/<str:job_id>/activate", JobActivation.as_view(), name="ojs-job-activate"),
    path("ojs/v1/jobs/<str:job_id>/ack", AckOwnPath.as_view(), name="ojs-job-ack"),
    path("ojs/v1/jobs/<str:job_id>/nack", NackOwnPath.as_view(), name="ojs-job-nack"),
    path("ojs/v1/jobs/<str:job_id>/progress", JobProgress.as_view(), name="ojs-job-progress"),
    path("ojs/v1/jobs/<str:job_id>/result", JobResult.as_view(), name="ojs-job-result"),
    path("ojs/v1/jobs/<str:job_id>/retries", JobRetries.as_view(), name="ojs-job-retries"),
    path("ojs/v1/workers", AdminWorkers.as_view(), name="ojs-workers"),
    path(
        "ojs/v1/jobs/<str:job_id>/progress/stream",
        ProgressStream.as_view(),
        name="ojs-job-progress-stream",
    ),
    path("ojs/v1/admin/stats/stream", StatsStream.as_view(), name="ojs-stats-stream"),
    path("ojs/v1/workers/progress", WorkerProgress.as_view(), name="ojs-worker-progress"),
    path("ojs/v1/workers/fetch", FetchJobs.as_view(), name="ojs-fetch"),
    path("ojs/v1/workers/ack", AckJob.as_view(), name="ojs-ack"),
    path("ojs/v1/workers/ack/batch", AckBatch.as_view(), name="ojs-ack-batch"),
    path("ojs/v1/workers/nack", NackJob.as_view(), name="ojs-nack"),
    path("ojs/v1/workers/nack/batch", NackBatch.as_view(), name="ojs-nack-batch"),
    path("ojs/v1/workers/heartbeat", Heartbeat.as_view(), name="ojs-heartbeat"),
    path("ojs/v1/workers/beat", Heartbeat.as_view(), name="ojs-beat"),
    path("ojs/v1/workers/register", RegisterWorker.as_view(), name="ojs-register"),
    path("ojs/v1/workers/<str:worker_id>", OneWorker.as_view(), name="ojs-worker"),
    path("ojs/v1/workers/<str:worker_id>/health", WorkerHealth.as_view(), name="ojs-worker-health"),
    path("ojs/v1/queues", QueueCollection.as_view(), name="ojs-queues"),
    path("ojs/v1/queues/<str:name>", QueueDetail.as_view(), name="ojs-queue"),
    path("ojs/v1/queues/<str:name>/stats", QueueStatistics.as_view(), name="ojs-queue-stats"),
    path("ojs/v1/queues/<str:name>/config", QueueConfig.as_view(), name="ojs-queue-config"),
    path("ojs/v1/queues/<str:name>/purge", QueuePurge.as_view(), name="ojs-queue-purge"),
    path(
        "ojs/v1/queues/<str:name>/priority-stats",
        QueuePriorities.as_view(),
        name="ojs-queue-priorities",
    ),
    path("ojs/v1/queues/<str:name>/pause", QueuePause.as_view(), name="ojs-queue-pause"),
    path("ojs/v1/queues/<str:name>/resume", QueueResume.as_view(), name="ojs-queue-resume"),
    path("ojs/v1/dead-letter", DeadLetterCollection.as_view(), name="ojs-dead-letter"),
    path("ojs/v1/dead-letter/stats", DeadLetterStats.as_view(), name="ojs-dead-letter-stats"),
    path("ojs/v1/dead-letter/retry", DeadLetterRetryAll.as_view(), name="ojs-dead-letter-retries"),
    path("ojs/v1/dead-letter/purge", DeadLetterPurge.as_view(), name="ojs-dead-letter-purge"),
    path("ojs/v1/dead-letter/<str:job_id>", DeadLetterJob.as_view(), name="ojs-dead-letter-job"),
    path(
        "ojs/v1/dead-letter/<str:job_id>/retry",
        DeadLetterRetry.as_view(),
        name="ojs-dead-letter-retry",
    ),
    path("ojs/v1/events", Events.as_view(), name="ojs-events"),
    path("ojs/v1/events/stream", AllEvents.as_view(), name="ojs-events-stream"),
    path("ojs/v1/jobs/<str:job_id>/events", JobEvents.as_view(), name="ojs-job-events"),
    path("ojs/v1/queues/<str:name>/events", QueueEvents.as_view(), name="ojs-queue-events"),
    path("ojs/v1/jobs/<str:job_id>/history", JobHistory.as_view(), name="ojs-job-history"),
    path("ojs/v1/events/<str:job_id>/history", JobHistory.as_view(), name="ojs-event-history"),
    path("ojs/v1/unique-jobs", UniqueJobs.as_view(), name="ojs-unique-jobs"),
    path("ojs/v1/middleware", MiddlewareChains.as_view(), name="ojs-middleware"),
    path("ojs/v1/rate-limits", RateLimitCollection.as_view(), name="ojs-rate-limits"),
    path("ojs/v1/rate-limits/<str:key>", RateLimitDetail.as_view(), name="ojs-rate-limit"),
    path(
        "ojs/v1/rate-limits/<str:key>/override",
        RateLimitDetail.as_view(),
        name="ojs-rate-limit-override",
    ),
    path(
        "ojs/v1/admin/queues/<str:name>/config",
        AdminQueueConfig.as_view(),
        name="ojs-admin-queue-config",
    ),
    path(
        "ojs/v1/admin/queues/<str:name>/jobs",
        AdminQueueJobs.as_view(),
        name="ojs-admin-queue-jobs",
    ),
    path(
        "ojs/v1/admin/queues/<str:name>/rate-limit",
        AdminQueueRateLimit.as_view(),
        name="ojs-admin-queue-rate-limit",
    ),
    path("ojs/v1/admin/jobs/bulk/cancel", AdminBulkCancel.as_view(), name="ojs-admin-bulk-cancel"),
    path("ojs/v1/admin/jobs/bulk/retry", AdminBulkRetry.as_view(), name="ojs-admin-bulk-retry"),
    path(
        "ojs/v1/admin/jobs/bulk/preview", AdminBulkPreview.as_view(), name="ojs-admin-bulk-preview"
    ),
    path("ojs/v1/admin/jobs/bulk/delete", AdminBulkDelete.as_view(), name="ojs-admin-bulk-delete"),
    path("ojs/v1/admin/", include("jobs.api.admin.urls")),
    path("ojs/v1/openapi.json", OpenAPIDocument.as_view(), name="ojs-openapi"),
    path("ojs/v1/docs", Docs.as_view(), name="ojs-docs"),
    path("ojs/v1/admin/reset", Reset.as_view(), name="ojs-reset"),
    path("ojs/v1/metrics", MetricsSummary.as_view(), name="ojs-metrics-summary"),
    re_path(r"^ojs/admin(?:/(?P<path>.*))?$", admin_ui, name="ojs-admin-ui"),
    re_path(r"^v1/(?P<rest>.*)$", short_path, name="ojs-short-path"),
    path("metrics", Metrics.as_view(), name="ojs-metrics"),
    path("livez", Alive.as_view(), name="ojs-livez"),
    path("healthz", Alive.as_view(), name="ojs-healthz"),
    path("ready", Ready.as_view(), name="ojs-ready"),
    path("readyz", Ready.as_view(), name="ojs-readyz"),
    path("health", HealthView.as_view(), name="ojs-health-short"),
]

# Included last by the project, so that extensions can add paths below /ojs before it.
fallback = [re_path(r"^ojs(?:/.*)?$", unknown_path)]
