"""Endpoints under /ojs/v1/cron and /ojs/v1/crons. Spec: contract 7.5, 24.5, 24.6."""

from typing import Any
from zoneinfo import ZoneInfo

from rest_framework.request import Request

from jobs.api.base import OJSView
from jobs.api.may_lag import may_lag
from jobs.api.openapi import operation
from jobs.api.schemas import BOOLEAN, OBJECT, array, integer, obj, text
from jobs.api.schemas.jobs import JOB
from jobs.api.wire import job_codec
from jobs.api.wire.answer import Answer
from jobs.api.wire.paging import QUERY, page
from jobs.domain.errors import InvalidRequest
from jobs.domain.wire.times import format_time
from scheduling.api.cron_codec import (
    decode_changes,
    decode_definition,
    encode_entry,
    encode_execution,
    wrapped,
)
from scheduling.api.cron_schemas import (
    CHANGES,
    DELETED,
    ENTRY_ANSWER,
    ENTRY_LIST,
    EXECUTION,
    NAME,
    REGISTRATION,
    TENANT,
    TENANT_PATTERN,
    UPCOMING,
)
from scheduling.models import KEPT
from scheduling.services import cron_entries, cron_register
from scheduling.services.cron_history import history
from scheduling.services.cron_trigger import trigger

ALIASED = "/ojs/v1/crons"
UPCOMING_RUNS, MAX_UPCOMING, EXECUTIONS = 10, 100, 20
OF_ONE: dict[str, Any] = {"path": {"name": NAME}, "query": {"tenant": TENANT}}


def also(suffix: str, alias: str) -> dict[str, dict[str, str]]:
    """Name the operation on the second path."""
    return {"aliases": {f"{ALIASED}{suffix}": alias}}


class CronView(OJSView):
    """Base of the schedule views: the tenant and the permission to enqueue."""

    @property
    def tenant(self) -> str | None:
        """Return the tenant whose schedule is meant, for callers that see several."""
        raw = self.http.GET.get("tenant")
        if raw is not None and not TENANT_PATTERN.fullmatch(raw):
            raise InvalidRequest.field("tenant", "is not the id of a tenant", raw)
        return raw

    def allow(self, queue: str, kind: str) -> None:
        """Refuse jobs that the key may not enqueue. Raises PermissionDenied."""
        self.principal.require_enqueue([(queue, kind)])


class CronCollection(CronView):
    """List and register schedules."""

    @operation(
        "listCrons",
        {200: ENTRY_LIST},
        query={**QUERY, "enabled": {"type": "string", "enum": ["true", "false"]}, "tenant": TENANT},
        **also("", "listCronsAlias"),
    )
    def get(self, request: Request) -> Answer:
        """List schedules by name."""
        window = page(request)
        found, total = cron_entries.page(
            self.caller,
            enabled=_flag(request),
            tenant=self.tenant,
            limit=window.limit,
            offset=window.offset,
        )
        shown = [encode_entry(entry) for entry in found]
        return Answer(
            {"crons": shown, "cron_jobs": shown, "items": shown, "count": len(shown),
             "total": total, "pagination": window.answer(total)}
        )  # fmt: skip

    @operation(
        "registerCron",
        {201: ENTRY_ANSWER, 200: ENTRY_ANSWER},
        body=REGISTRATION,
        headers={201: ("Location",)},
        refusals=(409,),
        **also("", "registerCronAlias"),
    )
    def post(self, request: Request) -> Answer:
        """Register a schedule, or replace the schedule of this name.

        200: it was replaced. Its history and its creation time stay.
        """
        definition = decode_definition(self.body())
        entry, is_new = cron_register.register(definition, self.caller, self.allow)
        if not is_new:
            return Answer(wrapped(entry))
        location = self.path(f"/cron/{entry.name}")
        return Answer(wrapped(entry), status=201, headers={"Location": location})


class CronDetail(CronView):
    """Show, change or delete a schedule."""

    @operation(
        "getCron",
        {200: ENTRY_ANSWER},
        refusals=(404, 409),
        **OF_ONE,
        **also("/{name}", "getCronAlias"),
    )
    def get(self, request: Request, name: str) -> Answer:
        """Show a schedule."""
        return Answer(wrapped(cron_entries.find(name, self.caller, self.tenant)))

    @operation(
        "changeCron",
        {200: ENTRY_ANSWER},
        body=CHANGES,
        refusals=(404, 409),
        **OF_ONE,
        **also("/{name}", "changeCronAlias"),
    )
    def patch(self, request: Request, name: str) -> Answer:
        """Change a schedule; `enabled` pauses or resumes it."""
        body = self.body()
        if body.keys() - {"enabled"}:  # pausing needs fewer rights than a new definition
            self.require("changeCron?definition")
        changes = decode_changes(body, name=name)
        return Answer(
            wrapped(
                cron_register.change(name, changes, self.caller, self.allow, tenant=self.tenant)
            )
        )

    @operation(
        "deleteCron",
        {200: DELETED},
        refusals=(404, 409),
        **OF_ONE,
        **also("/{name}", "deleteCronAlias"),
    )
    def delete(self, request: Request, name: str) -> Answer:
        """Delete a schedule; its jobs stay."""
        entry = cron_register.delete(name, self.caller, self.allow, tenant=self.tenant)
        return Answer(wrapped(entry, deleted=True, name=entry.name))


class CronTrigger(CronView):
    """Run a schedule now."""

    @operation(
        "triggerCron",
        {201: obj({"job_id": text(1), "job": JOB, "triggered": BOOLEAN, "cron": OBJECT})},
        body=OBJECT,
        needs_body=False,
        headers={201: ("Location",)},
        refusals=(404, 409, 429),
        **OF_ONE,
        **also("/{name}/trigger", "triggerCronAlias"),
    )
    def post(self, request: Request, name: str) -> Answer:
        """Run a schedule now, even if it is paused.

        Its next run stays unchanged. The overlap policy applies; the answer is 409 if it allows no
        job.
        """
        self.optional_body()
        entry, job = trigger(name, self.caller, self.allow, tenant=self.tenant)
        return Answer(
            {
                "job_id": job.id,
                "triggered": True,
                "job": job_codec.encode_job(self.as_seen(job)),
                "cron": encode_entry(entry),
            },
            status=201,
            headers={"Location": self.path(f"/jobs/{job.id}")},
        )


class CronPause(CronView):
    """Pause a schedule."""

    @operation(
        "pauseCron",
        {200: ENTRY_ANSWER},
        body=OBJECT,
        needs_body=False,
        refusals=(404, 409),
        **OF_ONE,
        **also("/{name}/pause", "pauseCronAlias"),
    )
    def post(self, request: Request, name: str) -> Answer:
        """Pause a schedule: it makes no more jobs. Idempotent."""
        self.optional_body()
        entry = cron_register.switch(
            name, self.caller, self.allow, enabled=False, tenant=self.tenant
        )
        return Answer(wrapped(entry))


class CronResume(CronView):
    """Resume a schedule."""

    @operation(
        "resumeCron",
        {200: ENTRY_ANSWER},
        body=OBJECT,
        needs_body=False,
        refusals=(404, 409),
        **OF_ONE,
        **also("/{name}/resume", "resumeCronAlias"),
    )
    def post(self, request: Request, name: str) -> Answer:
        """Resume a schedule: it makes jobs again from its next time on. Idempotent."""
        self.optional_body()
        entry = cron_register.switch(
            name, self.caller, self.allow, enabled=True, tenant=self.tenant
        )
        return Answer(wrapped(entry))


class CronHistory(CronView):
    """The history of a schedule."""

    @may_lag
    @operation(
        "getCronHistory",
        {200: obj({"name": NAME, "executions": array(EXECUTION), "count": integer(0)})},
        refusals=(404, 409),
        path={"name": NAME},
        query={"limit": QUERY["limit"], "per_page": QUERY["per_page"], "tenant": TENANT},
        **also("/{name}/history", "getCronHistoryAlias"),
    )
    def get(self, request: Request, name: str) -> Answer:
        """List the latest occurrences and their jobs, newest first; the server keeps a hundred."""
        limit = page(request, default=EXECUTIONS, most=KEPT).limit
        entry = cron_entries.find(name, self.caller, self.tenant)
        shown = [encode_execution(execution) for execution in history(entry, limit)]
        return Answer({"name": entry.name, "executions": shown, "count": len(shown)})


class CronUpcoming(CronView):
    """The next runs of a schedule."""

    @operation(
        "getCronUpcoming",
        {200: UPCOMING},
        refusals=(404, 409),
        path={"name": NAME},
        query={"limit": QUERY["limit"], "per_page": QUERY["per_page"], "tenant": TENANT},
        **also("/{name}/upcoming", "getCronUpcomingAlias"),
    )
    def get(self, request: Request, name: str) -> Answer:
        """List the next runs; for a paused schedule, as if it were resumed now."""
        limit = page(request, default=UPCOMING_RUNS, most=MAX_UPCOMING).limit
        entry = cron_entries.find(name, self.caller, self.tenant)
        zone = ZoneInfo(entry.timezone)
        coming = cron_entries.upcoming(entry, limit)
        shown = [{"at": format_time(at), "local": at.astimezone(zone).isoformat()} for at in coming]
        return Answer(
            {
                "name": entry.name,
                "timezone": entry.timezone,
                "runs": shown,
                "enabled": entry.enabled,
            }
        )


def _flag(request: Request) -> bool | None:
    raw = request.query_params.get("enabled")
    if raw in {None, ""}:
        return None
    if raw not in {"true", "false"}:
        raise InvalidRequest.field("enabled", "must be true or false", str(raw)[:100])
    return raw == "true"
