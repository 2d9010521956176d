"""Versions of jobs: new, accepted and held jobs of each version, and canaries."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from console.callers import caller_of, told
from console.rule_forms import MODES, ON_NO_WORKER, RulesForm
from console.versions import RulesCard, rollback_lines, rule_lines, scale, slower
from console.views.base import PageView
from jobs.domain.errors import Conflict, OJSError
from jobs.domain.wire.bounds import MAX_TYPE
from jobs.domain.wire.names import TYPE_PATTERN
from jobs.services.audit.audit import done_to
from ojs_tasks.versions import Version, parse_version
from versioning.models import Routing
from versioning.services import routing, touched, types
from versioning.services.contract import Bounds, assess
from versioning.services.observed import observed
from versioning.services.versions import versions

SIZE = 50
LATEST = 10  # changes in the list
SEARCHED = 100  # changes in which the reasons of rollbacks are searched
LONGEST = 200  # characters of a field that is shown again
LOOK = Bounds(looked=2_000, events=5_000)  # a page has less time than a response of the API
ENDS = {"failed": True, "acked": False}


@dataclass(frozen=True, slots=True)
class Refused:
    """The refusal of a form; `now` are the rules that another user stored meanwhile."""

    status: int
    now: Routing | None = None


def page_of(raw: str) -> int:
    """Read the number of a page; the first page for other text."""
    return max(1, int(raw)) if raw.isdecimal() and len(raw) < 5 else 1  # noqa: PLR2004 - digits


class Versions(PageView):
    """Types by name, a page at a time."""

    template_name = "ojs/console/versions.html"
    title = "Versions"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read a page; a fixed number of statements."""
        containing = self.request.GET.get("type", "").replace("\x00", "").strip()
        number = page_of(self.request.GET.get("page", ""))
        lines, total = types.page(containing=containing, limit=SIZE, offset=(number - 1) * SIZE)
        return super().get_context_data(
            rows=[(line, RulesCard(line.rules) if line.rules else None) for line in lines],
            containing=containing,
            previous=number - 1 if number > 1 else None,
            following=number + 1 if number * SIZE < total else None,
            **kwargs,
        )


class OfType(PageView):
    """A page of the type that its path names."""

    def of_type(self) -> str:
        """Return the type. Raises Http404 if it is invalid."""
        job_type: str = self.kwargs["job_type"]
        if len(job_type) > MAX_TYPE or not TYPE_PATTERN.fullmatch(job_type):
            raise Http404
        return job_type


class VersionsOfType(OfType):
    """A type: its rules, the outcomes of its versions, and the waiting jobs of each version."""

    template_name = "ojs/console/versions_of_type.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read all data of the type."""
        job_type = self.of_type()
        loads, row = versions(job_type), routing.find(job_type)
        seen = None if row is None else observed(row)
        rules = None if row is None else RulesCard(row)
        lines = rule_lines(row, seen, loads) if row and seen else []
        changes = done_to(job_type, "routing", limit=SEARCHED)
        return super().get_context_data(
            **{
                "title": job_type,
                "job_type": job_type,
                "loads": loads,
                "rules": rules,
                "lines": lines,
                "scale": scale(lines, rules.threshold if rules else None),
                "p_value": seen and seen.p_value,
                "slower": slower(seen, row) if row and seen else None,
                "touched": seen and seen.touched,
                "rollbacks": rollback_lines(types.rollbacks(job_type, limit=LATEST), changes),
                "changes": changes[:LATEST],
                **kwargs,
            }
        )


class VersionTouched(OfType):
    """The latest jobs that had an attempt of a present or former canary."""

    template_name = "ojs/console/versions_touched.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read a page."""
        job_type = self.of_type()
        version = self._version() or types.taken_back(job_type)
        ended = self.request.GET.get("ended", "")
        failed = ENDS.get(ended)
        number = page_of(self.request.GET.get("page", ""))
        offset = (number - 1) * SIZE
        found = (
            touched.touched(job_type, version, failed=failed, limit=SIZE + 1, offset=offset)
            if version
            else []
        )
        return super().get_context_data(
            **{
                "title": f"Jobs with attempts of {job_type} {version or 'without version'}",
                "job_type": job_type,
                "version": version or "",
                "ended": ended if failed is not None else "",
                "jobs": found[:SIZE],
                "previous": number - 1 if number > 1 else None,
                "following": number + 1 if len(found) > SIZE else None,
                "kept": touched.KEPT,
                **kwargs,
            }
        )

    def _version(self) -> Version | None:
        """Read the version; None if absent or invalid, which means the last rolled-back version."""
        try:
            return parse_version(self.request.GET.get("version", ""))
        except ValueError:
            return None


class VersionRemoval(OfType):
    """Whether handlers of old versions may be removed, and the reasons."""

    template_name = "ojs/console/versions_removal.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Assess the type within the bounds of a page."""
        job_type = self.of_type()
        asked = self.request.GET.get("remove", "").replace("\x00", "").strip()
        wrong = ""
        try:
            found = assess(job_type, [asked] if asked else None, bounds=LOOK)
        except ValueError as problem:
            wrong, found = str(problem), assess(job_type, bounds=LOOK)
        return super().get_context_data(
            **{
                "title": f"Removal of old handlers of {job_type}",
                "job_type": job_type,
                "asked": asked[:LONGEST],
                "wrong": wrong[:1].upper() + wrong[1:],
                "found": found,
                "uses": [*reversed(found.uses), found.unversioned],
                "look": LOOK,
                "states": ("available", "active", "scheduled", "retryable", "pending"),
                **kwargs,
            }
        )


class RulesEdit(PageView):
    """Create or change the routing rules of a type."""

    template_name = "ojs/console/rules_edit.html"
    http_method_names = ["get", "post"]

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show the form with the data of the rules."""
        before = self._before()
        if before is not None:
            return self._form(RulesForm(before=before))
        named = self.kwargs.get("job_type") or request.GET.get("type", "")
        return self._form(RulesForm(initial={"type": named.replace("\x00", "")[:MAX_TYPE]}))

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Store the rules and show them, or show the errors."""
        named = {"type": self.kwargs["job_type"]} if "job_type" in self.kwargs else {}
        form = RulesForm({**request.POST.dict(), **named}, before=self._before())
        if not form.is_valid():
            return self._form(form, Refused(HTTPStatus.BAD_REQUEST))
        try:
            row, _ = routing.put(form.wanted, caller_of(request))
        except Conflict as problem:
            now = routing.find(form.wanted.type)
            form.refuse(problem)
            return self._form(form, Refused(HTTPStatus.CONFLICT, now))
        except OJSError as problem:
            form.refuse(problem)
            return self._form(form, Refused(HTTPStatus.BAD_REQUEST))
        told(request, f"The rules of {row.type} are saved and apply to every new job.")
        return HttpResponseRedirect(reverse("ojs_console:versions_of_type", args=[row.type]))

    def _before(self) -> Routing | None:
        if "job_type" not in self.kwargs:
            return None
        job_type = self.kwargs["job_type"]
        if len(job_type) > MAX_TYPE or not TYPE_PATTERN.fullmatch(job_type):
            raise Http404
        return routing.find(job_type)

    def _form(self, form: RulesForm, refused: Refused | None = None) -> HttpResponse:
        named = self.kwargs.get("job_type")
        shown = self.get_context_data(
            named=named,
            before=None if form.before is None else RulesCard(form.before),
            fields=form.shown,
            wrong=form.wrong,
            now=RulesCard(refused.now) if refused and refused.now else None,
            modes=MODES,
            without=ON_NO_WORKER,
            title=f"Routing rules of {named}" if named else "New routing rules",
        )
        return self.render_to_response(shown, status=refused.status if refused else HTTPStatus.OK)
