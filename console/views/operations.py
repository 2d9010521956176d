"""Operations on many jobs: their preview, their progress, and exported files."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseRedirect,
    StreamingHttpResponse,
)
from django.urls import reverse
from django.utils import timezone

from console import columns, exports, operations, queries, tasks, walk
from console.access import may
from console.callers import caller_of
from console.filters import JobFilter
from console.models import Operation
from console.permits import OPERATIONS, of_verb
from console.views.base import PageView
from jobs.domain.access.caller import MAX_REASON, Caller
from jobs.domain.errors import NotFound, OJSError
from jobs.domain.outcome.bulk import LEAST_RATE, MOST_RATE, Verb
from jobs.domain.outcome.undo import REASONS
from jobs.models import Undo
from jobs.services.audit.config_log import of_undo
from jobs.services.operate import preview, undo
from jobs.services.read.show import show_many

SIZE, SAMPLES, NAMED = 50, 10, 8
DIGITS = 9  # of a number in a form
LEFT_OUT = 20  # listed jobs that an undo could not restore
TITLES = {"cancel": "Cancel jobs", "retry": "Retry jobs", "delete": "Delete jobs",
          walk.EXPORT: "Export jobs", operations.ADOPT: "Adopt waiting jobs",
          operations.FORGET: "Remove copies"}  # fmt: skip
UNKNOWN = "cancel"  # for unknown verbs and operations: a user with the permit of this verb gets 404


def number_of(raw: str | None) -> int | None:
    """Read a number of a form; None for anything else."""
    return int(raw) if raw and raw.isascii() and raw.isdecimal() and len(raw) <= DIGITS else None


def _proposed_rate(raw: str | None) -> int:
    """Return the rate that a link to the preview proposes; the default without a valid one."""
    rate = number_of(raw) or operations.RATE
    return rate if LEAST_RATE <= rate <= MOST_RATE else operations.RATE


class Operations(PageView):
    """The latest operations."""

    template_name = "ojs/console/operations.html"
    title = "Operations"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read the operations."""
        return super().get_context_data(
            operations=operations.latest(self.tenant, SIZE),
            undoable=[
                (
                    row,
                    undo.left_out(row.pk, limit=LEFT_OUT) if row.left_out else [],
                    of_undo(row.before),
                )
                for row in undo.latest(self.tenant, limit=SIZE)[0]
            ],
            reasons=REASONS,
            is_served=tasks.is_served(),
            **kwargs,
        )


class OperationNew(PageView):
    """The preview of an operation, before it begins."""

    template_name = "ojs/console/operation_new.html"
    http_method_names = ["get", "post"]

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read the jobs that would match: their number, their distribution, and a sample."""
        verb, asked = self._verb(), self._asked()
        problems = asked.problems
        states = walk.states_of(verb, asked)
        seen = None if problems or not states else walk.preview(verb, asked)
        ids = seen.ids[: walk.SLICE] if seen else []
        shares: dict[str, list[queries.Share]] = {"queue": [], "type": [], "tenant": []}
        for share in queries.spread(ids) if ids else []:
            shares[share.dimension].append(share)
        return super().get_context_data(
            verb=verb,
            wanted=asked,
            chosen=asked.chosen(),
            columns=[c.name for c in columns.chosen(self.request.GET.getlist("columns"))],
            problems=problems,
            seen=seen,
            samples=show_many(ids[:SAMPLES]),
            shares={name: rows[:NAMED] for name, rows in shares.items()},
            shared=len(ids),
            ages=preview.ages(ids),
            rate=_proposed_rate(self.request.GET.get("rate")),
            reason=self.request.GET.get("reason", "").replace("\x00", "")[:MAX_REASON],
            least_rate=LEAST_RATE,
            most_rate=MOST_RATE,
            may_start=may(self.request, of_verb(verb).name),
            most_exported=operations.MOST_EXPORTED,
            is_served=tasks.is_served(),
            title=TITLES[verb],
            **kwargs,
        )

    def post(self, request: HttpRequest) -> HttpResponse:
        """Begin the operation and show its progress, or show the errors."""
        verb = self._verb()
        who = caller_of(request)
        form = request.POST.get("format", "")
        wanted = operations.Request(
            verb,
            self._asked(),
            who.reason,
            exports.Format(form) if form in list(exports.Format) else exports.Format.CSV,
            columns.chosen(request.POST.getlist("columns")),
            number_of(request.POST.get("rate")) or operations.RATE,
            number_of(request.POST.get("expected")),
        )
        try:
            operation = operations.start(wanted, who)
        except OJSError as problem:
            shown = self.get_context_data(problem=str(problem))
            return self.render_to_response(shown, status=400)
        return HttpResponseRedirect(reverse("ojs_console:operation", args=[operation.pk]))

    @property
    def posting(self) -> str:
        """Return the permit to begin an operation of the verb."""
        verb = self.request.POST.get("verb", "")
        return OPERATIONS[verb if verb in operations.VERBS else UNKNOWN]

    def _verb(self) -> str:
        verb: str = self._given().get("verb", "")
        if verb not in operations.VERBS:
            raise Http404
        return verb

    def _asked(self) -> JobFilter:
        return JobFilter.read(self._given(), self.tenant)

    def _given(self) -> Any:
        return self.request.POST if self.request.method == "POST" else self.request.GET


class OperationPage(PageView):
    """The progress of an operation, with buttons to stop or resume it."""

    template_name = "ojs/console/operation.html"
    http_method_names = ["get", "post"]

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read the operation."""
        operation = self._operation()
        now = timezone.now()
        ran = ((operation.ended_at or now) - operation.started_at).total_seconds()
        rate = operation.matched / ran if ran > 1 else None
        left = max(0, operation.estimate - operation.matched)
        is_running = operation.state == "running"
        still = None if is_running else _still(operation)
        return super().get_context_data(
            operation=operation,
            chosen=_chosen(operation),
            stayed=[
                (why.replace("_", " "), jobs)
                for why, jobs in operation.options.get("stayed", {}).items()
            ],
            percent=None if operation.part is None else int(100 * operation.part),
            rate=rate,
            left_ms=1000 * left / rate if is_running and rate else None,
            ran_ms=1000 * ran,
            is_served=tasks.is_served(),
            is_silent=is_running
            and (now - operation.moved_at).total_seconds() > operations.STALE_S,
            may_act=may(self.request, of_verb(operation.verb).name),
            still=still and still.total,
            is_late=bool(still and still.is_late),
            again=_again(operation) if still else None,
            undo=_undo(operation, self.tenant),
            least_rate=LEAST_RATE,
            most_rate=MOST_RATE,
            has_file=bool(operation.bytes) and operation.exportpart_set.exists(),
            kept_hours=operations.EXPORT_KEPT_HOURS,
            title=f"{TITLES[operation.verb]}: operation {operation.pk}",
            heading=TITLES[operation.verb],
            **kwargs,
        )

    def post(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Stop or resume the operation, or change its rate."""
        rate = number_of(request.POST.get("rate")) or 0
        acts: Mapping[str, Callable[[int, Caller], object]] = {
            "stop": operations.stop,
            "resume": operations.resume,
            "rate": partial(operations.set_rate, rate=rate),
        }
        act = acts.get(request.POST.get("do", ""))
        if act is None:
            raise Http404
        try:
            act(pk, caller_of(request))
        except OJSError as problem:
            return self.render_to_response(
                self.get_context_data(pk=pk, problem=str(problem)), status=409
            )
        return HttpResponseRedirect(reverse("ojs_console:operation", args=[pk]))

    @property
    def posting(self) -> str:
        """Return the permit to stop or resume an operation of its verb."""
        operation = Operation.objects.filter(pk=self.kwargs["pk"]).first()
        return OPERATIONS[operation.verb if operation else UNKNOWN]

    def _operation(self) -> Operation:
        try:
            return operations.get(self.kwargs["pk"], self.tenant)
        except NotFound as problem:
            raise Http404 from problem


def _still(operation: Operation) -> walk.Preview | None:
    """Preview the operation again; None for an operation that does not change its jobs."""
    if operation.verb not in list(Verb):
        return None
    return walk.preview(operation.verb, JobFilter.read(operation.wanted))


def _undo(operation: Operation, tenant: str | None) -> Undo | None:
    """Return what the undo log has of the operation."""
    try:
        return None if operation.undo_id is None else undo.get(operation.undo_id, tenant)
    except NotFound:
        return None


def _again(operation: Operation) -> str:
    """Return the link to the preview of the same operation."""
    asked = urlencode({"verb": operation.verb, **_chosen(operation)})
    return f"{reverse('ojs_console:operation_new')}?{asked}"


def _chosen(operation: Operation) -> Mapping[str, str]:
    """Return the filter of the operation, as the page shows it."""
    if operation.verb in operations.OF_REGIONS:
        wanted: Mapping[str, str] = operation.wanted
        return wanted
    return JobFilter.read(operation.wanted).chosen()


class OperationFile(PageView):
    """The file of an export."""

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Return the file; 404 if it is incomplete or removed."""
        try:
            operation = operations.get(kwargs["pk"], self.tenant)
        except NotFound as problem:
            raise Http404 from problem
        if operation.state != "done" or not operation.exportpart_set.exists():
            raise Http404
        answer = StreamingHttpResponse(
            exports.read(operation),
            content_type=exports.MEDIA[exports.Format(operation.options["format"])],
        )
        answer["Content-Disposition"] = f'attachment; filename="{exports.name_of(operation)}"'
        answer["Cache-Control"] = "no-store"
        return answer  # type: ignore[return-value]  # Django's views may stream
