"""Every core route, in the order of contract 3.2."""

from django.http import HttpRequest, HttpResponse
from django.urls import path, re_path

from jobs.api.base import plain_error
from jobs.api.dead_letter import DeadLetterCollection, DeadLetterJob, DeadLetterRetry
from jobs.api.docs import Docs, OpenAPIDocument
from jobs.api.events import EventCollection
from jobs.api.health import Alive, HealthView, Ready, WorkerHealth
from jobs.api.jobs import JobActivation, JobBatch, JobCollection, JobDetail
from jobs.api.metrics import Metrics, MetricsSummary
from jobs.api.progress import JobProgress, WorkerProgress
from jobs.api.queues import (
    QueueCollection,
    QueueDetail,
    QueuePause,
    QueueResume,
    QueueStatistics,
)
from jobs.api.system import Manifest, Reset
from jobs.api.workers import (
    AckBatch,
    AckJob,
    FetchJobs,
    Heartbeat,
    NackBatch,
    NackJob,
    WorkerDirective,
)
from jobs.domain.errors import NotFound


def unknown_path(request: HttpRequest) -> HttpResponse:
    """Answer any other path below /ojs in the OJS shape."""
    return plain_error(NotFound(f"no resource at {request.path[:200]}"), request)


urlpatterns = [
    path("ojs/manifest", Manifest.as_view(), name="ojs-manifest"),
    path("ojs/v1/health", HealthView.as_view(), name="ojs-health"),
    path("ojs/v1/jobs", JobCollection.as_view(), name="ojs-jobs"),
    path("ojs/v1/jobs/batch", JobBatch.as_view(), name="ojs-jobs-batch"),
    path("ojs/v1/jobs/<str:job_id>", JobDetail.as_view(), name="ojs-job"),
    path("ojs/v1/jobs/<str:job_id>/activate", JobActivation.as_view(), name="ojs-job-activate"),
    path("ojs/v1/jobs/<str:job_id>/progress", JobProgress.as_view(), name="ojs-job-progress"),
    path("ojs/v1/workers/progress", WorkerProgress.as_view(), name="ojs-worker-progress"),
    path("ojs/v1/workers/fetch", FetchJobs.as_view(), name="ojs-fetch"),
    path("ojs/v1/workers/ack", AckJob.as_view(), name="ojs-ack"),
    path("ojs/v1/workers/ack/batch", AckBatch.as_view(), name="ojs-ack-batch"),
    path("ojs/v1/workers/nack", NackJob.as_view(), name="ojs-nack"),
    path("ojs/v1/workers/nack/batch", NackBatch.as_view(), name="ojs-nack-batch"),
    path("ojs/v1/workers/heartbeat", Heartbeat.as_view(), name="ojs-heartbeat"),
    path("ojs/v1/workers/beat", Heartbeat.as_view(), name="ojs-beat"),
    path("ojs/v1/workers/<str:worker_id>/health", WorkerHealth.as_view(), name="ojs-worker-health"),
    path("ojs/v1/queues", QueueCollection.as_view(), name="ojs-queues"),
    path("ojs/v1/queues/<str:name>", QueueDetail.as_view(), name="ojs-queue"),
    path("ojs/v1/queues/<str:name>/stats", QueueStatistics.as_view(), name="ojs-queue-stats"),
    path("ojs/v1/queues/<str:name>/pause", QueuePause.as_view(), name="ojs-queue-pause"),
    path("ojs/v1/queues/<str:name>/resume", QueueResume.as_view(), name="ojs-queue-resume"),
    path("ojs/v1/dead-letter", DeadLetterCollection.as_view(), name="ojs-dead-letter"),
    path("ojs/v1/dead-letter/<str:job_id>", DeadLetterJob.as_view(), name="ojs-dead-letter-job"),
    path(
        "ojs/v1/dead-letter/<str:job_id>/retry",
        DeadLetterRetry.as_view(),
        name="ojs-dead-letter-retry",
    ),
    path("ojs/v1/events", EventCollection.as_view(), name="ojs-events"),
    re_path(
        r"^ojs/v1/admin/workers/(?P<worker_id>[^/]+)/(?P<verb>quiet|terminate|resume)$",
        WorkerDirective.as_view(),
        name="ojs-worker-directive",
    ),
    path("ojs/v1/openapi.json", OpenAPIDocument.as_view(), name="ojs-openapi"),
    path("ojs/v1/docs", Docs.as_view(), name="ojs-docs"),
    path("ojs/v1/admin/reset", Reset.as_view(), name="ojs-reset"),
    path("ojs/v1/metrics", MetricsSummary.as_view(), name="ojs-metrics-summary"),
    path("metrics", Metrics.as_view(), name="ojs-metrics"),
    path("livez", Alive.as_view(), name="ojs-livez"),
    path("healthz", Alive.as_view(), name="ojs-healthz"),
    path("ready", Ready.as_view(), name="ojs-ready"),
    path("readyz", Ready.as_view(), name="ojs-readyz"),
    path("health", HealthView.as_view(), name="ojs-health-short"),
]

# Included last by the project, so that extensions can add paths below /ojs before it.
fallback = [re_path(r"^ojs(?:/.*)?$", unknown_path)]
