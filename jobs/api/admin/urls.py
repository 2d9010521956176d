"""Every admin route of the core, in the order of contract 24.1."""

from django.urls import path, re_path

from jobs.api.admin.dead_letter import (
    AdminDeadLetter,
    AdminDeadLetterJob,
    AdminDeadLetterPurge,
    AdminDeadLetterRetry,
    AdminDeadLetterRetryAll,
    AdminDeadLetterStats,
    ReplayRules,
)
from jobs.api.admin.explain import AdminJobExplain
from jobs.api.admin.history import ConfigChangeDetail, ConfigHistory, ConfigRestore
from jobs.api.admin.jobs import AdminJob, AdminJobCancel, AdminJobRetry, AdminJobs, AdminJobTrace
from jobs.api.admin.operations import (
    AdminOperation,
    AdminOperations,
    AdminOperationUndo,
)
from jobs.api.admin.past import AdminJobPast
from jobs.api.admin.queues import AdminQueue, AdminQueuePause, AdminQueueResume, AdminQueues
from jobs.api.admin.stats import StatsHistory, SystemStats
from jobs.api.admin.system import AuditLog, Configuration, MaintenanceMode, ObservabilityHealth
from jobs.api.admin.workers import AdminWorker, AdminWorkers, WorkerDirective, WorkersDirective

urlpatterns = [
    path("stats", SystemStats.as_view(), name="ojs-admin-stats"),
    path("stats/history", StatsHistory.as_view(), name="ojs-admin-history"),
    path("queues", AdminQueues.as_view(), name="ojs-admin-queues"),
    path("queues/<str:name>", AdminQueue.as_view(), name="ojs-admin-queue"),
    path("queues/<str:name>/pause", AdminQueuePause.as_view(), name="ojs-admin-queue-pause"),
    path("queues/<str:name>/resume", AdminQueueResume.as_view(), name="ojs-admin-queue-resume"),
    path("jobs", AdminJobs.as_view(), name="ojs-admin-jobs"),
    path("jobs/<str:job_id>", AdminJob.as_view(), name="ojs-admin-job"),
    path("jobs/<str:job_id>/retry", AdminJobRetry.as_view(), name="ojs-admin-job-retry"),
    path("jobs/<str:job_id>/cancel", AdminJobCancel.as_view(), name="ojs-admin-job-cancel"),
    path("jobs/<str:job_id>/trace", AdminJobTrace.as_view(), name="ojs-admin-job-trace"),
    path("jobs/<str:job_id>/explain", AdminJobExplain.as_view(), name="ojs-admin-job-explain"),
    path("jobs/<str:job_id>/past", AdminJobPast.as_view(), name="ojs-admin-job-past"),
    path("workers", AdminWorkers.as_view(), name="ojs-admin-workers"),
    path("workers/directive", WorkersDirective.as_view(), name="ojs-workers-directive"),
    path("workers/<str:worker_id>", AdminWorker.as_view(), name="ojs-admin-worker"),
    re_path(
        r"^workers/(?P<worker_id>[^/]+)/(?P<verb>quiet|terminate|resume)$",
        WorkerDirective.as_view(),
        name="ojs-worker-directive",
    ),
    path("dead-letter", AdminDeadLetter.as_view(), name="ojs-admin-dead-letter"),
    path("dead-letter/stats", AdminDeadLetterStats.as_view(), name="ojs-admin-dead-letter-stats"),
    path(
        "dead-letter/retry", AdminDeadLetterRetryAll.as_view(), name="ojs-admin-dead-letter-retries"
    ),
    path("dead-letter/purge", AdminDeadLetterPurge.as_view(), name="ojs-admin-dead-letter-purge"),
    path("dead-letter/rules", ReplayRules.as_view(), name="ojs-admin-dead-letter-rules"),
    path(
        "dead-letter/<str:job_id>", AdminDeadLetterJob.as_view(), name="ojs-admin-dead-letter-job"
    ),
    path(
        "dead-letter/<str:job_id>/retry",
        AdminDeadLetterRetry.as_view(),
        name="ojs-admin-dead-letter-retry",
    ),
    path("system/maintenance", MaintenanceMode.as_view(), name="ojs-admin-system-maintenance"),
    path("maintenance", MaintenanceMode.as_view(), name="ojs-admin-maintenance"),
    path("system/config", Configuration.as_view(), name="ojs-admin-system-config"),
    path("config", Configuration.as_view(), name="ojs-admin-config"),
    path("config/history", ConfigHistory.as_view(), name="ojs-admin-config-history"),
    path(
        "config/history/<int:change>",
        ConfigChangeDetail.as_view(),
        name="ojs-admin-config-change",
    ),
    path(
        "config/history/<int:change>/restore",
        ConfigRestore.as_view(),
        name="ojs-admin-config-restore",
    ),
    path("operations", AdminOperations.as_view(), name="ojs-admin-operations"),
    path("operations/<int:number>", AdminOperation.as_view(), name="ojs-admin-operation"),
    path(
        "operations/<int:number>/undo",
        AdminOperationUndo.as_view(),
        name="ojs-admin-operation-undo",
    ),
    path("audit", AuditLog.as_view(), name="ojs-admin-audit"),
    path(
        "observability/health", ObservabilityHealth.as_view(), name="ojs-admin-observability-health"
    ),
]
