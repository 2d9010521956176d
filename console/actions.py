"""What operators can do from a page: one table of verbs, one view. Every action is a POST."""

from collections.abc import Callable
from dataclasses import dataclass

from django.contrib import messages
from django.contrib.auth.mixins import LoginRequiredMixin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views import View

from console import tasks
from jobs.domain.errors import OJSError
from jobs.services import dead_letter, queues, workers
from jobs.services.cancel import cancel

Verb = Callable[[QueryDict, str], str]  # (the form, who) to what happened


@dataclass(frozen=True, slots=True)
class Action:
    """A verb and the permission it takes."""

    permission: str
    run: Verb


def _retry(form: QueryDict, _who: str) -> str:
    job = dead_letter.retry(form.get("id", ""))
    return f"Job {job.id} is available again."


def _cancel(form: QueryDict, who: str) -> str:
    job, _ = cancel(form.get("id", ""), actor=f"console:{who}", reason="cancelled in the console")
    return f"Job {job.id} is cancelled."


def _delete(form: QueryDict, _who: str) -> str:
    dead_letter.delete(form.get("id", ""))
    return f"Job {form.get('id', '')} is deleted."


def _pause(form: QueryDict, who: str) -> str:
    queues.pause(form.get("id", ""), f"console:{who}")
    return f"Queue {form.get('id', '')} is paused: running jobs go on, no new one starts."


def _resume(form: QueryDict, who: str) -> str:
    queues.resume(form.get("id", ""), f"console:{who}")
    return f"Queue {form.get('id', '')} hands out jobs again."


def _direct(verb: str) -> Verb:
    def run(form: QueryDict, _who: str) -> str:
        told = workers.direct(form.get("id", ""), verb)
        name = told.name.lower()
        return f"Worker {form.get('id', '')} hears “{name}” with its next heartbeat."

    return run


def _retry_all(form: QueryDict, who: str) -> str:
    tasks.start_retry(
        queue=form.get("queue", ""),
        type=form.get("type", ""),
        error_type=form.get("error_type", ""),
        tenant=form.get("tenant", ""),
        who=who,
    )
    return "Retrying them all has been handed to the operator tasks."


ACTIONS = {
    "retry": Action("ojs_jobs.change_job", _retry),
    "cancel": Action("ojs_jobs.change_job", _cancel),
    "delete": Action("ojs_jobs.delete_job", _delete),
    "pause": Action("ojs_jobs.change_queue", _pause),
    "resume": Action("ojs_jobs.change_queue", _resume),
    "quiet": Action("ojs_jobs.change_worker", _direct("quiet")),
    "terminate": Action("ojs_jobs.change_worker", _direct("terminate")),
    "unquiet": Action("ojs_jobs.change_worker", _direct("resume")),
    "retry-all": Action("ojs_jobs.change_job", _retry_all),
}


class Act(LoginRequiredMixin, View):
    """Run one action and go back to where it was asked for."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest, verb: str) -> HttpResponse:
        """Answer with a redirect; what happened is told there."""
        action = ACTIONS.get(verb)
        if action is None:
            raise Http404
        if not request.user.has_perm(action.permission):
            raise PermissionDenied
        try:
            messages.success(request, action.run(request.POST, request.user.get_username()))
        except OJSError as problem:
            messages.error(request, str(problem).capitalize() + ".")
        return HttpResponseRedirect(_back(request))


def _back(request: HttpRequest) -> str:
    wanted = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(wanted, {request.get_host()}):
        return wanted
    return reverse("ojs_console:overview")
