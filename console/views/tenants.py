"""Tenants: noisy tenants, limits and activity; create, change and delete tenants."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from attention.domain.rule import Subject as FindingSubject
from console import simulating
from console.access import may
from console.callers import caller_of, told
from console.chart import Known, chart
from console.marks import Subject
from console.queries_over_time import Change
from console.tenant_proposals import of_form
from console.tenants import MINUTES, Detail, TenantFilter, detail, left, line_of, page
from console.views.base import PageView
from console.why import subjects
from console.why.statements import statements
from jobs.domain.errors import NotFound, OJSError
from jobs.models import Audit
from jobs.services.audit.audit import done_to
from tenancy.conf import conf
from tenancy.domain.tenant import Standing
from tenancy.domain.tenant_id import is_tenant_id
from tenancy.forms import LIMITS, MEMBERS, TenantForm, said
from tenancy.models import Tenant
from tenancy.services import tenants

ENTRIES = 20


class Tenants(PageView):
    """Tenants by filter, noisy tenants first; a panel shows the noisiest."""

    template_name = "ojs/console/tenants.html"
    title = "Tenants"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read a page."""
        wanted = TenantFilter.read(self.request.GET)
        found = page(wanted)
        return super().get_context_data(
            wanted=wanted,
            page=found,
            noisy=found.noisy if wanted.is_empty else [],
            states=list(Standing),
            minutes=MINUTES,
            next_link=found.next,
            first_link=wanted.link(),
            **kwargs,
        )


class TenantDetail(PageView):
    """A tenant: its limits, its activity, its queues, its audit log."""

    template_name = "ojs/console/tenant.html"

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show the tenant, or the remains of a deleted or unconfigured tenant."""
        name = _valid_id(kwargs["tenant_id"])
        if self.tenant not in {None, name}:
            raise Http404
        try:
            line = line_of(name)
        except NotFound:
            return self._undefined(name)
        found, entries = detail(name), self._entries(name)
        return self.render_to_response(
            self.get_context_data(
                line=line,
                row=line.row,
                detail=found,
                chart=chart(request, Subject(tenant=name), _known(found, entries)),
                entries=entries,
                why_here=statements(
                    request, subjects.of_tenant(line, self.tenant), FindingSubject.TENANT, name
                ),
                policy=said(line.row),
                is_kept=line.row.id == conf().default or line.row.source == "static",
                minutes=MINUTES,
                title=name,
            )
        )

    def _entries(self, name: str) -> list[Audit] | None:
        may_audit = may(self.request, "audit.see")
        return done_to(name, "tenant", limit=ENTRIES) if may_audit else None

    def _undefined(self, name: str) -> HttpResponse:
        entries, jobs = self._entries(name), left(name)
        latest = entries[0] if entries else None
        context = self.get_context_data(
            name=name,
            title=name,
            jobs=jobs,
            has_jobs=any(jobs.values()),
            entries=entries,
            deleted=latest if latest and latest.action == "tenant.deleted" else None,
        )
        return self.response_class(
            self.request, "ojs/console/tenant_undefined.html", context, status=404
        )


class TenantEdit(PageView):
    """Create or change a tenant."""

    template_name = "ojs/console/tenant_edit.html"
    http_method_names = ["get", "post"]

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show the form with the data of the tenant."""
        named = request.GET.get("id", "").replace("\x00", "")
        tried = simulating.fields(request, "tenant", self.kwargs.get("tenant_id", ""))
        given = tried or {"tenant_id": named}
        return self._shown(TenantForm(instance=self._before(), initial=given))

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Store the tenant and show it, or simulate it, or show the errors."""
        form = TenantForm(request.POST, instance=self._before())
        if simulating.is_asked(request):
            begun = simulating.begin(request, form, lambda: of_form(form))
            return begun or self._shown(form, 400)
        if not form.is_valid():
            return self._shown(form, 400)
        reason = form.cleaned_data["reason"]
        try:
            row, is_new = tenants.put(
                form.tenant(), form.definition, caller_of(request), reason=reason
            )
        except OJSError as problem:
            form.refuse(problem)
            return self._shown(form, 400)
        outcome = "is created" if is_new else "is saved; the change applies from now on"
        told(request, f"Tenant {row.id} {outcome}.")
        return HttpResponseRedirect(reverse("ojs_console:tenant", args=[row.id]))

    def _before(self) -> Tenant | None:
        if "tenant_id" not in self.kwargs:
            return None
        try:
            return tenants.find(_valid_id(self.kwargs["tenant_id"]))
        except NotFound as problem:
            raise Http404 from problem

    def _shown(self, form: TenantForm, status: int = 200) -> HttpResponse:
        name = self.kwargs.get("tenant_id")
        shown = self.get_context_data(
            name=name,
            form=form,
            members=[form[one] for one in MEMBERS],
            limits=[form[one] for one in LIMITS],
            simulate=simulating.offer(self.request) if name else None,
            title=f"Change tenant {name}" if name else "New tenant",
        )
        return self.render_to_response(shown, status=status)


def _known(found: Detail, entries: list[Audit] | None) -> Known:
    """Return what the page of a tenant knows of its chart: one row per queue, and its changes."""
    changes = [
        Change(one.at, one.action, one.target, one.actor, one.reason, 0)
        for one in entries or ()
        if one.outcome == "success"
    ]
    return Known(found.number_of_queues, changes)


def _valid_id(tenant_id: str) -> str:
    """Return the id if it is valid. Raises Http404."""
    if not is_tenant_id(tenant_id, conf().default):
        raise Http404
    return tenant_id
