"""Tables of the core in Django admin, to read; actions call the services that the API calls."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from jobs import models
from jobs.admin.base import ById, ReadOnly, each
from jobs.domain.access.caller import Caller
from jobs.domain.access.classified import word_of
from jobs.services.audit.audit import audited
from jobs.services.operate import operate, queues
from jobs.services.workers import workers


@admin.register(models.Job)
class JobAdmin(ById):
    """Wide rows; the state of a live job is in its narrow row."""

    list_display = ("id", "type", "queue", "tenant", "priority", "attempt", "created_at")
    console_page = "job"
    actions = ("retry", "cancel")

    def get_exclude(self, request: HttpRequest, obj: models.Job | None = None) -> tuple[str, ...]:
        """Leave out a classified job's contents: the console shows them to authorized users."""
        return ("args", "result") if obj is not None and word_of(obj.meta) else ()

    @admin.action(description="Retry the selected jobs")
    def retry(self, request: HttpRequest, queryset: QuerySet[models.Job]) -> None:
        """Make discarded and cancelled jobs available again."""
        each(request, queryset, lambda job, who: operate.retry_job(str(job.pk), None, who),
             "jobs are available again")  # fmt: skip

    @admin.action(description="Cancel the selected jobs")
    def cancel(self, request: HttpRequest, queryset: QuerySet[models.Job]) -> None:
        """Cancel jobs that have not ended."""
        each(request, queryset, lambda job, who: operate.cancel_job(str(job.pk), who),
             "jobs are cancelled")  # fmt: skip


@admin.register(models.Queue)
class QueueAdmin(ReadOnly):
    """Queues and whether they are paused."""

    list_display = ("name", "paused_at", "draining", "created_at", "updated_at")
    list_filter = ("draining",)
    search_fields = ("name",)
    console_page = "queue"
    actions = ("pause", "resume")

    @admin.action(description="Pause the selected queues")
    def pause(self, request: HttpRequest, queryset: QuerySet[models.Queue]) -> None:
        """Pause the queues."""
        each(request, queryset, lambda row, who: queues.pause(row.name, who), "queues are paused")

    @admin.action(description="Resume the selected queues")
    def resume(self, request: HttpRequest, queryset: QuerySet[models.Queue]) -> None:
        """Resume the queues."""
        each(request, queryset, lambda row, who: queues.resume(row.name, who), "queues are resumed")


@admin.register(models.Lane)
class LaneAdmin(ReadOnly):
    """The lanes of the scheduler."""

    list_display = (
        "queue", "priority", "tenant", "route", "weight", "ordered", "limits", "vt", "active",
        "blocked_by", "paused",
    )  # fmt: skip
    list_filter = ("active", "paused")
    search_fields = ("queue", "tenant")
    ordering = ("queue", "rank", "vt")


@admin.register(models.Ready)
class ReadyAdmin(ReadOnly):
    """Available jobs."""

    list_display = ("id", "lane_id", "seq", "attempt", "enqueued_at", "expires_at")
    ordering = ("-id",)


@admin.register(models.Lease)
class LeaseAdmin(ReadOnly):
    """Active jobs and their workers."""

    list_display = ("id", "worker_id", "tenant", "pool", "attempt", "started_at", "due_at")
    ordering = ("due_at",)


@admin.register(models.Later)
class LaterAdmin(ReadOnly):
    """Scheduled, pending and retryable jobs."""

    list_display = ("id", "kind", "due_at", "lane_id", "attempt", "expires_at")
    ordering = ("-id",)


@admin.register(models.Worker)
class WorkerAdmin(ReadOnly):
    """Workers that fetched or heartbeated."""

    list_display = (
        "id", "hostname", "pid", "reported", "directive", "concurrency", "started_at",
        "last_heartbeat_at", "dead_at", "stopped_at",
    )  # fmt: skip
    list_filter = ("reported", "directive")
    search_fields = ("id", "hostname")
    ordering = ("id",)
    console_page = "worker"
    actions = ("quiet", "resume", "terminate")

    @admin.action(description="Let the selected workers take no new jobs")
    def quiet(self, request: HttpRequest, queryset: QuerySet[models.Worker]) -> None:
        """Send the directive with their next heartbeat."""
        self._direct(request, queryset, "quiet")

    @admin.action(description="Let the selected workers take jobs again")
    def resume(self, request: HttpRequest, queryset: QuerySet[models.Worker]) -> None:
        """Send the directive with their next heartbeat."""
        self._direct(request, queryset, "resume")

    @admin.action(description="Let the selected workers finish and exit")
    def terminate(self, request: HttpRequest, queryset: QuerySet[models.Worker]) -> None:
        """Send the directive with their next heartbeat."""
        self._direct(request, queryset, "terminate")

    def _direct(self, request: HttpRequest, queryset: QuerySet[models.Worker], verb: str) -> None:
        def direct(row: models.Worker, who: Caller) -> None:
            with audited(who, f"worker.{verb}", row.id):
                workers.direct(row.id, verb)

        each(request, queryset, direct, "workers learn it from their next heartbeat")


@admin.register(models.LoopTick)
class LoopTickAdmin(ReadOnly):
    """The last run of each loop."""

    list_display = ("name", "ticked_at")
    ordering = ("name",)


@admin.register(models.Audit)
class AuditAdmin(ReadOnly):
    """The audit log."""

    list_display = ("at", "actor", "action", "outcome", "target", "reason", "address")
    list_filter = ("outcome",)
    search_fields = ("action__exact", "actor__exact", "target__exact")
    search_help_text = "A whole action, actor or target"
    ordering = ("-id",)


@admin.register(models.Maintenance)
class MaintenanceAdmin(ReadOnly):
    """The switch of maintenance."""

    list_display = ("started_at", "ends_at", "reason", "actor")


@admin.register(models.Replay)
class ReplayAdmin(ReadOnly):
    """Jobs that were retried after their end."""

    list_display = ("job_id", "replays", "last_at", "rule")
    ordering = ("job_id",)


@admin.register(models.ReplayRule)
class ReplayRuleAdmin(ReadOnly):
    """Replay rules."""

    list_display = ("name", "queue", "type", "error_type", "tenant", "delay_ms", "max_replays")


@admin.register(models.Limit)
class LimitAdmin(ReadOnly):
    """Rate limits of jobs and queues, and their overrides."""

    list_display = ("key", "kind", "tenant", "policy", "override", "override_until", "updated_at")
    list_filter = ("kind", "is_exceeded")
    search_fields = ("key", "tenant__exact")
    ordering = ("kind", "key", "tenant")


@admin.register(models.QueueTemplate)
class QueueTemplateAdmin(ReadOnly):
    """The configuration of queues that are made from now on."""

    list_display = ("id", "config", "policy")


@admin.register(models.Terms)
class TermsAdmin(ReadOnly):
    """The configuration version."""

    list_display = ("id", "version")


@admin.register(models.LaneKey)
class LaneKeyAdmin(ReadOnly):
    """The identities of lanes."""

    list_display = ("id", "queue", "tenant", "priority", "route", "limits")
    search_fields = ("queue__exact", "tenant__exact")
    search_help_text = "A whole queue or tenant"
    ordering = ("-id",)


@admin.register(models.Debt)
class DebtAdmin(ReadOnly):
    """Charges of lanes that are added later."""

    list_display = ("id", "lane_id", "cost")
    ordering = ("-id",)


@admin.register(models.Unique)
class UniqueAdmin(ReadOnly):
    """The fingerprints of jobs."""

    list_display = ("job_id", "created_at", "ended")
    search_fields = ("job_id__exact",)
    search_help_text = "A whole id of a job"
    ordering = ("-job_id",)
    exclude = ("fingerprint",)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[models.Unique], search_term: str
    ) -> tuple[QuerySet[models.Unique], bool]:
        """Find a row by the job's id."""
        return ById.get_search_results(self, request, queryset, search_term)  # type: ignore[arg-type]  # uses nothing else of it


@admin.register(models.Progress)
class ProgressAdmin(ReadOnly):
    """The reported progress of active jobs."""

    list_display = ("job_id", "attempt", "progress", "message", "updated_at", "stalled_at")
    ordering = ("-job_id",)


@admin.register(models.QueueSize)
class QueueSizeAdmin(ReadOnly):
    """The waiting bytes of bounded queues."""

    list_display = ("queue", "bytes")
    search_fields = ("queue",)
    ordering = ("queue",)


@admin.register(models.TenantLabel)
class TenantLabelAdmin(ReadOnly):
    """The tenants with a label in metrics."""

    list_display = ("tenant", "place")
    search_fields = ("tenant",)
    ordering = ("place",)


@admin.register(models.FoldPosition)
class FoldPositionAdmin(ReadOnly):
    """The position of the aggregation in the events."""

    list_display = ("id", "stamp")


@admin.register(models.LogPosition)
class LogPositionAdmin(ReadOnly):
    """The position of the log lines in the events."""

    list_display = ("id", "stamp", "seq")


@admin.register(models.Charge)
class ChargeAdmin(ReadOnly):
    """The queues whose jobs are charged by run time."""

    list_display = ("queue", "jobs", "mean_ms", "stamp")
    search_fields = ("queue",)
    ordering = ("queue",)


@admin.register(models.ArchivedJob)
class ArchivedJobAdmin(ById):
    """Removed jobs that were archived."""

    list_display = ("id", "queue", "finished_at", "archived_at")


@admin.register(models.ResultExpiry)
class ResultExpiryAdmin(ById):
    """The expiry of results."""

    list_display = ("id", "due_at")


@admin.register(models.ConfigChange)
class ConfigChangeAdmin(ReadOnly):
    """The changes of the configuration; the console restores versions."""

    list_display = ("id", "at", "kind", "name", "tenant", "actor", "action")
    list_filter = ("kind",)
    search_fields = ("name__exact", "actor__exact")
    ordering = ("-id",)


@admin.register(models.ObjectiveTotal)
class ObjectiveTotalAdmin(ReadOnly):
    """The starts of queues with an objective, ever."""

    list_display = ("queue", "started", "late")
    search_fields = ("queue__exact",)


@admin.register(models.Undo)
class UndoAdmin(ReadOnly):
    """Changes of jobs that can be undone for a day."""

    list_display = ("id", "action", "target", "actor", "state", "jobs", "at", "until")
    list_filter = ("state",)
    search_fields = ("target", "actor")
    ordering = ("-id",)


@admin.register(models.Move)
class MoveAdmin(ReadOnly):
    """The latest move of each tenant between cells."""

    list_display = ("tenant", "is_source", "step", "other", "batch", "began_at", "ended_at")
    list_filter = ("step",)
    search_fields = ("tenant__exact",)
