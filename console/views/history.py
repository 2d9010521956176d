"""The history of the configuration: the list of changes, and a version with its restore."""

import re
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from console import history as shown
from console.access import denied, refusal
from console.callers import caller_of, told
from console.views.base import PageView
from console.zones import read_time_in, zone_name
from jobs.domain.errors import Conflict, NotFound, OJSError
from jobs.domain.record.differences import differences
from jobs.permits import table
from jobs.services.operate import history
from jobs.services.operate.history import HistoryFilter, Preview

SIZE: Final = 50
LONGEST: Final = 300  # characters of a field
PLACE: Final = re.compile(r"[1-9][0-9]{0,17}")
NAMES: Final = ("kind", "name", "tenant", "actor", "since", "until", "zone")


class History(PageView):
    """Changes by object, actor and time, latest first; those of one object have a heading."""

    template_name = "ojs/console/history.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read a page; one statement."""
        given = {name: self._text(name) for name in NAMES}
        given["zone"] = zone_name(given["zone"]) if given["since"] or given["until"] else ""
        kinds = shown.visible(self.request)
        before = self._text("before")
        wanted = HistoryFilter(
            kinds=tuple(kinds),
            **{name: given[name] for name in ("kind", "name", "tenant", "actor")},
            since=_time(given["since"], given["zone"]),
            until=_time(given["until"], given["zone"]),
        )
        start = int(before) if PLACE.fullmatch(before) else None
        found, following = history.page(wanted, before=start, size=SIZE)
        kept = {name: value for name, value in given.items() if value}
        kind = kinds.get(given["kind"]) if given["name"] else None
        return super().get_context_data(
            rows=[shown.row(one) for one in found],
            wanted=given,
            kinds=kinds.values(),
            is_empty=not kept,
            is_first=start is None,
            first_link=urlencode(kept),
            next_link=urlencode({**kept, "before": following}) if following else "",
            subject=kind,
            place=shown.place(given["kind"], given["name"]) if kind else "",
            title=f"History of {kind.label.lower()} {given['name']}" if kind else "History",
            **kwargs,
        )

    def _text(self, name: str) -> str:
        return self.request.GET.get(name, "").replace("\x00", "").strip()[:LONGEST]


class Version(PageView):
    """A change with its differences, and the restore of the version that it left."""

    template_name = "ojs/console/version.html"
    http_method_names = ["get", "post"]

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read the change and the present configuration. Raises Http404."""
        seen = self._seen()
        change = seen.change
        permit = table().named[seen.subject.kind.permit(seen.document)]
        return super().get_context_data(
            **{
                "change": change,
                "kind": seen.subject.kind,
                "changed": differences(change.before, change.after),
                "seen": seen,
                "place": shown.place(change.kind, change.name),
                "history": shown.link(change.kind, change.name, change.tenant),
                "refusal": self._refusal() or refusal(self.request, permit),
                "title": f"{seen.subject.kind.label} {change.name}: change {change.pk}",
                **kwargs,
            }
        )

    def post(self, request: HttpRequest, number: int) -> HttpResponse:
        """Restore the version, or show the new preview with the error."""
        seen = self._seen()
        permit = table().named[seen.subject.kind.permit(seen.document)]
        if why := refusal(request, permit):
            return denied(request, why)
        expected = request.POST.get("expected", "")[: history.DIGITS]
        try:
            history.restore(number, caller_of(request), expected=expected)
        except OJSError as problem:
            facts = self.get_context_data(number=number, problem=str(problem))
            return self.render_to_response(
                facts, status=409 if isinstance(problem, Conflict) else 400
            )
        name = f"{seen.subject.kind.label} {seen.change.name}"
        told(request, f"{name} is as it was after change {number}.")
        return HttpResponseRedirect(reverse("ojs_console:version", args=[number]))

    def _seen(self) -> Preview:
        try:
            seen = history.preview(self.kwargs["number"])
        except NotFound as problem:
            raise Http404 from problem
        if seen.change.kind not in shown.visible(self.request):
            raise Http404
        return seen

    def _refusal(self) -> str | None:
        return refusal(self.request, table().named["history.restore"])


def _time(text: str, zone: str) -> datetime | None:
    """Read a time of a form in the time zone that it names; None for other text."""
    try:
        return read_time_in(text, zone)
    except ValueError:
        return None
