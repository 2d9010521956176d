"""Findings that need attention: the list, one finding, the thresholds of rules."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from attention.domain.rule import Subject
from attention.services import thresholds
from attention.services.listing import Kept, earlier, listed, looked_at, show
from attention.services.radius import blast_radius
from attention.services.thresholds import Setting, Wanted
from attention.services.words import Shown
from console import alerts, runbooks
from console.actions.attention import HOURS
from console.attention import items, wake
from console.callers import caller_of, told
from console.views.base import PageView
from jobs.domain.errors import InvalidRequest, NotFound, OJSError

ENDED: Final = 50
MOST_LINES: Final = 200


class Attention(PageView):
    """Open findings, worst first; muted ones; the history of a week."""

    template_name = "ojs/console/attention.html"
    title = "Needs attention"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read the lists; a fixed number of statements."""
        return super().get_context_data(
            found=items(self.request, listed(self.tenant), self.tenant),
            muted=items(self.request, listed(self.tenant, Kept.MUTED), self.tenant),
            ended=items(self.request, listed(self.tenant, Kept.ENDED, ENDED), self.tenant),
            looked_at=looked_at(),
            wake=wake(self.request),
            **kwargs,
        )


class FindingPage(PageView):
    """A finding: cause, remedies, blast radius, mute, earlier findings of the subject."""

    template_name = "ojs/console/finding.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read the finding; a fixed number of statements. Raises Http404."""
        try:
            found = show(kwargs["finding_id"], self.tenant)
        except NotFound as problem:
            raise Http404 from problem
        (item,) = items(self.request, [found], self.tenant)
        return super().get_context_data(
            item=item,
            alerts=alerts.of_finding(found.rule.id, found.severity),
            radius=None if self.tenant or found.ended_at else blast_radius(found),
            earlier=items(self.request, earlier(found, self.tenant), self.tenant),
            hours=HOURS,
            wake=wake(self.request),
            runbook=runbooks.of_page(self.request, found.hit.subject, *_places(found)),
            title=f"{found.rule.title}: {found.hit.subject}",
            **kwargs,
        )


def _places(found: Shown) -> Iterator[tuple[str, str]]:
    """Return the objects whose runbooks a finding shows: its rule, and its queue or type."""
    yield "alert", found.rule.id
    if found.rule.subject in (Subject.QUEUE, Subject.TYPE):
        yield found.rule.subject.value, found.hit.subject


class Rules(PageView):
    """All rules with their thresholds."""

    template_name = "ojs/console/attention_rules.html"
    title = "Rules for findings"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read the settings; one statement."""
        shown = alerts.every()
        return super().get_context_data(
            settings=thresholds.settings(), alerts=shown, has_manual=bool(shown[0].url), **kwargs
        )


class RulePage(PageView):
    """The thresholds of a rule, and those of single subjects."""

    template_name = "ojs/console/attention_rule.html"
    http_method_names = ["get", "post"]

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show the form with the present thresholds."""
        return self._form(self._setting(), {})

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Store the thresholds, or show the error."""
        found = self._setting()
        try:
            wanted = _wanted(found, request.POST)
            thresholds.change(found.rule.id, wanted, caller_of(request))
        except OJSError as problem:
            return self._form(found, request.POST, problem)
        told(request, f"Saved: {found.rule.title}. The next look uses it.")
        return HttpResponseRedirect(reverse("ojs_console:attention_rules"))

    def _setting(self) -> Setting:
        try:
            return thresholds.setting(self.kwargs["rule_id"])
        except NotFound as problem:
            raise Http404 from problem

    def _form(
        self, found: Setting, given: Mapping[str, Any], problem: OJSError | None = None
    ) -> HttpResponse:
        fields = [
            (one, given.get(one.name, found.values[one.name])) for one in found.rule.thresholds
        ]
        shown = self.get_context_data(
            setting=found,
            fields=fields,
            is_enabled=given.get("enabled") == "on" if given else found.is_enabled,
            overrides=given.get("overrides", _lines(found)),
            runbook=runbooks.of_page(self.request, "", ("alert", found.rule.id)),
            problem=problem,
            title=found.rule.title,
        )
        return self.render_to_response(shown, status=400 if problem else 200)


def _wanted(found: Setting, form: Mapping[str, Any]) -> Wanted:
    values = {one.name: _number(one.name, form.get(one.name, "")) for one in found.rule.thresholds}
    overrides = _overrides(found, form) if found.rule.has_overrides else {}
    return Wanted(form.get("enabled") == "on", values, overrides)


def _overrides(found: Setting, form: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Read lines of a subject and a number: the first threshold of the rule."""
    name = found.rule.thresholds[0].name
    lines = [line.split() for line in form.get("overrides", "").splitlines() if line.strip()]
    if len(lines) > MOST_LINES or any(len(line) != 2 for line in lines):  # noqa: PLR2004
        raise InvalidRequest.field("overrides", "must be lines of a name and a number")
    return {subject: {name: _number("overrides", text)} for subject, text in lines}


def _number(field: str, text: str) -> int:
    if not text.strip().isascii() or not text.strip().isdigit() or len(text) > 12:  # noqa: PLR2004
        raise InvalidRequest.field(field, "must be a whole number", text[:50])
    return int(text)


def _lines(found: Setting) -> str:
    if not found.rule.thresholds:
        return ""
    name = found.rule.thresholds[0].name
    return "\n".join(f"{subject} {values[name]}" for subject, values in found.overrides.items())
