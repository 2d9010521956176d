"""Tables of the core in Django admin, to read; actions call the services that the API calls."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from jobs import models
from jobs.admin.base import ById, ReadOnly, each
from jobs.domain.caller import Caller
from jobs.domain.classified import word_of
from jobs.services.audit.audit import audited
from jobs.services.operate import operate, queues
from jobs.services.workers import workers


@admin.register(models.Job)
class JobAdmin(ById):
    """Wide rows; the state of a live job stands in its narrow row."""

    list_display = ("id", "type", "queue", "tenant", "priority", "attempt", "created_at")
    console_page = "job"
    actions = ("retry", "cancel")

    def get_exclude(self, request: HttpRequest, obj: models.Job | None = None) -> tuple[str, ...]:
        """Leave out what a classified job carries: the console shows it to who may."""
        return ("args", "result") if obj is not None and word_of(obj.meta) else ()

    @admin.action(description="Retry the chosen jobs")
    def retry(self, request: HttpRequest, queryset: QuerySet[models.Job]) -> None:
        """Make discarded and cancelled jobs available again."""
        each(request, queryset, lambda job, who: operate.retry_job(str(job.pk), None, who),
             "jobs are available again")  # fmt: skip

    @admin.action(description="Cancel the chosen jobs")
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

    @admin.action(description="Pause the chosen queues")
    def pause(self, request: HttpRequest, queryset: QuerySet[models.Queue]) -> None:
        """Start none of their jobs."""
        each(request, queryset, lambda row, who: queues.pause(row.name, who), "queues are paused")

    @admin.action(description="Resume the chosen queues")
    def resume(self, request: HttpRequest, queryset: QuerySet[models.Queue]) -> None:
        """Start their jobs again."""
        each(request, queryset, lambda row, who: queues.resume(row.name, who), "queues go on")


@admin.register(models.Lane)
class LaneAdmin(ReadOnly):
    """What the scheduler chooses between."""

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
    """Active jobs and who holds them."""

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

    @admin.action(description="Let the chosen workers take no new jobs")
    def quiet(self, request: HttpRequest, queryset: QuerySet[models.Worker]) -> None:
        """Tell them with their next heartbeat."""
        self._direct(request, queryset, "quiet")

    @admin.action(description="Let the chosen workers take jobs again")
    def resume(self, request: HttpRequest, queryset: QuerySet[models.Worker]) -> None:
        """Tell them with their next heartbeat."""
        self._direct(request, queryset, "resume")

    @admin.action(description="Let the chosen workers finish and exit")
    def terminate(self, request: HttpRequest, queryset: QuerySet[models.Worker]) -> None:
        """Tell them with their next heartbeat."""
        self._direct(request, queryset, "terminate")

    def _direct(self, request: HttpRequest, queryset: QuerySet[models.Worker], verb: str) -> None:
        def tell(row: models.Worker, who: Caller) -> None:
            with audited(who, f"worker.{verb}", row.id):
                workers.direct(row.id, verb)

        each(request, queryset, tell, "workers are told with their next heartbeat")


@admin.register(models.LoopTick)
class LoopTickAdmin(ReadOnly):
    """When each loop last did its turn."""

    list_display = ("name", "ticked_at")
    ordering = ("name",)


@admin.register(models.Audit)
class AuditAdmin(ReadOnly):
    """Who did what."""

    list_display = ("at", "actor", "action", "outcome", "target", "reason", "address")
    list_filter = ("outcome",)
    search_fields = ("action__exact", "actor__exact", "target__exact")
    search_help_text = "A whole action, actor or target"
    ordering = ("-id",)


@admin.register(models.Maintenance)
class MaintenanceAdmin(ReadOnly):
    """Whether nothing is handed out."""

    list_display = ("started_at", "ends_at", "reason", "actor")


@admin.register(models.Replay)
class ReplayAdmin(ReadOnly):
    """Jobs that were retried after their end."""

    list_display = ("job_id", "replays", "last_at", "rule")
    ordering = ("job_id",)


@admin.register(models.ReplayRule)
class ReplayRuleAdmin(ReadOnly):
    """What is retried by itself."""

    list_display = ("name", "queue", "type", "error_type", "tenant", "delay_ms", "max_replays")


@admin.register(models.Limit)
class LimitAdmin(ReadOnly):
    """Rate limits, as jobs or queues say them and as they are overridden."""

    list_display = ("key", "kind", "tenant", "policy", "override", "override_until", "updated_at")
    list_filter = ("kind", "is_exceeded")
    search_fields = ("key", "tenant__exact")
    ordering = ("kind", "key", "tenant")


@admin.register(models.QueueTemplate)
class QueueTemplateAdmin(ReadOnly):
    """How queues that are made from now on are configured."""

    list_display = ("id", "config", "policy")


@admin.register(models.Terms)
class TermsAdmin(ReadOnly):
    """The version of what processes remember of the configuration."""

    list_display = ("id", "version")


@admin.register(models.LaneKey)
class LaneKeyAdmin(ReadOnly):
    """Which jobs are in which lane."""

    list_display = ("id", "queue", "tenant", "priority", "route", "limits")
    search_fields = ("queue__exact", "tenant__exact")
    search_help_text = "A whole queue or tenant"
    ordering = ("-id",)


@admin.register(models.Debt)
class DebtAdmin(ReadOnly):
    """What lanes owe for jobs that are charged later."""

    list_display = ("id", "lane_id", "cost")
    ordering = ("-id",)


@admin.register(models.Unique)
class UniqueAdmin(ReadOnly):
    """Which jobs hold a unique key."""

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
    """How far active jobs are, as their workers said."""

    list_display = ("job_id", "attempt", "progress", "message", "updated_at", "stalled_at")
    ordering = ("-job_id",)


@admin.register(models.QueueSize)
class QueueSizeAdmin(ReadOnly):
    """How many bytes wait in queues that are bounded."""

    list_display = ("queue", "bytes")
    search_fields = ("queue",)
    ordering = ("queue",)


@admin.register(models.TenantLabel)
class TenantLabelAdmin(ReadOnly):
    """Which tenants metrics name."""

    list_display = ("tenant", "place")
    search_fields = ("tenant",)
    ordering = ("place",)


@admin.register(models.FoldPosition)
class FoldPositionAdmin(ReadOnly):
    """How far the counts have followed the events."""

    list_display = ("id", "stamp")


@admin.register(models.LogPosition)
class LogPositionAdmin(ReadOnly):
    """How far the log lines of jobs have followed the events."""

    list_display = ("id", "stamp", "seq")


@admin.register(models.Charge)
class ChargeAdmin(ReadOnly):
    """What jobs of queues cost, where lanes share time."""

    list_display = ("queue", "jobs", "mean_ms", "stamp")
    search_fields = ("queue",)
    ordering = ("queue",)


@admin.register(models.ArchivedJob)
class ArchivedJobAdmin(ById):
    """Jobs that have left the table of jobs."""

    list_display = ("id", "queue", "finished_at", "archived_at")


@admin.register(models.ResultExpiry)
class ResultExpiryAdmin(ById):
    """When results of jobs go."""

    list_display = ("id", "due_at")
