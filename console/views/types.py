"""Job types: rates, latencies, errors, versions, tenants and workers of each type."""

from typing import Any

from django.http import Http404
from django.utils import timezone

from attention.domain.rule import Subject as FindingSubject
from console import queries_over_time, ranges, runbooks, types
from console.access import may
from console.chart import chart
from console.marks import Subject
from console.queries_over_time import QueueCounts, TypeCounts
from console.views.base import PageView
from console.why import subjects
from console.why.statements import statements
from jobs.domain.wire.bounds import MAX_TYPE
from jobs.domain.wire.names import TYPE_PATTERN
from ojs_tasks.installed import has_app

SIZE = 100
QUEUES = 20
FAILED_LOOKED, ERRORS = 5_000, 20  # latest failed attempts that are read, groups of errors


class Types(PageView):
    """Types with events in a range, in a chosen order."""

    template_name = "ojs/console/types.html"
    title = "Types"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read the counts; two statements."""
        given = self.request.GET
        chosen = ranges.read(given)
        containing = given.get("name", "").replace("\x00", "").strip()[:MAX_TYPE]
        sort = given.get("sort", "")
        sort = sort if sort in types.SORTS else next(iter(types.SORTS))
        rows = queries_over_time.chart_rows(ranges.MOST_ROWS, None)
        found = queries_over_time.types(
            chosen.spell(timezone.now(), rows), containing, sort, SIZE + 1
        )
        return super().get_context_data(
            rows=found[:SIZE],
            is_longer=len(found) > SIZE,
            containing=containing,
            sort=sort,
            sorts=types.SORTS.items(),
            range=chosen,
            ranges=ranges.RANGES,
            **kwargs,
        )


class TypeDetail(PageView):
    """A type: its charts, percentiles, queues, errors, versions, tenants, workers and jobs."""

    template_name = "ojs/console/type.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read all data of the type; a fixed number of statements. Raises Http404."""
        name = kwargs.pop("job_type")
        if len(name) > MAX_TYPE or not TYPE_PATTERN.fullmatch(name):
            raise Http404
        drawn = chart(self.request, Subject(type=name))
        queues, durations = queries_over_time.type_queues(drawn.spell, name, QUEUES)
        names = [one.queue for one in queues]
        found, versions = types.sample(name), _versions(name)
        return super().get_context_data(
            name=name,
            chart=drawn,
            queues=queues,
            total=_total(name, queues),
            sample=found,
            spreads=[*found.spreads, *types.all_time(durations)],
            errors=queries_over_time.type_errors(name, FAILED_LOOKED, ERRORS),
            versions=versions if may(self.request, "routing.see") else None,
            why_here=statements(
                self.request, subjects.of_type(name, names, self.tenant), FindingSubject.TYPE, name
            ),
            accepting=self._accepting(name, names, versions),
            runbook=runbooks.of_page(self.request, name, ("type", name)),
            title=name,
            **kwargs,
        )

    def _accepting(self, name: str, queues: list[str], found: Any) -> types.Accepting | None:
        if not may(self.request, "workers.see"):
            return None
        declared = [one.declaration for one in found.workers] if found else []
        return types.accepting(name, queues, declared)


def _versions(name: str) -> Any:
    """Return the versions of a type and the declarations of all live workers; None: no app."""
    if not has_app("versioning"):
        return None
    from versioning.services.versions import versions  # noqa: PLC0415 - it may be absent

    return versions(name)


def _total(name: str, queues: list[QueueCounts]) -> TypeCounts:
    sums = [sum(column) for column in zip(*(one.counts[1:] for one in queues), strict=True)]
    return TypeCounts(name, *sums) if sums else TypeCounts(name, 0, 0, 0, 0, 0, 0, 0, 0)
