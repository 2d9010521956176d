"""Operations on all copies of a region's jobs, with a preview."""

from typing import Any, ClassVar

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from console import region_operations, tasks
from console.access import may
from console.callers import caller_of
from console.operations import ADOPT, FORGET
from console.permits import of_verb
from console.views.base import PageView
from federation.domain.region import ID_PATTERN
from federation.models import Region
from federation.services.replication import adopt, forget_region
from jobs.domain.errors import Conflict, InvalidRequest, NotFound, OJSError
from jobs.domain.wire.names import QUEUE_PATTERN

NAMED = 8  # queues in the list


class RegionOperation(PageView):
    """The preview of an operation on a region; a POST begins the operation."""

    verb: ClassVar[str]
    http_method_names = ["get", "post"]

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read the preview."""
        region = self.kwargs["region_id"]
        return super().get_context_data(
            **{
                "region": region,
                "verb": self.verb,
                "is_served": tasks.is_served(),
                "may_start": may(self.request, of_verb(self.verb).name),
                "title": f"{self.title} of {region}",
                **self.outlook(region),
                **kwargs,
            }
        )

    def post(self, request: HttpRequest, region_id: str) -> HttpResponse:
        """Begin the operation and show its progress, or show the errors."""
        try:
            made = region_operations.start(
                self.verb, region_id, self.queue, caller_of(request),
                force=request.POST.get("force") == "1",
            )  # fmt: skip
        except NotFound as problem:
            raise Http404 from problem
        except OJSError as problem:
            shown = self.get_context_data(problem=str(problem))
            return self.render_to_response(shown, status=problem.status)
        return HttpResponseRedirect(reverse("ojs_console:operation", args=[made.pk]))

    @property
    def queue(self) -> str | None:
        """Return the queue to which the operation is limited. Raises InvalidRequest."""
        given = self.request.POST if self.request.method == "POST" else self.request.GET
        name = given.get("queue", "").strip()
        if name and not QUEUE_PATTERN.fullmatch(name):
            raise InvalidRequest.field("queue", "is not the name of a queue", name[:255])
        return name or None

    def outlook(self, region: str) -> dict[str, Any]:
        """Return the preview. Raises Http404 for an unknown region."""
        raise NotImplementedError


class RegionAdopt(RegionOperation):
    """Failover: enqueue the waiting jobs of a region here."""

    template_name = "ojs/console/region_adopt.html"
    verb, title = ADOPT, "Adopt waiting jobs"

    def outlook(self, region: str) -> dict[str, Any]:
        """Count the jobs that wait there, and the jobs that would stay."""
        if not (ID_PATTERN.fullmatch(region) and Region.objects.filter(id=region).exists()):
            raise Http404
        queue, found, blocked = None, None, None
        try:
            queue = self.queue
            found = adopt.outlook(region, queue)
            adopt.require_adoptable(region, force=True)
        except OJSError as problem:
            blocked = str(problem)
        return {
            "queue": queue,
            "found": found,
            "queues": found.queues[:NAMED] if found else (),
            "blocked": blocked,
            "is_down": adopt.is_down(region),
            "most": adopt.MOST,
        }


class RegionForget(RegionOperation):
    """Remove the copies of a region that never returns."""

    template_name = "ojs/console/region_forget.html"
    verb, title = FORGET, "Remove copies"

    def outlook(self, region: str) -> dict[str, Any]:
        """Count the copies."""
        found, blocked, is_registered = None, None, False
        try:
            order = forget_region.Order(region, forget_region.MOST, dry_run=True)
            found = forget_region.forget_copies(order)
        except NotFound as problem:
            raise Http404 from problem
        except OJSError as problem:
            blocked, is_registered = str(problem), isinstance(problem, Conflict)
        return {"found": found, "blocked": blocked, "is_registered": is_registered}
