"""What operators can do from a page: one table of verbs, one view. Every action is a POST."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.contrib import messages
from django.contrib.auth.mixins import LoginRequiredMixin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views import View

from console import limit_actions, tasks
from console.callers import PREFIX, caller_of
from console.filters import JobFilter as PageFilter
from jobs.domain.bulk import ALLOWED, JobFilter, Verb
from jobs.domain.caller import Caller
from jobs.domain.errors import InvalidRequest, OJSError
from jobs.domain.states import CODES, State
from jobs.services import maintenance, operate, queues, workers
from jobs.services.audit import audited

MOST_MINUTES = 99_999
MINUTES = re.compile(r"[1-9][0-9]{0,4}")
FILTERED_BY = ("state", "queue", "type", "error_type", "tenant")

Run = Callable[[QueryDict, Caller], str]  # (the form, who) to what happened


@dataclass(frozen=True, slots=True)
class Action:
    """A verb and the permissions it takes."""

    permission: str
    run: Run
    also: tuple[str, ...] = ()

    def is_allowed(self, user: Any) -> bool:
        """Tell whether a user has them all."""
        return bool(user.has_perms((self.permission, *self.also)))


def _retry(form: QueryDict, who: Caller) -> str:
    job = operate.retry_job(form.get("id", ""), None, who)
    return f"Job {job.id} is available again."


def _cancel(form: QueryDict, who: Caller) -> str:
    job, _ = operate.cancel_job(form.get("id", ""), who, "cancelled in the console")
    return f"Job {job.id} is cancelled."


def _delete(form: QueryDict, who: Caller) -> str:
    operate.delete_dead_letter(form.get("id", ""), who)
    return f"Job {form.get('id', '')} is deleted."


def _pause(form: QueryDict, who: Caller) -> str:
    queues.pause(form.get("id", ""), who)
    return f"Queue {form.get('id', '')} is paused: running jobs go on, no new one starts."


def _resume(form: QueryDict, who: Caller) -> str:
    queues.resume(form.get("id", ""), who)
    return f"Queue {form.get('id', '')} hands out jobs again."


def _direct(verb: str) -> Run:
    def run(form: QueryDict, who: Caller) -> str:
        with audited(who, f"worker.{verb}", form.get("id", "")):
            told = workers.direct(form.get("id", ""), verb)
        name = told.name.lower()
        return f"Worker {form.get('id', '')} hears “{name}” with its next heartbeat."

    return run


def _maintain(form: QueryDict, who: Caller) -> str:
    minutes = form.get("minutes", "").strip()
    if minutes and not MINUTES.fullmatch(minutes):
        raise InvalidRequest.field("minutes", f"must be from 1 to {MOST_MINUTES}", minutes[:50])
    reason = form.get("reason", "").replace("\x00", "").strip()[:500] or None
    maintenance.start(who, reason=reason, duration_ms=int(minutes) * 60_000 if minutes else None)
    return "Maintenance is on: no job starts until it ends."


def _end_maintenance(_form: QueryDict, who: Caller) -> str:
    maintenance.end(who)
    return "Maintenance is over: jobs start again."


def _cancel_workflow(form: QueryDict, who: Caller) -> str:
    from workflows.services.cancel import cancel as end  # noqa: PLC0415 - the app may be absent

    with audited(who, "workflow.cancelled", form.get("id", "")):
        done = end(form.get("id", ""), who.name)
    return f"The workflow is cancelled with {done.steps_cancelled} steps; active jobs finish."


def _all(verb: Verb) -> Run:
    def run(form: QueryDict, who: Caller) -> str:
        with audited(who, f"jobs.bulk_{verb}_started", "jobs") as data:
            data["filter"] = {name: form[name] for name in FILTERED_BY if form.get(name)}
        tasks.start(verb, _wanted(form), who.name.removeprefix(PREFIX))
        return "They are handed to the operator tasks, which tell below how far they are."

    return run


def _wanted(form: QueryDict) -> JobFilter:
    """Read the filter of a page: what was wrong there matches nothing here, too."""
    state = form.get("state", "")
    return JobFilter(
        queue=form.get("queue") or None,
        type=form.get("type") or None,
        tenant=form.get("tenant") or None,
        error_type=form.get("error_type") or None,
        states=(State(state),) if state in CODES else (),
        dead=form.get("dead") == "1",
    )


def _of_cron(verb: str) -> Run:
    def run(form: QueryDict, who: Caller) -> str:
        from console import cron  # noqa: PLC0415 - an installation may be without schedules

        with audited(who, f"cron.{verb}", form.get("id", "")):
            return cron.act(verb, form.get("id", ""), who.name)

    return run


ACTIONS = {
    "retry": Action("ojs_jobs.change_job", _retry),
    "cancel": Action("ojs_jobs.change_job", _cancel),
    "cancel-workflow": Action("ojs_jobs.change_job", _cancel_workflow),
    "delete": Action("ojs_jobs.delete_job", _delete),
    "pause": Action("ojs_jobs.change_queue", _pause),
    "resume": Action("ojs_jobs.change_queue", _resume),
    "quiet": Action("ojs_jobs.change_worker", _direct("quiet")),
    "terminate": Action("ojs_jobs.change_worker", _direct("terminate")),
    "unquiet": Action("ojs_jobs.change_worker", _direct("resume")),
    "cron-trigger": Action("ojs_scheduling.change_cronentry", _of_cron("trigger")),
    "cron-pause": Action("ojs_scheduling.change_cronentry", _of_cron("pause")),
    "cron-resume": Action("ojs_scheduling.change_cronentry", _of_cron("resume")),
    "cron-delete": Action("ojs_scheduling.delete_cronentry", _of_cron("delete")),
    "cancel-all": Action("ojs_jobs.change_job", _all(Verb.CANCEL)),
    "retry-all": Action("ojs_jobs.change_job", _all(Verb.RETRY)),
    "delete-all": Action("ojs_jobs.delete_job", _all(Verb.DELETE)),
    "maintain": Action("ojs_jobs.change_maintenance", _maintain),
    "end-maintenance": Action("ojs_jobs.change_maintenance", _end_maintenance),
}

ACTIONS |= {
    verb: Action("ojs_jobs.change_limit", run) for verb, run in limit_actions.ACTIONS.items()
}
if apps.is_installed("federation"):
    from console import region_actions

    ACTIONS |= {
        verb: Action("ojs_federation.change_region", run)
        for verb, run in region_actions.ACTIONS.items()
    }
if apps.is_installed("scheduling"):
    from console import pool_actions

    ACTIONS |= {
        verb: Action(f"ojs_scheduling.{permission}_poolrow", run)
        for verb, (permission, run) in pool_actions.ACTIONS.items()
    }
if apps.is_installed("tenancy"):
    from console import tenant_actions

    ACTIONS |= {
        verb: Action(permissions[0], run, permissions[1:])
        for verb, (permissions, run) in tenant_actions.ACTIONS.items()
    }
if apps.is_installed("versioning"):
    from console import version_actions

    ACTIONS |= {
        verb: Action("ojs_versioning.change_routing", run)
        for verb, run in version_actions.ACTIONS.items()
    }
if apps.is_installed("webhooks"):
    from console import webhook_actions

    ACTIONS |= {
        verb: Action(f"ojs_webhooks.{permission}_subscription", run)
        for verb, (permission, run) in webhook_actions.ACTIONS.items()
    }


QUESTIONS = {
    Verb.CANCEL: ("Cancel all", "danger", "Cancel every job that matches the filter?"),
    Verb.RETRY: ("Retry all", "primary", "Retry every job that matches the filter?"),
    Verb.DELETE: ("Delete all", "danger", "Delete every job that matches the filter for good?"),
}


def for_all(wanted: PageFilter, state: State | None, user: Any, **more: str) -> dict[str, Any]:
    """Return what `_operations.html` shows about all jobs in a state that match a filter."""
    verbs = [
        (f"{verb}-all", *QUESTIONS[verb])
        for verb in Verb
        if state in ALLOWED[verb] and user.has_perm(ACTIONS[f"{verb}-all"].permission)
    ]
    names = ("state", "queue", "type", "tenant", "error_type")
    fields = [*((name, getattr(wanted, name)) for name in names), *more.items()]
    return {"verbs": verbs, "fields": fields, "operations": tasks.operations() if verbs else None}


class Act(LoginRequiredMixin, View):
    """Run one action and go back to where it was asked for."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest, verb: str) -> HttpResponse:
        """Answer with a redirect; what happened is told there."""
        action = ACTIONS.get(verb)
        if action is None:
            raise Http404
        if not action.is_allowed(request.user):
            raise PermissionDenied
        try:
            messages.success(request, action.run(request.POST, caller_of(request)))
        except OJSError as problem:
            messages.error(request, str(problem).capitalize() + ".")
        return HttpResponseRedirect(_back(request))


def _back(request: HttpRequest) -> str:
    wanted = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(wanted, {request.get_host()}):
        return wanted
    return reverse("ojs_console:overview")
