"""Pools of workers: their load and next turns; create, change and delete them."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from console import simulating
from console.callers import caller_of, told
from console.pool_forms import ConfigurationForm, PoolForm, configured
from console.pool_proposals import of_configuration_form, of_pool_form
from console.pools import MINUTES, WORDS, PoolLine, detail, name_of, over
from console.views.base import PageView
from jobs.domain.dispatch.claim import STRATEGIES
from jobs.domain.errors import NotFound
from jobs.services.workers.workers import WorkerFilter, workers
from scheduling.services import configuration, pools

SIZE = 50
WORKERS = 100


def _strategies() -> list[tuple[str, str]]:
    return [(name, WORDS[code]) for name, code in STRATEGIES.items()]


class Pools(PageView):
    """Pools by name, a page at a time, and the configuration that holds outside of pools."""

    template_name = "ojs/console/pools.html"
    title = "Pools"
    http_method_names = ["get", "post"]

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read a page; a fixed number of statements."""
        raw = self.request.GET.get("page", "")
        number = int(raw) if raw.isdecimal() and len(raw) < 5 else 1  # noqa: PLR2004 - digits
        found, total = pools.page(limit=SIZE, offset=max(0, number - 1) * SIZE)
        defaults = configuration.defaults()
        tried = simulating.fields(self.request, "scheduling")
        return super().get_context_data(
            **{
                "lines": [PoolLine(state) for state in found],
                "total": total,
                "previous": number - 1 if number > 1 else None,
                "following": number + 1 if number * SIZE < total else None,
                "default_strategy": name_of(defaults.strategy),
                "default_words": WORDS[defaults.strategy],
                "default_scope": defaults.scope,
                "default_tenants": defaults.tenants,
                "default_over": over(defaults.tenants),
                "strategies": _strategies(),
                "fields": tried or configured(defaults),
                "is_open": tried is not None,
                "simulate": simulating.offer(self.request),
                **kwargs,
            }
        )

    def post(self, request: HttpRequest, **kwargs: Any) -> HttpResponse:
        """Store or simulate the configuration, or show the errors."""
        form = ConfigurationForm(request.POST)
        if simulating.is_asked(request):
            begun = simulating.begin(request, form, lambda: of_configuration_form(form))
            return begun or self._refused(form, **kwargs)
        if not form.stored(lambda: configuration.configure(form.wanted, caller_of(request))):
            return self._refused(form, **kwargs)
        told(request, "The configuration is saved and applies from now on.")
        return HttpResponseRedirect(reverse("ojs_console:pools"))

    def _refused(self, form: ConfigurationForm, **kwargs: Any) -> HttpResponse:
        shown = self.get_context_data(fields=form.shown, wrong=form.wrong, **kwargs)
        return self.render_to_response(shown, status=400)


class PoolDetail(PageView):
    """A pool: its queues, its next turns, its workers."""

    template_name = "ojs/console/pool.html"

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show the pool, or that it is not defined, though workers may name it."""
        name = kwargs["name"]
        try:
            line = PoolLine(pools.find(name))
        except NotFound:
            context = self.get_context_data(name=name, title=name)
            return self.response_class(
                request, "ojs/console/pool_undefined.html", context, status=404
            )
        listed = workers(WorkerFilter(pool=name), limit=WORKERS + 1)
        return self.render_to_response(
            self.get_context_data(
                line=line,
                detail=detail(line),
                minutes=MINUTES,
                workers=listed[:WORKERS],
                is_longer=len(listed) > WORKERS,
                title=name,
            )
        )


class PoolEdit(PageView):
    """Create or change a pool."""

    template_name = "ojs/console/pool_edit.html"
    http_method_names = ["get", "post"]

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show the form with the data of the pool."""
        before = self._before()
        named = request.GET.get("name", "").replace("\x00", "")
        if tried := simulating.fields(request, "pool", self.kwargs.get("name")):
            return self._form(PoolForm(before=before, initial=tried))
        if before:
            return self._form(PoolForm(before=before))
        return self._form(PoolForm(initial={"name": named[:128]}))

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Store the pool and show it, or simulate it, or show the errors."""
        form = PoolForm(request.POST, before=self._before())
        if simulating.is_asked(request):
            return simulating.begin(request, form, lambda: of_pool_form(form)) or self._form(form)
        if not form.stored(lambda: pools.put(form.pool, caller_of(request))):
            return self._form(form)
        name = form.pool.name
        told(request, f"Pool {name} is saved and applies to every claim from now on.")
        return HttpResponseRedirect(reverse("ojs_console:pool", args=[name]))

    def _before(self) -> pools.PoolState | None:
        if "name" not in self.kwargs:
            return None
        try:
            return pools.find(self.kwargs["name"])
        except NotFound as problem:
            raise Http404 from problem

    def _form(self, form: PoolForm) -> HttpResponse:
        name = self.kwargs.get("name")
        shown = self.get_context_data(
            name=name,
            fields=form.shown,
            wrong=form.wrong,
            strategies=_strategies(),
            simulate=simulating.offer(self.request),
            title=f"Change pool {name}" if name else "New pool",
        )
        return self.render_to_response(shown, status=400 if form.wrong else 200)
